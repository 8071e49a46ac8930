import MarkdownIt from 'markdown-it'

/*
 * Descriptions are Markdown from strangers. No HTML of theirs comes through, links lead to the web and to mail only,
 * and images become links to them: loaded, they would tell their host the address of everybody who looks at the page.
 */

const headingsBelow = 2
const rel = 'nofollow ugc noopener noreferrer'
// Cells that are not there are filled in, so that a small text can become a table of a million cells.
const cellsMax = 2_000

const markdown = makeRenderer()
const withoutTables = makeRenderer().disable('table')

/** A paragraph, a list, a table and so on. */
export interface Block {
  readonly type: 'table' | 'fence' | 'other'
  /** The lines that it is made of. */
  readonly source: string
  /** Safe. */
  readonly html: string
}

/** What a text is made of; together their HTML is that of the whole. */
export function renderBlocks(text: string): Block[] {
  const renderer = hasHugeTable(text) ? withoutTables : markdown
  const lines = text.split('\n')
  const tokens = renderer.parse(text, {})
  const blocks: Block[] = []
  let from = 0
  for (const [index, { level, nesting }] of tokens.entries()) {
    if (level > 0 || nesting > 0) continue // it goes on
    const { type, map } = tokens[from] ?? {}
    const html = renderer.renderer.render(tokens.slice(from, index + 1), renderer.options, {})
    blocks.push({ type: kindOf(type), source: lines.slice(...(map ?? [0, 0])).join('\n'), html })
    from = index + 1
  }
  return blocks
}

function kindOf(type: string | undefined): Block['type'] {
  if (type === 'table_open') return 'table'
  return type === 'fence' ? 'fence' : 'other'
}

/** As many cells as there could be, if all lines with a bar were one table. */
function hasHugeTable(text: string): boolean {
  const bars = text.split('\n').map((line) => line.split('|').length - 1)
  return Math.max(...bars, 0) * bars.filter((count) => count > 0).length > cellsMax
}

function makeRenderer(): InstanceType<typeof MarkdownIt> {
  // Without link references: an address that is written once could be repeated thousands of times.
  const renderer = new MarkdownIt({ html: false, linkify: true, maxNesting: 20 }).disable('reference')
  renderer.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
  renderer.validateLink = (url) => /^(https?:\/\/|mailto:)[^\s]+$/i.test(url)
  renderer.core.ruler.push('safe', ({ tokens }) => {
    for (const token of tokens) {
      for (const child of token.children ?? []) if (child.type === 'link_open') child.attrSet('rel', rel)
      if (token.type === 'heading_open' || token.type === 'heading_close')
        token.tag = `h${Math.min(6, Number(token.tag.slice(1)) + headingsBelow)}`
    }
  })
  const { rules } = renderer.renderer
  rules['image'] = (tokens, index) => {
    const token = tokens[index]
    const source = String(token?.attrGet('src') ?? '')
    const { escapeHtml } = renderer.utils
    return `<a href="${escapeHtml(source)}" rel="${rel}">${escapeHtml(token?.content || source)}</a>`
  }
  // Wide ones scroll by themselves, by keyboard too.
  rules['table_open'] = () => '<div class="scroll" tabindex="0"><table>\n'
  rules['table_close'] = () => '</table></div>\n'
  return renderer
}
