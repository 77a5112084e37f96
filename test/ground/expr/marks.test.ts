/** The characters of an expression that an editor marks. */
import t from 'tap'
import { checkExpression } from '../../../src/ground/expr/expression.js'
import { defineScope } from '../../../src/ground/expr/scope.js'

const read = () => undefined
const scope = defineScope({
  names: { text: { type: 'string', read }, 'conn.client_ip': { type: 'string', read } },
})

/** Each text with the marked characters between brackets of its own. */
const cases: { name: string; text: string; marked: string; offset?: number }[] = [
  { name: 'an unknown name with members', text: '1 == conn.client_ipp', marked: 'conn.client_ipp' },
  { name: 'an unknown function', text: "text.begins('a')", marked: 'begins' },
  { name: 'a method of an unknown name', text: "tex.startsWith('a')", marked: 'tex' },
  { name: 'too many arguments', text: 'size(text, 2)', marked: 'size' },
  { name: 'mixed operators', text: 'true && false || true', marked: '||' },
  { name: 'an unclosed bracket', text: '(text', marked: '(' },
  { name: 'an unclosed quote', text: "text == '", marked: "'" },
  { name: 'a missing value', text: 'text == == 1', marked: '==', offset: 8 },
  { name: 'the end is missing', text: 'text &&  ', marked: '', offset: 7 },
  { name: 'nothing at all', text: '', marked: '', offset: 0 },
  { name: 'a character that is none', text: 'text == \u{1f600}', marked: '\u{1f600}' },
]

for (const { name, text, marked, offset = text.indexOf(marked) } of cases)
  t.test(name, (t) => {
    const { mark } = checkExpression(text, scope)!
    t.strictSame([mark.offset, text.slice(mark.offset, mark.offset + mark.length)], [offset, marked])
    t.end()
  })

t.test('lines and columns', (t) => {
  const { mark } = checkExpression('true &&\n\n  nothing', scope)!
  t.strictSame(mark, { offset: 11, length: 7, line: 3, column: 3 })
  t.end()
})

t.test('all of a text that is too long', (t) => {
  const text = 'x'.repeat(100_000)
  t.match(checkExpression(text, scope)!.mark, { offset: 0, length: text.length })
  t.end()
})
