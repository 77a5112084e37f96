/** The ways of a lane that is refused: credentials, pauses, probes and another target. */
import t from 'tap'
import { someEvents } from './events.js'
import { accepted, config, done, failed, openLane } from './fake-lane.js'

/** Timers of a lane keep no process alive; a test waits for them nevertheless. */
const keepAlive = setInterval(() => {}, 1000)
t.teardown(() => clearInterval(keepAlive))

t.test('refused credentials are fetched anew, once, before anybody notices', async (t) => {
  const { lane, counts, states } = openLane((_, request) => (request <= 4 ? failed('credentials') : accepted))
  t.same(await lane.deliver(someEvents(16)), done(16, 0, 16))
  t.equal(counts.drops, 1, 'four requests under way with the same credentials, one new pair')
  t.same(states, [])
  t.match(lane.status(), { state: 'healthy', last_error: { code: 'credentials' } })
  await lane.close()
})

t.test('failures that go on to the cap of the backoff end in probing, too', async (t) => {
  let well = false
  const backoff = { baseMs: 1, capMs: 4 }
  const { lane, states } = openLane(() => (well ? accepted : failed('transient')), {
    backoffs: { throttle: backoff, transient: backoff, record: backoff },
  })
  const held = lane.deliver(someEvents(2, 'h'))
  t.match(await lane.deliver(someEvents(2, 'o')), { outcome: 'returned' })
  t.ok(lane.probing)
  t.match(lane.status(), { state: 'failing', cause: 'transient' })
  well = true
  t.match(await held, { outcome: 'done', counts: { delivered: 2 } })
  t.same(states, ['failing', 'healthy'])
  await lane.close()
})

t.test('where everything is refused it is no event, and the lane pauses', async (t) => {
  let refusing = true
  const { lane, dead } = openLane(() => (refusing ? failed('poison') : accepted), { concurrencyMax: 1 })
  const packs = Array.from({ length: 20 }, (_, at) => lane.deliver(someEvents(2, `p${at}-`)))
  const results = await Promise.all(packs)
  t.equal(dead.length, 8, 'a few are parked until that is clear')
  t.ok(results.some(({ outcome }) => outcome === 'returned'))
  t.match(lane.status(), { state: 'paused', cause: 'configuration' })
  refusing = false
  let result = await lane.deliver(someEvents(2, 'late'))
  while (result.outcome === 'returned') result = await lane.deliver(someEvents(2, 'late'))
  t.same(result, done(2, 0, 0))
  t.equal(lane.status().state, 'healthy')
  await lane.close()
})

t.test('with another target everything pending goes there at once', async (t) => {
  let target = 'old'
  const { lane, states, counts } = openLane(() => (target === 'old' ? failed('configuration') : accepted), {
    probeMinMs: 1e6,
    probeMaxMs: 1e6,
  })
  const held = lane.deliver(someEvents(5, 'h'))
  while (!lane.probing) await new Promise(setImmediate)
  target = 'new'
  lane.retarget({ ...config, arn: 'arn:aws:kinesis:us-east-1:000000000000:stream/two' })
  t.match(await held, { outcome: 'done', counts: { delivered: 5 } })
  t.same(states, ['paused', 'healthy'])
  t.equal(counts.closed, 1, 'the old sender is closed')
  await lane.close()
})
