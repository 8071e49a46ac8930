/**
 * Why a repository's URL is not taken; undefined if it is. What gets through can be given to git behind `--`: it names
 * a host and a path over a protocol that only transfers, and carries neither a password nor an option in disguise.
 */
export function gitUrlProblem(url: string): string | undefined {
  if (url.length > 2048) return 'must have 2048 characters or fewer'
  if (!/^[!-~]+$/.test(url)) return 'must not hold spaces, control or non-ASCII characters'
  const short = /^\w[\w.-]*@([\w.-]+):(?!\/\/)(.+)$/.exec(url)
  if (short) return hostProblem(short[1] ?? '') ?? pathProblem(short[2] ?? '')
  if (!URL.canParse(url)) return takes
  const { protocol, hostname, pathname, username, password, search, hash } = new URL(url)
  if (!['https:', 'http:', 'ssh:'].includes(protocol)) return takes
  if (password || (username && protocol !== 'ssh:')) return 'must not hold a user name or password'
  if (username.startsWith('-')) return takes
  if (search || hash) return 'must not hold a query or a fragment'
  return hostProblem(hostname) ?? pathProblem(pathname.slice(1))
}

const takes = 'takes an https://, http:// or ssh:// URL, or git@host:path'

function hostProblem(host: string): string | undefined {
  return host === '' || host.startsWith('-') ? takes : undefined
}

function pathProblem(path: string): string | undefined {
  return path === '' || path.startsWith('-') ? 'must name a repository' : undefined
}

/** Why a branch name is not taken, by the rules of `git check-ref-format`; undefined if it is. */
export function branchProblem(branch: string): string | undefined {
  const isWrong =
    branch.length === 0 ||
    branch.length > 255 ||
    /^[-/.]|[/.]$|\.lock$|\.lock\/|\/\.|\/\/|\.\.|@\{|^@$/.test(branch) ||
    /[\p{Cc} ~^:?*[\\]/u.test(branch)
  return isWrong ? 'must be a valid branch name' : undefined
}
