import Type from 'typebox'
import { endpoint } from './endpoint.ts'
import { Input, List, Nullable, OneOf, Page, PageQuery, Time } from './schema.ts'

/** What everybody sees of a listed bot. */
export const listingFields = {
  botId: Type.String({ description: 'The id of the bot’s user on the chat platform.' }),
  name: Type.String(),
  avatarUrl: Nullable(Type.String()),
  shortDescription: Type.String(),
  description: Type.String({ description: 'Markdown.' }),
  tags: Type.Array(Type.String()),
  inviteUrl: Nullable(Type.String()),
  supportUrl: Nullable(Type.String()),
  websiteUrl: Nullable(Type.String()),
  owner: Type.Object({ name: Type.String(), avatarUrl: Nullable(Type.String()) }),
  serverCount: Nullable(Type.Integer({ description: 'Null: it has never told.' })),
  statsAt: Nullable(Time('When it last told its server count.')),
  votesThisMonth: Type.Integer({ description: 'In the present month, by UTC.' }),
  votesTotal: Type.Integer(),
  isCertified: Type.Boolean({
    description: 'Its statistics come from this service’s hosting. Ends 3 days after the last.',
  }),
  createdAt: Time('When it was listed.'),
}

export const Listing = Type.Object(listingFields)

const tag = 'Bot list'
const statsTag = 'Statistics and votes'
const one = Type.Object({ botId: Type.String() })

const stats = {
  body: Input({
    server_count: Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      description: 'Servers that the bot is in.',
      'x-takes': 'a whole number from 0 to 1000000000',
    }),
  }),
  answers: { 200: Type.Object({ message: Type.String(), isCertified: Type.Boolean() }) },
}

const someUser = Type.String({ minLength: 1, description: 'Id on the chat platform.' })

export const list = {
  postStats: endpoint({
    api: 'list',
    method: 'POST',
    path: '/bots/stats',
    access: 'listing',
    tag: statsTag,
    summary: 'Tell how many servers your bot is in',
    description:
      'Once an hour is enough, every 30 minutes is common; 120 at once are taken, and one more every 30 seconds. From this service’s hosting it also certifies the bot, until 3 days pass without an update.',
    ...stats,
  }),
  checkVote: endpoint({
    api: 'list',
    method: 'GET',
    path: '/bots/check-vote',
    access: 'listing',
    tag: statsTag,
    summary: 'Whether somebody voted for your bot today',
    description: 'A day is a UTC day.',
    query: Type.Object({ user_id: someUser }),
    answers: {
      200: Type.Object({ voted: Type.Boolean(), votedAt: Nullable(Time('When; null: not today.')) }),
    },
  }),
  postStatsOf: endpoint({
    api: 'list',
    method: 'POST',
    path: '/bots/{botId}/stats',
    access: 'listing',
    tag: statsTag,
    summary: 'The same, for programs that name the bot in the path',
    params: one,
    ...stats,
  }),
  checkVoteNumber: endpoint({
    api: 'list',
    method: 'GET',
    path: '/bots/check',
    access: 'listing',
    tag: statsTag,
    summary: 'Whether somebody voted for your bot today, as a number',
    description: 'For programs that were made for other lists.',
    query: Type.Object({ userId: someUser }),
    answers: { 200: Type.Object({ voted: Type.Integer({ description: '1 or 0.' }) }) },
  }),
  checkVoteNumberOf: endpoint({
    api: 'list',
    method: 'GET',
    path: '/bots/{botId}/check',
    access: 'listing',
    tag: statsTag,
    summary: 'The same, for programs that name the bot in the path',
    params: one,
    query: Type.Object({ userId: someUser }),
    answers: { 200: Type.Object({ voted: Type.Integer({ description: '1 or 0.' }) }) },
  }),
  listListings: endpoint({
    api: 'list',
    method: 'GET',
    path: '/bots',
    access: 'visitor',
    tag,
    summary: 'Search the list',
    description:
      'By votes means by recent votes: one is worth half as much for each week of its age. `total` stops counting at 10,000, and pages end there.',
    query: Type.Object({
      q: Type.Optional(
        Type.String({ maxLength: 200, description: 'Words, or beginnings of words, that all have to be there.' }),
      ),
      tag: Type.Optional(Type.String({ minLength: 1, maxLength: 32 })),
      sort: Type.Optional(OneOf(['votes', 'servers', 'newest'], { default: 'votes' })),
      certified: Type.Optional(Type.Boolean({ description: 'True: only those that are.' })),
      ...PageQuery.properties,
    }),
    answers: { 200: Page(Listing) },
  }),
  getListing: endpoint({
    api: 'list',
    method: 'GET',
    path: '/bots/{botId}',
    access: 'visitor',
    tag,
    summary: 'One bot of the list',
    params: one,
    answers: {
      200: Type.Object({
        ...listingFields,
        rank: Nullable(Type.Integer({ description: 'Its place by recent votes; null: beyond 100.' })),
      }),
    },
  }),
  listListingDays: endpoint({
    api: 'list',
    method: 'GET',
    path: '/bots/{botId}/history',
    access: 'visitor',
    tag,
    summary: 'Votes and servers of a bot by UTC day, the oldest first',
    description: 'Days on which nothing happened are left out. Kept for 400 days.',
    params: one,
    query: Type.Object({
      days: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 400, default: 90, 'x-takes': 'a whole number from 1 to 400' }),
      ),
    }),
    answers: {
      200: List(
        Type.Object({
          day: Type.String({ format: 'date' }),
          votes: Type.Integer(),
          serverCount: Nullable(Type.Integer({ description: 'As last told on that day; null: not told.' })),
        }),
      ),
    },
  }),
  getListingWidget: endpoint({
    api: 'list',
    method: 'GET',
    path: '/bots/{botId}/widget.svg',
    access: 'visitor',
    tag,
    summary: 'Servers, votes and check mark of a bot as an image',
    description: 'For README files and other pages. A bot that is not listed gets a grey image. Kept for 5 minutes.',
    params: one,
    takesAnyId: true,
    rawAnswer: 'image/svg+xml',
    answers: { 200: Type.String() },
  }),
  voteForListing: endpoint({
    api: 'list',
    method: 'POST',
    path: '/bots/{botId}/vote',
    access: 'session',
    tag,
    summary: 'Vote for a bot, once a UTC day',
    params: one,
    answers: {
      200: Type.Object({
        voted: Type.Literal(true),
        votedAt: Time('Now.'),
        nextVoteAt: Time('When you can vote for it again.'),
      }),
    },
    errors: ['already_voted', 'invalid_state'],
  }),
  reportListing: endpoint({
    api: 'list',
    method: 'POST',
    path: '/bots/{botId}/reports',
    access: 'guest',
    tag,
    summary: 'Tell the operator what is wrong with a bot',
    description: 'Ten an hour from one address. Whoever has signed in is named to the operator.',
    params: one,
    creates: 'record',
    body: Input({
      reason: Type.String({
        minLength: 1,
        maxLength: 1000,
        pattern: '\\S',
        'x-takes': '1 to 1000 characters, not only spaces',
      }),
    }),
    answers: {
      201: Type.Object({ id: Type.String(), botId: Type.String(), createdAt: Time('Now.') }),
    },
  }),
}
