/**
 * Alerts, recording rules and dashboard: every query names metrics that exist, every metric is watched, and every alert has
 * a section that says what to do, and cases.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { Books } from '../../src/delivery/books/books.js'
import { booksMetrics } from '../../src/delivery/books/metrics.js'
import { createLogger } from '../../src/ground/core/telemetry/log.js'
import { createRegistry, metricsText } from '../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../src/ground/core/telemetry/occurrences.js'
import { tempDir } from '../harness/temp-dir.js'
import { pageOf, sectionOf } from './pages.js'

interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly annotations?: Readonly<Record<string, string>>
}

interface Dashboard {
  readonly panels: readonly {
    readonly id: number
    readonly type: string
    readonly title: string
    readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>
    /** A row has none. */
    readonly targets?: readonly { readonly expr: string }[]
  }[]
}

/** The file that `promtool test rules` reads. */
interface Cases {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string
      readonly exp_alerts: readonly object[]
    }[]
  }[]
}

const dir = 'config/monitoring'
const read = (name: string): string => readFileSync(join(dir, name), 'utf8')
const rulesIn = (name: string): readonly Rule[] =>
  (parse(read(name)) as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules)

const recorded = rulesIn('recording-rules.yml')
const alerts = rulesIn('alerts.yml')
const { panels } = JSON.parse(read('dashboard.json')) as Dashboard
const expressions = [
  ...[...recorded, ...alerts].map(({ alert, record, expr }) => ({ of: alert ?? record, expr })),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ of: title, expr }))),
]

/** The metrics of a process, whatever its role. */
async function ownMetrics(): Promise<readonly string[]> {
  const registry = createRegistry()
  createOccurrences({ logger: createLogger('test', 'silent'), registry })
  const text =
    (await metricsText(registry)) + booksMetrics(new Books(), () => undefined, { targets: [], sources: [] })
  return [...text.matchAll(/^# TYPE (\S+) (\w+)/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['bucket', 'sum', 'count'].map((series) => `${name}_${series}`) : [name],
  )
}

/** Prometheus makes these itself. */
const ofPrometheus = ['up', 'ALERTS']

/** Names in an expression that are no function, keyword, label or text. */
function metricsIn(expression: string): readonly string[] {
  const selected = [...expression.matchAll(/__name__=~"([^"]*)"/g)].flatMap(([, names = '']) =>
    names.split('|'),
  )
  const bare = expression
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right) \([^)]*\)/g, '')
    .replaceAll(/\boffset \w+/g, '')
  const keywords = ['and', 'or', 'unless', 'bool']
  const named = [...bare.matchAll(/[a-z_:][a-z0-9_:]*\b(?!\s*\()/gi)].map(([name]) => name)
  return [...selected, ...named.filter((name) => !keywords.includes(name))]
}

t.test('names of metrics are found in expressions', (t) => {
  const cases: [string, string[]][] = [
    ['up{job="weir"} == 0', ['up']],
    ['max by (a, b) (rate(x_total{c=~"d|e"}[5m])) / on (f) group_left () y:z', ['x_total', 'y:z']],
    ['sum by (metric) (label_replace({__name__=~"a|b"}, "metric", "$1", "__name__", "(.+)"))', ['a', 'b']],
    ['min by (role) (x) < max(x offset 5m) unless w > 0.9', ['x', 'x', 'w']],
  ]
  for (const [expression, names] of cases) t.strictSame(metricsIn(expression), names, expression)
  t.end()
})

t.test('every query names metrics that exist', async (t) => {
  const known = new Set([
    ...(await ownMetrics()),
    ...recorded.map(({ record = '' }) => record),
    ...ofPrometheus,
  ])
  t.ok(expressions.length > 30, 'the queries are read')
  for (const { of, expr } of expressions) {
    const names = metricsIn(expr)
    t.ok(names.length > 0, `${of}: ${expr}`)
    for (const name of names) t.ok(known.has(name), `${of}: ${name}`)
  }
})

