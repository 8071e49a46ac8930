import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { renderBlocks } from './markdown.ts'

const render = (text: string) =>
  renderBlocks(text)
    .map(({ html }) => html)
    .join('')

suite('Markdown from strangers', () => {
  test('is formatted, below the headings of the page', () => {
    const text = render('# Commands\n\n**bold** `code`\n\n- one\n- two\n\n#### Deep\n\n```\npre\n```')
    assert.match(text, /<h3>Commands<\/h3>/)
    assert.match(text, /<h6>Deep<\/h6>/)
    assert.match(text, /<strong>bold<\/strong> <code>code<\/code>/)
    assert.match(text, /<li>one<\/li>/)
    assert.doesNotMatch(text, /<h[12]>/)
  })

  test('brings no element of its own', () => {
    for (const hostile of [
      '<script>alert(1)</script>',
      '<img src=x onerror=alert(1)>',
      '<svg/onload=alert(1)>',
      '<a href="javascript:alert(1)">x</a>',
      '<iframe srcdoc=x></iframe>',
      '<style>*{display:none}</style>',
      '<!-- --><b>x</b>',
      '```"><script>alert(1)</script>\nx\n```',
      '| <script>x</script> |\n|-|\n| <b>y</b> |',
      '&lt;script&gt;&#60;script&#62;',
    ])
      assert.doesNotMatch(render(hostile), /<(script|img|svg|iframe|style|b|a)[\s>/]/i, hostile)
  })

  test('links lead to the web and to mail, and say that they are strangers’', () => {
    const link = render('[x](https://example.com/a?b=c&d "title")')
    assert.equal(
      link,
      '<p><a href="https://example.com/a?b=c&amp;d" title="title" rel="nofollow ugc noopener noreferrer">x</a></p>\n',
    )
    assert.match(render('see https://example.com/x for more'), /<a href="https:\/\/example\.com\/x" rel="nofollow ugc/)
    assert.match(render('[m](mailto:a@example.com)'), /href="mailto:a@example\.com"/)
  })

  test('no link leads anywhere else', () => {
    for (const target of [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      '&#106;avascript:alert(1)',
      '&#x6A;avascript&colon;alert(1)',
      'java&#10;script:alert(1)',
      'java%0ascript:alert(1)',
      '\u0001javascript:alert(1)',
      'vbscript:x',
      'data:text/html,<script>alert(1)</script>',
      'data:image/svg+xml;base64,PHN2Zz4=',
      'file:///etc/passwd',
      '/list/my',
      '//evil.example',
      '/\\evil.example',
      '#x',
      'https:evil',
      'blob:x',
    ]) {
      for (const text of [
        `[x](${target})`,
        `[x](<${target}>)`,
        `![x](${target})`,
        `<${target}>`,
        `[x][r]\n\n[r]: ${target}`,
      ])
        assert.doesNotMatch(render(text), /<a |<img/, text)
    }
  })

  test('an attribute cannot be left', () => {
    const text = render(
      '[x](https://e.example/"onmouseover="alert(1)) ![" onload="x](https://e.example/\'"><script>) [y](https://e.example "\\" onclick=\\"x")',
    )
    assert.doesNotMatch(text, /<script/)
    for (const [tag] of text.matchAll(/<a [^>]*>/g)) assert.match(tag, /^<a( (href|title|rel)="[^"<>]*")+>$/, tag)
  })

  test('images are links to them, so that nobody’s address is told to anybody', () => {
    assert.equal(
      render('![a "cat"](https://e.example/cat.png)'),
      '<p><a href="https://e.example/cat.png" rel="nofollow ugc noopener noreferrer">a &quot;cat&quot;</a></p>\n',
    )
  })

  test('a small text does not become a huge page', () => {
    const wide = `${'|a'.repeat(3000)}\n${'|-'.repeat(3000)}\n${'|a\n'.repeat(2500)}`
    const long = `|a|b|\n|-|-|\n${'|\n'.repeat(9_000)}`
    for (const text of [wide, long]) assert(render(text).length < 3 * text.length, String(render(text).length))
    assert.match(render('|a|b|\n|-|-|\n|1|2|'), /<div class="scroll" tabindex="0"><table>/)
  })

  test('what is nested without end comes to one', () => {
    for (const text of ['>'.repeat(20_000), '- '.repeat(10_000), '['.repeat(20_000), '*a '.repeat(6_000)])
      assert(render(text).length < 200_000)
  })
})

test('an address that is written once is not repeated thousands of times', () => {
  const text = `[a]: https://x.example/${'y'.repeat(5_000)}\n\n${'[a] '.repeat(3_000)}`
  assert.ok(render(text).length < 4 * text.length)
})
