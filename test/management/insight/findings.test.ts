/** Findings of every kind besides those about rules alone, and what only looks like one. */
import t from 'tap'
import { unavailable } from '../../../src/ground/core/errors.js'
import { AccountPolicies } from '../../../src/management/access/account-policies.js'
import { type FindingsParts, findingsOf } from '../../../src/management/insight/findings/findings.js'
import type { FailedPlace } from '../../../src/management/store/logs/failure-reader.js'
import type { RowTime } from '../../../src/management/store/logs/row-times.js'
import { trafficEvents } from '../../../src/words/event/catalog.js'
import type { FeedStatus } from '../../../src/words/resource/fields/ip-list-source.js'
import { type FindingKind, findingsListedMax } from '../../../src/words/shape/finding.js'
import { accountId, Configuration, dayMs, isoOf, links, nowMs } from './findings.js'

const policies = new AccountPolicies()
const noCounts = { block: 0, deny: 0, bytes_in: 0, bytes_out: 0, asked: 0 }

const named = (...rules: string[]) => ({
  edge: new Set<string>(),
  policy: new Set<string>(),
  rule: new Set<string>(rules),
})

const parts: FindingsParts = {
  log: {
    mode: 'off',
    counts: async () => ({ counts: [], valuesLeftOut: 0 }),
    reached: async () => named(),
    reachedByOwnTime: async () => ({ ...named(), firstStoredMs: nowMs }),
  },
  failures: { mode: 'off', places: async () => ({ places: [], placesLeftOut: 0 }) },
  geo: { country: () => undefined } as never,
  eventKinds: trafficEvents,
  links,
  sourceCounts: () => [],
  lastUse: () => undefined,
  listStatus: () => null,
  tcpDomain: 'weir.example',
  policySet: (state, id) => policies.of(state, id),
  occurrences: { findingsUnread: () => {} },
}

const found = async (
  configuration: Configuration,
  more: Partial<FindingsParts> = {},
  time: RowTime = 'stored',
) => {
  const all = { ...parts, ...more }
  const { findings, kinds } = await findingsOf(all, configuration.state, accountId, nowMs, time)
  const of = (kind: FindingKind) => findings.filter((each) => each.kind === kind)
  return {
    of,
    places: (kind: FindingKind) =>
      of(kind).map(({ about: { id, place } }) => (place === null ? id : `${id} ${place}`)),
    kind: (kind: FindingKind) => kinds.find((each) => each.kind === kind)!,
  }
}

const deny = (...expressions: string[]) => ({ expressions, actions: [{ type: 'deny' }] })
const inbound = (...policies: object[]) => ({ enabled: true, inbound: policies, outbound: [] })
const edge = (hostport: string, more: object = {}) => ({
  hostports: [hostport],
  ip_restriction: null,
  policies: null,
  ...more,
})

t.test('expressions that are constant, and policies behind one that denies everything', async (t) => {
  const configuration = new Configuration()
  configuration.put(
    'tcp_edge',
    'edgtcp_1',
    edge('a.example:22', {
      policies: inbound(
        deny('conn.server_port == 22', '1 == 1'),
        deny('1 == 2'),
        { ...deny('false'), enforced: false },
        deny(),
        deny('conn.server_port == 23'),
      ),
    }),
  )
  configuration.put(
    'tcp_edge',
    'edgtcp_2',
    edge('b.example:22', { policies: { ...inbound(deny('false')), enabled: false } }),
  )
  configuration.put(
    'tcp_edge',
    'edgtcp_3',
    edge('c.example:22', { policies: inbound(deny('conn.server_port == 1'), deny()) }),
  )
  configuration.put('event_subscription', 'es_1', {
    sources: [
      { type: 'tcp_connection_closed.v0', filter: 'conn.server_port == 1 && false' },
      { type: 'log.v0' },
    ],
  })
  const { of, places } = await found(configuration)
  t.strictSame(places('expression_constant'), [
    'edgtcp_1 policies.inbound[0].expressions[1]',
    'edgtcp_1 policies.inbound[1].expressions[0]',
    'es_1 sources[type=tcp_connection_closed.v0].filter',
  ])
  t.strictSame(
    of('expression_constant').map(({ severity }) => severity),
    ['notice', 'attention', 'attention'],
  )
  const [always, never] = of('expression_constant')
  t.match(always?.draft, {
    method: 'POST',
    uri: 'https://weir.example.com/edges/tcp/edgtcp_1/policies/try',
    body: { inbound: [{ expressions: ['conn.server_port == 22'] }, {}, {}, {}, {}] },
  })
  t.equal((never!.draft!.body as { inbound: object[] }).inbound.length, 4, 'without the policy')
  t.strictSame(places('policy_unreachable'), ['edgtcp_1 policies.inbound[4]'])
  t.match(of('policy_unreachable'), [{ evidence: { by: { place: 'policies.inbound[3]' } } }])
})

