/** Drafts of a whole account: who loses and who gains access, and whose loss a policy test of the draft expects. */
import fc from 'fast-check'
import t from 'tap'
import { parseDecisionRequest } from '../../../src/delivery/record/record.js'
import { yieldTurn } from '../../../src/ground/core/clock.js'
import { withoutPauses } from '../../../src/ground/core/slices.js'
import { decideRecord } from '../../../src/judging/evaluate/decide.js'
import { buildPolicySet } from '../../../src/judging/evaluate/policy-set.js'
import type { ConfigurationSource } from '../../../src/judging/evaluate/policy-source.js'
import { readAccountDraft } from '../../../src/judging/evaluate/portable/account-draft.js'
import { AccessChanges } from '../../../src/judging/trial/access-changes.js'
import { openExaminer } from '../../../src/judging/trial/examiner.js'
import { runTrial } from '../../../src/judging/trial/trial.js'
import type { DecidedBy } from '../../../src/words/event/define.js'
import type { AccountDraft } from '../../../src/words/shape/account-draft.js'
import { geoOf } from '../../harness/geo.js'
import { deny, TestConfiguration } from '../evaluate/configuration.js'

const storedAtMs = Date.parse('2026-11-20T09:00:00Z')
const ssh = { server_name: 'ssh.example', server_port: 22 }
const web = { server_name: 'web.example', server_port: 443 }
const other = { server_name: 'other.example', server_port: 22 }

const tcp = (client_ip: string, server: object = ssh, more: object = {}) => ({
  record_id: `${client_ip} ${JSON.stringify(server)}`,
  type: 'tcp_connection',
  conn: { client_ip, ...server },
  ...more,
})
const http = (client_ip: string, path: string) => ({
  ...tcp(client_ip, web),
  type: 'http_request',
  http: { request: { url: { path } } },
})

const module = (...ip_policy_ids: string[]) => ({ enabled: true, ip_policy_ids })
const inbound = (...policies: object[]) => ({ enabled: true, inbound: policies, outbound: [] })

const configured = () =>
  new TestConfiguration('ac_1', 'ac_2')
    .ipPolicy('ipp_1', '198.51.100.0/24')
    .ipList('ipl_1', { name: 'tor' }, '192.0.2.9/32')
    .tcpEdge('edgtcp_1', { hostports: ['ssh.example:22'], ip_restriction: module('ipp_1') })
    .tcpEdge('edgtcp_2', { account_id: 'ac_2', hostports: ['other.example:22'] })
    .httpsEdge('edghts_1', ['web.example:443'])

const geo = geoOf((ip) =>
  ip.startsWith('198.51.100.') ? { country_code: 'DE', asn: 64_500 } : { country_code: 'FR' },
)

/** What the account has, and nothing of others. */
const ownOf = (source: TestConfiguration, accountId: string): ConfigurationSource => ({
  revision: 1,
  rowsOf: (kind) => [...source.rowsOf(kind)].filter(({ account_id }) => account_id === accountId),
  rules: (id) => source.rules(id),
})

async function triedOn(draft: AccountDraft, records: readonly object[], source = configured()) {
  const accountId = 'ac_1'
  const account = withoutPauses(readAccountDraft(draft, ownOf(source, accountId)))
  const opened = await openExaminer({
    accountId,
    draft: { rows: [], account },
    source,
    geo,
    eventKinds: [],
  })
  async function* messages() {
    yield { data: Buffer.from(records.map((each) => JSON.stringify(each)).join('\n')), storedAtMs }
  }
  const { result } = await runTrial({
    accountId,
    untilMs: storedAtMs,
    ...opened,
    messages: messages(),
    messageCount: 1,
    keptFromMs: storedAtMs,
    progressed: () => {},
  })
  if ('events' in result) throw new Error('Decisions were expected.')
  return result.decisions
}

