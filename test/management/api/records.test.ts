/** A record's decision and its events: found by its id or by an event, as it was judged then, of the own account alone. */
import t from 'tap'
import { tagOf } from '../../../src/delivery/wire/event-tag.js'
import { PackWriter, readPack } from '../../../src/delivery/wire/pack.js'
import { DecisionLog } from '../../../src/judging/pipeline/decision-log.js'
import { processMessage } from '../../../src/judging/pipeline/process-record.js'
import { buildTrafficView } from '../../../src/judging/produce/compiled-configuration.js'
import { publicationsTracedMax } from '../../../src/management/insight/record-tracer.js'
import { DeliveryReader } from '../../../src/management/store/logs/delivery-reader.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller } from '../../harness/caller.js'
import { decisionRow, deliveryBytes, deliveryRow, rowBytes } from '../../harness/decision-rows.js'
import { recordsStream } from '../../harness/first-partition.js'
import { geoOf } from '../../harness/geo.js'
import { noYield } from '../../judging/evaluate/configuration.js'

const geo = geoOf(() => ({ country_code: 'DE' }))
const hourMs = 60 * 60_000

const target = (name: string) => ({
  kinesis: {
    stream_arn: `arn:aws:kinesis:us-east-1:123456789012:stream/${name}`,
    auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/x' } },
  },
})

/** An account with an edge, two destinations and two subscriptions. */
async function opened(client: Caller, name: string) {
  const policy = await client.ipPolicy.create({ description: 'all but one' })
  const rule = (cidr: string, action: 'allow' | 'deny') =>
    client.ipPolicyRule.create({ ip_policy_id: policy.id, cidr, action })
  await rule('0.0.0.0/0', 'allow')
  const denying = await rule('203.0.113.9/32', 'deny')
  await client.tcpEdge.create({
    hostports: [`${name}.records.example:22`],
    ip_restriction: { ip_policy_ids: [policy.id] },
    policies: {
      outbound: [
        { name: 'noted', expressions: ['true'], actions: [{ type: 'log', config: { Metadata: {} } }] },
      ],
    },
  })
  const [stream, archive] = await Promise.all(
    ['stream', 'archive'].map((each) => client.eventDestination.create({ target: target(each) })),
  )
  const closed = await client.eventSubscription.create({
    sources: [{ type: 'tcp_connection_closed.v0' }],
    destination_ids: [stream!.id, archive!.id],
  })
  const logs = await client.eventSubscription.create({
    sources: [{ type: 'log.v0' }, { type: 'tcp_connection_closed.v0', filter: "decision == 'deny'" }],
    destination_ids: [stream!.id],
  })
  return { client, name, denying, stream: stream!.id, archive: archive!.id, closed: closed.id, logs: logs.id }
}

