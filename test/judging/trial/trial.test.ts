/** Trials on records in memory: what they count, what they show, and where they stop. */
import t from 'tap'
import { type Draft, openExaminer } from '../../../src/judging/trial/examiner.js'
import { runTrial, type TrialReport } from '../../../src/judging/trial/trial.js'
import { trafficEvents } from '../../../src/words/event/catalog.js'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { geoOf } from '../../harness/geo.js'
import { deny, log, TestConfiguration } from '../evaluate/configuration.js'

const sinceMs = Date.parse('2026-11-20T09:00:00Z')
const untilMs = sinceMs + 60 * 60_000

const tcp = (record_id: string, client_ip: string, more: object = {}) => ({
  record_id,
  type: 'tcp_connection',
  conn: { client_ip, server_name: 'ssh.example', server_port: 22, bytes_in: 10, bytes_out: 20 },
  ...more,
})

/** ac_1 allows all but 203.0.113.0/24; ac_2 has an edge of its own. */
const configured = () =>
  new TestConfiguration('ac_1', 'ac_2')
    .ipPolicy('ipp_1', '0.0.0.0/0', '!203.0.113.0/24')
    .tcpEdge('edgtcp_1', {
      hostports: ['ssh.example:22'],
      ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] },
    })
    .tcpEdge('edgtcp_2', {
      account_id: 'ac_2',
      hostports: ['other.example:22'],
      policies: {
        enabled: true,
        inbound: [{ name: 'secret', expressions: [], actions: [deny] }],
        outbound: [],
      },
    })

const geo = geoOf(
  (ip) => (ip.startsWith('198.51.100.') ? { country_code: 'DE', asn: 64_500 } : {}),
  new Set(['country_code', 'asn', 'city']),
)

const records: readonly unknown[] = [
  tcp('r1', '198.51.100.7'),
  tcp('r2', '198.51.100.7'),
  tcp('r3', '192.0.2.1'),
  tcp('r4', '203.0.113.9'),
  tcp('other', '198.51.100.7', {
    conn: { client_ip: '198.51.100.7', server_name: 'other.example', server_port: 22 },
  }),
  tcp('named', '198.51.100.8', { account_id: 'ac_2', edge_id: 'edgtcp_2' }),
  tcp('nowhere', '198.51.100.9', { conn: { client_ip: '198.51.100.9' } }),
  'not a record',
  tcp('elsewhere', '198.51.100.10', { account_id: 'ac_1', conn: { client_ip: '198.51.100.10' } }),
]

const lines = (some: readonly unknown[]): Buffer =>
  Buffer.from(some.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join('\n'))

async function* stored(messages: readonly (readonly unknown[])[]) {
  for (const [index, some] of messages.entries())
    yield { data: lines(some), storedAtMs: sinceMs + index * 1000 }
}

async function tried(
  draft: Draft,
  {
    configuration = configured(),
    messages = [records],
    limits = {},
  }: {
    configuration?: TestConfiguration
    messages?: readonly (readonly unknown[])[]
    limits?: object
  } = {},
): Promise<TrialReport> {
  const accountId = 'ac_1'
  const opened = await openExaminer({
    accountId,
    draft,
    source: configuration,
    geo,
    eventKinds: trafficEvents,
  })
  return runTrial({
    accountId,
    untilMs,
    ...opened,
    messages: stored(messages),
    messageCount: messages.length,
    keptFromMs: sinceMs,
    progressed: () => {},
    limits,
  })
}

async function decisionsOf(draft: Draft, options = {}) {
  const { result } = await tried(draft, options)
  if ('events' in result) throw new Error('Decisions were expected.')
  return result.decisions
}

const edgeWith = (changes: object): Draft => {
  const row = configured().table('tcp_edge').get('edgtcp_1')! as unknown as Row
  return { rows: [{ kind: 'tcp_edge', row: { ...row, ...changes } }] }
}

const policies = (inbound: readonly object[]) => ({ policies: { enabled: true, inbound, outbound: [] } })

