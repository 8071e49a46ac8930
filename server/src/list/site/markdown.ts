import MarkdownIt from 'markdown-it'
import { Html } from '../../http/html.ts'

/*
 * Descriptions are Markdown from strangers. No HTML of theirs comes through, links lead to the web and to mail only,
 * and images become links to them: loaded, they would tell their host the address of everybody who looks at the page.
 */

const headingsBelow = 2
const rel = 'nofollow ugc noopener noreferrer'
// Cells that are not there are filled in, so that a small text can become a table of a million cells.
const cellsMax = 2_000
const rememberedMax = 200

const markdown = makeRenderer()
const withoutTables = makeRenderer().disable('table')
const remembered = new Map<string, Html>()

/** The same text is rendered once. */
export function renderMarkdown(text: string): Html {
  const known = remembered.get(text)
  if (known) return known
  const rendered = new Html((hasHugeTable(text) ? withoutTables : markdown).render(text))
  if (remembered.size >= rememberedMax) remembered.clear()
  remembered.set(text, rendered)
  return rendered
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
