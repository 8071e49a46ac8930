const limitMax = 100

export interface PageRequest {
  readonly page?: number
  readonly limit?: number
}

interface Page<T> {
  data: T[]
  page: number
  limit: number
  total: number
  totalPages: number
}

/** Asks for one page and the count; past the end it is an empty page. */
export async function readPage<T>(
  { page = 1, limit: asked = 20 }: PageRequest,
  read: (range: { limit: number; offset: number }) => Promise<{ rows: T[]; total: number }>,
): Promise<Page<T>> {
  const limit = Math.min(asked, limitMax)
  const { rows, total } = await read({ limit, offset: (page - 1) * limit })
  return { data: rows, page, limit, total, totalPages: Math.ceil(total / limit) }
}
