/** A language that bots can be written in, with the names that people give it. */
export interface Language {
  /** Under which recipes are found. */
  readonly id: string
  readonly name: string
  /** Lower case; what people write is compared without regard to case. */
  readonly spellings: readonly string[]
}

export const languages: readonly Language[] = [
  { id: 'javascript', name: 'JavaScript', spellings: ['javascript', 'js', 'node', 'node.js', 'nodejs'] },
  { id: 'typescript', name: 'TypeScript', spellings: ['typescript', 'ts'] },
  { id: 'python', name: 'Python', spellings: ['python', 'py', 'python3'] },
  { id: 'go', name: 'Go', spellings: ['go', 'golang'] },
  { id: 'java', name: 'Java', spellings: ['java'] },
  { id: 'kotlin', name: 'Kotlin', spellings: ['kotlin', 'kt'] },
  { id: 'rust', name: 'Rust', spellings: ['rust', 'rs'] },
  { id: 'ruby', name: 'Ruby', spellings: ['ruby', 'rb'] },
  { id: 'php', name: 'PHP', spellings: ['php'] },
  { id: 'csharp', name: 'C#', spellings: ['c#', 'csharp', 'cs', '.net', 'dotnet'] },
  { id: 'deno', name: 'Deno', spellings: ['deno'] },
  { id: 'bun', name: 'Bun', spellings: ['bun'] },
]

/** Undefined: no language that we know; it is kept all the same, and what cannot be deployed for it says so. */
export function findLanguage(written: string): Language | undefined {
  const spelling = written.trim().toLowerCase()
  return languages.find(({ spellings }) => spellings.includes(spelling))
}