t.test('a drafted traffic policy: what changes, who is concerned, and why', async (t) => {
  const draft = edgeWith(
    policies([{ name: 'no DE', expressions: ["conn.geo.country_code == 'DE'"], actions: [deny] }]),
  )
  const { progress, stoppedBy, result } = await tried(draft)
  t.equal(stoppedBy, null)
  t.equal(progress.records, 5)
  t.equal(progress.at, '2026-11-20T09:00:00.000Z')
  t.equal(progress.share, 1)
  const decisions = 'decisions' in result ? result.decisions : undefined
  t.match(decisions, {
    records: 5,
    concerned: 4,
    changed: 2,
    matrix: [
      { before: 'allow', after: 'allow', records: 2 },
      { before: 'allow', after: 'deny', records: 2 },
      { before: 'block', after: 'block', records: 1 },
    ],
    clients: [{ value: '198.51.100.7', records: 2 }],
    countries: [{ value: 'DE', records: 2 }],
    edges: [{ value: 'edgtcp_1', records: 2 }],
    country_changes: [{ value: 'DE', before: 'allow', after: 'deny', records: 2 }],
    edge_changes: [{ value: 'edgtcp_1', before: 'allow', after: 'deny', records: 2 }],
    over_time: {
      interval_seconds: 1,
      points: [
        {
          at: '2026-11-20T09:00:00Z',
          before: { allow: 4, block: 1, deny: 0 },
          after: { allow: 2, block: 1, deny: 2 },
          changed: [{ before: 'allow', after: 'deny', records: 2 }],
        },
      ],
    },
  })
  t.equal(decisions?.examples.length, 1, 'the second record of the same client is no further example')
  t.match(decisions?.examples[0], {
    record_id: 'r1',
    at: '2026-11-20T09:00:00.000Z',
    client_ip: '198.51.100.7',
    country: 'DE',
    asn: 64_500,
    edge_id: 'edgtcp_1',
    before: {
      decision: 'allow',
      explanation: {
        decided_by: { type: 'none' },
        ip_policies: [{ source: 'ip_restriction of edgtcp_1', decision: 'allow' }],
      },
    },
    after: {
      decision: 'deny',
      explanation: {
        decided_by: { type: 'traffic_policy', name: 'no DE' },
        policies: [{ policy: 'no DE', applied: true }],
      },
    },
  })
})

t.test('a draft about names without a value says so', async (t) => {
  const text =
    "conn.asn == 64500 && conn.Geo.CountryCode in ['DE'] || conn.as_org == 'x' || conn.geo.city == 'x'"
  const expressions = [text.replaceAll(' || ', ' && ')]
  const draft = edgeWith(policies([{ name: 'scanners', expressions, actions: [deny] }]))
  const { changed, names } = await decisionsOf(draft)
  t.equal(changed, 0)
  const note = /no GeoIP database/
  t.match(
    names,
    [
      { name: 'conn.asn', records: 4, with_value: 2, note: null },
      { name: 'conn.geo.country_code', records: 4, with_value: 2, note: null },
      { name: 'conn.as_org', records: 4, with_value: 0, note },
      { name: 'conn.geo.city', records: 4, with_value: 0, note: 'None of these records has a value of it.' },
    ].sort(
      (a, b) =>
        names.findIndex(({ name }) => name === a.name) - names.findIndex(({ name }) => name === b.name),
    ),
  )
  t.equal(names.length, 4, 'each name once')
  const outbound = {
    policies: {
      enabled: true,
      inbound: [],
      outbound: [{ expressions: ['conn.bytes_in > 5'], actions: [log({})] }],
    },
  }
  t.match((await decisionsOf(edgeWith(outbound))).names, [{ name: 'conn.bytes_in', records: 4 }])
  const categories = edgeWith(policies([{ expressions: ["'proxy' in conn.ip.categories"], actions: [deny] }]))
  t.match(
    (await decisionsOf(categories)).names,
    [{ name: 'conn.ip.categories', records: 4, with_value: 0 }],
    'an empty list is no value',
  )
  t.strictSame((await decisionsOf({ rows: [] })).names, [], 'a draft without expressions')
})

t.test("another account's records and policies are neither counted nor shown", async (t) => {
  const report = await tried(edgeWith(policies([{ name: 'all', expressions: [], actions: [deny] }])))
  const text = JSON.stringify(report)
  for (const theirs of ['edgtcp_2', 'ac_2', 'secret', 'other', 'named', '198.51.100.8', 'nowhere'])
    t.notOk(text.includes(theirs), theirs)
  const own = records.filter((_, index) => [0, 1, 2, 3, 8].includes(index))
  t.equal(
    report.progress.bytes,
    own.reduce<number>((sum, each) => sum + lines([each]).length, 0),
  )
})

