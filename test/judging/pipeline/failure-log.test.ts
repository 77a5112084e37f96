/** The rows that a pipeline writes about expressions without a result: by place, every two seconds, within bounds. */
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { type FailureRow, readFailureRows } from '../../../src/delivery/wire/failure-rows.js'
import type { LogMode } from '../../../src/delivery/wire/log-publisher.js'
import { failureRowsSubject } from '../../../src/delivery/wire/names.js'
import type { CountVector } from '../../../src/judging/pipeline/counts.js'
import { FailureLog } from '../../../src/judging/pipeline/failure-log.js'

const writeEveryMs = 2_000
const at = Date.parse('2026-11-20T10:00:59.900Z')

type Failures = Pick<CountVector, 'policyFailures' | 'filterFailures'>
type Last = CountVector['policyFailures'][number]['last']

const lastOf = (values: Partial<Last> = {}): Last => ({
  accountId: 'ac_1',
  edgeId: 'edghts_1',
  expression: 'a.b == 1',
  msg: 'a is undefined.',
  recordId: 'r1',
  ...values,
})
const policy = (edge_id: string, label: string, count: number, values?: Partial<Last>): Failures => ({
  policyFailures: [{ edge_id, policy: label, count, last: lastOf(values) }],
  filterFailures: [],
})
const filter = (subscription_id: string, kind: string, count: number): Failures => ({
  policyFailures: [],
  filterFailures: [{ subscription_id, kind, count, last: lastOf({ expression: '' }) }],
})

function setUp(t: Test, mode: LogMode = 'blocked') {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const published: FailureRow[] = []
  let messages = 0
  const log = new FailureLog({
    nats: {
      publish: async (subject, data) => {
        t.equal(subject, failureRowsSubject)
        published.push(...readFailureRows(data as Uint8Array))
        messages += 1
        return { sequence: messages, duplicate: false }
      },
    },
    mode,
    occurrences: { decisionRowsLost: () => t.fail('nothing is lost') },
  })
  return {
    log,
    pass: () => mock.timers.tick(writeEveryMs),
    /** Since the last look. */
    written: () => published.splice(0),
    messages: () => messages,
  }
}

t.test('failures of a place are one row, with the last record', async (t) => {
  const { log, pass, written, messages } = setUp(t)
  log.add(policy('edghts_1', 'office', 3), at)
  log.add(policy('edghts_1', 'office', 2, { recordId: 'r2', msg: 'The last.' }), at + 200)
  log.add(policy('edghts_1', 'office', 1, { recordId: 'older' }), at + 100)
  log.add(policy('edghtsrt_1', 'office', 1), at)
  log.add(filter('esb_1', 'log.v0', 7), at)
  t.strictSame(written(), [], 'nothing before the time')
  pass()
  const place = { edgeId: 'edghts_1', routeId: '', policy: 'office', subscriptionId: '', eventKind: '' }
  t.strictSame(written(), [
    {
      accountId: 'ac_1',
      minute: Date.parse('2026-11-20T10:01:00Z'),
      ...place,
      failures: 6,
      firstAt: at,
      lastAt: at + 200,
      expression: 'a.b == 1',
      message: 'The last.',
      recordId: 'r2',
    },
    {
      accountId: 'ac_1',
      minute: Date.parse('2026-11-20T10:00:00Z'),
      ...place,
      routeId: 'edghtsrt_1',
      failures: 1,
      firstAt: at,
      lastAt: at,
      expression: 'a.b == 1',
      message: 'a is undefined.',
      recordId: 'r1',
    },
    {
      accountId: 'ac_1',
      minute: Date.parse('2026-11-20T10:00:00Z'),
      edgeId: '',
      routeId: '',
      policy: '',
      subscriptionId: 'esb_1',
      eventKind: 'log.v0',
      failures: 7,
      firstAt: at,
      lastAt: at,
      expression: '',
      message: 'a is undefined.',
      recordId: 'r1',
    },
  ])
  t.equal(messages(), 1, 'in one message')
  pass()
  t.strictSame(written(), [], 'a quiet place is not written')
  log.add(policy('edghts_1', 'office', 1), at)
  await log.close()
  t.match(written(), [{ failures: 1 }], 'a stop writes what is left')
})

t.test('long texts are cut', async (t) => {
  const { log, pass, written } = setUp(t)
  log.add(policy('edgtcp_1', 'x', 1, { expression: 'a'.repeat(5_000), msg: 'b'.repeat(5_000) }), at)
  pass()
  t.match(written(), [{ expression: `${'a'.repeat(300)}…`, message: `${'b'.repeat(300)}…` }])
})

t.test('one account has 100 places in each write, all together 2,000', async (t) => {
  const { log, pass, written } = setUp(t)
  for (let n = 0; n < 150; n += 1) log.add(policy('edgtcp_1', `p${n}`, 1), at)
  for (let account = 2; account < 30; account += 1)
    for (let n = 0; n < 90; n += 1)
      log.add(policy(`edgtcp_${account}`, `p${n}`, 1, { accountId: `ac_${account}` }), at)
  pass()
  const rows = written()
  t.equal(rows.filter(({ accountId }) => accountId === 'ac_1').length, 100)
  t.equal(rows.length, 2_000)
  log.add(policy('edgtcp_1', 'p149', 1), at)
  pass()
  t.match(written(), [{ policy: 'p149' }], 'the next write has room again')
})

t.test('nothing is written while the decision log is off', async (t) => {
  const { log, pass, written } = setUp(t, 'off')
  log.add(policy('edgtcp_1', 'x', 1), at)
  pass()
  await log.close()
  t.strictSame(written(), [])
})
