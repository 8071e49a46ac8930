import type { Person } from './people.ts'

interface Options {
  readonly as?: Pick<Person, 'cookie'> | undefined
  readonly headers?: Record<string, string>
}

export interface PageAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** A page as a browser asks for it, without following where it leads. */
export async function getPage(
  server: { url: string },
  path: string,
  { as, headers = {} }: Options = {},
): Promise<PageAnswer> {
  const answer = await fetch(server.url + path, {
    redirect: 'manual',
    headers: { accept: 'text/html', 'accept-language': 'en', ...(as && { cookie: as.cookie }), ...headers },
  })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

/** A form as a browser sends it from a page of ours. */
export async function postForm(
  server: { url: string },
  path: string,
  fields: Record<string, string>,
  { as, headers = {} }: Options = {},
): Promise<PageAnswer> {
  const answer = await fetch(server.url + path, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      accept: 'text/html',
      'accept-language': 'en',
      'content-type': 'application/x-www-form-urlencoded',
      origin: server.url,
      'sec-fetch-site': 'same-origin',
      ...(as && { cookie: as.cookie }),
      ...headers,
    },
    body: new URLSearchParams(fields).toString(),
  })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

/** What stands on a page, without its elements. */
export function wordsOf({ text }: PageAnswer): string {
  return text
    .replace(/<(head|svg)[^>]*>.*?<\/\1>/gs, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
}
