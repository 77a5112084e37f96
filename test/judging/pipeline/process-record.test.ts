import fc from 'fast-check'
import t from 'tap'
import type { History } from '../../../src/delivery/wire/names.js'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import { processMessage, walkMessage } from '../../../src/judging/pipeline/process-record.js'
import { buildTrafficView, type TrafficView } from '../../../src/judging/produce/compiled-configuration.js'
import { deny, log, noGeo, noYield, TestConfiguration } from '../evaluate/configuration.js'

class Packs {
  readonly writers = new Map<string, PackWriter>()

  packOf(destinationId: string): PackWriter {
    const writer = this.writers.get(destinationId) ?? new PackWriter()
    this.writers.set(destinationId, writer)
    return writer
  }

  take() {
    return Object.fromEntries(
      [...this.writers].map(([id, writer]) => [id, Buffer.from(writer.take()).toString()]),
    )
  }
}

interface Event {
  readonly event_id: string
  readonly event_type: string
  readonly event_timestamp: string
  readonly account_id: string
  readonly object: Record<string, unknown>
}

const storedAtMs = Date.parse('2026-11-20T10:00:00.250Z')

function run(view: TrafficView, records: readonly unknown[], history?: History) {
  const packs = new Packs()
  const bytes = Buffer.from(
    records.map((record) => (typeof record === 'string' ? record : JSON.stringify(record))).join('\n'),
  )
  const judged: string[] = []
  const result = processMessage(
    { bytes, storedAtMs },
    {
      view,
      geo: noGeo,
      buffers: packs,
      history,
      judged: ({ record }) => void judged.push(record.record_id),
    },
  )
  const texts = packs.take()
  const events = Object.fromEntries(
    Object.entries(texts).map(([id, text]) => [
      id,
      readPack(Buffer.from(text)).events.map(({ data }) => JSON.parse(data.toString()) as Event),
    ]),
  )
  return { result, texts, events, judged }
}

const tcp = (record_id: string, conn: object = {}, more: object = {}) => ({
  record_id,
  type: 'tcp_connection',
  conn: { client_ip: '198.51.100.7', server_name: 'ssh.example', server_port: 22, ...conn },
  ...more,
})
const http = (record_id: string) => ({
  record_id,
  type: 'http_request',
  account_id: 'ac_1',
  conn: { client_ip: '198.51.100.7' },
})
const closed = 'tcp_connection_closed.v0'

const configured = () =>
  new TestConfiguration('ac_1')
    .ipPolicy('ipp_1', '0.0.0.0/0', '!203.0.113.0/24')
    .tcpEdge('edgtcp_1', {
      hostports: ['ssh.example:22'],
      ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] },
      policies: {
        enabled: true,
        inbound: [
          {
            name: 'watch',
            expressions: ['conn.client_port == 1'],
            actions: [
              { type: 'log', config: { Metadata: { Message: 'one' } } },
              { type: 'log', config: { Metadata: { Message: 'two' } } },
            ],
          },
        ],
        outbound: [
          {
            name: 'watch',
            expressions: [],
            actions: [{ type: 'log', config: { Metadata: { Message: 'out' } } }],
          },
          {
            expressions: ['double(conn.server_name) > 1'],
            actions: [{ type: 'log', config: { Metadata: {} } }],
          },
        ],
      },
    })
    .subscription('esb_all', {
      sources: [
        { type: closed },
        { type: 'log.v0' },
        { type: 'http_request_complete.v0', fields: ['conn.client_ip'] },
        { type: 'ip_policy_created.v0' },
      ],
      destination_ids: ['ed_1', 'ed_2', 'ed_1'],
    })
    .subscription('esb_some', {
      sources: [
        { type: closed, fields: ['ip_policy.decision'], filter: "ev.conn.client_ip == '203.0.113.9'" },
      ],
      destination_ids: ['ed_1'],
    })

const view = (configuration = configured()) => buildTrafficView(configuration, undefined, noYield)

