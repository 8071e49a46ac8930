// npm run gen: writes what is made from the source: documentation, and the SDK's types. `--check` only compares.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errors } from '@botberth/contract/errors.ts'
import { openApi } from '@botberth/contract/openapi.ts'
import { variables } from '../server/src/config.ts'
import { sdkTypes } from './sdk-types.ts'

const root = join(import.meta.dirname, '..')
const note = '<!-- Made by `npm run gen`. Change the source, not this file. -->'

const files: Record<string, string> = {
  'docs/errors.md': errorsPage(),
  'docs/config.md': configPage(),
  'docs/openapi.json': document('hosting', '/api/v1'),
  'docs/openapi-list.json': document('list', '/list/api'),
  'sdk/src/generated.ts': sdkTypes(),
}

const isCheck = process.argv.includes('--check')
for (const [name, text] of Object.entries(files)) {
  const path = join(root, name)
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
  if (isCheck) {
    console.error(`${name} is out of date: npm run gen`)
    process.exitCode = 1
  } else {
    writeFileSync(path, text)
    console.log(`wrote ${name}`)
  }
}

function document(api: 'hosting' | 'list', serverUrl: string): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  return `${JSON.stringify(openApi({ api, version, serverUrl }), null, 2)}\n`
}

function errorsPage(): string {
  const rows = Object.entries(errors).map(
    ([code, { status, title, text, remedy }]) => `| \`${code}\` | ${status} | ${title}. ${text} | ${remedy} |`,
  )
  return `# Errors

${note}

Every error of both APIs is answered as \`application/problem+json\` (RFC 9457):
\`type\`, \`title\`, \`status\`, \`detail\`, \`instance\`, \`code\`, \`message\` (the same as \`detail\`), \`requestId\` and,
for wrong input, \`errors: [{ "pointer", "detail" }]\`. Programs compare \`code\`; it is never renamed.

| code | status | what it means | what to do |
|---|---|---|---|
${rows.join('\n')}
`
}

function configPage(): string {
  const rows = Object.entries(variables).map(
    ([name, { default: fallback, takes, text }]) => `| \`${name}\` | ${fallback} | ${takes} | ${text} |`,
  )
  return `# Configuration

${note}

Botberth needs no configuration. These environment variables change its defaults; an empty one counts as unset, and a
wrong one stops the start with a message that names every wrong variable.

| variable | default | takes | meaning |
|---|---|---|---|
${rows.join('\n')}

## What "loopback" means

Some defaults are friendlier on a server that only this machine can reach. That takes all of: \`HOST\` is a loopback
address, \`PUBLIC_URL\` is unset or a loopback name, \`TRUST_PROXY\` is unset, the request's \`Host\` is a loopback name and
the request carries no forwarding header. Otherwise the stricter behaviour holds.
`
}
