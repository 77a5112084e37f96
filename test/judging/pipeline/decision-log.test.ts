/** The decision log of a pipeline: which records have rows, when they are published, and what is lost is counted. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { decisionBatchRows } from '../../../src/delivery/wire/blocks/block-writer.js'
import { loggedPathCharsMax, readDecisionRows } from '../../../src/delivery/wire/decision-rows.js'
import { PackWriter } from '../../../src/delivery/wire/pack.js'
import { Watched, watchedForMs } from '../../../src/delivery/wire/watched.js'
import { DecisionLog } from '../../../src/judging/pipeline/decision-log.js'
import { processMessage } from '../../../src/judging/pipeline/process-record.js'
import { buildTrafficView } from '../../../src/judging/produce/compiled-configuration.js'
import { decisionRow } from '../../harness/decision-rows.js'
import { deny, noYield, TestConfiguration } from '../evaluate/configuration.js'

const storedAtMs = Date.parse('2026-11-20T10:00:00.250Z')

const configuration = new TestConfiguration('ac_1')
  .ipPolicy('ipp_1', '!203.0.113.0/24', '0.0.0.0/0')
  .tcpEdge('edgtcp_1', {
    hostports: ['ssh.example:22'],
    ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] },
    policies: {
      enabled: true,
      inbound: [{ name: 'not 9', expressions: ['conn.client_port == 9'], actions: [deny] }],
      outbound: [],
    },
  })
  .tcpEdge('edgtcp_2', {
    hostports: ['shadow.example:22'],
    policies: {
      enabled: true,
      inbound: [{ name: 'not 9', expressions: ['conn.client_port == 9'], actions: [deny], enforced: false }],
      outbound: [],
    },
  })
const geo = { lookup: () => ({ country_code: 'DE', asn: 64_500 }) }

const record = (record_id: string, conn: object = {}, more: object = {}) =>
  JSON.stringify({
    record_id,
    type: 'tcp_connection',
    conn: {
      client_ip: '198.51.100.7',
      server_name: 'ssh.example',
      server_port: 22,
      bytes_in: 5,
      bytes_out: 2 ** 40,
      ...conn,
    },
    ...more,
  })

const unserved = { server_name: 'nobody.example' }
const lines = [
  record('let in'),
  record('blocked', { client_ip: '203.0.113.9' }),
  record('of no account', unserved),
  'no record',
  record('denied', { client_port: 9 }),
  record('of an account', unserved, { account_id: 'ac_1' }),
]

type Options = ConstructorParameters<typeof DecisionLog>[0]

/** Logs these records as one message; `publish` may refuse. */
async function logged(
  mode: Options['mode'],
  records: readonly string[],
  publish: () => Promise<void> = async () => {},
  watched = new Set<string>(),
  isHistory = false,
) {
  const batches: Uint8Array[] = []
  const headers: unknown[] = []
  const lost: number[] = []
  const emitted: Uint8Array[] = []
  const take: Options['nats']['publish'] = async (_subject, data, options) => {
    await publish()
    batches.push(data as Uint8Array)
    headers.push(options?.headers)
    return { sequence: batches.length, duplicate: false }
  }
  const decisionRowsLost = (_fields: object, rows = 1): void => void lost.push(rows)
  const emit = (_subject: string, data: Uint8Array | string): void => void emitted.push(data as Uint8Array)
  const log = new DecisionLog({
    nats: { publish: take, emit },
    mode,
    watched,
    occurrences: { decisionRowsLost },
  })
  const view = await buildTrafficView(configuration, undefined, noYield)
  const judged = (...[judgement, line]: [Parameters<DecisionLog['add']>[0], number]) =>
    log.add(judgement, { storedAtMs, partition: 3, sequence: 77, line, isHistory })
  const buffers = { packOf: () => new PackWriter() }
  processMessage({ bytes: Buffer.from(records.join('\n')), storedAtMs }, { view, geo, buffers, judged })
  const rowsIn = (taken: readonly Uint8Array[]) => taken.flatMap((bytes) => [...readDecisionRows(bytes)])
  return { log, batches, headers, lost, rows: () => rowsIn(batches), watchedRows: () => rowsIn(emitted) }
}

