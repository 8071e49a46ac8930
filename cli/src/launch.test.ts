import assert from 'node:assert/strict'
import { test } from 'node:test'
import { launchOf } from './launch.ts'
import { english } from './texts.ts'

const files = new Set([
  String.raw`C:\Program Files\nodejs\node.exe`,
  String.raw`C:\Program Files\nodejs\npm.cmd`,
  String.raw`C:\Program Files\nodejs\npm`,
  String.raw`tools\go.bat`,
])
const env = {
  Path: String.raw`.;C:\Windows;C:\Program Files\nodejs`,
  PathExt: '.COM;.EXE;.BAT;.CMD;.JS',
  COMSPEC: 'C:\\cmd.exe',
}

function launch(words: readonly string[], platform: NodeJS.Platform = 'win32') {
  const machine = { platform, env, isFile: (path: string) => files.has(path) }
  return launchOf(words, machine, english.say)
}

test('elsewhere than on Windows a command is started as it is', () => {
  assert.deepEqual(launch(['npm', 'start'], 'linux'), { file: 'npm', args: ['start'] })
})

test('on Windows npm is npm.cmd, and cmd.exe gets every word in quotes', () => {
  assert.deepEqual(launch(['npm', 'run', 'a & calc', '^|<>!x!', '', 'C:\\end\\']), {
    file: 'C:\\cmd.exe',
    args: [
      '/d',
      '/v:off',
      '/s',
      '/c',
      String.raw`""C:\Program Files\nodejs\npm.cmd" "run" "a & calc" "^|<>!x!" "" "C:\end\\""`,
    ],
    windowsVerbatimArguments: true,
  })
})

test('a program is started itself, and so is what cannot be found', () => {
  assert.deepEqual(launch(['node', '-e', '"%"']), {
    file: String.raw`C:\Program Files\nodejs\node.exe`,
    args: ['-e', '"%"'],
  })
  assert.deepEqual(launch(['node.exe']).file, String.raw`C:\Program Files\nodejs\node.exe`)
  assert.deepEqual(launch(['missing', 'a']), { file: 'missing', args: ['a'] })
})

test('a path is not looked for elsewhere', () => {
  assert.match(launch(['tools/go']).args.at(-1) ?? '', /^""tools\\go\.bat""$/)
})

test('what cmd.exe would not pass on unchanged is refused', () => {
  for (const word of ['say "hi"', '%PATH%', 'two\nlines'])
    assert.throws(() => launch(['npm', word]), { code: 'bad_word', exitCode: 2 })
})
