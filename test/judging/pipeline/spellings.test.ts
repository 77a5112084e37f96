/** A value with several spellings has one spelling in events, filters, expressions and decisions. */
import fc from 'fast-check'
import t from 'tap'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import { decide } from '../../../src/judging/evaluate/reply.js'
import { processMessage } from '../../../src/judging/pipeline/process-record.js'
import { buildTrafficView } from '../../../src/judging/produce/compiled-configuration.js'
import { deny as denyAction, noGeo, noYield, TestConfiguration } from '../evaluate/configuration.js'

interface Given {
  /** An inbound policy that denies. */
  readonly deny?: string
  readonly filter?: string
}

const edgeId = 'edgtcp_1'

/** The result for a connection: the `conn` of its event (undefined if the filter drops it) and the decision. */
async function outcomes({ deny, filter }: Given) {
  const inbound = deny === undefined ? [] : [{ expressions: [deny], actions: [denyAction] }]
  const configuration = new TestConfiguration('ac_1')
    .tcpEdge(edgeId, { hostports: ['ssh.example:22'], policies: { enabled: true, inbound, outbound: [] } })
    .subscription('esb_1', {
      sources: [{ type: 'tcp_connection_closed.v0', ...(filter === undefined ? {} : { filter }) }],
      destination_ids: ['ed_1'],
    })
  const view = await buildTrafficView(configuration, undefined, noYield)
  return (conn: object, more: object = { edge_id: edgeId }) => {
    const bytes = Buffer.from(
      JSON.stringify({
        record_id: 'r',
        type: 'tcp_connection',
        ...more,
        conn: { client_ip: '192.0.2.1', ...conn },
      }),
    )
    const writer = new PackWriter()
    const context = { view, geo: noGeo, buffers: { packOf: () => writer } }
    const { counts, bad } = processMessage({ bytes, storedAtMs: 0 }, context)
    const [event] = readPack(Buffer.from(writer.take())).events
    return {
      shown: event && (JSON.parse(event.data.toString()).object.conn as Record<string, unknown>),
      bad: bad.map(({ reason }) => reason),
      denied: counts.decisions.deny === 1,
      answer: JSON.parse(Buffer.from(decide(view.policySet, noGeo, bytes)).toString()),
    }
  }
}

t.test('times', async (t) => {
  const outcome = await outcomes({ deny: "conn.start_ts >= '2026-11-20T10:00:00.000000Z'" })
  const cases = [
    { start_ts: '2026-11-20T10:00:00Z', shown: '2026-11-20T10:00:00.000000Z', denied: true },
    { start_ts: '2026-11-20T11:00:00+02:00', shown: '2026-11-20T09:00:00.000000Z', denied: false },
    { start_ts: '2026-11-20T05:00:00.1234567-05:00', shown: '2026-11-20T10:00:00.123456Z', denied: true },
  ]
  for (const { start_ts, shown, denied } of cases) {
    const got = outcome({ start_ts, end_ts: start_ts })
    t.match(got, { shown: { start_ts: shown, end_ts: shown }, denied }, start_ts)
    t.equal(got.answer.decision, denied ? 'deny' : 'allow', start_ts)
  }
  const outbound = outcome({ end_ts: '2026-11-20T10:00:00' })
  t.match(outbound.bad, [/"conn.end_ts" is "2026-11-20T10:00:00"/], 'a time without a zone is none')
})

t.test('events show every time alike', async () => {
  const outcome = await outcomes({})
  const two = (value: number): string => String(value).padStart(2, '0')
  const zone = fc.oneof(
    fc.constant('Z'),
    fc
      .tuple(fc.constantFrom('+', '-'), fc.nat(23), fc.nat(59))
      .map(([sign, h, m]) => `${sign}${two(h)}:${two(m)}`),
  )
  const fraction = fc.oneof(fc.constant(''), fc.stringMatching(/^\.\d{1,9}$/))
  fc.assert(
    fc.property(fc.nat(4_000_000_000), fraction, zone, (seconds, digits, offset) => {
      const start_ts = `${new Date(seconds * 1000).toISOString().slice(0, 19)}${digits}${offset}`
      const shown = String(outcome({ start_ts }).shown!['start_ts'])
      const isAlike = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(shown)
      return isAlike && Math.floor(Date.parse(shown)) === Math.floor(Date.parse(start_ts))
    }),
    { seed: 8, numRuns: 300 },
  )
})

