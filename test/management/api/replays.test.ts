/** Replays over the management API: what is refused, who sees them, and how they are cancelled. */
import t from 'tap'
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import { newId } from '../../../src/ground/core/ids.js'
import { PastStarts } from '../../../src/management/operate/past-starts.js'
import { openReplays } from '../../../src/management/operate/replays.js'
import { openTestStore } from '../../harness/api.js'
import { refused } from '../../harness/caller.js'

const target = {
  kinesis: {
    stream_arn: 'arn:aws:kinesis:eu-west-1:123456789012:stream/events',
    auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/weir' } },
  },
}

t.test('replays of two accounts', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const [mine, theirs] = [await api.account('mine'), await api.account('theirs')]
  const { id } = await mine.eventDestination.create({ target })
  const other = await theirs.eventDestination.create({ target })
  await mine.eventSubscription.create({
    sources: [{ type: 'tcp_connection_closed.v0' }, { type: 'ip_policy_created.v0' }],
    destination_ids: [id],
  })
  for (const n of [1, 2, 3]) await store.admin.publish('weir.records.test.1', `record ${n}`)
  // Tests that share the store have left records here, and removed some.
  const { first_seq, last_seq } = (await store.admin.streamInfo('WEIR_RECORDS'))!.state
  const of = last_seq - first_seq + 1

  for (const [body, msg] of [
    [{}, /"from" is required/],
    [{ from: 'yesterday' }, /"from" is "yesterday": a length of time/],
    [{ from: '25h' }, /records are kept for 1d only/],
    [{ from: '1h', to: '2h' }, /later than "to"/],
    [{ from: '2100-01-01T00:00:00Z' }, /before now/],
    [{ from: '1h', filter: 'conn.bytes_in <' }, /"filter" does not suit tcp_connection_closed.v0/],
    [{ from: '1h', filter: 'nothing == 1' }, /"filter" does not suit tcp_connection_closed.v0/],
    [{ from: '1h', until: '1h' }, /until/],
  ] as const) {
    const answer = await mine.raw.send('POST', `/event_destinations/${id}/replay`, { body })
    const error_code = 'filter' in body ? 'ERR_INVALID_EXPRESSION' : 'ERR_INVALID_REQUEST'
    t.match(answer, { status: 400, body: { msg, error_code } }, JSON.stringify(body))
  }
  for (const [types, msg] of [
    [[], /"types"/],
    [['tcp_connection_closed.v1'], /"types": There is no event source .*did you mean/],
    [['ip_policy_created.v0'], /which no record causes/],
    [['log.v0'], /"types" has "log.v0", but the destination gets tcp_connection_closed.v0 from its/],
  ] as const) {
    const answer = await mine.raw.send('POST', `/event_destinations/${id}/replay`, {
      body: { from: '1h', types },
    })
    t.match(answer, { status: 400, body: { msg, error_code: 'ERR_INVALID_REQUEST' } }, types.join())
  }
  await refused(404, mine.replay(other.id, { from: '1h' }))

  const replay = await mine.replay(id, { from: '1h', filter: 'conn.bytes_in > 5' })
  t.match(replay, { state: 'running', destination_id: id, progress: { messages: 0, of } })
  await refused(400, mine.replay(id, { from: '1h' }))
  t.strictSame((await mine.replays()).replays, [replay])
  t.strictSame(await mine.getReplay(replay.id), replay)

  t.strictSame((await theirs.replays()).replays, [])
  await refused(404, theirs.getReplay(replay.id))
  await refused(404, theirs.cancelReplay(replay.id))
  await refused(404, mine.getReplay('rp_'))

  await mine.cancelReplay(replay.id)
  await mine.cancelReplay(replay.id)
  t.match(await mine.getReplay(replay.id), { state: 'cancelled', ended_at: /Z$/ })
  t.match(await mine.replay(id, { from: '1h' }), { state: 'running' }, 'another one may begin')
})