t.test('a policy whose expressions are all true denies everything', async (t) => {
  const configuration = new Configuration()
  const policies = inbound(
    deny('conn.server_port == 1 || true', 'conn.server_port == 1'),
    deny('double(conn.server_name) == 1 || true'),
    deny('conn.server_port == 1 || true'),
    deny("conn.geo.country_code == 'de'"),
  )
  configuration.put('tcp_edge', 'edgtcp_1', edge('a.example:22', { policies }))
  const { of, places } = await found(configuration)
  t.match(
    of('expression_constant').map(({ severity, sentence }) => `${severity}: ${sentence}`),
    [
      'notice: This expression of the traffic policy policies.inbound[0] is true for every record: it has no effect.',
      'attention: This expression of the traffic policy policies.inbound[1] is true for every record for which it has a result.',
      'attention: This expression is true for every record, so the traffic policy policies.inbound[2] denies everything.',
      'attention: This expression is true for no record: the traffic policy policies.inbound[3] never applies.',
    ],
  )
  t.strictSame(places('policy_unreachable'), ['edgtcp_1 policies.inbound[3]'])
})

t.test('edges that let everyone in', async (t) => {
  const configuration = new Configuration()
  const module = { enabled: true, ip_policy_ids: ['ipp_1'] }
  configuration.policy('ipp_1', [])
  configuration.put('tcp_edge', 'edgtcp_open', edge('a.example:22'))
  configuration.put(
    'tcp_edge',
    'edgtcp_off',
    edge('b.example:22', { ip_restriction: { ...module, enabled: false } }),
  )
  configuration.put('tcp_edge', 'edgtcp_guarded', edge('c.example:22', { ip_restriction: module }))
  configuration.put(
    'tcp_edge',
    'edgtcp_denying',
    edge('d.example:22', { policies: inbound(deny('conn.server_port == 1')) }),
  )
  configuration.put('https_edge', 'edghts_routed', edge('e.example:443'))
  configuration.put('https_edge_route', 'edghtsrt_1', {
    edge_id: 'edghts_routed',
    match_type: 'path_prefix',
    match: '/',
    ip_restriction: module,
    policies: null,
  })
  const { places, kind } = await found(configuration)
  t.strictSame(places('edge_open').sort(), ['edgtcp_off', 'edgtcp_open'])
  t.equal(kind('edge_open').looked_at, 5)
  configuration.put('ip_restriction', 'ipx_1', {
    type: 'endpoints',
    enforced: true,
    ip_policy_ids: ['ipp_1'],
  })
  t.strictSame((await found(configuration)).places('edge_open'), [], 'a restriction guards all')
})

t.test('policies that nobody refers to', async (t) => {
  const configuration = new Configuration()
  for (const id of ['ipp_edge', 'ipp_off', 'ipp_restriction', 'ipp_bouncer', 'ipp_none'])
    configuration.policy(id, [])
  configuration.put(
    'tcp_edge',
    'edgtcp_1',
    edge('a.example:22', { ip_restriction: { enabled: true, ip_policy_ids: ['ipp_edge'] } }),
  )
  configuration.put(
    'tcp_edge',
    'edgtcp_2',
    edge('b.example:22', { ip_restriction: { enabled: false, ip_policy_ids: ['ipp_off'] } }),
  )
  configuration.put('ip_restriction', 'ipx_1', {
    type: 'api',
    enforced: false,
    ip_policy_ids: ['ipp_restriction'],
  })
  configuration.put('bouncer', 'bnc_1', { ip_policy_ids: ['ipp_bouncer'] })
  const { places } = await found(configuration)
  t.strictSame(places('ip_policy_unused'), ['ipp_none'])
})

