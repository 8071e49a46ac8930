import { StepError } from '../lib/step-error.ts'
import { draftCsharp, draftGo, draftRust } from './compiled.ts'
import { draftJavascript } from './javascript.ts'
import { draftJvm } from './jvm.ts'
import { draftPython } from './python.ts'
import type { Draft, Facts } from './recipe.ts'
import { draftDeno, draftPhp, draftRuby } from './scripted.ts'

/** Which recipe a language has. */
const recipes: ReadonlyMap<string, (facts: Facts) => Draft> = new Map([
  ['javascript', draftJavascript],
  ['typescript', draftJavascript],
  ['bun', draftJavascript],
  ['python', draftPython],
  ['go', draftGo],
  ['rust', draftRust],
  ['csharp', draftCsharp],
  ['java', draftJvm],
  ['kotlin', draftJvm],
  ['ruby', draftRuby],
  ['php', draftPhp],
  ['deno', draftDeno],
])

/** What the language's recipe makes of a project. */
export function draftByLanguage(facts: Facts): Draft {
  const recipe = recipes.get(facts.language)
  if (!recipe) throw new StepError('language_unsupported', `There is no recipe for ${facts.language} yet.`)
  return recipe(facts)
}
