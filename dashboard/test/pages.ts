// Runs the tests of the dashboard's pages (`x.page.test.ts` beside them), all in this one process, so that React and the
// document are loaded once. `PAGE_TESTS` names the files, separated by line breaks; without it, it is all of them.
import './tsx.ts'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { after, suite } from 'node:test'
import { pathToFileURL } from 'node:url'

// As it is served: React's checks for developers take most of the time otherwise.
process.env['NODE_ENV'] = 'production'
const source = join(import.meta.dirname, '../src')
const wanted = process.env['PAGE_TESTS']?.split('\n')
const files = wanted ?? globSync('**/*.page.test.ts', { cwd: source }).map((file) => join(source, file))
// First and whole: what comes after it looks for a document as it is loaded.
await import('./browser.ts')
const [{ clock }, { server }] = [await import('./clock.ts'), await import('./server.ts')]
await suite('The dashboard', async () => {
  // A process ends when nothing is open any more, and only a suite ends before that.
  after(() => {
    server.close()
    clock.stop()
  })
  for (const file of files.toSorted()) await import(pathToFileURL(file).href)
})