t.test('from a message to packs', async (t) => {
  const { result, events, texts } = run(await view(), [
    tcp('r1'),
    tcp('r2', { client_port: 1 }),
    tcp('r3', { client_ip: '203.0.113.9' }),
    http('r4'),
    '{',
    tcp('r5', {}, { edge_id: 'edgtcp_9' }),
  ])
  const eventsOf = (id: string) => events[id]!.map(({ event_type, object }) => [event_type, object])
  const all = (decision: string, client_ip = '198.51.100.7') => ({
    conn: {
      bytes_in: null,
      bytes_out: null,
      client_ip,
      end_ts: null,
      server_ip: null,
      server_name: 'ssh.example',
      server_port: 22,
      start_ts: null,
    },
    ip_policy: { decision },
  })
  const log = (Message: string) => ['log.v0', { metadata: { Message } }]
  const toBoth: unknown[][] = [
    [closed, all('allow')],
    log('out'),
    [closed, all('allow')],
    log('one'),
    log('two'),
    log('out'),
    [closed, all('block', '203.0.113.9')],
    ['http_request_complete.v0', { conn: { client_ip: '198.51.100.7' } }],
  ]
  t.same(eventsOf('ed_2'), toBoth)
  t.same(
    eventsOf('ed_1'),
    toBoth.toSpliced(7, 0, [closed, { ip_policy: { decision: 'block' } }]),
    'a second subscription gives a second event',
  )
  const ids = events['ed_1']!.map(({ event_id }) => event_id)
  t.equal(new Set(ids).size, ids.length, 'no id twice, though two policies share a name')
  t.ok(
    events['ed_1']!.every(
      (event) => event.event_timestamp === '2026-11-20T10:00:00.250Z' && event.account_id === 'ac_1',
    ),
  )
  const [packed] = readPack(Buffer.from(texts['ed_2']!)).events
  t.match(packed, { partitionKey: ids[0], id: ids[0], timestampMs: storedAtMs }, 'its key is its id')
  t.same(
    result.bad.map(({ line, bytes }) => [line, bytes.toString()]),
    [
      [5, '{'],
      [6, JSON.stringify(tcp('r5', {}, { edge_id: 'edgtcp_9' }))],
    ],
  )
  t.match(result.bad[0]!.reason, /not JSON/)
  t.match(result.bad[1]!.reason, /edgtcp_9/)
  const { asked, ...counts } = result.counts
  t.same(
    asked.map(({ sources, times }) => [sources.map(({ subscriptionId }) => subscriptionId), times]),
    [
      [['esb_all', 'esb_some'], 3],
      [['esb_all'], 4],
      [['esb_all'], 1],
    ],
  )
  t.same(counts, {
    history: 0,
    records: 6,
    bad: 2,
    evaluated: { tcp_connection: 3, http_request: 1 },
    decisions: { allow: 3, block: 1, deny: 0 },
    unserved: [{ endpoint: 'no server_name or server_port', count: 1 }],
    unowned: 0,
    sources: [
      ['esb_all', closed, 'ed_1', 3, 0],
      ['esb_all', closed, 'ed_2', 3, 0],
      ['esb_all', 'log.v0', 'ed_1', 4, 0],
      ['esb_all', 'log.v0', 'ed_2', 4, 0],
      ['esb_some', closed, 'ed_1', 1, 0],
      ['esb_all', 'http_request_complete.v0', 'ed_1', 1, 0],
      ['esb_all', 'http_request_complete.v0', 'ed_2', 1, 0],
    ],
    policyFailures: [
      {
        edge_id: 'edgtcp_1',
        policy: 'outbound[1]',
        count: 2,
        last: {
          accountId: 'ac_1',
          edgeId: 'edgtcp_1',
          expression: 'double(conn.server_name) > 1',
          msg: result.counts.policyFailures[0]?.last.msg,
          recordId: 'r2',
        },
      },
    ],
    filterFailures: [],
    warnings: [],
    shadows: [],
  })
})

t.test('records of the past are counted as such, and make events if they are to be delivered', async (t) => {
  const current = await view()
  const records = [tcp('r1'), tcp('r2', { server_name: 'nobody.example' }), 'no record']
  const quiet = run(current, records, 'log')
  const none = {
    unserved: [],
    policyFailures: [],
    warnings: [],
    shadows: [],
    decisions: { allow: 0, block: 0, deny: 0 },
    evaluated: { tcp_connection: 0, http_request: 0 },
  }
  const counts = { records: 3, bad: 1, history: 2, ...none }
  t.match(quiet.result.counts, { ...counts, sources: [], asked: [] })
  t.strictSame(quiet.events, {})
  t.strictSame(quiet.judged, ['r1', 'r2'], 'their rows are logged')
  const delivered = run(current, records, 'deliver')
  t.match(delivered.result.counts, counts)
  t.strictSame(delivered.events, run(current, records).events, 'the same events')
  t.strictSame(delivered.result.counts.sources, run(current, records).result.counts.sources)
})

