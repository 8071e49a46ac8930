import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fireEvent } from '@testing-library/dom'
import { makeFile } from '../../../test/data.ts'
import {
  button,
  content,
  dialog,
  fill,
  goOnUntil,
  open,
  screen,
  settle,
  t,
  textOf,
  until,
  user,
  within,
} from '../../../test/page.ts'
import { refuse, server } from '../../../test/server.ts'

const path = '/bots/bot_1/files'
const file = (name: string, text = name) => new File([text], name)

function answerFolder(...names: string[]): void {
  server.answer('listFiles', () => ({ data: ['index.js', ...names].map((name) => makeFile(name)) }))
}

async function choose(...files: File[]): Promise<void> {
  const input = document.querySelector<HTMLInputElement>('input[type=file]')
  assert(input)
  await user.upload(input, files)
}

function drop(...files: File[]): void {
  const items = files.map((one) => ({ webkitGetAsEntry: () => ({ isFile: true }), getAsFile: () => one }))
  fireEvent.drop(screen.getByText(t.files.dropHint), { dataTransfer: { items } })
}

const written = () => server.callsOf('writeFile').map(({ params }) => params.path)

test('many files are sent one after the other, each with its bytes, and counted at the end', async () => {
  answerFolder()
  await open(path)
  const names = Array.from({ length: 12 }, (_, index) => `file-${index}.txt`)
  await choose(...names.map((name) => file(name)))
  await screen.findByText(t.files.uploaded('12'))
  assert.deepEqual(written(), names)
  assert.deepEqual(
    server.callsOf('writeFile').map(({ bytes }) => bytes.toString()),
    names,
  )
})

test('names with odd characters arrive as they are', async () => {
  answerFolder()
  await open(path)
  const names = ['a b.txt', '100%.txt', '한글 파일.js', 'q?x#y&z=1.json', "it's.txt"]
  await choose(...names.map((name) => file(name)))
  await screen.findByText(t.files.uploaded(String(names.length)))
  assert.deepEqual(written(), names)
})

test('an upload that fails names its file, sends none after it, and shows those before it', async () => {
  answerFolder()
  await open(path)
  server.answer('writeFile', ({ params: { path: name }, bytes }) =>
    name === 'b.txt'
      ? refuse('limit_reached', { detail: 'The disk is full.' })
      : { path: name, sizeBytes: bytes.length },
  )
  answerFolder('a.txt')
  await choose(file('a.txt'), file('b.txt'), file('c.txt'))
  await screen.findByText(t.files.uploadFailed('b.txt'))
  await screen.findByText(t.errors.serverSays('The disk is full.'))
  await screen.findByText('a.txt')
  assert.deepEqual(written(), ['a.txt', 'b.txt'])
})

test('a file whose connection is lost is sent again, whole', async () => {
  answerFolder()
  await open(path)
  const release = server.hold('writeFile')
  await choose(file('a.txt', 'all of it'))
  await until(() => server.waiting > 0)
  server.goAway()
  release()
  server.comeBack()
  await goOnUntil(() => screen.queryByText(t.files.uploaded('1')) !== null)
  assert.deepEqual(new Set(written()), new Set(['a.txt']))
  assert.equal(server.callsOf('writeFile').at(-1)?.bytes.toString(), 'all of it')
})

test('while files are sent the page says which one, and it can be stopped after it', async () => {
  answerFolder()
  await open(path)
  const release = server.hold('writeFile')
  await choose(file('a.txt'), file('b.txt'), file('c.txt'))
  await screen.findByText(t.files.uploading('1', 'a.txt'))
  await until(() => server.waiting > 0)
  await user.click(button(t.files.stopUpload))
  release()
  await screen.findByText(t.files.uploaded('1'))
  assert.deepEqual(written(), ['a.txt'])
})

test('a file that is too large is not sent, and the others are', async () => {
  answerFolder()
  await open(path)
  const large = file('large.bin')
  Object.defineProperty(large, 'size', { value: 10 * 1024 * 1024 + 1 })
  await choose(large, file('small.txt'))
  await screen.findByText(t.files.uploaded('1'))
  assert.match(textOf(content()), /not uploaded: large\.bin/)
  assert.deepEqual(written(), ['small.txt'])
})

test('what is there already is replaced only after a question, and a no leaves everything', async () => {
  answerFolder('a.txt')
  await open(path)
  await choose(file('a.txt'), file('new.txt'))
  await user.click(within(await dialog()).getByRole('button', { name: t.common.cancel }))
  await until(() => screen.queryByRole('dialog') === null)
  assert.deepEqual(written(), [])
  drop(file('a.txt'), file('new.txt'))
  const asked = await dialog()
  assert.match(textOf(asked), /replaced: a\.txt/)
  await user.click(within(asked).getByRole('button', { name: t.files.replace }))
  await screen.findByText(t.files.uploaded('2'))
  assert.deepEqual(written(), ['a.txt', 'new.txt'])
})

test('files that are dropped while others are sent are refused, not lost in silence', async () => {
  answerFolder()
  await open(path)
  const release = server.hold('writeFile')
  drop(file('a.txt'))
  await until(() => server.waiting > 0)
  drop(file('b.txt'))
  await screen.findByText(t.files.tooEarly)
  release()
  await screen.findByText(t.files.uploaded('1'))
  await settle()
  assert.deepEqual(written(), ['a.txt'])
})

test('a text that could not be saved stays in the editor', async () => {
  answerFolder()
  server.answer('readFile', () => new TextEncoder().encode('old'))
  await open(path)
  await user.click(button('index.js'))
  await dialog()
  const editor = await screen.findByLabelText<HTMLTextAreaElement>(t.files.content)
  await fill(editor, 'old and new')
  server.answer('writeFile', () => refuse('invalid_state', { detail: 'A restore is running.' }))
  await user.click(button(t.common.save))
  await screen.findByText(t.errors.serverSays('A restore is running.'))
  assert.equal(editor.value, 'old and new')
  server.answer('writeFile', ({ params, bytes }) => ({ path: params.path, sizeBytes: bytes.length }))
  await user.click(button(t.common.save))
  await screen.findByText(t.files.saved('index.js'))
  assert.equal(server.callsOf('writeFile').at(-1)?.bytes.toString(), 'old and new')
})
