export interface Page {
  readonly page: number
  readonly perPage: number
}

const perPageDefault = 30
const perPageMax = 100

/** What is no number counts as absent, as on the platform. */
export function readPage(query: Readonly<Record<string, unknown>>): Page {
  const number = (value: unknown) => (typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : 0)
  return {
    page: Math.max(1, number(query['page'])),
    perPage: Math.min(perPageMax, number(query['per_page']) || perPageDefault),
  }
}

/** The `Link` field; undefined where all is on one page. */
export function linkHeader(url: string, { page, perPage }: Page, total: number): string | undefined {
  const last = Math.max(1, Math.ceil(total / perPage))
  const link = (rel: string, number: number) => {
    const target = new URL(url)
    target.searchParams.set('per_page', String(perPage))
    target.searchParams.set('page', String(number))
    return `<${target.href}>; rel="${rel}"`
  }
  const links = [
    ...(page > 1 ? [link('prev', Math.min(page - 1, last))] : []),
    ...(page < last ? [link('next', page + 1), link('last', last)] : []),
    ...(page > 1 ? [link('first', 1)] : []),
  ]
  return links.length > 0 ? links.join(', ') : undefined
}
