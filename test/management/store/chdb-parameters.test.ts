import t from 'tap'
import { parameterText } from '../../../src/management/store/clickhouse/chdb-connection.js'

t.test('parameters of a statement in the form that ClickHouse reads', (t) => {
  const cases: [unknown, string][] = [
    ["it's a\tb\\c\n\r", "it\\'s a\\tb\\\\c\\n\\r"],
    [7, '7'],
    [12n, '12'],
    [true, '1'],
    [null, '\\N'],
    [["a'b", null, 3, true], "['a\\'b',NULL,3,true]"],
    [[['x'], []], "[['x'],[]]"],
  ]
  for (const [value, text] of cases) t.equal(parameterText(value), text)
  t.throws(() => parameterText({ a: 1 }), /a text, a number, a boolean or an array/)
  t.end()
})
