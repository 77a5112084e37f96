/** CSV that another program reads back, and that no spreadsheet calculates. */
import fc from 'fast-check'
import t from 'tap'
import { csvLine, withoutCsvMarks } from '../../../../src/ground/core/text/csv.js'
import { cpuMsOf } from '../../../harness/cpu.js'

t.test('cells', (t) => {
  const cases: [string | number | null, string][] = [
    ['', ''],
    [null, ''],
    ['plain text', 'plain text'],
    ['a,b', '"a,b"'],
    ['say "no"', '"say ""no"""'],
    ['a\r\nb', '"a\r\nb"'],
    ['=1+1', "'=1+1"],
    ['+49', "'+49"],
    ['-x', "'-x"],
    ['@SUM(1,2)', '"\'@SUM(1,2)"'],
    [' =1', "' =1"],
    ['＝1', "'＝1"],
    ['\t=1', "'\t'=1"],
    ['\r=1', '"\'\r\'=1"'],
    ["'=1", "''=1"],
    // Where lines are split at semicolons, a new cell begins after it.
    ['x;=HYPERLINK("http://evil.example")', '"x;\'=HYPERLINK(""http://evil.example"")"'],
    ['x; @SUM(A1)', "x;' @SUM(A1)"],
    ['x\n-1', '"x\n\'-1"'],
    ['a; b', 'a; b'],
    ['a=1', 'a=1'],
    [-5, '-5'],
    [1_099_511_627_776, '1099511627776'],
  ]
  for (const [value, cell] of cases) t.equal(csvLine([value]), cell, JSON.stringify(value))
  t.equal(csvLine(['a', null, 3]), 'a,,3')
  t.end()
})

/** A reader by the grammar of RFC 4180, section 2. */
function cellsOf(line: string): string[] {
  const cells = [...`${line},`.matchAll(/("(?:[^"]|"")*"|[^",]*),/g)].map(([, cell = '']) => cell)
  return cells.map((cell) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell))
}

t.test('every text is read back, and none is a formula, wherever lines are split', (t) => {
  const text = fc.string({ unit: fc.constantFrom(...'=+-@\t\r\n",;|\'a1ä＝ ') })
  fc.assert(
    fc.property(fc.array(text, { minLength: 1 }), (texts) => {
      const cells = cellsOf(csvLine(texts))
      t.strictSame(cells.map(withoutCsvMarks), texts)
      t.notOk(cells.some((cell) => /^[\t\r\n]|(^|[;|\t\r\n]) *[=+\-@＝]/.test(cell)))
    }),
  )
  const long = ';'.repeat(100_000) + ' '.repeat(100_000)
  t.ok(cpuMsOf(() => csvLine([long])) < 1_000, 'in linear time')
  t.end()
})
