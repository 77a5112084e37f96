/** Failed expressions and unenforced restrictions: counted per record, logged once a minute per policy. */
import { Writable } from 'node:stream'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry, metricsText } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { FailureReports } from '../../../src/judging/pipeline/failure-reports.js'
import { total } from '../../harness/metrics.js'

const minuteMs = 60_000

function setUp(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const lines: Record<string, unknown>[] = []
  const stream = new Writable({
    write(chunk, _, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
  const registry = createRegistry()
  const occurrences = createOccurrences({ logger: createLogger('test', 'warn', stream), registry })
  const reports = new FailureReports(occurrences, 'record')
  t.teardown(() => reports.close())
  return {
    reports,
    /** The reports since the last look. */
    reported: () =>
      lines.splice(0).map(({ policy, restriction_id, count }) => [policy ?? restriction_id, count]),
    metric: async (name: string) => total(await metricsText(registry), name),
    pass: (ms: number) => mock.timers.tick(ms),
  }
}

const nothing = { policyFailures: [], filterFailures: [], warnings: [], shadows: [] }
const failing = (policy: string, count: number, edge_id = 'edgtcp_1') => ({
  ...nothing,
  policyFailures: [{ edge_id, policy, count }],
})
const warning = (restriction_id: string, count: number) => ({
  ...nothing,
  warnings: [{ restriction_id, count }],
})

t.test(
  'a policy whose expressions have no result is logged at once, then once a minute with a count',
  async (t) => {
    const { reports, reported, metric, pass } = setUp(t)
    reports.add(failing('a', 2))
    t.strictSame(reported(), [['a', 2]], 'the first time at once')
    for (let n = 0; n < 100; n += 1) reports.add(failing('a', 3))
    t.strictSame(reported(), [], 'within the minute nothing more')
    t.equal(await metric('weir_policy_expression_failures_total'), 302, 'but all of it is counted')
    pass(minuteMs)
    t.strictSame(reported(), [['a', 300]], 'then together')
    reports.add(failing('a', 5))
    t.strictSame(reported(), [], 'and the next minute has begun')
    pass(minuteMs)
    t.strictSame(reported(), [['a', 5]])
    pass(minuteMs)
    t.strictSame(reported(), [], 'without failures, no report')
    reports.add(failing('a', 1))
    t.strictSame(reported(), [['a', 1]], 'after a quiet minute, at once again')
    t.equal(await metric('weir_policy_failure_reports_total'), 4)
  },
)

t.test('each policy of each edge, and each restriction, has its own minute', async (t) => {
  const { reports, reported, metric, pass } = setUp(t)
  reports.add(failing('a', 1))
  reports.add(failing('b', 1))
  reports.add(failing('a', 1, 'edgtcp_2'))
  reports.add(warning('ipx_1', 7))
  reports.add(warning('ipx_2', 1))
  t.strictSame(reported(), [
    ['a', 1],
    ['b', 1],
    ['a', 1],
    ['ipx_1', 7],
    ['ipx_2', 1],
  ])
  reports.add(warning('ipx_1', 2))
  reports.add(warning('ipx_1', 2))
  reports.add(failing('b', 4))
  pass(minuteMs)
  t.strictSame(reported(), [
    ['b', 4],
    ['ipx_1', 4],
  ])
  t.equal(await metric('weir_restriction_warnings_total'), 12)
  t.equal(await metric('weir_restriction_warning_reports_total'), 3)
})

t.test('a minute begins with a report, not with the clock', async (t) => {
  const { reports, reported, pass } = setUp(t)
  reports.add(failing('a', 1))
  pass(minuteMs - 1_000)
  reports.add(failing('b', 1))
  t.strictSame(reported(), [
    ['a', 1],
    ['b', 1],
  ])
  reports.add(failing('a', 2))
  reports.add(failing('b', 3))
  pass(1_000)
  t.strictSame(reported(), [['a', 2]])
  pass(minuteMs - 1_001)
  t.strictSame(reported(), [])
  pass(1)
  t.strictSame(reported(), [['b', 3]])
})

t.test('filters without a result are counted and not logged', async (t) => {
  const { reports, reported, metric, pass } = setUp(t)
  const kind = 'tcp_connection_closed.v0'
  reports.add({ ...nothing, filterFailures: [{ subscription_id: 'esb_1', kind, count: 4 }] })
  pass(minuteMs)
  t.strictSame(reported(), [])
  t.equal(await metric('weir_filter_failures_total'), 4)
})

t.test('a stop logs what the current minute holds', async (t) => {
  const { reports, reported } = setUp(t)
  reports.add(failing('a', 1))
  reports.add(failing('a', 8))
  reported()
  reports.close()
  t.strictSame(reported(), [['a', 8]])
})

t.test('a thousand policies are logged; further ones are only counted until others are quiet', async (t) => {
  const { reports, reported, metric, pass } = setUp(t)
  for (let n = 0; n < 1_001; n += 1) reports.add(failing(`p${n}`, 1))
  t.equal(reported().length, 1_000)
  t.equal(await metric('weir_policy_expression_failures_total'), 1_001)
  pass(minuteMs)
  reports.add(failing('p1000', 1))
  t.strictSame(reported(), [['p1000', 1]])
})

t.test('shadow decisions are counted by both decisions, and never logged', async (t) => {
  const { reports, reported, metric } = setUp(t)
  reports.add({
    ...nothing,
    shadows: [
      { decision: 'allow', shadow: 'block', count: 3 },
      { decision: 'deny', shadow: 'deny', count: 2 },
    ],
  })
  t.equal(await metric('weir_shadow_decisions_total'), 5)
  t.strictSame(reported(), [])
})
