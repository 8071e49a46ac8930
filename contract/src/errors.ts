/**
 * Every error that either API answers with. The server, the documentation page and the clients read this one
 * list. A code is never renamed: programs compare it. `title` is the same for every occurrence; `text` is said
 * when nothing more exact is known.
 */
export const errors = {
  invalid_json: {
    status: 400,
    title: 'The body is not JSON',
    text: 'The body could not be read as JSON in UTF-8.',
    remedy: 'Send one JSON value in UTF-8, at most 32 levels deep.',
  },
  validation_failed: {
    status: 400,
    title: 'The request has wrong or missing fields',
    text: 'Some fields are wrong or missing; see `errors`.',
    remedy: 'Each entry of `errors` names a field by its JSON pointer and says what it takes.',
  },
  invalid_request: {
    status: 400,
    title: 'The request is not valid HTTP',
    text: 'The request could not be understood.',
    remedy: 'Check the request line, the header lines and the framing of the body.',
  },
  url_not_allowed: {
    status: 400,
    title: 'The URL leads to an address that is not allowed',
    text: 'The URL leads to a private, local or reserved address, to which this server does not connect.',
    remedy: 'Use a public address, or ask the operator to add the network to ALLOWED_PRIVATE_NETS.',
  },
  archive_invalid: {
    status: 400,
    title: 'The archive cannot be used',
    text: 'The archive is broken, too large unpacked, or holds something that may not be in it.',
    remedy: 'Send a .tar.gz, .tar or .zip of plain files and folders; links may only lead to what is in the archive.',
  },
  unauthenticated: {
    status: 401,
    title: 'A valid credential is needed',
    text: 'Send an API key in `x-api-key`, or a token in `Authorization: Bearer`. None was sent, or it is not valid.',
    remedy: 'Create a key in the dashboard under Settings, API keys, or sign in again.',
  },
  signature_invalid: {
    status: 401,
    title: 'The signature does not fit',
    text: 'The body is not signed, or not with the secret that this server shares with the code host.',
    remedy: 'Set the same webhook secret on the code host and in CODEHOST_WEBHOOK_SECRET.',
  },
  forbidden: {
    status: 403,
    title: 'Not allowed',
    text: 'This credential may not do that.',
    remedy: 'Ask the operator of this server.',
  },
  account_suspended: {
    status: 403,
    title: 'The account is suspended',
    text: 'The operator of this server has suspended this account.',
    remedy: 'Ask the operator of this server.',
  },
  signups_closed: {
    status: 403,
    title: 'Sign-ups are closed',
    text: 'This server takes no new accounts, or only with an invitation.',
    remedy: 'Ask the operator of this server for an invitation.',
  },
  authorization_denied: {
    status: 403,
    title: 'The pairing was denied',
    text: 'Somebody looked at this pairing and denied it.',
    remedy: 'Start a new pairing if that was a mistake.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    text: 'There is no such thing here, or it is not yours.',
    remedy: 'Check the path and the id.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    text: 'This path does not take that method; see the `Allow` header.',
    remedy: 'Use one of the methods in `Allow`.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long to arrive',
    text: 'The request was not complete in time.',
    remedy: 'Send it again on a new connection.',
  },
  invalid_state: {
    status: 409,
    title: 'Not possible in the present state',
    text: 'That is not possible in the present state.',
    remedy: 'Do what the detail says, then try again.',
  },
  bot_expired: {
    status: 409,
    title: 'The bot has expired',
    text: 'This bot has expired: it can be neither deployed nor started until it is renewed.',
    remedy: 'Renew it: POST /bots/{id}/renew adds 7 days.',
  },
  limit_reached: {
    status: 409,
    title: 'A limit is reached',
    text: 'You have as many of these as you may have.',
    remedy: 'Remove one that is no longer used, or ask the operator for more.',
  },
  secret_not_repeatable: {
    status: 409,
    title: 'The secret cannot be shown again',
    text: 'This request was carried out before, and its secret is shown only once. `id` names the record.',
    remedy: 'Use the secret that you were shown, or remove the record and make a new one under a new Idempotency-Key.',
  },
  authorization_pending: {
    status: 409,
    title: 'Not approved yet',
    text: 'Nobody has approved this pairing yet.',
    remedy: 'Ask again after `interval` seconds.',
  },
  login_not_configured: {
    status: 409,
    title: 'Log-in is not set up',
    text: 'This server has no chat platform to sign in with.',
    remedy: 'The operator sets CHAT_CLIENT_ID and CHAT_CLIENT_SECRET. API keys work meanwhile.',
  },
  codehost_not_configured: {
    status: 409,
    title: 'The code host is not set up',
    text: 'This server has no code host to connect to.',
    remedy:
      'The operator runs `npm run codehost:setup`. Public repositories work meanwhile, and others by a deploy key.',
  },
  codehost_not_connected: {
    status: 409,
    title: 'Your account on the code host is not connected',
    text: 'Connect your account on the code host first: it was never connected, or the code host no longer takes its token.',
    remedy: 'Open /api/v1/auth/codehost/connect in a browser that is signed in here.',
  },
  already_listed: {
    status: 409,
    title: 'The bot is on the list already',
    text: 'This bot is on the list already.',
    remedy: 'Its owner finds it on My Bots, where it can be transferred to somebody else and its key issued anew.',
  },
  code_not_found: {
    status: 409,
    title: 'The verification code is not in the bot’s About Me',
    text: 'The code does not stand in the bot’s About Me. `aboutMe` is the text that was read; null: there is no such application.',
    remedy: 'Put the code anywhere into the About Me of the bot’s profile, save it there, and verify again.',
  },
  code_expired: {
    status: 409,
    title: 'The verification code has expired',
    text: 'This verification code was good for 24 hours and has expired.',
    remedy: 'Register the bot again for a new code.',
  },
  already_voted: {
    status: 409,
    title: 'You have voted for this bot today',
    text: 'You have voted for this bot today. `nextVoteAt` says when you can vote again.',
    remedy: 'A day ends at midnight UTC.',
  },
  payload_too_large: {
    status: 413,
    title: 'The body is too large',
    text: 'The body is larger than this endpoint takes.',
    remedy:
      'JSON bodies may have up to 256 KiB, files 10 MiB, events of the code host 25 MiB, archives of source 100 MiB.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not of a type that this endpoint takes',
    text: 'Send the body as `application/json`, without compression.',
    remedy: 'Set `Content-Type: application/json`, or one that the endpoint names; leave `Content-Encoding` away.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'There is nothing in that range',
    text: 'The file has no bytes in the range that was asked for.',
    remedy: 'The `Content-Range` header of the answer says how many bytes there are.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The Idempotency-Key was used for another request',
    text: 'This Idempotency-Key was used before, with another request.',
    remedy: 'Use a new Idempotency-Key for each new request.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    text: 'Too many requests; wait as long as `Retry-After` says.',
    remedy: 'Wait the seconds in `Retry-After`. The `RateLimit` fields tell what is left.',
  },
  header_too_large: {
    status: 431,
    title: 'The header is too large',
    text: 'The header lines are larger than this server takes.',
    remedy: 'Send at most 16 KiB of header lines.',
  },
  internal: {
    status: 500,
    title: 'Something broke on our side',
    text: 'Something broke on our side. It was logged under this request id.',
    remedy: 'Tell the operator the `requestId`.',
  },
  platform_failed: {
    status: 502,
    title: 'The platform failed',
    text: 'The chat platform or code host could not be reached, or answered with an error.',
    remedy: 'Try again in a while.',
  },
  unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    text: 'The server cannot reach its database at the moment. It keeps trying.',
    remedy: 'Wait the seconds in `Retry-After` and send the request again.',
  },
  platform_timeout: {
    status: 504,
    title: 'The platform was too slow',
    text: 'The chat platform or code host did not answer in time.',
    remedy: 'Try again in a while.',
  },
} as const satisfies Record<string, ErrorEntry>

export interface ErrorEntry {
  readonly status: number
  readonly title: string
  readonly text: string
  readonly remedy: string
}

export type ErrorCode = keyof typeof errors
