import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { endpointList } from './endpoints.ts'
import { events } from './events.ts'
import { openApi } from './openapi.ts'

for (const api of ['hosting', 'list'] as const) {
  test(`the document of the ${api} API is valid OpenAPI 3.1`, async () => {
    const document = openApi({ api, version: '1.2.3', serverUrl: '/x' })
    const { valid, errors } = await new Validator().validate(structuredClone(document))
    assert.equal(valid, true, JSON.stringify(errors))
  })
}

test('every endpoint stands in the document of its API, with an operation id of its own', () => {
  const ids = new Set<string>()
  for (const [name, endpoint] of endpointList) {
    const { paths } = openApi({ api: endpoint.api, version: '1', serverUrl: '/' }) as {
      paths: Record<string, Record<string, { operationId: string }>>
    }
    assert.equal(paths[endpoint.path]?.[endpoint.method.toLowerCase()]?.operationId, name)
    ids.add(name)
  }
  assert.equal(ids.size, endpointList.length)
})

test('the three webhooks are described', () => {
  const { webhooks } = openApi({ api: 'hosting', version: '1', serverUrl: '/' }) as { webhooks: object }
  assert.deepEqual(Object.keys(webhooks), ['deploy.completed', 'server.crashed', 'backup.completed'])
  assert.deepEqual(Object.keys(events), Object.keys(webhooks))
})