t.test('drafts of other kinds', async (t) => {
  const rules = (...cidrs: string[]) =>
    cidrs.map((cidr, index) => ({ id: `ipr_new${index}`, cidr, action: 'deny' as const }))
  const allow = { id: 'ipr_allow', cidr: '0.0.0.0/0', action: 'allow' as const }
  const restricted = () => configured().ipPolicy('ipp_2', '192.0.2.0/24')
  const restriction = (enforced: boolean): Draft => {
    const configuration = restricted().restriction('ipx_1', { enforced, ip_policy_ids: ['ipp_2'] })
    return {
      rows: [{ kind: 'ip_restriction', row: configuration.table('ip_restriction').get('ipx_1')! as never }],
    }
  }
  const cases: { name: string; draft: Draft; configuration?: TestConfiguration; want: object }[] = [
    {
      name: 'rules of a policy: one less, one more',
      draft: { rows: [], rules: { policyId: 'ipp_1', rules: [allow, ...rules('192.0.2.0/24')] } },
      want: {
        changed: 2,
        matrix: [
          { before: 'allow', after: 'allow', records: 3 },
          { before: 'allow', after: 'block', records: 1 },
          { before: 'block', after: 'allow', records: 1 },
        ],
      },
    },
    {
      name: 'the same rules again',
      draft: { rows: [], rules: { policyId: 'ipp_1', rules: [allow, ...rules('203.0.113.0/24')] } },
      want: { changed: 0, examples: [], clients: [] },
    },
    {
      name: 'a restriction that is enforced',
      draft: restriction(true),
      configuration: restricted(),
      want: { changed: 3, warnings: { before: 0, after: 0 } },
    },
    {
      name: 'a restriction that only warns',
      draft: restriction(false),
      configuration: restricted(),
      want: { changed: 0, warnings: { before: 0, after: 4 } },
    },
    {
      name: 'a policy that only logs, and one without a result',
      draft: edgeWith(
        policies([
          { name: 'log', expressions: [], actions: [log({})] },
          { name: 'broken', expressions: ['double(conn.server_name) > 1'], actions: [deny] },
        ]),
      ),
      want: { changed: 0, log_actions: { before: 0, after: 3 }, failures: { before: 0, after: 3 } },
    },
    { name: 'a draft that changes nothing', draft: { rows: [] }, want: { records: 5, changed: 0 } },
  ]
  for (const { name, draft, configuration = configured(), want } of cases)
    t.match(await decisionsOf(draft, { configuration }), want, name)
})

t.test('a subscription: events, bytes, and what AWS would charge for', async (t) => {
  const configuration = new TestConfiguration('ac_1').subscription('esb_1', {
    sources: [
      { type: 'tcp_connection_closed.v0', filter: "conn.client_ip == '198.51.100.7'" },
      { type: 'http_request_complete.v0' },
      { type: 'ip_policy_created.v0' },
    ],
  })
  const row = configuration.table('event_subscription').get('esb_1')! as unknown as Row
  const { result } = await tried({ rows: [{ kind: 'event_subscription', row }] })
  const events = 'events' in result ? result.events : undefined
  const bytes = events?.bytes ?? 0
  t.match(events, {
    records: 5,
    events: 2,
    per_hour: { events: 2, bytes },
    billing: { kinesis_payload_units: 2, firehose_bytes: 2 * 5120, cloudwatch_logs_bytes: bytes + 2 * 26 },
    sources: [
      { type: 'tcp_connection_closed.v0', events: 2, bytes, filtered: 3, failed: 0 },
      { type: 'http_request_complete.v0', events: 0, filtered: 0 },
    ],
    sources_not_tried: ['ip_policy_created.v0'],
    examples: [{ event_type: 'tcp_connection_closed.v0' }, { account_id: 'ac_1' }],
  })
  t.equal(
    bytes,
    events?.examples.reduce<number>((sum, each) => sum + JSON.stringify(each).length, 0),
  )
})

