/** Thousands of events that a destination refused are sent again by reason, by API and command line. */
import t from 'tap'
import { announce } from '../../src/delivery/wire/operator-events.js'
import { operatorEventJson } from '../../src/words/event/operator-event.js'
import { untilInUse } from '../harness/in-use.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { run } from '../harness/processes.js'
import { until } from '../harness/weir.js'
import { expectedEvents, publish, statusOf } from './deployment.js'
import { openShared } from './service.js'

const count = process.argv.includes('--full') ? 10_000 : 3_000
/** The events of blocked connections. */
const blocked = count / 4
const resource = { service: 'kinesis', name: 'all' } as const

t.test('refused events are sent again by reason, and delivered once', async (t) => {
  const deployment = await openShared(t)
  const { client } = deployment.emulator
  const { dataDir, weir } = deployment
  const { api, token, accountId } = weir
  const counted = async (name: string, labels = '') => total(await metricsOf(weir.url), name, labels)
  const deliveredBefore = await counted('weir_events_delivered_total')
  const resentBefore = await counted('weir_events_produced_total', 'kind="resent"')
  const nats = await weir.nats()
  const refuse = (code: string, containing: string) =>
    client.addFault({ effect: { type: 'fail_records', code, containing }, resource: 'all' })
  await refuse('ValidationException', '"client_ip":"10.')
  await refuse('InvalidArgumentException', '"client_ip":"192.')
  await publish(nats, 'resent', 0, count, 200)
  const all = () => statusOf(deployment, 'all')
  await until('all are dead letters', async () => (await all()).counts.dead_lettered === count)
  // The groups count what is read within 2 s, newest first.
  const { groups } = await api.deadLetters.groups({ type: 'event' })
  const [most, fewest] = groups.map(({ reason }) => reason) as [string, string]
  t.match([most, fewest], [/^ValidationException/, /^InvalidArgumentException/])
  await client.clearFaults()

  await t.test('by the command line: those of one reason', async (t) => {
    const words = ['dead', 'resend', '--reason', most]
    const command = run('programs/main.js', words, { WEIR_DATA_DIR: dataDir, WEIR_API_KEY: token })
    t.equal((await command.ended).code, 0, command.output())
    t.match(command.output(), `${count - blocked} `)
    await until('they are delivered', async () => (await all()).counts.delivered === count - blocked)
    const { events, unique } = await client.counts(resource)
    t.strictSame({ events, unique }, { events: count - blocked, unique: count - blocked }, 'each once')
  })

  await t.test('the others by two clients at the same time, who do the same', async (t) => {
    const again = () => api.deadLetters.resendAll({ reason: fewest })
    const done = await Promise.all([again(), again()])
    t.ok(done[0].done + done[1].done >= blocked)
    await until('all are delivered', async () => (await client.counts(resource)).unique === count)
    await until('nothing waits', async () => (await all()).backlog.events === 0)
    t.match(await api.deadLetters.resendAll({ reason: fewest }), { done: 0 }, 'none is left')
  })

  await t.test('the books balance', async (t) => {
    const resent = async () => (await counted('weir_events_produced_total', 'kind="resent"')) - resentBefore
    await until('each letter is in the books once', async () => (await resent()) === count)
    const counts = { produced: 2 * count, delivered: count, dead_lettered: count }
    t.match(await all(), { backlog: { events: 0 }, counts })
    const { filtered, logs } = expectedEvents(count)
    const delivered = (await counted('weir_events_delivered_total')) - deliveredBefore
    t.equal(delivered, count + filtered + logs)
    t.equal(await counted('weir_events_backlog'), 0)
  })

  await t.test('an operator event is delivered to those who subscribe to it, once', async (t) => {
    const kind = 'dead_letters_expiring.v0'
    const destination_ids = [deployment.destinations.filtered]
    const stateChanged = 'event_destination_state_changed.v0'
    await api.eventSubscription.create({ destination_ids, sources: [{ type: kind }, { type: stateChanged }] })
    await untilInUse(weir)
    const before = (await statusOf(deployment, 'filtered')).counts.delivered
    const at = Date.now()
    const time = new Date(at).toISOString()
    const expiring = {
      count: 1,
      counts: { record: 1, event: 0, audit: 0 },
      first_removed_at: time,
      last_removed_at: time,
      uri: 'http://127.0.0.1/dead_letters',
    }
    const json = operatorEventJson({ kind, accountId, identity: ['1'], at, object: expiring })
    const announced = () => announce(nats, { accountId, topic: 'dead_letters', position: 1, at, json })
    t.equal(await announced(), true)
    t.equal(await announced(), false, 'it is announced already')
    await until('it is delivered', async () => {
      const { counts } = await statusOf(deployment, 'filtered')
      return counts.delivered === before + 1
    })
    const seen: string[] = []
    for await (const { data } of client.received({ service: 'kinesis', name: 'filtered' }))
      if (data.includes(kind)) seen.push(data.trim())
    t.strictSame(seen, [json])

    const { logs } = deployment.destinations
    await api.pauseDestination(logs)
    const changed = async (): Promise<unknown> => {
      for await (const { data } of client.received({ service: 'kinesis', name: 'filtered' }))
        if (data.includes(stateChanged)) return JSON.parse(data)
      return undefined
    }
    await until('the pause is announced', async () => (await changed()) !== undefined)
    const { advice } = await statusOf(deployment, 'logs')
    const object = { event_destination: { id: logs }, new_state: 'paused', cause: 'paused by hand', advice }
    t.match(await changed(), { event_type: stateChanged, account_id: accountId, object })
  })
})
