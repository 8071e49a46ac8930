import type { AnswerOf } from '@botberth/contract/endpoints.ts'
import type { ListingRow, OwnRow } from './listings.ts'
import type { RegistrationRow } from './registrations.ts'
import type { ReportRow } from './reports.ts'

type Listing = AnswerOf<'listListings'>['data'][number]

export function listingJson(row: ListingRow): Listing {
  return {
    botId: row.bot_id,
    name: row.name,
    avatarUrl: row.avatar_url,
    shortDescription: row.short_description,
    description: row.description,
    tags: row.tags,
    inviteUrl: row.invite_url,
    supportUrl: row.support_url,
    websiteUrl: row.website_url,
    owner: { name: row.owner_name, avatarUrl: row.owner_avatar_url },
    serverCount: row.server_count,
    statsAt: row.stats_at?.toISOString() ?? null,
    votesThisMonth: row.votes_month,
    votesTotal: row.votes_total,
    isCertified: row.is_certified,
    createdAt: row.created_at.toISOString(),
  }
}

export function ownListingJson(row: OwnRow): AnswerOf<'updateMyListing'> {
  return {
    ...listingJson(row),
    applicationId: row.application_id,
    isHidden: row.hidden_at !== null,
    certifiedUntil: row.certified_until?.toISOString() ?? null,
    votesToday: row.votes_today,
    key:
      row.key_last4 !== null && row.key_created_at
        ? {
            last4: row.key_last4,
            createdAt: row.key_created_at.toISOString(),
            lastUsedAt: row.key_last_used_at?.toISOString() ?? null,
          }
        : null,
  }
}

export function registrationJson(row: RegistrationRow): AnswerOf<'getRegistration'> {
  return {
    id: row.id,
    botId: row.bot_id,
    applicationId: row.application_id,
    verificationCode: row.code,
    expiresAt: row.expires_at.toISOString(),
    createdAt: row.created_at.toISOString(),
  }
}

export function reportJson(row: ReportRow): AnswerOf<'listReports'>['data'][number] {
  return {
    id: row.id,
    botId: row.bot_id,
    botName: row.bot_name,
    isHidden: row.is_hidden,
    reason: row.reason,
    reporter: row.user_id === null ? null : { id: row.user_id, name: row.reporter_name ?? '' },
    createdAt: row.created_at.toISOString(),
  }
}
