import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { memoryProject } from '../../test/memory-project.ts'
import { StepError } from '../lib/step-error.ts'
import { toArgv } from './command-line.ts'
import { languages } from './languages.ts'
import { makePlan } from './plan.ts'

const manifests =
  'package.json package-lock.json yarn.lock pnpm-lock.yaml bun.lock deno.json tsconfig.json requirements.txt pyproject.toml go.mod Cargo.toml pom.xml build.gradle settings.gradle Gemfile Gemfile.lock composer.json composer.lock x.csproj Procfile botberth.json discloud.config squarecloud.app .nvmrc .npmrc index.js main.py main.go Main.java Main.kt'.split(
    ' ',
  )

const words = fc.constantFrom(
  ...'dependencies devDependencies scripts start build install main packages "" node_modules/a version resolved integrity link engines node packageManager workspaces overrides __proto__ constructor toString tasks language watch MAIN= START= worker: -r -e [package] name rootProject.name <artifactId> </artifactId> \n \u0000 \u001b \u2028 $(id) ` ; -- ../ pnpm@9.0.0 node python'.split(
    ' ',
  ),
)
const json = fc.json({ maxDepth: 4 })
const object = fc.dictionary(
  words,
  fc.oneof(words, fc.dictionary(words, fc.oneof(words, fc.jsonValue())), fc.jsonValue()),
)
const text = fc.oneof(
  json,
  object.map((value) => JSON.stringify(value)),
  fc.array(fc.oneof(words, fc.string({ maxLength: 5 })), { maxLength: 20 }).map((parts) => parts.join(' ')),
  fc.constant(''),
)

test('whatever the files hold, there is a plan or a reason for the author', () => {
  const language = fc.option(fc.constantFrom(...languages.map(({ id }) => id)), { nil: undefined })
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...manifests), text, { maxKeys: 8 }), language, (files, wished) => {
      try {
        const wishes = { platform: 'linux-x64', nodeVersion: '24.21.0', ...(wished && { language: wished }) }
        const plan = makePlan(memoryProject(files), wishes)
        const argvs = [plan.install?.argv ?? [], ...plan.build.map(({ argv }) => argv), toArgv(plan.start)]
        for (const argv of argvs) assert(argv.every((word) => !word.includes('\0')))
        assert(
          plan.notices.every((notice) => !/\p{Cc}/u.test(notice)),
          plan.notices.join(),
        )
        assert.notEqual(plan.start.trim(), '')
      } catch (error) {
        assert(error instanceof StepError, String(error))
        assert.doesNotMatch(error.message, /\p{Cc}/u)
      }
    }),
    { numRuns: 1500 },
  )
})