t.test('a policy, a list, a restriction and an edge at once', async (t) => {
  const decisions = await triedOn(
    {
      ip_policies: [
        { id: 'ipp_1', rules: [{ id: 'r1', cidr: '203.0.113.0/24', action: 'allow' }] },
        {
          id: 'new',
          rules: [
            { cidr: '0.0.0.0/0', action: 'allow' },
            { list_id: 'ipl_1', action: 'deny' },
          ],
        },
      ],
      ip_lists: [{ id: 'ipl_1', name: 'tor', entries: ['203.0.113.66'] }],
      ip_restrictions: [{ id: 'ipx_1', type: 'endpoints', enforced: true, ip_policy_ids: ['new'] }],
      https_edges: [
        {
          id: 'edghts_1',
          hostports: ['web.example:443'],
          policies: inbound({
            name: 'no FR',
            expressions: ["conn.geo.country_code == 'FR'"],
            actions: [deny],
          }),
        },
      ],
    },
    [
      tcp('198.51.100.7'),
      tcp('198.51.100.7'),
      tcp('198.51.100.8'),
      tcp('203.0.113.1'),
      tcp('203.0.113.66'),
      tcp('192.0.2.1'),
      http('192.0.2.1', '/'),
      http('198.51.100.7', '/'),
      tcp('203.0.113.1', other),
    ],
  )
  t.equal(decisions.records, 8, 'those of others are not counted')
  t.strictSame(decisions.matrix, [
    { before: 'allow', after: 'allow', records: 1 },
    { before: 'allow', after: 'block', records: 3 },
    { before: 'allow', after: 'deny', records: 1 },
    { before: 'block', after: 'allow', records: 1 },
    { before: 'block', after: 'block', records: 2 },
  ])
  const { lost, gained } = decisions.access!
  t.match(lost, { clients: 3, records: 4, unexpected: 4, left_out: 0, uncounted: 0 })
  t.strictSame(lost.countries, [
    { value: 'DE', clients: 2, records: 3 },
    { value: 'FR', clients: 1, records: 1 },
  ])
  t.strictSame(lost.systems, [
    { value: '64500', clients: 2, records: 3 },
    { value: null, clients: 1, records: 1 },
  ])
  t.match(lost.listed, [
    { client_ip: '198.51.100.7', records: 2, edge_id: 'edgtcp_1', decided_by: { type: 'ip_restriction' } },
    { client_ip: '198.51.100.8', records: 1, ...ssh },
    { client_ip: '192.0.2.1', edge_id: 'edghts_1', decided_by: { type: 'traffic_policy', name: 'no FR' } },
  ])
  t.match(gained, { clients: 1, records: 1, listed: [{ client_ip: '203.0.113.1', edge_id: 'edgtcp_1' }] })
  t.strictSame(
    decisions.examples.map(({ client_ip, after }) => [client_ip, after.decision]),
    [
      ['198.51.100.7', 'block'],
      ['198.51.100.8', 'block'],
      ['203.0.113.1', 'allow'],
      ['192.0.2.1', 'deny'],
    ],
  )
  t.match(decisions.names, [{ name: 'conn.geo.country_code', records: 2, with_value: 2 }])
})

t.test('an edge that goes: its clients lose access, unless the account may serve such names', async (t) => {
  const removal = { removes: ['edgtcp_1'] }
  const records = [tcp('198.51.100.7', ssh, { account_id: 'ac_1' }), tcp('198.51.100.7')]
  const { access, matrix } = await triedOn(removal, records)
  t.strictSame(matrix, [{ before: 'allow', after: 'deny', records: 2 }])
  t.match(access!.lost.listed, [{ edge_id: 'edgtcp_1', decided_by: { type: 'unserved' }, records: 2 }])
  const allowing = configured().account('ac_1', ['unserved_allowed'])
  t.equal((await triedOn(removal, records, allowing)).changed, 0)
})

