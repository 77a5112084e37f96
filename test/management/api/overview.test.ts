/** The overview of an account: what it names, of the own account alone, and what it does when a source is away. */
import t from 'tap'
import { deadLetterHeaders, deadRecordsSubject } from '../../../src/delivery/wire/names.js'
import { unavailable } from '../../../src/ground/core/errors.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { openTestStore } from '../../harness/api.js'
import { certificateBody } from '../../harness/certificates.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'
import { idleDestinations, idleStatus } from '../../harness/idle-status.js'
import { until } from '../../harness/weir.js'

const hourMs = 60 * 60_000
const bounds = { retentionMs: 50 * 365 * 24 * hourMs, bytesMax: 2 ** 30 }
const target = {
  kinesis: {
    stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/x',
    auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/x' } },
  },
}

t.test('overviews of two accounts', async (t) => {
  const store = await openTestStore(t)
  await shapeLogTables(store.parts.clickhouse, bounds)
  const failed = new Set<string>()
  const api = await store.api({
    lag: { now: async () => ({ messages: 12, oldestAtMs: Date.now() - hourMs }) },
    destinations: {
      ...idleDestinations,
      statuses: async (rows) =>
        rows.map(({ id, description }) => ({
          destination_id: id,
          description: String(description),
          status: failed.has(id)
            ? { ...idleStatus, description: String(description), state: 'failing', cause: 'transient' }
            : idleStatus,
        })),
      losses: ({ id }) =>
        failed.has(id) ? [{ reason: 'age', events: 4, beganAtMs: Date.now(), endedAtMs: Date.now() }] : [],
    },
  })
  const [me, other] = [await api.account(), await api.account()]
  const healthy = await me.eventDestination.create({ description: 'works', target })
  const broken = await me.eventDestination.create({ description: 'broken', target })
  await me.eventDestination.create({ description: 'works, too', target })
  failed.add(broken.id)
  const soon = new Date(Date.now() + 3 * 24 * hourMs).toISOString()
  const key = await me.apiKey.create({ expires_at: `${soon.slice(0, 19)}Z` })
  const tls = await me.tlsCertificate.create(certificateBody('rsa'))
  t.ok(Date.parse(tls.not_after) > Date.now() + 60 * 24 * hourMs, 'one that does not end soon')
  await store.admin.publish(deadRecordsSubject, JSON.stringify({ account_id: me.accountId }), {
    headers: {
      [deadLetterHeaders.reason]: 'wrong',
      [deadLetterHeaders.sequence]: '1',
      [deadLetterHeaders.line]: '1',
    },
  })
  const unserved = (accountId: string, serverName: string, sequence: number) =>
    decisionRow({ accountId, serverName, serverPort: 443, edgeId: '', sequence })
  await store.parts.clickhouse.insertBlocks('decisions', [
    rowBytes([
      unserved(me.accountId, 'a.example', 1),
      unserved(me.accountId, 'b.example', 2),
      unserved(me.accountId, 'b.example', 3),
      decisionRow({ accountId: me.accountId, serverName: 'served.example', sequence: 4 }),
      { ...unserved(me.accountId, 'old.example', 6), at: Date.now() - 25 * hourMs },
    ]),
    rowBytes([decisionRow({ ...unserved(me.accountId, 'asked.example', 5), source: 'asked' })]),
    rowBytes([unserved(other.accountId, 'other.example', 7)]),
    rowBytes([unserved('', 'secret.example', 8), unserved('', 'secret.example', 9)]),
  ])

  const near = await me.tcpEdge.create({ hostports: ['x.example:443', 'b.example:22'] })
  const mine = await me.overview()
  t.equal(mine.state, 'failing')
  t.match(
    mine.sentence,
    /^Destination "broken" fails or does not answer in time\. \d more things need a hand\.$/,
  )
  t.strictSame(mine.destinations[0]?.destination_id, broken.id, 'the worst first')
  t.equal(mine.destinations.length, 3)
  t.ok(mine.destinations.some(({ destination_id }) => destination_id === healthy.id))
  t.match(mine.records_lag, { messages: 12, oldest_at: String })
  t.strictSame(mine.unknown, [])
  const found = (type: string) => mine.attention.filter((each) => each.type === type)
  t.match(found('events_dropped'), [{ count: 4, ids: [broken.id] }])
  t.match(found('dead_letters'), [
    { kind: 'record', count: 1, uri: /\/dead_letters\?type=record$/, sentence: /^1 record was set aside/ },
  ])
  // A key is shown from a third of its life on: this one was made just now.
  t.strictSame(found('keys_expiring'), [])
  t.ok(key.id)
  t.match(found('unserved_names'), [
    {
      severity: 'attention',
      count: 3,
      sentence:
        '3 records in the last 24 hours: no edge serves b.example:443 (2), a.example:443 (1); your edges: b.example:22, x.example:443.',
      names: [
        { name: 'b.example:443', count: 2, nearest: 'b.example:22', nearest_edge_id: near.id },
        { name: 'a.example:443', count: 1, nearest: 'x.example:443', nearest_edge_id: near.id },
      ],
    },
    {
      scope: 'deployment',
      count: 2,
      names: [],
      sentence: /^2 records of this deployment in the last 24 hours name no account/,
    },
  ])
  t.match(found('records_lag'), [
    { scope: 'deployment', count: 12, sentence: /of all accounts, not only of yours/ },
  ])

  const theirs = await other.overview()
  t.equal(theirs.state, 'attention', 'the lag of the deployment')
  t.strictSame(theirs.destinations, [])
  t.strictSame(
    theirs.attention.map(({ type, names }) => [type, names.map(({ name }) => name)]),
    [
      ['records_lag', []],
      ['unserved_names', ['other.example:443']],
      ['unserved_names', []],
    ],
  )
  t.notMatch(JSON.stringify([mine, theirs]), 'secret.example', 'the names of no account are the operators')
  await me.tcpEdge.update(near.id, { hostports: ['b.example:443'] })
  await until('a name that an edge serves by now is left out', async () => {
    const [own] = (await me.overview()).attention.filter(({ type }) => type === 'unserved_names')
    return own?.count === 1
  })
  t.notMatch(JSON.stringify(theirs), me.accountId)
  for (const id of [healthy.id, broken.id]) t.notMatch(JSON.stringify(theirs), id)
  t.equal((await me.raw.send('GET', '/overview?x=1')).status, 400)
})