t.test('events have the shadow of the decision, and filters ask for it', async (t) => {
  const fields = ['record_id', 'decision', 'shadow.decision', 'shadow.decided_by.rule_id']
  const filter = 'shadow.decision != null && shadow.decision != decision'
  const configuration = new TestConfiguration('ac_1')
    .ipPolicy('ipp_1', '0.0.0.0/0', '~!203.0.113.0/24')
    .ipPolicy('ipp_2', '0.0.0.0/0')
    .tcpEdge('edgtcp_1', {
      hostports: ['ssh.example:22'],
      ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] },
    })
    .tcpEdge('edgtcp_2', {
      hostports: ['enforced.example:22'],
      ip_restriction: { enabled: true, ip_policy_ids: ['ipp_2'] },
    })
    .subscription('esb_1', { sources: [{ type: closed, fields, filter }] })
    .subscription('esb_2', { sources: [{ type: closed, fields }], destination_ids: ['ed_2'] })
  const { events, result } = run(await view(configuration), [
    tcp('would be blocked', { client_ip: '203.0.113.9' }),
    tcp('is let in by both', { client_ip: '192.0.2.1' }),
    tcp('all enforced', { client_ip: '203.0.113.9', server_name: 'enforced.example' }),
  ])
  const shown = (id: string) => events[id]!.map(({ object }) => object as Record<string, unknown>)
  const rule = (rule_id: string | null, decision: string | null) => ({ decided_by: { rule_id }, decision })
  const blocked = { record_id: 'would be blocked', decision: 'allow', shadow: rule('ipr_1', 'block') }
  t.strictSame(shown('ed_1'), [blocked], 'only this one differs')
  t.strictSame(shown('ed_2'), [
    blocked,
    { record_id: 'is let in by both', decision: 'allow', shadow: rule(null, 'allow') },
    { record_id: 'all enforced', decision: 'allow', shadow: rule(null, null) },
  ])
  t.strictSame(result.counts.shadows, [
    { decision: 'allow', shadow: 'block', count: 1 },
    { decision: 'allow', shadow: 'allow', count: 1 },
  ])
})

t.test('events name what decided, and filters ask for it', async (t) => {
  const fields = ['decision', 'decided_by', 'edge.id', 'route.id', 'record_id', 'configuration_revision']
  const decidedBy = ['type', 'id', 'name', 'ip_policy_id', 'rule_id', 'cidr'].map(
    (name) => `decided_by.${name}`,
  )
  const selected = fields.flatMap((name) => (name === 'decided_by' ? decidedBy : [name]))
  const http_kind = 'http_request_complete.v0'
  const configuration = new TestConfiguration('ac_1')
    .ipPolicy('ipp_1', '!203.0.113.0/24', '0.0.0.0/0', '!203.0.113.0/28')
    .ipPolicy('ipp_2', '!198.51.100.0/24', '0.0.0.0/0', '::/0')
    .ipPolicy('ipp_3', '192.0.2.0/24')
    .restriction('ipx_1', { description: 'scanners', ip_policy_ids: ['ipp_2'] })
    .tcpEdge('edgtcp_1', {
      hostports: ['ssh.example:22'],
      ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] },
      policies: {
        enabled: true,
        inbound: [{ name: 'not 9', expressions: ['conn.client_port == 9'], actions: [deny] }],
        outbound: [],
      },
    })
    .httpsEdge('edghts_1', ['web.example:443'])
    .route('edghtsrt_1', {
      edge_id: 'edghts_1',
      match_type: 'path_prefix',
      match: '/',
      ip_restriction: { enabled: true, ip_policy_ids: ['ipp_3'] },
    })
    .subscription('esb_1', {
      sources: [
        { type: closed, fields: selected, filter: "decision != 'allow'" },
        { type: http_kind, fields: selected, filter: "decided_by.type == 'ip_restriction'" },
      ],
    })
    .subscription('esb_2', { sources: [{ type: closed, fields: selected }], destination_ids: ['ed_2'] })
  const { events } = run(await view(configuration), [
    tcp('let in', { client_ip: '192.0.2.1' }),
    tcp('by a rule of the module', { client_ip: '203.0.113.9' }),
    tcp('by the restriction', { client_ip: '198.51.100.9' }),
    tcp('by a policy', { client_ip: '192.0.2.1', client_port: 9 }),
    tcp('because no rule allows it', { client_ip: '2001:db8::1' }),
    {
      ...http('by the module of a route'),
      conn: { client_ip: '192.0.3.1', server_name: 'web.example', server_port: 443 },
      http: { request: { url: { path: '/x' } } },
    },
  ])
  const nothing = { type: 'none', id: null, name: null, ip_policy_id: null, rule_id: null, cidr: null }
  const shown = (id: string) =>
    events[id]!.map(({ object }) => [
      object['record_id'],
      object['decision'],
      object['decided_by'],
      object['edge'],
      object['route'],
    ])
  const tcpPlace = [{ id: 'edgtcp_1' }, { id: null }]
  const stopped = [
    [
      'by a rule of the module',
      'block',
      {
        ...nothing,
        type: 'ip_restriction',
        id: 'edgtcp_1',
        ip_policy_id: 'ipp_1',
        rule_id: 'ipr_0',
        cidr: '203.0.113.0/24',
      },
      ...tcpPlace,
    ],
    [
      'by the restriction',
      'block',
      {
        type: 'restriction',
        id: 'ipx_1',
        name: 'scanners',
        ip_policy_id: 'ipp_2',
        rule_id: 'ipr_0',
        cidr: '198.51.100.0/24',
      },
      ...tcpPlace,
    ],
    [
      'by a policy',
      'deny',
      { ...nothing, type: 'traffic_policy', id: 'edgtcp_1', name: 'not 9' },
      ...tcpPlace,
    ],
    [
      'because no rule allows it',
      'block',
      { ...nothing, type: 'ip_restriction', id: 'edgtcp_1' },
      ...tcpPlace,
    ],
  ]
  t.strictSame(shown('ed_2'), [['let in', 'allow', nothing, ...tcpPlace], ...stopped])
  const byRoute = { ...nothing, type: 'ip_restriction', id: 'edghtsrt_1' }
  t.strictSame(shown('ed_1'), [
    ...stopped,
    ['by the module of a route', 'block', byRoute, { id: 'edghts_1' }, { id: 'edghtsrt_1' }],
  ])
  t.equal(events['ed_2']![0]!.object['configuration_revision'], configuration.revision)
})