t.test('every record has a row, with what decided', async (t) => {
  const { log, rows, headers, lost } = await logged('all', lines)
  await log.close()
  const known = { at: storedAtMs, partition: 3, revision: configuration.revision }
  const common = decisionRow({ ...known, edgeId: 'edgtcp_1' })
  const blocked = { decision: 'block', decidedBy: 'ip_restriction', decidedById: 'edgtcp_1', ruleId: 'ipr_0' }
  const denied = { decision: 'deny', decidedBy: 'traffic_policy', decidedById: 'edgtcp_1', policy: 'not 9' }
  t.strictSame(rows(), [
    { ...common, recordId: 'let in', line: 1 },
    { ...common, recordId: 'blocked', line: 2, clientIp: '203.0.113.9', ...blocked },
    {
      ...common,
      accountId: '',
      recordId: 'of no account',
      line: 3,
      edgeId: '',
      serverName: 'nobody.example',
    },
    { ...common, recordId: 'denied', line: 5, ...denied },
    { ...common, recordId: 'of an account', line: 6, edgeId: '', serverName: 'nobody.example' },
  ])
  t.strictSame(headers, [{ 'Weir-Rows': '5' }])
  t.strictSame(lost, [])
})

t.test('a row has the own time of its record, if that can be right', async (t) => {
  const minuteMs = 60_000
  const at = (ms: number) => ({ start_ts: new Date(storedAtMs + ms).toISOString() })
  const year = 365.25 * 24 * 60 * minuteMs
  const { log, rows } = await logged('all', [
    record('began before', at(-1_500)),
    record('ended before', { end_ts: '2026-11-20T11:00:00.2+01:00' }),
    record('does not say'),
    record('began when it was stored', at(0)),
    record('a clock that is ahead', at(5 * minuteMs)),
    record('ahead', at(5 * minuteMs + 1)),
    record('of long ago', at(-5 * year)),
    record('past', at(-5 * year - 1)),
    record('of the year 0', { start_ts: '0000-01-01T00:00:00Z' }),
  ])
  await log.close()
  t.strictSame(
    rows().map(({ ownAt, ownTime }) => [ownAt - storedAtMs, ownTime]),
    [
      [-1_500, 'implied'],
      [-50, 'implied'],
      [0, 'implied'],
      [0, 'same'],
      [5 * minuteMs, 'implied'],
      [0, 'ahead'],
      [-5 * year, 'implied'],
      [0, 'past'],
      [0, 'past'],
    ],
  )
})

t.test('records of the past are logged apart, and shown to no one who watches', async (t) => {
  for (const mode of ['all', 'blocked', 'off'] as const) {
    const { log, rows, watchedRows } = await logged(mode, lines, async () => {}, new Set(['ac_1']), true)
    await log.close()
    const wanted = {
      all: ['let in', 'blocked', 'of no account', 'denied', 'of an account'],
      blocked: ['blocked', 'denied'],
      off: [],
    }
    t.strictSame(
      rows().map(({ recordId }) => recordId),
      wanted[mode],
      mode,
    )
    t.ok(rows().every(({ source, weight }) => source === 'history' && weight === 1))
    t.strictSame(watchedRows(), [])
  }
})

t.test('a row has the shadow of the decision', async (t) => {
  const shadowed = { server_name: 'shadow.example' }
  const { log, rows } = await logged('all', [
    record('denied in the shadow', { ...shadowed, client_port: 9 }),
    record('let in', { ...shadowed, client_port: 10 }),
    record('all enforced', { client_port: 9 }),
  ])
  await log.close()
  t.match(rows(), [
    {
      decision: 'allow',
      decidedBy: 'none',
      shadowDecision: 'deny',
      shadowDecidedBy: 'traffic_policy',
      shadowDecidedById: 'edgtcp_2',
      shadowPolicy: 'not 9',
    },
    { decision: 'allow', shadowDecision: 'allow', shadowDecidedBy: 'none', shadowPolicy: '' },
    { decision: 'deny', shadowDecision: 'none' },
  ])
})