t.test('a name that gets an edge: records that say whose they are gain access', async (t) => {
  const added = { tcp_edges: [{ id: 'new', hostports: ['new.example:22'] }] }
  const to = { server_name: 'new.example', server_port: 22 }
  const { access } = await triedOn(added, [
    tcp('192.0.2.1', to, { account_id: 'ac_1' }),
    tcp('192.0.2.2', to),
  ])
  t.match(access!.gained, {
    clients: 1,
    listed: [{ client_ip: '192.0.2.1', edge_id: 'new', decided_by: { type: 'unserved' } }],
  })
})

t.test('a hostport moves to another edge: judged there, and counted where it is now', async (t) => {
  const moved = {
    tcp_edges: [
      { id: 'edgtcp_1', hostports: [], ip_restriction: module('ipp_1') },
      {
        id: 'open',
        hostports: ['ssh.example:22'],
        policies: inbound({
          name: 'no cleaners',
          expressions: ["edge.id == 'open' && conn.client_ip == '198.51.100.8'"],
          actions: [deny],
        }),
      },
    ],
  }
  const { access } = await triedOn(moved, [tcp('192.0.2.1'), tcp('198.51.100.7'), tcp('198.51.100.8')])
  t.match(access!.gained.listed, [{ client_ip: '192.0.2.1', edge_id: 'edgtcp_1' }])
  t.match(access!.lost, { records: 1, listed: [{ client_ip: '198.51.100.8', edge_id: 'edgtcp_1' }] })
})

t.test('no draft shows records of another account', async (t) => {
  const records = [
    tcp('192.0.2.1', other),
    tcp('192.0.2.2', { server_name: 'gone.example', server_port: 22 }),
  ]
  const drafts: [name: string, draft: AccountDraft][] = [
    ['its names', { tcp_edges: [{ id: 'mine', hostports: ['other.example:22'] }] }],
    ['its id', { tcp_edges: [{ id: 'edgtcp_2', hostports: ['other.example:22'] }] }],
    ['names that no one has now', { tcp_edges: [{ id: 'mine', hostports: ['gone.example:22'] }] }],
  ]
  for (const [name, draft] of drafts) t.equal((await triedOn(draft, records)).records, 0, name)
})

t.test('a list that is given without its entries keeps them', async (t) => {
  const source = configured()
    .ipPolicy('ipp_2', '0.0.0.0/0')
    .tcpEdge('edgtcp_1', { hostports: ['ssh.example:22'], ip_restriction: module('ipp_2') })
  const rules = [
    { cidr: '0.0.0.0/0', action: 'allow' },
    { list_id: 'ipl_1', action: 'deny' },
  ]
  const draft = {
    ip_lists: [{ id: 'ipl_1', name: 'exits', entries: 0 }],
    ip_policies: [{ id: 'ipp_2', rules }],
  }
  const { access } = await triedOn(draft, [tcp('192.0.2.9'), tcp('192.0.2.1')], source)
  t.match(access!.lost, { records: 1, listed: [{ client_ip: '192.0.2.9' }] })
})

const denied = [
  { name: 'no docs', expressions: ["http.request.url.path == '/docs'"], actions: [deny] },
  { name: 'no FR', expressions: ["conn.geo.country_code == 'FR'"], actions: [deny] },
]

