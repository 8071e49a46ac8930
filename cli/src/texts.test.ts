import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { call } from '../test/call.ts'
import { makeProgram } from './program.ts'
import { en, type TextName } from './texts/en.ts'
import { helpKo } from './texts/help-ko.ts'
import { ko } from './texts/ko.ts'

const isKorean = (text: string) => /\p{Script=Hangul}/u.test(text)
/** The same in every language. */
const international: readonly string[] = ['headId', 'headUrl', 'power']

test('a text has the same values in both languages, and is in each', () => {
  const valuesOf = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).toSorted()
  assert.deepEqual(Object.keys(ko).toSorted(), Object.keys(en).toSorted())
  for (const [name, text] of Object.entries(en)) {
    const other = ko[name as TextName]
    assert.deepEqual(valuesOf(other), valuesOf(text), name)
    assert(!isKorean(text), name)
    assert(isKorean(other) || international.includes(name), name)
  }
})

interface Described {
  readonly kind: 'commands' | 'options' | 'arguments'
  /** By which it may be found, the first one first. */
  readonly names: readonly string[]
  readonly text: string
}

function describedIn(command: Command, path = ''): Described[] {
  return [
    { kind: 'commands', names: [path], text: command.description() },
    ...command.options.map(({ long, description }): Described => {
      return { kind: 'options', names: [`${path} ${long}`.trim(), long ?? ''], text: description }
    }),
    ...command.registeredArguments
      .filter(({ description }) => description !== '')
      .map((one): Described => ({ kind: 'arguments', names: [`${path} ${one.name()}`], text: one.description })),
    ...command.commands.flatMap((inner) => describedIn(inner, `${path} ${inner.name()}`.trim())),
  ]
}

test('help has every command, option and argument in both languages, and nothing else', () => {
  const io = { env: {}, cwd: '', stdin: process.stdin, stdout: process.stdout, stderr: process.stderr }
  /** The English of each Korean text that is used. */
  const used = new Map<string, string>()
  for (const { kind, names, text } of describedIn(makeProgram(io, () => async () => {}))) {
    assert.notEqual(text, '', names[0])
    const name = names.find((one) => helpKo[kind][one] !== undefined)
    assert(name !== undefined, `${kind} ${names[0]} has no Korean text`)
    assert(isKorean(helpKo[kind][name] ?? ''), name)
    const key = `${kind} ${name}`
    assert.equal(used.get(key) ?? text, text, `${name} stands for two English texts`)
    used.set(key, text)
  }
  const all = (['commands', 'options', 'arguments'] as const).flatMap((kind) =>
    Object.keys(helpKo[kind]).map((name) => `${kind} ${name}`),
  )
  assert.deepEqual(all.toSorted(), [...used.keys()].toSorted())
})

test('help and what it says of wrong words are all Korean where Korean is spoken', async () => {
  const env = { LANG: 'ko_KR.UTF-8' }
  for (const args of [[], ['deploy'], ['open'], ['completion'], ['bots'], ['bots', 'create'], ['list', 'search']]) {
    const { code, stdout } = await call([...args, '--help'], { env })
    assert.equal(code, 0)
    const said = stdout.split('\n').filter((line) => /^[A-Z]|  \S.*  \S/.test(line))
    for (const line of said) assert(isKorean(line), `${args.join(' ')}: ${line}`)
  }
  for (const args of [
    ['deplyo'],
    ['bots', '--nonsense'],
    ['logs', '-n', 'many'],
    ['logs', '--since'],
    ['logs', '--stream', 'x'],
    ['logs', '-f', '--until', '1h'],
    ['bots', 'create'],
    ['whoami', 'a', 'b'],
    ['completion', 'tcsh'],
  ]) {
    const { code, stderr } = await call(args, { env })
    assert.equal(code, 2)
    for (const line of stderr.trim().split('\n')) assert(isKorean(line), `${args.join(' ')}: ${line}`)
    // Names and values aside, no English is left.
    assert.doesNotMatch(stderr, /error|unknown|argument|option |invalid|choices|mean/, args.join(' '))
  }
})