t.test('a trial stops at a limit, says at which, and where', async (t) => {
  const messages = Array.from({ length: 10 }, () => records)
  const cases = [
    {
      name: 'records',
      limits: { recordsMax: 20 },
      want: { stoppedBy: 'records', at: '09:00:02.000Z', own: 15 },
    },
    { name: 'bytes', limits: { bytesMax: 1 }, want: { stoppedBy: 'bytes', at: '09:00:00.000Z', own: 5 } },
    { name: 'time', limits: { msMax: 0 }, want: { stoppedBy: 'time', at: '09:00:00.000Z', own: 5 } },
    { name: 'none', limits: {}, want: { stoppedBy: null, at: '09:00:09.000Z', own: 50 } },
  ]
  for (const { name, limits, want } of cases) {
    const { stoppedBy, progress } = await tried({ rows: [] }, { messages, limits })
    t.strictSame(
      { stoppedBy, at: progress.at?.slice(11), own: progress.records, isPart: progress.share < 1 },
      { ...want, isPart: want.stoppedBy !== null },
      name,
    )
  }
})

t.test('records that are stored after the request are left out', async (t) => {
  const late = async function* () {
    yield { data: lines([tcp('r1', '198.51.100.7')]), storedAtMs: untilMs }
    yield { data: lines([tcp('r2', '198.51.100.7')]), storedAtMs: untilMs + 1 }
  }
  const source = configured()
  const opened = await openExaminer({ accountId: 'ac_1', draft: { rows: [] }, source, geo, eventKinds: [] })
  const range = { accountId: 'ac_1', untilMs }
  const { progress } = await runTrial({
    ...range,
    ...opened,
    messages: late(),
    messageCount: 2,
    keptFromMs: undefined,
    progressed: () => {},
  })
  t.equal(progress.records, 1)
  t.equal(progress.share, 1, 'all up to the end of the range')
})

t.test('records of the past are tried by their own times, and by no others', async (t) => {
  const year = 365 * 24 * 60 * 60_000
  const began = (record_id: string, ms: number) => {
    const record = tcp(record_id, '198.51.100.7')
    return { ...record, conn: { ...record.conn, start_ts: new Date(ms).toISOString() } }
  }
  async function* messages() {
    const data = (...records: object[]) => Buffer.from(records.map((each) => JSON.stringify(each)).join('\n'))
    yield {
      data: data(
        began('now', sinceMs - 1_000),
        tcp('silent', '198.51.100.7'),
        began('too far ahead', sinceMs + 3_600_000),
        began('too long ago', sinceMs - 6 * year),
      ),
      storedAtMs: sinceMs + 1_000,
    }
    const past = data(began('last year', sinceMs - year), began('before', sinceMs - year - 1))
    yield { data: past, storedAtMs: sinceMs + 2_000, headers: { get: () => 'log' } }
  }
  const source = configured()
  const recordsBy = async (ownSinceMs?: number) => {
    const opened = await openExaminer({
      accountId: 'ac_1',
      draft: { rows: [] },
      source,
      geo,
      eventKinds: [],
    })
    const range = { accountId: 'ac_1', untilMs, ownSinceMs }
    const read = { messages: messages(), messageCount: 1, keptFromMs: sinceMs }
    const all = { ...range, ...opened, ...read, progressed: () => {} }
    const { progress, times } = await runTrial(all)
    const { first, last, ...counted } = times
    const span = [first, last].map((at) => (at === null ? null : Date.parse(at) - sinceMs))
    return { records: progress.records, span, counted }
  }
  const none = { no_time: 0, past: 0, ahead: 0, left_out: 0 }
  t.strictSame(
    await recordsBy(),
    { records: 4, span: [1_000, 1_000], counted: none },
    'as they were stored: those of now',
  )
  const outside = { no_time: 1, past: 1, ahead: 1 }
  t.strictSame(await recordsBy(sinceMs - year), {
    records: 5,
    span: [-year, 1_000],
    counted: { ...outside, left_out: 1 },
  })
  t.strictSame(
    await recordsBy(sinceMs),
    { records: 3, span: [1_000, 1_000], counted: { ...outside, left_out: 3 } },
    'those that count when they were stored',
  )
  t.strictSame(await recordsBy(sinceMs + 2_000), {
    records: 0,
    span: [null, null],
    counted: { ...none, left_out: 6 },
  })
})