t.test('addresses', async (t) => {
  const cases = [
    { given: '198.51.100.7', shown: '198.51.100.7' },
    { given: '::ffff:198.51.100.7', shown: '198.51.100.7' },
    { given: '::FFFF:c633:6407', shown: '198.51.100.7' },
    { given: '0:0:0:0:0:ffff:198.51.100.7', shown: '198.51.100.7' },
    { given: '2001:db8::5', shown: '2001:db8::5' },
    { given: '2001:DB8:0:0::5', shown: '2001:db8::5' },
    { given: '2001:0db8:0000:0000:0000:0000:0000:0005', shown: '2001:db8::5' },
    { given: '2001:db8::192.0.2.1', shown: '2001:db8::c000:201' },
  ]
  for (const { given, shown } of cases) {
    for (const member of ['client_ip', 'server_ip']) {
      const outcome = await outcomes({
        deny: `conn.${member} == '${shown}'`,
        filter: `ev.conn.${member} == '${shown}'`,
      })
      const got = outcome({ [member]: given })
      t.match(
        got,
        { shown: { [member]: shown }, denied: true, answer: { decision: 'deny' } },
        `${member} ${given}`,
      )
    }
  }
  const outcome = await outcomes({})
  t.match(
    outcome({ server_ip: 'unix:/run/s' }).shown,
    { server_ip: 'unix:/run/s' },
    'what is no address is left alone',
  )
})

t.test('a server name in any spelling meets the same policies and edge, and is shown as given', async (t) => {
  const cases = [
    { given: 'ssh.example', seen: 'ssh.example' },
    { given: 'SSH.Example', seen: 'ssh.example' },
    { given: 'ssh.example.', seen: 'ssh.example' },
    { given: 'SSH.EXAMPLE.', seen: 'ssh.example' },
    { given: '2001:DB8:0::5', seen: '2001:db8::5' },
    { given: '[2001:db8:0:0::5]', seen: '2001:db8::5' },
    { given: '::ffff:192.0.2.1', seen: '192.0.2.1' },
  ]
  for (const { given: server_name, seen } of cases) {
    const outcome = await outcomes({
      deny: `conn.ServerName == '${seen}'`,
      filter: `conn.server_name == '${seen}' && ev.conn.ServerName|endsWith('${seen}')`,
    })
    const got = outcome({ server_name })
    t.match(got, { shown: { server_name }, denied: true, answer: { decision: 'deny' } }, server_name)
    if (seen !== 'ssh.example') continue
    const found = outcome({ server_name, server_port: 22 }, {})
    t.match(
      found,
      { shown: { server_name }, denied: true, answer: { decision: 'deny' } },
      `found: ${server_name}`,
    )
  }
})

t.test('literals are read like the names they are compared with', async (t) => {
  const server_name = 'Api.Example'
  const [client_ip, server_ip] = ['2001:db8::5', '::ffff:198.51.100.7']
  const cases = [
    { expression: "conn.server_name == 'API.Example'", denied: true },
    { expression: "conn.server_name == 'API.Example.'", denied: true },
    { expression: "'API.EXAMPLE' == conn.ServerName", denied: true },
    { expression: "conn.server_name != 'API.Example'", denied: false },
    { expression: "conn.server_name == 'Other.Example'", denied: false },
    { expression: "conn.server_name in ['Other.Example', 'API.Example.']", denied: true },
    { expression: "conn.server_name in ['Other.Example', 5, null]", denied: false },
    { expression: "conn.server_name in 'Api.Example, Other.Example'", denied: true },
    { expression: "'API.' in conn.server_name", denied: true },
    { expression: "conn.server_name|endsWith('.Example')", denied: true },
    { expression: "conn.server_name|endsWith('.Example.')", denied: true },
    { expression: "conn.server_name|endsWith('.')", denied: false },
    { expression: "startsWith(conn.server_name, 'API.')", denied: true },
    { expression: "startsWith(conn.server_name, 'AP.')", denied: false, name: 'a dot of a part counts' },
    { expression: "conn.server_name|contains('PI.EX')", denied: true },
    { expression: "conn.server_name == 'API.Example' || 1 == 2", denied: true },
    { expression: "conn.client_ip == '2001:DB8:0::5'", denied: true },
    { expression: "conn.client_ip in ['2001:0DB8::5']", denied: true },
    { expression: "conn.server_ip == '::FFFF:198.51.100.7'", denied: true },
    { expression: "conn.server_ip == 'API.Example'", denied: false },
    { expression: "conn.client_ip|startsWith('2001:DB8:')", denied: true },
    { expression: "conn.start_ts == 'API.Example' || conn.server_port == '22'", denied: false },
  ]
  for (const { expression, denied, name = expression } of cases) {
    const outcome = await outcomes({ deny: expression })
    const got = outcome({ client_ip, server_ip, server_name })
    t.match(got, { denied, answer: { decision: denied ? 'deny' : 'allow' } }, name)
    if (expression.includes('start_ts')) continue
    const filtered = (await outcomes({ filter: expression }))({ client_ip, server_ip, server_name })
    t.equal(filtered.shown !== undefined, denied, `as a filter: ${name}`)
  }
})

t.test('letter case and a final dot never get a client past a policy', async () => {
  const outcome = await outcomes({ deny: "conn.server_name|endsWith('.example')" })
  const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/)
  fc.assert(
    fc.property(label, fc.infiniteStream(fc.boolean()), fc.boolean(), (name, upper, hasDot) => {
      const host = [...`${name}.example`]
        .map((char) => (upper.next().value ? char.toUpperCase() : char))
        .join('')
      return outcome({ server_name: hasDot ? `${host}.` : host }).denied
    }),
    { seed: 10, numRuns: 200 },
  )
})
