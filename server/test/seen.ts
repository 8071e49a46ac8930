import { appendFileSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { possibleErrors } from '@botberth/contract/endpoint.ts'
import { endpointList } from '@botberth/contract/endpoints.ts'
import { errors } from '@botberth/contract/errors.ts'
import { routeUrl } from '../src/http/paths.ts'

const nameOf = new Map(endpointList.map(([name, endpoint]) => [`${endpoint.method} ${routeUrl(endpoint)}`, name]))

/** Notes what an endpoint answered, so that the run can tell what no test has ever seen. */
export function noteSeen(route: string, status: number, payload: unknown): void {
  const name = nameOf.get(route)
  const scratch = process.env['TEST_SCRATCH']
  if (name === undefined || scratch === undefined) return
  const code = status >= 400 && typeof payload === 'string' ? /"code":"(\w+)"/.exec(payload)?.[1] : undefined
  appendFileSync(join(scratch, `seen-${process.pid}`), `${name} ${code ?? status}\n`)
}

/** Everything that the contract declares and no test has seen: an untested promise, or one that is not kept. */
export function findUnseen(scratch: string): string[] {
  const seen = new Set(
    globSync('seen-*', { cwd: scratch }).flatMap((file) => readFileSync(join(scratch, file), 'utf8').split('\n')),
  )
  return endpointList.flatMap(([name, endpoint]) => {
    const codes = possibleErrors(endpoint).filter((code) => !seen.has(`${name} ${code}`))
    const answers = Object.keys(endpoint.answers).filter((status) => !seen.has(`${name} ${status}`))
    return [
      ...answers.map((status) => `${name} ${status}`),
      ...codes.map((code) => `${name} ${errors[code].status} ${code}`),
    ]
  })
}