t.test('every alert says what to do, in a section of its own', (t) => {
  const runbook = pageOf('docs/alerts.md')
  for (const { alert = '', annotations = {} } of alerts) {
    t.match(annotations, { summary: /\.$/, description: /\.$/ }, alert)
    t.equal(
      annotations['runbook_url'],
      `{{ $externalLabels.docs_of_weir }}docs/alerts.md#${alert.toLowerCase()}`,
    )
    t.match(sectionOf(runbook, alert).text, /\w+/, alert)
  }
  const named = [...sectionOf(runbook, 'Alerts').text.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
  t.strictSame(named.toSorted(), alerts.map(({ alert }) => alert).toSorted(), 'and no section is left over')
  t.end()
})

/** Metrics that are in no alert and no panel, and why. */
const unwatched: Readonly<Record<string, readonly string[]>> = {
  'a label of every process': ['weir_build_info'],
  'it happens in normal operation': [
    'weir_nats_server_starts_total',
    'weir_nats_server_stops_total',
    'weir_nats_logins_loaded_total',
    'weir_nats_reconnects_total',
    'weir_write_recoveries_total',
    'weir_resource_changes_total',
    'weir_projection_repairs_total',
    'weir_replays_total',
    'weir_trials_total',
    'weir_ip_policy_rules_expired_total',
    'weir_ip_lists_fed_total',
    'weir_shadow_decisions_total',
    'weir_configurations_built_total',
    'weir_configuration_age_seconds',
    'weir_input_removals_total',
    'weir_destinations_caught_up_total',
    'weir_age_limits_restored_total',
    'weir_destination_recoveries_total',
  ],
  'a client that disconnects': ['weir_api_aborted_requests_total'],
  'the log lines of what another metric counts': [
    'weir_nats_server_outdated_reports_total',
    // `weir_nats_store_failing` says so, or `weir_nats_disconnects_total`.
    'weir_nats_server_waits_total',
    'weir_policy_failure_reports_total',
    'weir_restriction_warning_reports_total',
    'weir_unserved_reports_total',
    'weir_bad_records_parked_total',
    'weir_delivery_refused_total',
    'weir_events_expiring_announcements_total',
    'weir_events_dropped_announced_total',
    'weir_events_vanished_announced_total',
  ],
  'the overview names the part, and its source has metrics': ['weir_overview_parts_unread_total'],
  'the answer names the kind, and the log why': ['weir_findings_unread_total'],
  'a role that waits is not ready, and says why in its log and on /readyz': [
    'weir_role_waits_total',
    'weir_role_waits_ended_total',
    'weir_roles_unheard_total',
    'weir_nats_unreachable_total',
  ],
  'nothing else suffers if a collector is away, and the log says it': [
    'weir_telemetry_export_failures_total',
    'weir_telemetry_export_recoveries_total',
    'weir_telemetry_dropped_total',
  ],
  'the bouncer gets an error, which its program logs': ['weir_bouncers_too_large_total'],
  'the state of the destination shows it': ['weir_destination_pauses_by_hand_total'],
  'someone loads a log of the past, and sees its counts': ['weir_records_history_total'],
  'decisions add up to it': ['weir_records_evaluated_total'],
  'a histogram needs its buckets alone for quantiles': [
    'weir_api_request_seconds_sum',
    'weir_api_request_seconds_count',
    'weir_decide_seconds_sum',
    'weir_decide_seconds_count',
    'weir_delivery_seconds_sum',
    'weir_delivery_seconds_count',
  ],
}

t.test('every metric is in an alert or a panel, or there is a reason', async (t) => {
  const watched = new Set(expressions.flatMap(({ expr }) => metricsIn(expr)))
  const excepted = new Set(Object.values(unwatched).flat())
  const own = new Set((await ownMetrics()).filter((name) => name.startsWith('weir_')))
  for (const name of own) t.not(watched.has(name), excepted.has(name), name)
  for (const name of excepted) t.ok(own.has(name), `${name} is a metric`)
})

t.test('the dashboard begins with whether all is well', (t) => {
  const [row, first] = panels
  t.match(row, { type: 'row', title: 'Is all well?', gridPos: { y: 0 } })
  t.match(first, { type: 'stat', targets: [{ expr: /ALERTS\{alertstate="firing"/ }] })
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
  )
  t.equal(new Set(cells).size, cells.length, 'no panel lies on another one')
  t.end()
})

t.test('every alert has a case in which it fires, and one in which it does not', (t) => {
  const { tests } = parse(read('alerts-test.yml')) as Cases
  const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test)
  for (const { alert = '' } of alerts) {
    const own = cases.filter(({ alertname }) => alertname === alert)
    t.ok(
      own.some(({ exp_alerts }) => exp_alerts.length > 0),
      `${alert} fires`,
    )
    t.ok(
      own.some(({ exp_alerts }) => exp_alerts.length === 0),
      `${alert} is quiet`,
    )
  }
  t.end()
})

const promtool = '/usr/bin/promtool'
const withoutPromtool = existsSync(promtool) ? false : 'promtool is not installed (Debian package prometheus)'

t.test('promtool accepts the rules, and its cases pass', { skip: withoutPromtool }, (t) => {
  const check = (...words: string[]) => execFileSync(promtool, words, { cwd: dir, encoding: 'utf8' })
  t.match(check('check', 'rules', 'alerts.yml', 'recording-rules.yml'), /SUCCESS/)
  t.match(check('test', 'rules', 'alerts-test.yml'), /SUCCESS/)
  const dashboard = join(tempDir(t), 'dashboard.yml')
  // Two panels may show the same, but no two rules may record it under one name.
  const rules = panels.flatMap(({ id, targets = [] }) =>
    targets.map(({ expr }, index) => ({ record: `panel:${id}:${index}`, expr })),
  )
  writeFileSync(dashboard, stringify({ groups: [{ name: 'dashboard', rules }] }))
  t.match(check('check', 'rules', dashboard), /SUCCESS/)
  t.end()
})
