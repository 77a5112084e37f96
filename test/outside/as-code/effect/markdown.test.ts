/** The report for a pull request: what others wrote stays code, and all of it fits into a comment. */
import fc from 'fast-check'
import t from 'tap'
import type { Difference, Plan } from '../../../../src/outside/as-code/difference.js'
import { planMarkdown } from '../../../../src/outside/as-code/effect/plan-markdown.js'
import { codeSpan, line, markdownLine } from '../../../../src/outside/as-code/effect/report-lines.js'
import { managedKinds } from '../../../../src/outside/as-code/managed-kinds.js'

/**
 * A span of code (CommonMark 0.31.2, section 6.1) ends with the first run of as many backticks as it begins with; in it,
 * nothing else has a meaning.
 */
function contentOf(span: string): string | undefined {
  const [fence = ''] = /^`+/.exec(span) ?? []
  const rest = span.slice(fence.length)
  const end = [...rest.matchAll(/`+/g)].find(([run]) => run.length === fence.length)
  return fence !== '' && end !== undefined && end.index + fence.length === rest.length
    ? rest.slice(0, end.index)
    : undefined
}

t.test('a text of others', async (t) => {
  const cases: [name: string, text: string, span: string][] = [
    ['plain', 'office', '`office`'],
    ['nothing', '', '`-`'],
    ['blanks', '   ', '`-`'],
    ['backticks', 'a`b``c', '``` a`b``c ```'],
    ['only backticks', '``', '``` `` ```'],
    ['lines', 'a\n\n# b\r\n', '`a\uFFFD\uFFFD# b\uFFFD\uFFFD`'],
    ['another direction', 'a\u202Eb', '`a\uFFFDb`'],
    ['markup', '<b>@octocat [x](y) | #1', '`<b>@octocat [x](y) | #1`'],
  ]
  for (const [name, text, span] of cases) t.equal(codeSpan(text), span, name)
  const hostile = fc.string({
    unit: fc.constantFrom('`', ' ', '\n', '\\', '<', '@', 'a', '\u2028'),
    maxLength: 300,
  })
  fc.assert(
    fc.property(fc.oneof(hostile, fc.string({ unit: 'binary' })), (text) => {
      const span = codeSpan(text)
      const content = contentOf(span)
      return content !== undefined && !/[\r\n]/.test(span) && content.length <= 203
    }),
  )
  t.pass('any text stays in its span')
})

t.test('a link', async (t) => {
  const shown = markdownLine([...line`see `, { link: 'https://weir.example/console/explain/a%20b>\n<x' }])
  t.equal(shown, 'see [explanation](<https://weir.example/console/explain/a%20b%3E%0A%3Cx>)')
})

const kind = managedKinds.find(({ name }) => name === 'ipPolicy')!
const difference = (name: string): Difference => ({
  action: 'create',
  kind,
  name,
  place: undefined,
  id: 'ipp_1',
  live: undefined,
  body: {},
  written: {},
  fields: [],
  parts: { counts: {} },
  refusal: undefined,
})

t.test('of many differences, as many as fit, and how many do not', async (t) => {
  for (const name of ['name', '\u{1F600}'.repeat(90)])
    for (const count of [3, 20_000]) {
      const plan: Plan = {
        differences: Array.from({ length: count }, (_, n) => difference(`${name}${n}`)),
        others: [],
        unchanged: 0,
        unchecked: 0,
        present: new Set(),
        secrets: [],
        nameOf: (id) => id,
        refusalOf: (_, msg) => msg,
      }
      const text = planMarkdown(plan, new Map(), { tests: undefined, trial: undefined, gaps: [] })
      t.ok(Buffer.byteLength(text) < 65_536, `${Buffer.byteLength(text)} bytes`)
      const listed = text.split('\n').filter((each) => each.startsWith('- ')).length
      const [, more = '0'] = /^([\d,]+) more lines do not fit/m.exec(text) ?? []
      t.equal(listed + Number(more.replaceAll(',', '')), count, 'all are shown or counted')
    }
})
