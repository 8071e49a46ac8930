/**
 * The words of a command line, to be run without a shell: signals then reach the program itself. A line with any shell
 * syntax is left to a shell, which runs inside the bot's own walls.
 */
export function toArgv(commandLine: string): string[] {
  const words = splitWords(commandLine.trim())
  const isForShell = words === undefined || words.length === 0 || shellWords.has(words[0] ?? '')
  return isForShell ? ['/bin/sh', '-c', commandLine] : words
}

// What only a shell knows as a command; some systems have no program of that name, on others it has no effect.
const shellWords = new Set(
  '. : ! alias bg break case cd command continue do done elif else esac eval exec exit export fc fg fi for function getopts hash if in jobs local read readonly return select set shift source then time times trap type ulimit umask unalias unset until wait while'.split(
    ' ',
  ),
)

// A pattern over a word of megabytes would run out of memory.
const lengthMax = 16_384

/** Undefined if there is anything in it that a shell would read as more than a word. */
function splitWords(line: string): string[] | undefined {
  if (line.length > lengthMax || /[\p{Cc}--\t]/v.test(line)) return undefined
  const words: string[] = []
  for (const [word] of line.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*'|["'])+/g)) {
    let plain = ''
    for (const [part] of word.matchAll(/"[^"]*"|'[^']*'|["']|[^"']+/g)) {
      const isQuoted = part.length > 1 && /^["']/.test(part)
      if (!isQuoted && /[|&;<>()$`\\"'*?[\]#~%!{}]/.test(part)) return undefined
      if (part.startsWith('"') && /[$`\\]/.test(part)) return undefined
      plain += isQuoted ? part.slice(1, -1) : part
    }
    // `NAME=value program` sets a variable for the program.
    if (words.length === 0 && /^\w+\+?=/.test(word)) return undefined
    words.push(plain)
  }
  return words
}

/** One word of a command line that stands for exactly this text. */
export function quoteWord(text: string): string {
  if (/^[\w@+:,./-]+$/.test(text)) return text
  return `'${text.replaceAll("'", `'\\''`)}'`
}
