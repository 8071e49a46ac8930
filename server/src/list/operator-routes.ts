import type { App } from '../context.ts'
import { tx } from '../db/tx.ts'
import type { Api } from '../http/endpoint.ts'
import { readPage } from '../http/paging.ts'
import { ownListingJson, reportJson } from './json.ts'
import { getWhole, setHidden } from './listings.ts'
import { listReports } from './reports.ts'

/** The list for the owner of the server. */
export function listOperatorRoutes(api: Api, { pool, clock }: App): void {
  api.handle('listReports', ({ query, db }) =>
    readPage(query, async (range) => {
      const { rows, total } = await listReports(db, range)
      return { rows: rows.map(reportJson), total }
    }),
  )

  api.handle('updateListing', async ({ params, body, db }) => {
    await tx(db, (db) => setHidden(db, params.botId, { hidden: body.hidden, now: clock.now() }))
    return ownListingJson(await getWhole(pool, params.botId, clock.now()))
  })
}