t.test('all is well', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api({})
  const me = await api.account()
  t.match(await me.overview(), { state: 'ok', sentence: /There are no destinations yet/, attention: [] })
  const another = await api.account()
  await another.eventDestination.create({ target })
  t.match(await another.overview(), {
    state: 'ok',
    sentence: 'All is well: the destination accepts its events.',
    destinations_left_out: 0,
  })
})

t.test('sources that are away are named, and the rest is answered', async (t) => {
  const store = await openTestStore(t)
  const { log } = store.parts
  const api = await store.api({
    lag: { now: async () => Promise.reject(unavailable('NATS does not answer.')) },
    destinations: {
      ...idleDestinations,
      statuses: async () => Promise.reject(new Error('a secret of Weir')),
    },
    log: Object.assign(Object.create(log), {
      unservedNames: async () => Promise.reject(unavailable('ClickHouse does not answer.')),
    }),
  })
  const me = await api.account()
  await me.eventDestination.create({ target })
  const answer = await me.overview()
  t.match(answer, { state: 'attention', records_lag: null, destinations: [], attention: [] })
  t.match(answer.sentence, /^Nothing else needs a hand, but this is not known: /)
  t.strictSame(
    new Map(answer.unknown.map(({ part, reason }) => [part, reason])),
    new Map([
      ['destinations', 'It was not read because of an internal error.'],
      ['unserved_names', 'ClickHouse does not answer.'],
      ['records_lag', 'NATS does not answer.'],
    ]),
  )
  t.match(api.log(), /a secret of Weir/, 'the reason is in the log')
})

t.test('without rows of all decisions, the overview says so and is still ok', async (t) => {
  const store = await openTestStore(t)
  for (const mode of ['off', 'blocked'] as const) {
    const log = Object.assign(Object.create(store.parts.log), { mode })
    const me = await (await store.api({ log })).account()
    const { state, attention, unknown } = await me.overview()
    t.match(
      { state, unknown, attention },
      {
        state: 'ok',
        unknown: [],
        attention: [{ type: 'decision_log', severity: 'notice', scope: 'deployment' }],
      },
    )
  }
})