t.test('keys that are not used', async (t) => {
  const configuration = new Configuration()
  for (const id of ['ak_never', 'ak_long', 'ak_used']) configuration.put('api_key', id)
  configuration.put('api_key', 'ak_new', { created_at: nowMs - 29 * dayMs })
  configuration.put('api_key', 'ak_expired', { expires_at: '2026-01-01T00:00:00Z' })
  configuration.put('api_key', 'ak_of_others', { account_id: 'ac_2' })
  configuration.put('tunnel_credential', 'cr_never')
  configuration.put('bouncer', 'bnc_never', { ip_policy_ids: [] })
  const daysAgo: Readonly<Record<string, number>> = { ak_long: 31, ak_used: 29 }
  const lastUse = (id: string) =>
    daysAgo[id] === undefined ? undefined : { at: nowMs - daysAgo[id] * dayMs }
  const { places, of } = await found(configuration, { lastUse })
  t.strictSame(places('key_unused').sort(), ['ak_long', 'ak_never', 'bnc_never', 'cr_never'])
  t.match(
    of('key_unused')
      .map(({ sentence }) => sentence)
      .sort(),
    [
      /^It was used last 31 days ago/,
      /^No use is known since it was made 365 days ago/,
      /^No use/,
      /^No use/,
    ],
  )
})

t.test('lists that are stale', async (t) => {
  const configuration = new Configuration()
  const names = ['current', 'failing', 'stale', 'never', 'without']
  for (const name of names) configuration.put('ip_list', `ipl_${name}`, { name, chunks: [] })
  configuration.put('ip_list', 'ipl_of_others', { account_id: 'ac_2', name: 'stale', chunks: [] })
  const fetched_at = isoOf(-3)
  const error = { code: 'timeout' as const, message: 'No answer arrived in time.', since: isoOf(-2) }
  const base = { fetched_at, changed_at: null, etag: null, next_at: isoOf(1), error: null }
  const statuses: Readonly<Record<string, FeedStatus>> = {
    current: { ...base, state: 'current' },
    failing: { ...base, state: 'failing', error },
    stale: { ...base, state: 'stale', error },
    never: { ...base, state: 'stale', fetched_at: null },
  }
  const listStatus: FindingsParts['listStatus'] = ({ name }) => statuses[String(name)] ?? null
  const { of, kind } = await found(configuration, { listStatus })
  t.equal(kind('list_stale').looked_at, 4)
  t.match(
    of('list_stale').sort((one, other) => one.about.id.localeCompare(other.about.id)),
    [
      {
        about: { id: 'ipl_never', name: 'never' },
        sentence: /never fetched without a fault.*\.$/,
        evidence: { since: null },
      },
      {
        about: { id: 'ipl_stale', uri: 'https://weir.example.com/ip_lists/ipl_stale' },
        severity: 'attention',
        sentence: `It was last fetched at ${fetched_at} without a fault, and its entries are as old as that: ${error.message}`,
        evidence: { since: fetched_at },
      },
    ],
  )
})

t.test('sources that never match', async (t) => {
  const configuration = new Configuration()
  const types = ['tcp_connection_closed.v0', 'http_request_complete.v0', 'log.v0']
  configuration.put('event_subscription', 'es_1', { sources: types.map((type) => ({ type })) })
  const count = (type: string, looked_at: number, produced: number, destination_id = 'ed_1') => ({
    type,
    destination_id,
    looked_at,
    produced,
    kept_back: looked_at - produced,
  })
  const sourceCounts = () => [
    count(types[0]!, 500, 0),
    count(types[0]!, 400, 0, 'ed_2'),
    count(types[1]!, 500, 0),
    count(types[1]!, 500, 1, 'ed_2'),
    count(types[2]!, 99, 0),
  ]
  const { places, of } = await found(configuration, { sourceCounts })
  t.strictSame(places('subscription_silent'), ['es_1 sources[type=tcp_connection_closed.v0]'])
  t.match(of('subscription_silent'), [{ evidence: { looked_at: 500, matched: 0 } }])
})

