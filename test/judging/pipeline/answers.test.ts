/**
 * Decisions that are asked for: which have rows, who sees them live, how a flood is sampled, and that what is lost is
 * counted.
 */
import t from 'tap'
import { type DecisionRow, readDecisionRows } from '../../../src/delivery/wire/decision-rows.js'
import { decide } from '../../../src/judging/evaluate/reply.js'
import { AskedLog, askedRowsPerSecondMax } from '../../../src/judging/pipeline/answers.js'
import { buildTrafficView } from '../../../src/judging/produce/compiled-configuration.js'
import { noYield, TestConfiguration } from '../evaluate/configuration.js'

const configuration = new TestConfiguration('ac_1')
  .ipPolicy('ipp_1', '!203.0.113.0/24', '0.0.0.0/0')
  .tcpEdge('edgtcp_1', {
    hostports: ['ssh.example:22'],
    ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] },
  })
const geo = { lookup: () => ({ country_code: 'DE' }) }

const question = (client_ip: string, more: object = {}) => ({
  type: 'tcp_connection',
  conn: { client_ip, server_name: 'ssh.example', server_port: 22 },
  ...more,
})
const letIn = question('198.51.100.7', { record_id: 'r1' })
const blocked = question('203.0.113.9', { record_id: 'r2' })
const unserved = {
  type: 'tcp_connection',
  conn: { client_ip: '198.51.100.7', server_name: 'nobody.example' },
}

type Options = ConstructorParameters<typeof AskedLog>[0]

async function opened(mode: Options['mode'], watched = new Set<string>(), refuse?: Error) {
  const view = await buildTrafficView(configuration, undefined, noYield)
  const stored: Uint8Array[] = []
  const emitted: Uint8Array[] = []
  const counted: string[] = []
  let lost = 0
  const log = new AskedLog({
    nats: {
      publish: async (_subject, data) => {
        if (refuse !== undefined) throw refuse
        stored.push(data as Uint8Array)
        return { sequence: stored.length, duplicate: false }
      },
      emit: (_subject, data) => void emitted.push(data as Uint8Array),
    },
    mode,
    watched,
    occurrences: {
      decisionRowsLost: (_fields, rows = 1) => {
        lost += rows
      },
      decisionAsked: ({ decision }, by = 1) => void counted.push(`${decision} ${by}`),
    },
  })
  const ask = (asked: object): void =>
    void decide(view.policySet, geo, Buffer.from(JSON.stringify(asked)), (judgement) => log.add(judgement))
  const rowsIn = (taken: readonly Uint8Array[]): DecisionRow[] =>
    taken.flatMap((bytes) => [...readDecisionRows(bytes)])
  return { log, ask, counted, lost: () => lost, rows: () => rowsIn(stored), live: () => rowsIn(emitted) }
}

t.test('each question of an account has a row, with what decided', async (t) => {
  const { log, ask, rows, counted } = await opened('all')
  const before = Date.now()
  for (const asked of [letIn, blocked, unserved, question('198.51.100.7')]) ask(asked)
  await log.close()
  t.strictSame(counted, ['allow 3', 'block 1'], 'counted even if no account is known')
  const [first, second, third] = rows()
  t.equal(rows().length, 3)
  t.match(first, { recordId: 'r1', decision: 'allow', source: 'asked', weight: 1, line: 0, country: 'DE' })
  t.match(second, {
    accountId: 'ac_1',
    recordId: 'r2',
    edgeId: 'edgtcp_1',
    clientIp: '203.0.113.9',
    decision: 'block',
    decidedBy: 'ip_restriction',
    ruleId: 'ipr_0',
    revision: configuration.revision,
  })
  t.ok(first!.at >= before && first!.at <= Date.now())
  t.match(third!.recordId, /^dq_/, 'a question without an id gets one, so that it can be explained')
  t.equal(new Set(rows().map(({ sequence }) => sequence)).size, 3, 'places are unique')
})

t.test('a bad request is no decision', async (t) => {
  const { log, ask, rows, counted } = await opened('all')
  ask({ type: 'tcp_connection', conn: {} })
  await log.close()
  t.strictSame([counted, rows()], [[], []])
})

t.test("the log's mode applies; those who watch see the rest", async (t) => {
  const cases = [
    { mode: 'all', watched: ['ac_1'], logged: ['r1', 'r2'], live: [] },
    { mode: 'blocked', watched: ['ac_1'], logged: ['r2'], live: ['r1'] },
    { mode: 'blocked', watched: [], logged: ['r2'], live: [] },
    { mode: 'off', watched: ['ac_1'], logged: [], live: ['r1', 'r2'] },
    { mode: 'off', watched: ['ac_2'], logged: [], live: [] },
  ] as const
  const ids = (rows: readonly DecisionRow[]) => rows.map(({ recordId }) => recordId)
  for (const { mode, watched, logged, live } of cases) {
    const opening = await opened(mode, new Set(watched))
    for (const asked of [letIn, blocked]) opening.ask(asked)
    await opening.log.close()
    t.strictSame([ids(opening.rows()), ids(opening.live())], [logged, live], `${mode} ${watched}`)
    t.strictSame(opening.counted, ['allow 1', 'block 1'], 'counted in every mode')
  }
})

t.test('a flood of what is let in is sampled, and hides nothing that is blocked', async (t) => {
  const { log, ask, rows } = await opened('all')
  const flood = 4 * askedRowsPerSecondMax.allow
  for (let n = 0; n < flood; n += 1) ask(letIn)
  ask(blocked)
  await log.close()
  const [allowed, stopped] = (['allow', 'block'] as const).map((decision) =>
    rows().filter((row) => row.decision === decision),
  ) as [DecisionRow[], DecisionRow[]]
  t.ok(allowed.length < flood, `${allowed.length} rows`)
  t.equal(
    allowed.reduce((sum, { weight }) => sum + weight, 0),
    flood,
  )
  t.match(stopped, [{ weight: 1 }])
})

t.test('an answer never waits for its row; what NATS does not take is counted', async (t) => {
  const { log, ask, lost } = await opened('all', undefined, new Error('no stream'))
  for (const asked of [letIn, blocked]) ask(asked)
  await log.close()
  t.equal(lost(), 2)
})
