/*
 * What a listing is found by. The words are made here, not by the database: its parser knows no words in Korean,
 * Japanese or Chinese, where nothing or little stands between them, and depends on the locale that somebody chose.
 */

// Longer ones are no words, and descriptions are bounded anyway.
const lettersMax = 40
const queryWordsMax = 8
// Shorter beginnings would find nearly everything, at a price.
const beginningMin = 2

interface Texts {
  readonly name: string
  readonly shortDescription: string
  readonly description: string
  readonly tags: readonly string[]
}

/** Everything that a listing is to be found by, each once. Tags stand under a name of their own too. */
export function wordsOf({ name, shortDescription, description, tags }: Texts): string[] {
  const words = new Set(tags.map(tagWord))
  for (const text of [name, shortDescription, ...tags, description])
    for (const run of runsOf(text)) for (const word of indexed(run)) words.add(word)
  return [...words]
}

/** As PostgreSQL's text search takes it; undefined: there is nothing to ask for. Null: it finds nothing. */
export function searchFor({ q, tag }: { q?: string | undefined; tag?: string | undefined }): string | null | undefined {
  const parts: string[] = []
  if (tag !== undefined) parts.push(quoted(tagWord(tag)))
  if (q !== undefined && q.trim() !== '') {
    const asked = runsOf(q).flatMap(wanted).slice(0, queryWordsMax)
    if (asked.length === 0) return null
    parts.push(...asked)
  }
  return parts.length === 0 ? undefined : [...new Set(parts)].join(' & ')
}

/** As tags are stored and compared. */
export function normalTag(tag: string): string {
  return tag.normalize('NFKC').trim().toLowerCase()
}

function tagWord(tag: string): string {
  return `#${normalTag(tag)}`
}

interface Run {
  readonly text: string
  /** Of a script that is written without spaces, or glues its particles to its words as Korean does. */
  readonly isDense: boolean
}

const dense = /[\p{Script=Hangul}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+/gu

/** Letters and digits that stand together, of one kind of script each. */
function runsOf(text: string): Run[] {
  const runs: Run[] = []
  for (const [word] of text.normalize('NFKC').matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    let end = 0
    for (const match of word.matchAll(dense)) {
      runs.push(...spaced(word.slice(end, match.index)))
      runs.push({ text: match[0], isDense: true })
      end = match.index + match[0].length
    }
    runs.push(...spaced(word.slice(end)))
  }
  return runs
}

function spaced(text: string): Run[] {
  return text === '' ? [] : [{ text, isDense: false }]
}

/** Dense ones by each pair of neighbours, which finds any part of them; others whole and by the parts of `MusicBot`. */
function indexed({ text, isDense }: Run): string[] {
  if (!isDense) return [text, ...text.split(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u)].map(plain).filter((word) => word !== '')
  const letters = [...text]
  return letters.map((letter, index) => letter + (letters[index + 1] ?? ''))
}

function wanted({ text, isDense }: Run): string[] {
  if (!isDense) {
    const word = plain(text)
    if (word === '') return [] // nothing but accents
    return [word.length < beginningMin ? quoted(word) : `${quoted(word)}:*`]
  }
  const letters = [...text]
  if (letters.length === 1) return [`${quoted(text)}:*`]
  return letters.slice(1).map((letter, index) => quoted(`${letters[index]}${letter}`))
}

/** Without accents and case. */
function plain(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().slice(0, lettersMax)
}

function quoted(word: string): string {
  return `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