/** A log that begins so many days ago, and names these rules. */
const logSince = (days: number, ...rules: string[]): FindingsParts['log'] => ({
  mode: 'all',
  counts: async ({ dimension }) => ({
    counts:
      dimension === 'none'
        ? [{ ...noCounts, at: nowMs - days * dayMs, value: '', allow: 990, block: 10 }]
        : [],
    valuesLeftOut: 0,
  }),
  reached: async () => named(...rules),
  reachedByOwnTime: async () => ({ ...named(...rules), firstStoredMs: nowMs - dayMs }),
})

function denying(): Configuration {
  const configuration = new Configuration()
  const rule = (id: string, cidr: string, more: object = {}) => ({
    id,
    cidr,
    action: 'deny' as const,
    ...more,
  })
  configuration.policy('ipp_1', [
    rule('ipr_never', '10.1.0.0/16'),
    rule('ipr_blocks', '10.2.0.0/16'),
    rule('ipr_tested', '10.3.0.0/16'),
    rule('ipr_new', '10.4.0.0/16', { created_at: nowMs - 9 * dayMs }),
    rule('ipr_tried', '10.5.0.0/16', { enforced: false }),
    rule('ipr_covered', '10.1.1.0/24'),
    { id: 'ipr_allow', cidr: '192.0.2.0/24', action: 'allow' },
  ])
  configuration.policy('ipp_api', [rule('ipr_api', '10.6.0.0/16')])
  configuration.put(
    'tcp_edge',
    'edgtcp_1',
    edge('a.example:22', { ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] } }),
  )
  configuration.put('ip_restriction', 'ipx_1', { type: 'api', enforced: true, ip_policy_ids: ['ipp_api'] })
  configuration.put('policy_test', 'pt_1', {
    given: {
      type: 'tcp_connection',
      conn: { client_ip: '10.3.0.1', server_name: 'a.example', server_port: 22 },
    },
    expect: { decision: 'block' },
  })
  return configuration
}

t.test('rules that blocked nothing, if traffic and tests say so', async (t) => {
  const { places, of, kind } = await found(denying(), { log: logSince(10, 'ipr_blocks') })
  t.strictSame(places('rule_never_matched'), ['ipr_never'])
  const since = new Date(nowMs - 10 * dayMs + 3_600_000).toISOString().replace('.000Z', 'Z')
  t.match(of('rule_never_matched'), [
    {
      sentence: new RegExp(`has blocked nothing since ${since}`),
      evidence: { since, looked_at: 1_000, matched: 0 },
    },
  ])
  t.equal(kind('rule_never_matched').looked_at, 4, 'a rule that is younger than the log is not judged')
})

t.test('by own times, a log that was loaded judges rules that were made before it was loaded', async (t) => {
  const log = logSince(10, 'ipr_blocks')
  const asked: unknown[] = []
  const counts: typeof log.counts = (query) => {
    asked.push([query.dimension, query.time, query.sources])
    return log.counts(query)
  }
  const { places, of, kind } = await found(denying(), { log: { ...log, counts } }, 'own')
  t.strictSame(asked[0], ['none', 'own', ['record', 'history']])
  t.strictSame(places('rule_never_matched'), ['ipr_never', 'ipr_new'])
  t.match(of('rule_never_matched')[0]?.sentence, /has blocked nothing that began since 2026/)
  t.equal(kind('rule_never_matched').looked_at, 5)
})

t.test('a rule about a list, and one that would block if a superfluous one were not there', async (t) => {
  const configuration = denying()
  configuration.list('ipl_scanners', ['10.7.0.0/16'])
  configuration.list('ipl_never', ['10.8.0.0/16'])
  const listed = (id: string, list_id: string) => ({ id, list_id, cidr: null, action: 'deny' as const })
  configuration.policy('ipp_1', [
    listed('ipr_list', 'ipl_scanners'),
    listed('ipr_unseen', 'ipl_never'),
    { id: 'ipr_inner', cidr: '10.7.1.0/24', action: 'deny' },
  ])
  // The log names the range: a decision looks for ranges first.
  const { places, of } = await found(configuration, { log: logSince(10, 'ipr_inner') })
  t.strictSame(places('rule_covered'), ['ipr_inner'])
  t.strictSame(places('rule_never_matched'), ['ipr_unseen'])
  t.match(of('rule_never_matched'), [
    { about: { name: 'never' }, sentence: /that denies the list never has/ },
  ])
})