t.test('a loss is expected if a test of the draft says so', async (t) => {
  const draft = (given: object, expect: object) => ({
    https_edges: [{ id: 'edghts_1', hostports: ['web.example:443'], policies: inbound(...denied) }],
    policy_tests: [{ description: 'out', given, expect }],
  })
  const { record_id: _, ...given } = http('192.0.2.1', '/')
  const at = (path: string, client_ip = '192.0.2.1') => ({
    ...given,
    conn: { ...web, client_ip },
    http: { request: { url: { path } } },
  })
  const cases: [name: string, unexpected: number, given: object, expect: object][] = [
    ['this client at this edge', 0, at('/'), { decision: 'deny' }],
    ['in another spelling', 0, at('/', '::ffff:192.0.2.1'), { decision: 'deny' }],
    ['by what it says', 0, at('/'), { decision: 'deny', decided_by: { name: 'no FR' } }],
    ['another path of the edge, refused by the same policy', 0, at('/about'), { decision: 'deny' }],
    ['another client', 1, at('/', '192.0.2.2'), { decision: 'deny' }],
    ['another path, refused by another policy', 1, at('/docs'), { decision: 'deny' }],
    ['a test that fails', 1, at('/'), { decision: 'block' }],
    ['a test that expects access', 1, at('/'), { decision: 'allow' }],
  ]
  for (const [name, unexpected, asked, expect] of cases) {
    const { access } = await triedOn(draft(asked, expect), [http('192.0.2.1', '/')])
    t.equal(access!.lost.records, 1, name)
    t.equal(access!.lost.unexpected, unexpected, name)
    t.equal(access!.lost.listed[0]?.expected, unexpected === 0, name)
  }
})

t.test('more clients than are told apart', async (t) => {
  const changes = new AccessChanges(new Set(), 2)
  const refusedBy = { type: 'none', id: null, name: null, ruleId: null } as DecidedBy
  for (const client of ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.1', '192.0.2.4'])
    changes.lost({ record: tcp(client) as never, edgeId: 'edgtcp_1', geo: {}, refusedBy })
  const { lost } = changes.result()
  t.match(lost, { clients: 2, records: 5, uncounted: 2, unexpected: 5, left_out: 0 })
})

t.test('property: a trial counts what deciding twice counts', async (t) => {
  const octet = fc.integer({ min: 0, max: 3 })
  const rules = fc.uniqueArray(fc.tuple(octet, fc.constantFrom('allow', 'deny')), {
    selector: ([last]) => last,
    maxLength: 4,
  })
  const records = fc.array(fc.tuple(octet, fc.constantFrom(ssh, web, other)), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(rules, fc.boolean(), records, async (given, hasRestriction, asked) => {
      const draft: AccountDraft = {
        ip_policies: [
          { id: 'ipp_1', rules: given.map(([last, action]) => ({ cidr: `198.51.100.${last}/32`, action })) },
        ],
        ip_restrictions: hasRestriction
          ? [{ id: 'ipx', type: 'endpoints', enforced: true, ip_policy_ids: ['ipp_1'] }]
          : [],
      }
      const sent = asked.map(([last, server]) =>
        server === web ? http(`198.51.100.${last}`, '/') : tcp(`198.51.100.${last}`, server),
      )
      const applied = configured().ipPolicy(
        'ipp_1',
        ...given.map(([last, action]) => `${action === 'deny' ? '!' : ''}198.51.100.${last}/32`),
      )
      if (hasRestriction)
        applied.restriction('ipx', { type: 'endpoints', enforced: true, ip_policy_ids: ['ipp_1'] })
      const sets = await Promise.all(
        [configured(), applied].map((source) => buildPolicySet(source, undefined, yieldTurn)),
      )
      let [lost, gained, same] = [0, 0, 0]
      for (const [index, record] of sent.entries()) {
        const parsed = parseDecisionRequest(record)
        if (!parsed.ok) throw new Error(parsed.problem.msg)
        if (asked[index]![1] === other) continue
        const [before, after] = sets.map((set) => {
          const decided = decideRecord(set, geo, { record: parsed.value.record, explain: false })
          return decided.ok && decided.value.answer.decision === 'allow'
        })
        if (before === after) same += 1
        else if (before) lost += 1
        else gained += 1
      }
      const { access, records: counted } = await triedOn(draft, sent)
      return (
        access!.lost.records === lost && access!.gained.records === gained && counted === lost + gained + same
      )
    }),
    { numRuns: 60 },
  )
  t.pass('it does')
})
