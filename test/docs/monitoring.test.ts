/** Alerts, recording rules and dashboard: every query names metrics that exist, every alert a section that does. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { Books } from '../../src/books/books.js'
import { booksMetrics } from '../../src/books/metrics.js'
import { createLogger } from '../../src/core/log.js'
import { createRegistry, metricsText } from '../../src/core/metrics.js'
import { createOccurrences } from '../../src/core/occurrences.js'
import { pageOf, sectionOf } from './pages.js'

interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly annotations?: Readonly<Record<string, string>>
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string
    readonly targets: readonly { readonly expr: string }[]
  }[]
}

const dir = 'config/monitoring'
const read = (name: string): string => readFileSync(join(dir, name), 'utf8')
const rulesIn = (name: string): readonly Rule[] =>
  (parse(read(name)) as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules)

const recorded = rulesIn('recording-rules.yml')
const alerts = rulesIn('alerts.yml')
const { panels } = JSON.parse(read('dashboard.json')) as Dashboard

/** The metrics of a process, whatever its role, and what is recorded from them. */
async function knownMetrics(): Promise<ReadonlySet<string>> {
  const registry = createRegistry()
  createOccurrences({ logger: createLogger('test', 'silent'), registry })
  const text = (await metricsText(registry)) + booksMetrics(new Books(), () => undefined)
  const own = [...text.matchAll(/^# TYPE (\S+) (\w+)/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['bucket', 'sum', 'count'].map((series) => `${name}_${series}`) : [name],
  )
  // Prometheus makes `up` itself.
  return new Set([...own, ...recorded.map(({ record = '' }) => record), 'up'])
}

/** Names in an expression that are no function, keyword, label or text. */
function metricsIn(expression: string): readonly string[] {
  const bare = expression
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right) \([^)]*\)/g, '')
    .replaceAll(/\boffset \w+/g, '')
  const keywords = ['and', 'or', 'unless', 'bool']
  return [...bare.matchAll(/[a-z_:][a-z0-9_:]*\b(?!\s*\()/gi)]
    .map(([name]) => name)
    .filter((name) => !keywords.includes(name))
}

t.test('names of metrics are found in expressions', (t) => {
  const cases: [string, string[]][] = [
    ['up{job="weir"} == 0', ['up']],
    ['max by (a, b) (rate(x_total{c=~"d|e"}[5m])) / on (f) group_left () y:z', ['x_total', 'y:z']],
    ['min by (role) (x) < max(x offset 5m) unless w > 0.9', ['x', 'x', 'w']],
  ]
  for (const [expression, names] of cases) t.strictSame(metricsIn(expression), names, expression)
  t.end()
})

t.test('every query names metrics that exist', async (t) => {
  const known = await knownMetrics()
  const queries = [
    ...[...recorded, ...alerts].map(({ alert, record, expr }) => ({ of: alert ?? record, expr })),
    ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ of: title, expr }))),
  ]
  t.ok(queries.length > 30, 'the queries are read')
  for (const { of, expr } of queries) {
    const names = metricsIn(expr)
    t.ok(names.length > 0, `${of}: ${expr}`)
    for (const name of names) t.ok(known.has(name), `${of}: ${name}`)
  }
})

t.test('every alert says what to do, in a section of its own', (t) => {
  const operating = pageOf('docs/operating.md')
  for (const { alert = '', annotations = {} } of alerts) {
    t.match(annotations, { summary: /\.$/, description: /\.$/ }, alert)
    t.equal(annotations['runbook'], `docs/operating.md#${alert.toLowerCase()}`)
    t.match(sectionOf(operating, alert).text, /\w+/, alert)
  }
  const named = [...sectionOf(operating, 'Alerts').text.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
  t.strictSame(named.toSorted(), alerts.map(({ alert }) => alert).toSorted(), 'and no section is left over')
  t.end()
})

const promtool = '/usr/bin/promtool'
const withoutPromtool = existsSync(promtool) ? false : 'promtool is not installed (Debian package prometheus)'

t.test('promtool accepts the rules, and its cases pass', { skip: withoutPromtool }, (t) => {
  const check = (...words: string[]) => execFileSync(promtool, words, { cwd: dir, encoding: 'utf8' })
  t.match(check('check', 'rules', 'alerts.yml', 'recording-rules.yml'), /SUCCESS/)
  t.match(check('test', 'rules', 'alerts-test.yml'), /SUCCESS/)
  t.end()
})
