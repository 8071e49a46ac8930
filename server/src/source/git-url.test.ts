import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import { branchProblem, gitUrlProblem } from './git-url.ts'

test('the usual ways to name a repository are taken', () => {
  const urls = [
    'https://github.com/a/b.git',
    'http://127.0.0.1:8080/a',
    'ssh://git@host.example:22/a/b',
    'git@github.com:a/b.git',
    'https://host.example/~user/x',
    'https://[2001:db8::1]/x',
  ]
  for (const url of urls) assert.equal(gitUrlProblem(url), undefined, url)
})

test('what runs something, reads files, carries a password or is an option is refused', () => {
  const urls = [
    'file:///etc/passwd',
    '/etc',
    '../x',
    'ext::sh -c id',
    'ext::sh',
    '--upload-pack=id',
    '-oProxyCommand=id@host:path',
    '-oProxyCommand@host:path',
    '-x',
    'ssh://-oProxyCommand=id/x',
    'git@-oProxyCommand=id:x',
    'git@host:-x',
    'https://user:pw@host/x',
    'https://token@host/x',
    'ssh://u:p@h/x',
    'https://host',
    'https://host/',
    'https://host/-x',
    'https://h/x?y',
    'https://h/x#y',
    'https://h/a b',
    'https://h/a\nb',
    'ftp://h/x',
    'git://h/x',
    '',
    'https://',
    `https://h/${'x'.repeat(2048)}`,
    'https://höst/x',
    'fd::17/x',
    'transport::address',
  ]
  for (const url of urls) assert.notEqual(gitUrlProblem(url), undefined, url)
})

test('branch names are those that git itself takes', () => {
  const characters = fc.constantFrom(
    'a',
    '-',
    '.',
    '/',
    '@',
    '{',
    '~',
    '^',
    ':',
    '?',
    '*',
    '[',
    '\\',
    ' ',
    '.lock',
    '..',
    '\x7f',
  )
  const branches = fc.sample(fc.array(characters, { minLength: 1, maxLength: 5 }), 200).map((parts) => parts.join(''))
  // One shell for all of them: to start a program takes a large process, as this one is, far longer.
  const script = 'for branch; do git check-ref-format "refs/heads/$branch" && echo yes || echo no; done'
  const answers = execFileSync('sh', ['-c', script, 'sh', ...branches])
    .toString()
    .split('\n')
  for (const [index, branch] of branches.entries()) {
    // One difference on purpose: a name that begins like an option is never taken.
    const expected = answers[index] === 'yes' && !branch.startsWith('-') && branch !== '@'
    assert.equal(branchProblem(branch) === undefined, expected, JSON.stringify(branch))
  }
})