t.test('a denied request: its event, and log actions of its edge and its route', async (t) => {
  const kind = 'http_request_complete.v0'
  const inbound = [
    {
      name: 'no key',
      expressions: ["http.request.headers['x-key'] != 'secret'"],
      actions: [log({ at: 'edge' })],
    },
  ]
  const configuration = new TestConfiguration('ac_1')
    .httpsEdge('edghts_1', ['web.example:443'], 'ac_1', { enabled: true, inbound, outbound: [] })
    .route('edghtsrt_1', {
      edge_id: 'edghts_1',
      match_type: 'path_prefix',
      match: '/admin',
      policies: {
        enabled: true,
        inbound: [
          {
            name: 'no key',
            expressions: ["http.request.headers['x-key'] == null"],
            actions: [log({ at: 'route' }), deny],
          },
          { name: 'broken', expressions: ['double(http.request.method) > 1'], actions: [deny] },
        ],
        outbound: [],
      },
    })
    .subscription('esb_1', {
      sources: [
        { type: kind, fields: ['record_id', 'decision', 'decided_by.id', 'decided_by.name'] },
        { type: 'log.v0', fields: ['metadata', 'route.id', 'policy.name'] },
      ],
    })
  const request = (record_id: string, headers: object) => ({
    ...http(record_id),
    conn: { client_ip: '198.51.100.7', server_name: 'web.example', server_port: 443 },
    http: { request: { method: 'GET', url: { path: '/admin' }, headers } },
  })
  const { events, result } = run(await view(configuration), [
    request('denied', {}),
    request('let in', { 'X-Key': ['secret'] }),
  ])
  const decided = (record_id: string, decision: string, decided_by: object) => [
    kind,
    { record_id, decision, decided_by },
  ]
  const logged = (at: string) => [
    'log.v0',
    { metadata: { at }, policy: { name: 'no key' }, route: { id: 'edghtsrt_1' } },
  ]
  t.same(
    events['ed_1']!.map(({ event_type, object }) => [event_type, object]),
    [
      decided('denied', 'deny', { id: 'edghtsrt_1', name: 'no key' }),
      logged('edge'),
      logged('route'),
      decided('let in', 'allow', { id: null, name: null }),
    ],
  )
  const ids = events['ed_1']!.map(({ event_id }) => event_id)
  t.equal(new Set(ids).size, ids.length, 'policies of the same name have events of their own')
  t.match(result.counts, {
    decisions: { allow: 1, block: 0, deny: 1 },
    policyFailures: [
      {
        edge_id: 'edghtsrt_1',
        policy: 'broken',
        count: 1,
        last: { accountId: 'ac_1', edgeId: 'edghts_1', msg: /double/ },
      },
    ],
  })
})

