import { eachOf, pageSize } from './paging.ts'
import { type Poster, type PostingOptions, startPosting } from './poster.ts'
import { type Answer, type Body, type CallOptions, type ClientOptions, type Query, Transport } from './transport.ts'

type Search = Omit<NonNullable<Query<'listListings'>>, 'page' | 'limit'>

/**
 * The bot list. Statistics and votes take the key of a listed bot (`svc_list_…`); `registrations` and `mine` take the
 * access token of somebody who has signed in; searching takes neither.
 *
 *     const list = new BotList({ url: 'https://bots.example', apiKey: process.env.BOTBERTH_LIST_KEY })
 *     client.once('ready', () => list.postEveryHour(() => client.guilds.cache.size))
 */
export class BotList {
  readonly #transport: Transport

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options)
  }

  /** In how many servers the bot of this key is. Once an hour is enough: see `postEveryHour`. */
  postStats(serverCount: number, options?: CallOptions): Promise<Answer<'postStats'>> {
    return this.#transport.call('postStats', { body: { server_count: serverCount } }, options)
  }

  /** Counts and tells, now and then every hour, until it is stopped. A time that fails is reported, and the next one comes. */
  postEveryHour(count: () => number | Promise<number>, options?: PostingOptions): Poster {
    return startPosting(async (signal) => this.postStats(await count(), { signal }), options)
  }

  /** Whether somebody has voted today (by UTC) for the bot of this key. By their id on the chat platform. */
  checkVote(userId: string, options?: CallOptions): Promise<Answer<'checkVote'>> {
    return this.#transport.call('checkVote', { query: { user_id: userId } }, options)
  }

  readonly bots = {
    /** One page. */
    search: (query?: Query<'listListings'>, options?: CallOptions) =>
      this.#transport.call('listListings', { query }, options),
    each: (query?: Search, options?: CallOptions) =>
      eachOf((page) => this.bots.search({ ...query, page, limit: pageSize }, options)),
    get: (botId: string, options?: CallOptions) => this.#transport.call('getListing', { params: { botId } }, options),
    /** Votes and servers by day. */
    history: async (botId: string, query?: Query<'listListingDays'>, options?: CallOptions) =>
      (await this.#transport.call('listListingDays', { params: { botId }, query }, options)).data,
    /** An image for README files, as SVG. */
    widget: (botId: string, options?: CallOptions) =>
      this.#transport.call('getListingWidget', { params: { botId } }, options),
    /** As whoever has signed in, once a day. */
    vote: (botId: string, options?: CallOptions) =>
      this.#transport.call('voteForListing', { params: { botId } }, options),
    report: (botId: string, body: Body<'reportListing'>, options?: CallOptions) =>
      this.#transport.call('reportListing', { params: { botId }, body }, options),
  }

  /** How a bot comes to be listed: its code goes into the bot’s About Me, then it is verified. */
  readonly registrations = {
    create: (body: Body<'createRegistration'>, options?: CallOptions) =>
      this.#transport.call('createRegistration', { body }, options),
    list: async (options?: CallOptions) => (await this.#transport.call('listRegistrations', {}, options)).data,
    get: (id: string, options?: CallOptions) => this.#transport.call('getRegistration', { params: { id } }, options),
    /** The bot’s key is answered this once. */
    verify: (id: string, options?: CallOptions) =>
      this.#transport.call('verifyRegistration', { params: { id } }, options),
  }

  /** Your listed bots. */
  readonly mine = {
    list: async (options?: CallOptions) => (await this.#transport.call('listMyListings', {}, options)).data,
    update: (botId: string, body: Body<'updateMyListing'>, options?: CallOptions) =>
      this.#transport.call('updateMyListing', { params: { botId }, body }, options),
    delete: (botId: string, options?: CallOptions) =>
      this.#transport.call('deleteMyListing', { params: { botId } }, options),
    /** The new key is answered this once; the old one has stopped. */
    reissueKey: (botId: string, options?: CallOptions) =>
      this.#transport.call('reissueListKey', { params: { botId } }, options),
    transfer: (botId: string, body: Body<'transferListing'>, options?: CallOptions) =>
      this.#transport.call('transferListing', { params: { botId }, body }, options),
  }

  /** Tells you of each vote. */
  readonly voteWebhook = {
    get: (botId: string, options?: CallOptions) =>
      this.#transport.call('getVoteWebhook', { params: { botId } }, options),
    /** Also enables it again. */
    set: (botId: string, body: Body<'putVoteWebhook'>, options?: CallOptions) =>
      this.#transport.call('putVoteWebhook', { params: { botId }, body }, options),
    delete: (botId: string, options?: CallOptions) =>
      this.#transport.call('deleteVoteWebhook', { params: { botId } }, options),
    /** Sends the event `ping`. */
    test: (botId: string, options?: CallOptions) =>
      this.#transport.call('testVoteWebhook', { params: { botId } }, options),
    deliveries: (botId: string, query?: Query<'listVoteDeliveries'>, options?: CallOptions) =>
      this.#transport.call('listVoteDeliveries', { params: { botId }, query }, options),
    eachDelivery: (botId: string, options?: CallOptions) =>
      eachOf((page) => this.voteWebhook.deliveries(botId, { page, limit: pageSize }, options)),
  }
}
