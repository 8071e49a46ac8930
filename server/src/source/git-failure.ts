import type { RunError } from '../lib/run.ts'
import { StepError } from '../lib/step-error.ts'

/** What a failure of git means for the bot's author. Git tells its reasons in words only, here those of the C locale. */
export function explainGitFailure(error: RunError): StepError {
  const fail = (code: string, message: string) => new StepError(code, message, { cause: error })
  if (error.reason === 'timeout') {
    return fail('fetch_timeout', 'The repository could not be fetched in time. Is it very large, or its host slow?')
  }
  if (error.reason === 'missing') return fail('git_missing', 'This server has no git; its operator has to install it.')
  const output = error.lines.join('\n')
  const known = reasons.find(({ pattern }) => pattern.test(output))
  if (known) return fail(known.code, known.message)
  // What the other side says may hold anything, and ends in a log that people look at in a terminal.
  const last =
    error.lines.findLast((line) => /^(fatal|error|ERROR):/.test(line)) ?? error.lines.at(-1) ?? 'no reason given'
  return fail('fetch_failed', `git could not fetch the repository: ${last.replace(/\p{Cc}/gu, ' ').slice(0, 500)}`)
}

const reasons = [
  {
    code: 'disk_full',
    pattern: /No space left on device|Disk quota exceeded/,
    message: 'There is no room for the repository. Keep large files out of it, or ask the operator of this server.',
  },
  {
    code: 'branch_not_found',
    pattern: /couldn't find remote ref refs\/heads\//,
    message: 'The repository has no branch of that name. Check the spelling, upper and lower case included.',
  },
  {
    code: 'commit_not_found',
    pattern: /not our ref|unadvertised object/,
    message: 'The repository does not have that commit any more, or its host does not hand out single commits.',
  },
  {
    code: 'repository_redirected',
    pattern: /returned error: 30\d/,
    message:
      'The repository answers with a redirect, which is not followed. Use its final URL; on some hosts that is the same one ending in .git.',
  },
  {
    code: 'repository_not_found',
    pattern:
      /repository '.*' not found|could not read (Username|Password)|Authentication failed|returned error: (401|403|404|410)|Permission denied \(|Repository not found|does not appear to be a git repository/i,
    message:
      'There is no such repository, or it is private. Check the URL; for a private repository use a deploy key over ssh, or connect the code host.',
  },
  {
    code: 'host_key_changed',
    pattern: /Host key verification failed/,
    message:
      "The repository's host shows another key than at the first fetch, so it may be somebody else's. Nothing was fetched.",
  },
  {
    code: 'host_unreachable',
    pattern: /Failed to connect|Connection refused|Connection timed out|No route to host|Network is unreachable/i,
    message: "The repository's host could not be reached. Check host and port of the URL, or try again in a while.",
  },
  {
    code: 'host_unavailable',
    pattern: /(returned error:|HTTP) (429|5\d\d)|Empty reply from server|Connection reset by peer|Recv failure/i,
    message: "The repository's host does not hand it out at present. Try again in a while.",
  },
  {
    code: 'repository_refused',
    pattern: /fsck error|invalid path/,
    message:
      'The repository holds files or objects that git refuses as broken or dangerous, a file named .git for example.',
  },
  {
    code: 'host_unavailable',
    pattern:
      /early EOF|unexpected disconnect|hung up unexpectedly|transfer closed with|RPC failed; curl|HTTP\/2 stream|SSL_read|SSL_ERROR_SYSCALL|TLS connection was non-properly terminated|gnutls_handshake\(\) failed|too slow/i,
    message: "The connection to the repository's host broke. Try again in a while.",
  },
  {
    code: 'not_a_repository',
    // As some hosts do at first sight of trouble: a page, and the status of a success.
    pattern:
      /dumb http transport|bad line length character|server doesn't support|expected '?(flush|packfile)|invalid server response|is this a git repository/i,
    message: 'What answers at this address does not speak git: a page perhaps. Check the URL, or try again in a while.',
  },
]