t.test('special cases', async (t) => {
  const records = [tcp('r', { client_ip: '198.51.100.9' })]
  const subscription = { sources: [{ type: closed }] }
  const cases = [
    {
      name: 'no subscription',
      configuration: new TestConfiguration('ac_1').tcpEdge('edgtcp_1', { hostports: ['ssh.example:22'] }),
      events: 0,
      bad: 0,
    },
    {
      name: 'no account known',
      configuration: new TestConfiguration('ac_1').subscription('esb_1', subscription),
      events: 0,
      bad: 0,
    },
    {
      name: 'no account named, and there is one',
      configuration: Object.assign(new TestConfiguration('ac_1').subscription('esb_1', subscription), {
        soleAccountId: () => 'ac_1',
      }),
      events: 1,
      bad: 0,
    },
    {
      name: 'the account alone',
      configuration: new TestConfiguration('ac_1').subscription('esb_1', subscription),
      more: { account_id: 'ac_1' },
      events: 1,
      bad: 0,
    },
    {
      name: 'an account that is not known',
      configuration: new TestConfiguration('ac_1').subscription('esb_1', subscription),
      more: { account_id: 'ac_2' },
      events: 0,
      bad: 0,
    },
    {
      name: 'a subscription of another account',
      configuration: new TestConfiguration('ac_1', 'ac_2').subscription('esb_1', {
        ...subscription,
        account_id: 'ac_2',
      }),
      more: { account_id: 'ac_1' },
      events: 0,
      bad: 0,
    },
    {
      name: 'a filter that fails',
      configuration: new TestConfiguration('ac_1').subscription('esb_1', {
        sources: [{ type: closed, filter: 'int(conn.server_name) == 1' }],
      }),
      more: { account_id: 'ac_1' },
      events: 0,
      bad: 0,
      failures: 1,
    },
  ]
  for (const { name, configuration, more = {}, events, bad, failures = 0 } of cases) {
    const given = records.map((record) => ({ ...record, ...more }))
    const { result, events: packs } = run(await view(configuration), given)
    const produced = result.counts.sources.reduce((sum, [, , , produced]) => sum + produced, 0)
    t.same([packs['ed_1']?.length ?? 0, produced, result.counts.bad], [events, events, bad], name)
    t.equal(result.counts.evaluated.tcp_connection, 1, name)
    t.equal(
      result.counts.filterFailures.reduce((sum, { count }) => sum + count, 0),
      failures,
      name,
    )
  }
})

t.test('a restriction of the account that is not enforced is counted', async (t) => {
  const configuration = new TestConfiguration('ac_1').restriction('ipx_1', { enforced: false })
  const { result } = run(await view(configuration), [{ ...tcp('r'), account_id: 'ac_1' }])
  t.same(result.counts.warnings, [{ restriction_id: 'ipx_1', count: 1 }])
  t.equal(result.counts.decisions.allow, 1)
})

t.test('the same record against the same configuration gives the same bytes', async (t) => {
  const records = Array.from({ length: 30 }, (_, index) =>
    tcp(`r${index}`, { client_port: index % 3, client_ip: `203.0.113.${index}` }),
  )
  const [one, other] = [run(await view(), records), run(await view(), records)]
  t.same(one.texts, other.texts)
  t.same(one.result.counts, other.result.counts)
  const current = await view()
  const apart = records.flatMap((record) => run(current, [record]).events['ed_2'] ?? [])
  t.same(apart, one.events['ed_2'], 'however records are grouped')
})

