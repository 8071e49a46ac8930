import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ChatPlatform } from '../../chat/client.ts'
import type { Api } from '../../http/endpoint.ts'
import type { AddressGuard } from '../../lib/address-guard.ts'
import { verificationLimit } from '../owner-routes.ts'
import type { Profiles } from '../profiles.ts'
import { reportLimit } from '../routes.ts'
import type { Search } from '../search.ts'
import type { Votes } from '../votes.ts'
import type { Parts } from './answer-pages.ts'
import { assetPages } from './assets-pages.ts'
import { botPages } from './bot-pages.ts'
import { editPages } from './edit-pages.ts'
import { listsPages } from './lists-pages.ts'
import { myPages } from './my-pages.ts'
import { registerPages } from './register-pages.ts'
import { sitemapPages } from './sitemap-pages.ts'
import { votePages } from './vote-pages.ts'
import { webhookPages } from './webhook-pages.ts'
import { widgetRoutes } from './widget-routes.ts'

interface SiteParts extends Parts {
  readonly search: Search
  readonly votes: Votes
  readonly profiles: Profiles
  readonly guard: AddressGuard
  readonly platformFor: (request: FastifyRequest) => ChatPlatform | undefined
}

/** The public site: everything below `/list` that is no API. */
export function listPages(api: Api, server: FastifyInstance, parts: SiteParts): void {
  const { app } = parts
  assetPages(server)
  listsPages(server, parts)
  botPages(server, { ...parts, reports: reportLimit(app, server) })
  votePages(server, parts)
  registerPages(server, { ...parts, verifications: verificationLimit(app, server) })
  myPages(server, parts)
  editPages(server, parts)
  webhookPages(server, parts)
  sitemapPages(server, parts)
  widgetRoutes(api, app)
}