t.test('a filter is about the types that know its names, and types are chosen', async (t) => {
  const store = await openTestStore(t)
  const me = await (await store.api()).account('chooser')
  const { id } = await me.eventDestination.create({ target })
  const closed = 'tcp_connection_closed.v0'
  const whole = 'http_request_complete.v0'
  for (const type of [closed, whole, 'log.v0', 'ip_policy_created.v0'])
    await me.eventSubscription.create({ sources: [{ type }], destination_ids: [id] })
  await store.admin.publish('weir.records.test.1', 'a record')
  for (const [request, expected] of [
    [{}, { types: null, types_left_out: [] }],
    [{ filter: '' }, { types: null, types_left_out: [] }],
    [{ filter: "decision != 'allow'" }, { types: null, types_left_out: ['log.v0'] }],
    [{ filter: 'true' }, { types: null, types_left_out: [] }],
    [{ filter: 'conn.bytes_in > 5' }, { types: null, types_left_out: [whole] }],
    [{ types: [closed, closed] }, { types: [closed], types_left_out: [] }],
    [{ types: [closed, 'log.v0'], filter: "decision != 'allow'" }, { types_left_out: ['log.v0'] }],
    [
      { types: [closed], filter: "decision != 'allow'" },
      { types: [closed], types_left_out: [] },
    ],
  ] as const) {
    const replay = await me.replay(id, { from: '1h', ...request } as never)
    t.match(replay, expected, JSON.stringify(request))
    t.strictSame((await me.getReplay(replay.id)).types_left_out, replay.types_left_out)
    await me.cancelReplay(replay.id)
  }
  for (const request of [
    { filter: 'nothing == 1' },
    { filter: 'decision ==' },
    { filter: "decision != 'allow'", types: ['log.v0'] },
  ]) {
    const body = { from: '1h', ...request }
    const answer = await me.raw.send('POST', `/event_destinations/${id}/replay`, { body })
    const expected = {
      status: 400,
      body: { error_code: 'ERR_INVALID_EXPRESSION', msg: /does not suit .*log\.v0.*: / },
    }
    t.match(answer, expected, JSON.stringify(request))
  }
  const empty = await me.eventDestination.create({ target })
  const path = `/event_destinations/${empty.id}/replay`
  const wrong = await me.raw.send('POST', path, { body: { from: '1h', filter: 'nothing == 1' } })
  t.match(
    wrong,
    { status: 400, body: { error_code: 'ERR_INVALID_EXPRESSION' } },
    'also if nothing is subscribed',
  )
  t.match(await me.replay(empty.id, { from: '1h', filter: "decision == 'deny'" }), { types_left_out: [] })
})

t.test('a subscription that starts in the past', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account('starter')
  const destinations = [
    await me.eventDestination.create({ target }),
    await me.eventDestination.create({ target }),
  ]
  const destination_ids = destinations.map(({ id }) => id)
  const sources = [{ type: 'tcp_connection_closed.v0' }]
  const ago = (hours: number) => `${new Date(Date.now() - hours * 3_600_000).toISOString().slice(0, 19)}Z`
  const start_from = ago(1)

  const wrong: readonly [object, RegExp][] = [
    [{ start_from: ago(-1) }, /which is not in the past/],
    [{ start_from: ago(25) }, /records are kept for 1d only/],
    [{ start_from: 'yesterday' }, /"start_from"/],
    [{ start_from, destination_ids: [] }, /needs a destination, and a source of traffic events/],
    [{ start_from, sources: [{ type: 'ip_policy_created.v0' }] }, /a source of traffic events/],
  ]
  for (const [change, msg] of wrong) {
    const body = { sources, destination_ids, ...change }
    const answer = await me.raw.send('POST', '/event_subscriptions', { body })
    t.match(answer, { status: 400, body: { msg } }, JSON.stringify(change))
  }
  const body = { sources, destination_ids, start_from }
  const tried = await me.raw.send('POST', '/event_subscriptions?validate_only=true', { body })
  t.match(tried, { status: 201, body: { start_from } })
  t.strictSame((await me.replays()).replays, [], 'nothing begins for what is refused or tried')

  const create = () => me.eventSubscription.create(body, { idempotencyKey: 'start' })
  const created = await create()
  t.match(created, { start_from, replay_ids: [/^rp_/, /^rp_/] })
  const { replays } = await me.replays()
  t.strictSame(replays.map(({ id }) => id).toSorted(), created.replay_ids?.toSorted())
  for (const [index, id] of (created.replay_ids ?? []).entries()) {
    const replay = await me.getReplay(id)
    t.match(replay, { state: 'running', subscription_id: created.id, destination_id: destination_ids[index] })
    t.equal(Date.parse(replay.from), Date.parse(start_from))
    t.ok(Date.parse(replay.to) > Date.now(), 'it goes on until every pipeline knows the subscription')
  }
  t.strictSame(await create(), created, 'a repeated request begins nothing more')
  t.equal((await me.replays()).replays.length, 2)
  await refused(400, me.eventSubscription.update(created.id, { start_from: ago(2) } as never))
  t.match(await me.eventSubscription.update(created.id, { description: 'x' }), { start_from })
  for (const id of created.replay_ids ?? []) await me.cancelReplay(id)
  await t.test('what a process that died has not begun is begun by a sweep, once', async (t) => {
    const replays = await openReplays({
      partitions: onePartition,
      nats: api.parts.nats,
      bucketBytesMax: 8 * 1024 ** 2,
      retentionMs: 86_400_000,
    })
    const { id, accountId: account_id } = { ...created, accountId: me.accountId }
    const rowOf = (replayId: string, created_at: number) => {
      return { id, account_id, created_at, start_from, replay_ids: [replayId], destination_ids }
    }
    const [late, early] = [newId('rp_'), newId('rp_')]
    const rows = [rowOf(late, Date.now()), rowOf(early, Date.now() - 2 * 3_600_000)]
    const starts = new PastStarts(replays, () => rows)
    t.teardown(() => starts.close())
    await starts.sweep()
    t.match(await me.getReplay(late), { state: 'running', destination_id: destination_ids[0] })
    await refused(404, me.getReplay(early))
    await me.cancelReplay(late)
    await starts.sweep()
    t.match(await me.getReplay(late), { state: 'cancelled' })
  })
  const { start_from: none, replay_ids } = await me.eventSubscription.create({ sources, destination_ids })
  t.strictSame([none, replay_ids], [undefined, undefined])
})