t.test('a rule that a bouncer enforces may block more than the log shows', async (t) => {
  const configuration = denying()
  configuration.put('bouncer', 'bnc_1', { ip_policy_ids: ['ipp_1'] })
  const { places, kind } = await found(configuration, { log: logSince(10, 'ipr_blocks') })
  t.strictSame(places('rule_never_matched'), [])
  t.equal(kind('rule_never_matched').looked_at, 0)
})

t.test('a log that is young or off says nothing of rules, and the answer says so', async (t) => {
  for (const [log, why] of [
    [logSince(6), /begins in the hour from 2026-11-14T10:00:00Z on: 7 days are needed/],
    // Of this very hour: no sentence speaks of a time to come.
    [logSince(0), /begins in the hour from 2026-11-20T10:00:00Z on: 7 days are needed/],
    [parts.log, /The decision log is off/],
    [{ ...parts.log, mode: 'all' } as const, /has no decisions/],
  ] as const) {
    const { places, kind } = await found(denying(), { log })
    t.strictSame(places('rule_never_matched'), [])
    t.match(kind('rule_never_matched').unknown, why)
  }
})

t.test('a log that fails leaves the rest; the cause is for operators', async (t) => {
  const failing = unavailable('The log does not answer.', new Error('Decimals are no UInt32.'))
  const reasons: string[] = []
  const { kind } = await found(denying(), {
    log: { ...logSince(10), reached: () => Promise.reject(failing) },
    occurrences: { findingsUnread: ({ kind, reason }) => reasons.push(`${kind}: ${reason}`) },
  })
  t.equal(kind('rule_never_matched').unknown, 'The log does not answer.')
  t.strictSame(reasons, ['rule_never_matched: Decimals are no UInt32.'])
  t.equal(kind('edge_open').unknown, null)
})

t.test('expressions that failed for every record', async (t) => {
  const configuration = new Configuration()
  const named = (name: string) => ({ name, ...deny('conn.server_name > 5') })
  configuration.put(
    'tcp_edge',
    'edgtcp_1',
    edge('a.example:22', { policies: inbound(named('twice'), named('twice'), named('sometimes')) }),
  )
  const failed = (policy: string, count: number, more: Partial<FailedPlace> = {}): FailedPlace => ({
    edgeId: 'edgtcp_1',
    routeId: '',
    policy,
    subscriptionId: '',
    eventKind: '',
    count,
    firstMs: nowMs - dayMs,
    lastMs: nowMs,
    expression: 'conn.server_name > 5',
    message: 'A text is no number.',
    recordId: 'r1',
    ...more,
  })
  const places = [
    failed('twice (inbound[1])', 300),
    failed('sometimes', 299),
    failed('gone', 300),
    failed('twice (inbound[0])', 300, { expression: 'as it was' }),
    failed('sometimes', 400, { edgeId: 'edgtcp_of_others' }),
  ]
  const found1 = await found(configuration, {
    failures: { mode: 'all', places: async () => ({ places, placesLeftOut: 0 }) },
    log: {
      ...logSince(10),
      counts: async ({ sources }) => ({
        counts: [
          {
            ...noCounts,
            at: 0,
            value: 'edgtcp_1',
            allow: sources.includes('record') ? 250 : 50,
            block: 1_000,
          },
        ],
        valuesLeftOut: 0,
      }),
    },
  })
  t.strictSame(found1.places('expression_fails'), ['edgtcp_1 policies.inbound[1]'])
  t.match(found1.of('expression_fails'), [{ sentence: /all 300 records.*A text is no number\.$/ }])
})

t.test('of many, the first are listed and the others counted', async (t) => {
  const configuration = new Configuration()
  for (let index = 0; index < findingsListedMax + 5; index += 1) configuration.policy(`ipp_${index}`, [])
  const { of, kind } = await found(configuration)
  t.equal(of('ip_policy_unused').length, findingsListedMax)
  t.match(kind('ip_policy_unused'), {
    found: findingsListedMax + 5,
    left_out: 5,
    looked_at: findingsListedMax + 5,
  })
})
