/** Replays: recorded traffic goes to one destination again, with the ids it had, and the books balance. */
import t from 'tap'
import { JobBucket } from '../../src/delivery/wire/job-bucket.js'
import { replaysBucket } from '../../src/delivery/wire/names.js'
import { replayJobs, replaySeamMs } from '../../src/delivery/wire/replays.js'
import { refused } from '../harness/caller.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { run } from '../harness/processes.js'
import { endNow, processesBelow } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import { publish } from './deployment.js'
import { openShared } from './service.js'

const count = 2_000

t.test('a replay beside live traffic', async (t) => {
  const { weir, emulator, destinations, dataDir } = await openShared(t)
  const { api, token } = weir
  const counted = async (name: string, labels = '') => total(await metricsOf(weir.url), name, labels)
  const replayedBefore = await counted('weir_events_produced_total', 'kind="replayed"')
  const recordsBefore = await counted('weir_records_in_total')
  const nats = await weir.nats()
  const at = (name: string) => emulator.client.counts({ service: 'kinesis', name })
  const allEvents = async () => (await at('all')).events
  const isIdle = async () => (await api.deliveryStatus(destinations.all)).backlog.events === 0
  const begun = new Date().toISOString()
  await publish(nats, 'first', 0, count, 20)
  await until('all events have arrived', async () => (await at('all')).unique === count)
  await until('those of the filter, too', async () => (await at('filtered')).unique === count / 4)
  const before = { all: await allEvents(), filtered: (await at('filtered')).events }

  await t.test('sends the same events again, to this destination only', async (t) => {
    const replay = await api.replay(destinations.all, { from: begun })
    t.match(replay, { state: 'running', destination_id: destinations.all, filter: null })
    t.equal(replay.progress.of, count / 20)
    await refused(400, api.replay(destinations.all, { from: '1h' }))
    const publishing = publish(nats, 'second', 0, count, 20)
    await until('the replay is done', async () => (await api.getReplay(replay.id)).state === 'done')
    await publishing
    await until('the live events have arrived', async () => (await at('all')).unique === 2 * count)
    await until('the replayed ones, too', async () => (await allEvents()) >= before.all + 2 * count)
    const ofBoth = before.filtered + count / 4
    await until('the live ones of the other destination', async () => (await at('filtered')).events >= ofBoth)
    t.match(await api.getReplay(replay.id), { progress: { messages: count / 20, of: count / 20 } })
    const { unique, events } = await at('all')
    t.equal(unique, 2 * count, 'an event that is sent again has the same id')
    t.ok(events >= 3 * count)
    t.equal((await at('filtered')).events, ofBoth, 'others get live events only')
  })

  await t.test('from the command line, with a filter beside those of the subscriptions', async (t) => {
    const filter = 'conn.bytes_in < 10'
    const type = 'tcp_connection_closed.v0'
    const before = await allEvents()
    const env = { WEIR_DATA_DIR: dataDir, WEIR_API_KEY: token }
    const replayed = run(
      'programs/main.js',
      ['replay', destinations.all, '--from', begun, '--where', filter, '--type', type],
      env,
    )
    t.equal((await replayed.ended).code, 0, replayed.output())
    t.match(replayed.output(), /rp_\w+: done, 200 of 200 messages\./)
    await until('the events have arrived', async () => (await allEvents()) >= before + 2 * 10)
    await until('nothing is under way', isIdle)
    t.equal(await allEvents(), before + 2 * 10)
    t.match((await api.replays()).replays, [
      { filter, types: [type], state: 'done' },
      { types: null, state: 'done' },
    ])
  })

  await t.test('a pipeline that is killed continues', async (t) => {
    const before = await allEvents()
    const { id } = await api.replay(destinations.all, { from: begun })
    const pipeline = processesBelow(weir.process.pid).find(({ role }) => role === 'pipeline')!
    endNow(pipeline.pid)
    await until('the replay is done', async () => (await api.getReplay(id)).state === 'done')
    await until('the events have arrived', async () => (await allEvents()) >= before + 2 * count)
    t.equal((await at('all')).unique, 2 * count)
  })

  await t.test('the books balance, with replayed events as a kind of their own', async (t) => {
    await until('nothing is under way', isIdle)
    const { counts } = await api.deliveryStatus(destinations.all)
    t.equal(counts.produced, 5 * count + 20)
    t.equal(counts.delivered, counts.produced)
    const replayed = await counted('weir_events_produced_total', 'kind="replayed",target="kinesis"')
    t.equal(replayed - replayedBefore, 3 * count + 20)
    t.equal((await counted('weir_records_in_total')) - recordsBefore, 2 * count, 'records are counted once')
  })

  await t.test(
    'a subscription that starts in the past gets the events from before it and after it',
    async (t) => {
      const source = { type: 'tcp_connection_closed.v0', filter: 'conn.bytes_in >= 1900' }
      const createdMs = performance.now()
      const one = await api.eventSubscription.create({
        sources: [source],
        destination_ids: [destinations.filtered],
        start_from: begun,
      })
      const live = publish(nats, 'third', 1900, count, 5)
      const [id = ''] = one.replay_ids ?? []
      const of = (events: string[]) => new Set(events).size
      const ids = async () => {
        const found: string[] = []
        for await (const { eventId, data } of emulator.client.received({
          service: 'kinesis',
          name: 'filtered',
        }))
          if (JSON.parse(data).object.conn.bytes_in >= 1900) found.push(eventId ?? '')
        return found
      }
      await live
      // Every fourth record of each run is also one of the other subscription, under another id.
      await until('the events of all runs have arrived', async () => of(await ids()) === 3 * (100 + 25))
      t.match(await api.getReplay(id), { subscription_id: one.id, state: /running|done/ })
      // The clock of an API that was hours behind: its end is half a minute after a pipeline saw it, nevertheless.
      const bucket = await nats.findBucket(replaysBucket)
      const past = { open_until: begun }
      const jobs = new JobBucket(replayJobs, bucket!)
      await jobs.change(weir.accountId, id, (replay) => ({ ...replay, ...past }))
      await until('it is done', async () => (await api.getReplay(id)).state === 'done')
      t.ok(performance.now() - createdMs >= replaySeamMs, 'not before')
      t.equal(of(await ids()), 3 * (100 + 25), 'nothing new has come')
      const balanced = async () => {
        const { counts, backlog } = await api.deliveryStatus(destinations.filtered)
        return backlog.events === 0 && counts.produced === counts.delivered
      }
      await until('the books balance', balanced)
    },
  )

  await t.test('a replay without records is done at once; one can be cancelled', async (t) => {
    const from = new Date(Date.now() - 60_000 * 60).toISOString()
    const nothing = await api.replay(destinations.logs, { from, to: from })
    t.match(nothing, { state: 'done', progress: { messages: 0, of: 0 } })
    const replay = await api.replay(destinations.logs, { from: begun })
    await api.cancelReplay(replay.id)
    t.match((await api.getReplay(replay.id)).state, /cancelled|done/)
  })
})
