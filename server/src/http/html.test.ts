import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from './html.ts'

const escaped = '&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;'

test('every value is escaped, in text and in attributes', () => {
  const evil = `<script>alert("1" & '2')</script>`
  assert.equal(html`<p title="${evil}">${evil}</p>`.text, `<p title="${escaped}">${escaped}</p>`)
})

test('HTML inside HTML stays, lists are joined, nothing is nothing', () => {
  assert.equal(
    html`<ul>${['a', '<'].map((item) => html`<li>${item}</li>`)}</ul>${undefined}${false}${0}`.text,
    '<ul><li>a</li><li>&lt;</li></ul>0',
  )
})
