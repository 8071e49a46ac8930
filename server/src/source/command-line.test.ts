import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import { quoteWord, toArgv } from './command-line.ts'

test('a line of words becomes those words', () => {
  const cases: readonly (readonly [string, string[]])[] = [
    ['node index.js', ['node', 'index.js']],
    ['  node\t--max-old-space-size=200  index.js ', ['node', '--max-old-space-size=200', 'index.js']],
    [`python3 "my bot.py" 'a b' x"y z"'w'`, ['python3', 'my bot.py', 'a b', 'xy zw']],
    [`node '' ""`, ['node', '', '']],
    [`node 'a && $b'`, ['node', 'a && $b']],
    ['node "it\'s"', ['node', "it's"]],
    ['node böt.js', ['node', 'böt.js']],
    ['./run A=b', ['./run', 'A=b']],
  ]
  for (const [line, argv] of cases) assert.deepEqual(toArgv(line), argv, line)
})

test('a line with shell syntax is left to a shell as it is', () => {
  const lines = [
    'npm run a && node b',
    'a | b',
    'a; b',
    'a & b',
    'a > b',
    'a < b',
    'echo $HOME',
    'echo "$HOME"',
    'echo `id`',
    'echo "`id`"',
    'echo $(id)',
    'ls *.js',
    'ls a?',
    'ls [ab]',
    'ls ~',
    'a # b',
    'NODE_ENV=x node a',
    'a\\ b',
    'a "b\\"c"',
    'a\nb',
    'a "b\nc"',
    'cd src',
    'exec node a',
    '. ./env',
    "node 'a",
    'node "a',
    '! a',
    '{ a; }',
    '',
    '   ',
    '#',
  ]
  for (const line of lines) assert.deepEqual(toArgv(line), ['/bin/sh', '-c', line], line)
})

test('whatever is split gives the same words as a shell', () => {
  const parts = fc.constantFrom('a', ' ', '"', "'", '=', '-', '/', '\t', 'b c', '$', '\\', '*', '.', '~', '%', 'é', ':')
  fc.assert(
    fc.property(fc.array(parts, { minLength: 1, maxLength: 10 }), (list) => {
      const line = `x ${list.join('')}`
      const argv = toArgv(line)
      if (argv[0] === '/bin/sh') return
      const script = `x() { printf '%s\\0' "$@"; }; ${line}`
      const printed = execFileSync('/bin/sh', ['-c', script], { cwd: '/proc/self/fdinfo', encoding: 'utf8' })
      const expected = argv.length === 1 ? '\0' : `${argv.slice(1).join('\0')}\0`
      assert.equal(printed, expected, JSON.stringify(line))
    }),
    { numRuns: 150 },
  )
})

test('a quoted word stays one word with the same text', () => {
  for (const word of ['index.js', 'my bot.js', "it's", '$(id)', '-x', 'a;b', '', '"', '*']) {
    const printed = execFileSync('/bin/sh', ['-c', `printf %s ${quoteWord(word)}`], { encoding: 'utf8' })
    assert.equal(printed, word)
  }
})