t.test('of a request, its method, the beginning of its path, and the status', async (t) => {
  const request = (http: object) =>
    JSON.stringify({
      record_id: 'r',
      type: 'http_request',
      account_id: 'ac_1',
      conn: { client_ip: '::1' },
      http,
    })
  const path = `/${'x'.repeat(400)}`
  const { log, rows } = await logged('all', [
    request({ request: { method: 'GET', url: { path } }, response: { status_code: -3 } }),
    request({}),
  ])
  await log.close()
  t.match(rows(), [
    { method: 'get', path: path.slice(0, loggedPathCharsMax), status: '-3' },
    { method: '', path: '', status: '' },
  ])
})

t.test('only what was stopped', async (t) => {
  const { log, rows } = await logged('blocked', lines)
  await log.close()
  t.strictSame(
    rows().map(({ recordId }) => recordId),
    ['blocked', 'denied'],
  )
})

t.test('what the log does not take is published for those who watch the account', async (t) => {
  const ids = (rows: readonly { recordId: string }[]) => rows.map(({ recordId }) => recordId)
  const everything = ['let in', 'blocked', 'denied', 'of an account']
  const cases = [
    {
      mode: 'all',
      watched: ['ac_1'],
      logged: ['let in', 'blocked', 'of no account', 'denied', 'of an account'],
      emitted: [],
    },
    {
      mode: 'blocked',
      watched: ['ac_1'],
      logged: ['blocked', 'denied'],
      emitted: ['let in', 'of an account'],
    },
    { mode: 'off', watched: ['ac_1'], logged: [], emitted: everything },
    { mode: 'off', watched: ['ac_2'], logged: [], emitted: [] },
  ] as const
  for (const { mode, watched, logged: inLog, emitted } of cases) {
    const { log, rows, watchedRows } = await logged(mode, lines, undefined, new Set(watched))
    await log.close()
    t.strictSame(ids(rows()), inLog, mode)
    t.strictSame(ids(watchedRows()), emitted, mode)
  }
})

t.test('watched accounts are forgotten when nobody names them again', async (t) => {
  let nowMs = 0
  const watched = new Watched('accounts', () => nowMs)
  watched.receive(Buffer.from('{"accounts": ["ac_1", 5]}'))
  for (const text of ['', 'x', 'null', '{"accounts": {}}']) watched.receive(Buffer.from(text))
  t.strictSame([watched.has('ac_1'), watched.has('ac_2')], [true, false])
  nowMs = watchedForMs
  t.notOk(watched.has('ac_1'))
})

t.test('rows are published without a stop, too, and full batches at once', async (t) => {
  const few = await logged('all', lines)
  t.equal(few.batches.length, 0)
  while (few.batches.length === 0) await sleep(20)
  t.equal(few.rows().length, 5)
  await few.log.close()
  const many = await logged(
    'all',
    Array.from({ length: decisionBatchRows + 1 }, (_, index) => record(`r${index}`)),
  )
  await many.log.close()
  t.ok(many.batches.length > 1)
  t.equal(many.rows().length, decisionBatchRows + 1)
  t.strictSame(
    many.rows().map(({ line }) => line),
    Array.from({ length: decisionBatchRows + 1 }, (_, index) => index + 1),
  )
})

t.test('what NATS refuses, or takes too slowly, is counted as lost', async (t) => {
  const refused = await logged('all', lines, async () => {
    throw new Error('maximum bytes exceeded')
  })
  await refused.log.close()
  t.strictSame(refused.lost, [5])
  let answer = (): void => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const total = 100_000
  const slow = await logged(
    'all',
    Array.from({ length: total }, (_, index) => record(`r${index}`)),
    () => answered,
  )
  answer()
  await slow.log.close()
  t.ok(slow.lost.length > 0, 'batches in flight are bounded')
  t.equal(slow.lost.reduce((sum, rows) => sum + rows, 0) + slow.rows().length, total)
})
