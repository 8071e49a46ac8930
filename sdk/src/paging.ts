interface PageOf<T> {
  readonly data: readonly T[]
  readonly page: number
  readonly totalPages: number
}

export const pageSize = 100

/** Page after page, as they are asked for. */
export async function* eachOf<T>(read: (page: number) => Promise<PageOf<T>>): AsyncGenerator<T, void, undefined> {
  for (let page = 1; ; page++) {
    const { data, totalPages } = await read(page)
    yield* data
    if (page >= totalPages) return
  }
}