t.test('hostile neighbours', async (t) => {
  const good = [tcp('good1'), tcp('good2')]
  const current = await view()
  const want = run(current, good).texts
  const hostile = fc.oneof(
    fc.string({ maxLength: 60 }).map((text) => text.replaceAll('\n', ' ')),
    fc.json().filter((text) => !text.includes('record_id')),
    fc.constantFrom(
      '{"__proto__":{"conn":1}}',
      '['.repeat(5000),
      `{"record_id":"r","type":"tcp_connection","conn":${'{"x":'.repeat(999)}1${'}'.repeat(999)}}`,
      '\u0000',
      '\ufeff{}',
    ),
  )
  fc.assert(
    fc.property(fc.array(hostile, { maxLength: 6 }), (lines) => {
      const { texts, result } = run(current, [good[0], ...lines, good[1]])
      t.same(texts, want)
      t.equal(result.counts.bad, lines.filter((line) => /[^ \t\r]/.test(line)).length)
      t.equal(result.counts.records, result.counts.bad + 2)
      t.ok(
        result.bad.every(({ reason }) => !/\p{Cc}/u.test(reason)),
        'reasons are fit for a header',
      )
    }),
    { seed: 9, numRuns: 150 },
  )
})

t.test('an internal error in one record does not affect the others', async (t) => {
  const current = await view()
  const broken: TrafficView = {
    ...current,
    policySet: Object.assign(Object.create(current.policySet), {
      findEdge(record: { record_id: string }) {
        if (record.record_id === 'r2') throw new TypeError('x is not\na function')
        return current.policySet.findEdge(record as never)
      },
    }),
  }
  const { result, events } = run(broken, [tcp('r1'), tcp('r2'), tcp('r3')])
  t.same(
    result.bad.map(({ line, reason }) => [line, reason]),
    [[2, 'The record could not be processed: x is not a function']],
  )
  t.equal(events['ed_2']!.filter(({ event_type }) => event_type === closed).length, 2)
})

t.test('a walk pauses after every 64 records', async (t) => {
  const bytes = Buffer.from(
    Array.from({ length: 150 }, (_, index) => JSON.stringify(tcp(`r${index}`))).join('\n'),
  )
  const walk = walkMessage({ bytes, storedAtMs }, { view: await view(), geo: noGeo, buffers: new Packs() })
  const steps = [walk.next(), walk.next(), walk.next()]
  t.same(
    steps.map(({ done }) => done),
    [false, false, true],
  )
  t.match(steps[2]!.value, { counts: { records: 150, bad: 0 } })
})

t.test('sections are those of the message as it was sent, whichever lines are blank', async (t) => {
  const lines = Array.from({ length: 700 }, (_, index) => JSON.stringify(tcp(`r${index}`)))
  const blanked = lines.map((line, index) => ([0, 255, 300].includes(index) ? ' '.repeat(line.length) : line))
  for (const sent of [lines, blanked]) {
    const bytes = Buffer.from(sent.join('\n'))
    const { sections } = await endsOf(bytes)
    t.strictSame(sections, [sent === lines ? 256 : 255, 512])
  }
})

t.test('few long records are a turn and a section, too', async (t) => {
  const long = (n: number) => JSON.stringify({ ...tcp(`r${n}`), unknown: 'x'.repeat(40 * 1024) })
  const lines = Array.from({ length: 20 }, (_, n) => long(n))
  const { turns, sections } = await endsOf(Buffer.from(lines.join('\n')))
  t.same([turns.length, sections.length], [11, 2], 'a turn for 64 KiB, a section for 256')
  t.ok(
    sections.every((line) => turns.includes(line)),
    'sections end with turns',
  )
  const blanked = lines.map((line, index) => (sections.includes(index) ? ' '.repeat(line.length) : line))
  const again = await endsOf(Buffer.from(blanked.join('\n')))
  t.strictSame(again.sections, sections, 'whichever lines are blank')
})

/** After which lines a walk paused. */
async function endsOf(bytes: Buffer) {
  let last = 0
  const judged = (_: unknown, line: number): void => {
    last = line
  }
  const walk = walkMessage(
    { bytes, storedAtMs },
    { view: await view(), geo: noGeo, buffers: new Packs(), judged },
  )
  const [turns, sections]: [number[], number[]] = [[], []]
  for (let step = walk.next(); !step.done; step = walk.next()) {
    turns.push(last)
    if (step.value) sections.push(last)
  }
  return { turns, sections }
}

t.test('the next view has a changed configuration', async (t) => {
  const configuration = configured()
  const first = await view(configuration)
  configuration.table('event_subscription').delete('esb_all')
  configuration.subscription('esb_new', { sources: [{ type: closed }], destination_ids: ['ed_3'] })
  const second = await buildTrafficView(configuration, first, noYield)
  t.same(Object.keys(run(second, [tcp('r')]).texts), ['ed_3'])
  t.same(Object.keys(run(first, [tcp('r')]).texts), ['ed_1', 'ed_2'], 'the one before stays as it is')
})
