/** The contract of `docs/conformance.md` is that of the other documents: each section and guarantee has a promise there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Clause, HiddenClause } from '../conformance/clause.js'
import { chapters } from '../conformance/clauses.js'
import { hiddenClauses } from '../conformance/hidden-clauses.js'
import { anchorOf, anchorsIn, pageOf, prose, sectionOf } from './pages.js'

const checked: readonly Clause[] = chapters.flatMap(({ clauses }) => clauses)
const all: readonly (Clause | HiddenClause)[] = [...checked, ...hiddenClauses]

/** The pages for clients, ingress nodes and analysts. */
const contract = ['api', 'destinations/http', 'events', 'guarantees', 'ingress', 'policies', 'proxies']

/** Sections that promise nothing by themselves, and why. */
const withoutPromise: Readonly<Record<string, string>> = {
  'destinations/http.md#see-events-arrive': 'a command of the terminal, which docs/cli.md has',
  'guarantees.md#shown-by-command': 'figures of another command',
  'guarantees.md#what-is-not-promised': 'what is not promised',
  'ingress.md#fields-of-records': 'a table that is made of the declarations; 1002 and 1705 check fields',
  'policies.md#constant-expressions': 'a kind of findings, see 1709',
  'policies.md#try-before-you-change': 'the ways to try are those of 601, 1010, 1011 and 1710',
  'policies.md#without-a-server': 'a command of the terminal; 1835 is about its evaluator',
  'proxies.md#recipes': 'links',
  'proxies.md#set-weir-up': 'a way to begin',
  'proxies.md#try-it': 'a way to begin',
}

t.test('numbers are unique, grow, and belong to their chapter', (t) => {
  const numbers = all.map(({ number }) => number)
  t.equal(new Set(numbers).size, numbers.length)
  for (const { title, clauses } of chapters) {
    const own = clauses.map(({ number }) => number)
    t.strictSame(
      own,
      own.toSorted((a, b) => a - b),
      title,
    )
    t.equal(new Set(own.map((number) => Math.floor(number / 100))).size, 1, title)
  }
  t.ok(checked.length > 150, `${checked.length} are checked`)
  t.end()
})

t.test('the page and the section of each promise exist', (t) => {
  for (const { number, page, says } of all) {
    const [file = '', anchor] = page.split('#')
    t.ok(existsSync(join('docs', file)), `${number}: ${page}`)
    if (anchor !== undefined) t.ok(anchorsIn(join('docs', file)).includes(anchor), `${number}: ${page}`)
    t.match(says, /^[A-Z`"].*[.]$/, `${number} is a sentence`)
  }
  t.end()
})

t.test('each section of the contract has a promise, or a reason to have none', (t) => {
  const sections = contract.flatMap((name) =>
    [...prose(pageOf(`docs/${name}.md`)).matchAll(/^#{2,4} (.+)$/gm)].map(
      ([, heading = '']) => `${name}.md#${anchorOf(heading)}`,
    ),
  )
  const promised = new Set(all.map(({ page }) => page))
  t.strictSame(
    sections.filter((section) => !promised.has(section)).toSorted(),
    Object.keys(withoutPromise).toSorted(),
  )
  t.end()
})

t.test('each guarantee is a promise', (t) => {
  const page = pageOf('docs/guarantees.md')
  const linesOf = (heading: string, pattern: RegExp): string[] =>
    sectionOf(page, heading)
      .text.split('\n')
      .filter((line) => pattern.test(line))
  const guarantees = [
    ...linesOf('Records and events', /^- \*\*/),
    ...linesOf('Writes of the API', /^- \*\*/),
    ...linesOf('Fault by fault', /^\| (?!Fault \|)/),
  ]
  const rows = all.flatMap(({ rows = [] }) => rows)
  for (const line of guarantees)
    t.equal(rows.filter((row) => line.startsWith(row)).length, 1, `one promise is: ${line}`)
  for (const row of rows)
    t.ok(
      guarantees.some((line) => line.startsWith(row)),
      `the guarantee exists: ${row}`,
    )
  t.end()
})

t.test('checks know nothing of the product, or they would expect what it happens to do', (t) => {
  const dir = 'test/conformance'
  const programs = ['clause-table.ts', 'main.ts', 'report.ts']
  for (const file of readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )) {
    const imported = [...readFileSync(join(dir, file), 'utf8').matchAll(/from '([^']+)'/g)].map(
      ([, from = '']) => from,
    )
    const isFree = programs.includes(file) || imported.every((from) => !from.includes('/src/'))
    t.ok(isFree, file)
  }
  t.end()
})