t.test('records of two accounts', async (t) => {
  const store = await openTestStore(t)
  const { parts, admin } = store
  const api = await store.api({ geo })
  const [mine, theirs] = [
    await opened(await api.account('mine'), 'mine'),
    await opened(await api.account('theirs'), 'theirs'),
  ]
  await shapeLogTables(parts.clickhouse, { retentionMs: 72 * hourMs, bytesMax: 2 ** 30 })

  const record = (name: string, record_id: string, client_ip = '198.51.100.7') =>
    JSON.stringify({
      record_id,
      type: 'tcp_connection',
      conn: { client_ip, server_name: `${name}.records.example`, server_port: 22 },
    })

  /** Publishes records as one message and processes it as a pipeline does; resolves with the ids of events. */
  const processed = async (...lines: string[]) => {
    const bytes = Buffer.from(lines.join('\n'))
    const { sequence } = await admin.publish('weir.records.eu.node', bytes)
    const { storedAtMs } = (await admin.messageAt(recordsStream, sequence))!
    const rows: Uint8Array[] = []
    const log = new DecisionLog({
      nats: {
        publish: async (_, data) => {
          rows.push(data as Uint8Array)
          return { sequence: 1, duplicate: false }
        },
        emit: () => {},
      },
      mode: 'all',
      watched: { has: () => false },
      occurrences: { decisionRowsLost: () => t.fail('no row is lost') },
    })
    const view = await buildTrafficView(parts.store.view.state, undefined, noYield)
    const packs = new Map<string, PackWriter>()
    const packOf = (id: string): PackWriter => {
      const pack = packs.get(id) ?? new PackWriter()
      packs.set(id, pack)
      return pack
    }
    processMessage(
      { bytes, storedAtMs },
      {
        view,
        geo,
        buffers: { packOf },
        judged: (judgement, line) => log.add(judgement, { storedAtMs, partition: 0, sequence, line }),
      },
    )
    await log.close()
    await parts.clickhouse.insertBlocks('decisions', rows)
    const events = new Map(
      [...packs].map(([id, pack]) => [id, readPack(pack.take()).events.map((event) => event.id)]),
    )
    return { at: storedAtMs, sequence, eventsAt: (destination: string) => events.get(destination) ?? [] }
  }
  const attempted = (...rows: Parameters<typeof deliveryRow>[0][]) =>
    parts.clickhouse.insertBlocks('deliveries', [deliveryBytes(rows.map((row) => deliveryRow(row)))])

  const first = await processed(record('theirs', 'shared id'), record('mine', 'shared id'))
  const [closedId, logId] = first.eventsAt(mine.stream)
  const near = {
    accountId: mine.client.accountId,
    at: first.at + 40,
    eventsFrom: first.at - 9,
    eventsUntil: first.at + 9,
  }
  const error = { errorCode: 'ProvisionedThroughputExceededException', error: 'Slow down.' }
  await attempted(
    {
      ...near,
      destinationId: mine.stream,
      at: first.at + 20,
      outcome: 'failed',
      tags: [tagOf(closedId!), 5],
      ...error,
    },
    { ...near, destinationId: mine.stream, tags: [6, tagOf(closedId!)], receipt: '4967', shard: 'shardId-1' },
    { ...near, destinationId: mine.stream, tags: [tagOf(logId!)], outcome: 'failed', ...error },
    // Tags of events of another time, and rows of another account, are nothing to this record.
    { ...near, destinationId: mine.archive, eventsFrom: first.at + 1, tags: [tagOf(closedId!)] },
    { ...near, accountId: theirs.client.accountId, destinationId: mine.archive, tags: [tagOf(closedId!)] },
  )

  await t.test('a record with its decision, its events and what became of them', async (t) => {
    const traced = await mine.client.record('shared id')
    t.match(traced, { record_id: 'shared id', publications_left_out: false })
    t.equal(traced.publications.length, 1, 'the record of another account with this id is not there')
    const [{ decision, record: shown, explained, events, filtered, missing }] = traced.publications as [
      (typeof traced.publications)[number],
    ]
    t.match(decision, { record_id: 'shared id', decision: 'allow', sequence: first.sequence, line: 2 })
    t.strictSame(shown, JSON.parse(record('mine', 'shared id')))
    t.match(explained, {
      decision: 'allow',
      revision: decision.revision,
      explanation: { policies: [{ policy: 'noted', direction: 'outbound', applied: true }] },
    })
    t.equal(missing, null)
    t.strictSame(filtered, [{ type: 'tcp_connection_closed.v0', subscription_id: mine.logs }])
    const last_error = { code: error.errorCode, msg: error.error }
    const untried = {
      state: 'pending',
      at: null,
      request_id: null,
      receipt: null,
      shard: null,
      attempts: 0,
      requests: [],
    }
    t.match(events, [
      {
        id: closedId,
        type: 'tcp_connection_closed.v0',
        subscription_id: mine.closed,
        deliveries: [
          {
            destination_id: mine.stream,
            state: 'delivered',
            at: new Date(first.at + 40).toISOString(),
            request_id: 'request-1',
            receipt: '4967',
            shard: 'shardId-1',
            attempts: 2,
            last_error: { at: new Date(first.at + 20).toISOString(), ...last_error },
            requests: [
              { outcome: 'delivered', request_id: 'request-1', error: null },
              { at: new Date(first.at + 20).toISOString(), outcome: 'failed', error: last_error },
            ],
          },
          { destination_id: mine.archive, ...untried, last_error: null },
        ],
      },
      {
        id: logId,
        type: 'log.v0',
        subscription_id: mine.logs,
        deliveries: [{ destination_id: mine.stream, state: 'retrying', attempts: 1, last_error }],
      },
    ])
  })

  await t.test('the record that made an event is found by the event', async (t) => {
    t.strictSame(await mine.client.record(logId!), await mine.client.record('shared id'))
    const [theirEvent] = first.eventsAt(theirs.stream)
    const unknown = `ev_${'0'.repeat(48)}`
    for (const id of [theirEvent!, unknown, first.eventsAt(theirs.archive)[0]!])
      t.match(await mine.client.raw.send('GET', `/records?event_id=${id}`), {
        status: 404,
        body: { msg: `No record in the decision log made the event ${id}.` },
      })
  })

  await t.test('the configuration that judged it decides what is shown, also after changes', async (t) => {
    const { at } = await processed(record('mine', 'blocked', '203.0.113.9'))
    const before = await mine.client.record('blocked')
    t.match(before.publications[0]?.explained?.explanation?.decided_by, { rule_id: mine.denying.id })
    await mine.client.ipPolicyRule.delete(mine.denying.id)
    await mine.client.eventSubscription.update(mine.closed, { destination_ids: [mine.stream] })
    await mine.client.eventSubscription.update(mine.logs, { sources: [{ type: 'tcp_connection_closed.v0' }] })
    const after = await mine.client.record('blocked')
    t.strictSame(after, before)
    t.match(after.publications[0], {
      decision: { at: new Date(at).toISOString(), decision: 'block' },
      explained: { decision: 'block' },
      events: [{ subscription_id: mine.closed, deliveries: [{}, { destination_id: mine.archive }] }],
    })
    await mine.client.eventDestination.delete(mine.archive)
    const [event] = (await mine.client.record('blocked')).publications[0]!.events!
    t.strictSame(
      event!.deliveries.map(({ state }) => state),
      ['pending', 'dropped'],
    )
  })

  await t.test('a record that was published again is shown again, newest first, within bounds', async (t) => {
    const times: number[] = []
    for (let count = 0; count <= publicationsTracedMax; count += 1) {
      times.unshift((await processed(record('mine', 'again'))).at)
      const { publications, publications_left_out } = await mine.client.record('again')
      t.strictSame(
        publications.map(({ decision: { at } }) => Date.parse(at)),
        times.slice(0, publicationsTracedMax),
      )
      t.equal(publications_left_out, count === publicationsTracedMax)
    }
  })

  await t.test('a question and the later record of one connection are joined, and told apart', async (t) => {
    const { at } = await processed(record('mine', 'asked before', '203.0.113.66'))
    const [edge] = await all(mine.client.tcpEdge.list())
    const question = {
      accountId: mine.client.accountId,
      at: at - 500,
      recordId: 'asked before',
      edgeId: edge!.id,
      serverName: 'mine.records.example',
      clientIp: '203.0.113.66',
      revision: parts.store.view.state.revision,
      source: 'asked',
      line: 0,
    } as const
    await parts.clickhouse.insertBlocks('decisions', [
      rowBytes([
        decisionRow({ ...question, sequence: 2 ** 47 }),
        decisionRow({
          ...question,
          sequence: 2 ** 47 + 1,
          decision: 'deny',
          policy: 'port 9',
          recordId: 'dq_1',
        }),
      ]),
    ])
    const { publications, asked, asked_left_out } = await mine.client.record('asked before')
    t.match(publications, [{ decision: { source: 'record' }, events: [{}, {}] }])
    t.equal(asked_left_out, false)
    t.match(asked, [
      {
        decision: { source: 'asked', at: new Date(at - 500).toISOString(), sequence: null },
        explained: { decision: 'allow', explanation: { policies: [], ip_policies: [{ decision: 'allow' }] } },
        missing: null,
      },
    ])
    const alone = await mine.client.record('dq_1')
    t.match(alone, {
      publications: [],
      asked: [{ explained: { decision: 'allow' }, missing: /decided otherwise/ }],
    })
  })

  await t.test('a record that is no longer stored keeps its decision', async (t) => {
    const { sequence } = await processed(record('mine', 'removed'))
    await admin.removeMessages(recordsStream, [sequence])
    t.match((await mine.client.record('removed')).publications, [
      {
        decision: { decision: 'allow' },
        record: null,
        explained: null,
        events: null,
        missing: /no longer stored/,
      },
    ])
  })

  await t.test('a log without delivered attempts cannot tell, and says so', async (t) => {
    const deliveries = new DeliveryReader(parts.clickhouse, 'blocked')
    const blocked = await store.api({ geo, deliveries })
    const caller = blocked.stranger(mine.client.token)
    const [event] = (await caller.record('blocked')).publications[0]!.events!
    t.equal(event!.deliveries[0]!.state, 'unknown')
  })

  await t.test('what is unknown or wrong is named', async (t) => {
    const cases: Readonly<Record<string, { status: number; msg: RegExp }>> = {
      '/records/unheard%20of': { status: 404, msg: /^The record "unheard of" is not in the decision log\.$/ },
      [`/records/${'x'.repeat(129)}`]: { status: 400, msg: /at most 128 characters/ },
      '/records/x?event_id=1': { status: 400, msg: /"event_id" is unknown/ },
      '/records': { status: 400, msg: /"event_id" is needed/ },
      '/records?event_id=ev_1': { status: 400, msg: /"event_id" is "ev_1": .* 48 hex digits/ },
    }
    for (const [path, { status, msg }] of Object.entries(cases))
      t.match(await mine.client.raw.send('GET', path), { status, body: { msg } }, path)
  })
})
