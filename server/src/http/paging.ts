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
  // Nobody has that many rows, and the database's numbers end somewhere.
  const isPastAll = page > 1_000_000_000
  const { rows, total } = await read(isPastAll ? { limit: 0, offset: 0 } : { limit, offset: (page - 1) * limit })
  return { data: rows, page, limit, total, totalPages: Math.ceil(total / limit) }
}
