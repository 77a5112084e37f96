/** Services that refuse whole requests beyond a limit, of requests or of events: simulated, and as real web servers. */
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import { openSender } from '../../../src/delivery/deliver/kinds.js'
import { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import { openWebServer } from '../../harness/web-server.js'
import { someEvents } from './events.js'
import { done, roomForAll } from './fake-lane.js'
import { type Stream, simulate } from './simulated-stream.js'

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

t.test('a limiter of requests gets full requests, about as many as it lets through', async (t) => {
  const cases: { name: string; eventsPerSecond: number; stream: Stream; requestsPerSecondMin: number }[] = [
    {
      name: 'ten a second, with Retry-After',
      eventsPerSecond: 20_000,
      stream: { requestsPerSecond: 10, retryAfterMs: 1_000 },
      requestsPerSecondMin: 8,
    },
    {
      name: 'ten a second',
      eventsPerSecond: 20_000,
      stream: { requestsPerSecond: 10 },
      requestsPerSecondMin: 8,
    },
    {
      name: 'ten by the second, 503',
      eventsPerSecond: 20_000,
      stream: { requestsPerSecond: 10, isByTheSecond: true, failingCode: 'transient' },
      requestsPerSecondMin: 8,
    },
    {
      name: 'one a second, with Retry-After',
      eventsPerSecond: 2_000,
      stream: { requestsPerSecond: 1, retryAfterMs: 1_000 },
      requestsPerSecondMin: 0.7,
    },
    {
      name: 'one a second',
      eventsPerSecond: 2_000,
      stream: { requestsPerSecond: 1 },
      requestsPerSecondMin: 0.7,
    },
    {
      name: 'twelve a minute, with Retry-After',
      eventsPerSecond: 400,
      stream: { requestsPerSecond: 0.2, retryAfterMs: 5_000 },
      requestsPerSecondMin: 0.15,
    },
  ]
  for (const { name, eventsPerSecond, stream, requestsPerSecondMin } of cases) {
    const run = await simulate({ eventsPerSecond, seconds: 60, streamAt: () => stream })
    const requests = sum(run.acceptedRequestsPerSecond)
    const events = sum(run.acceptedPerSecond) / requests
    t.ok(requests / 60 >= requestsPerSecondMin, `${name}: ${requests / 60} accepted requests a second`)
    t.ok(events >= 400, `${name}: ${events} of at most 500 events in each`)
  }
})

t.test('what arrives slowly is delivered by few requests, and no backlog grows', async (t) => {
  const stream = { requestsPerSecond: 1, retryAfterMs: 1_000 }
  const run = await simulate({ eventsPerSecond: 200, seconds: 60, streamAt: () => stream })
  t.ok(sum(run.acceptedPerSecond) >= 0.95 * 200 * 60, `${sum(run.acceptedPerSecond)} of 12,000`)
})

t.test('a limiter of events that refuses larger requests for ever gets smaller ones', async (t) => {
  const cases: { name: string; stream: Stream; eventsPerSecondMin: number }[] = [
    { name: '1,000 a second', stream: { recordsPerSecond: 1_000 }, eventsPerSecondMin: 800 },
    { name: '100 a second', stream: { recordsPerSecond: 100 }, eventsPerSecondMin: 50 },
    {
      name: '100 a second, with Retry-After',
      stream: { recordsPerSecond: 100, retryAfterMs: 1_000 },
      eventsPerSecondMin: 60,
    },
    {
      name: '100 a second, 503 with Retry-After',
      stream: { recordsPerSecond: 100, retryAfterMs: 1_000, failingCode: 'transient' },
      eventsPerSecondMin: 60,
    },
    {
      name: '20 a second, with Retry-After',
      stream: { recordsPerSecond: 20, retryAfterMs: 1_000 },
      eventsPerSecondMin: 12,
    },
  ]
  for (const { name, stream, eventsPerSecondMin } of cases) {
    const eventsPerSecond = stream.recordsPerSecond! * 3
    const run = await simulate({
      eventsPerSecond,
      seconds: 60,
      streamAt: () => ({ ...stream, isWhole: true }),
    })
    const later = sum(run.acceptedPerSecond.slice(30, 60)) / 30
    t.ok(later >= eventsPerSecondMin, `${name}: ${later} after half a minute`)
  }
})

t.test('whole requests that fail by chance make neither the others smaller nor slower', async (t) => {
  const stream: Stream = { isWhole: true, failingShare: 0.3 }
  const run = await simulate({ eventsPerSecond: 1_500, seconds: 30, streamAt: () => stream })
  t.ok(sum(run.acceptedPerSecond) >= 0.9 * 30 * 1_500, `${sum(run.acceptedPerSecond)} of 45,000`)
})

// --- real web servers ---

interface Accepted {
  readonly ids: string[]
  /** The number of events of each accepted request. */
  readonly sizes: number[]
  refused: number
}

const idsIn = (body: string): string[] =>
  body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).event_id)

/** A server whose `limit` answers a request if it refuses it; and a lane to it. */
async function openLimited(
  t: { teardown(close: () => unknown): void },
  limit: (events: number, bodyBytes: number, response: ServerResponse) => boolean,
) {
  const seen: Accepted = { ids: [], sizes: [], refused: 0 }
  const server = await openWebServer(t, ({ body }, response) => {
    const ids = idsIn(body)
    if (limit(ids.length, body.length, response)) {
      seen.refused += 1
    } else {
      seen.ids.push(...ids)
      seen.sizes.push(ids.length)
      response.end()
    }
  })
  const dead: string[] = []
  const config = {
    id: 'ed_http',
    accountId: 'ac_test',
    kind: 'http',
    address: server.url,
    options: {},
  }
  const lane = new Lane(config, {
    open: (opened) =>
      openSender(opened, {
        aws: {},
        clock: new AwsClock(),
        requestTimeoutMs: 60_000,
        networks: new ReachableNetworks(['127.0.0.0/8']),
        kinds: { http: { requestBytesMax: 1024 * 1024 } },
      }),
    budget: roomForAll,
    deadLetter: async ({ id }) => void dead.push(id),
  })
  t.teardown(() => lane.close())
  return { lane, seen, dead }
}

/** A bucket that fills up steadily. */
function bucketOf(perSecond: number, most: number): (needed: number) => boolean {
  let [tokens, atMs] = [most, performance.now()]
  return (needed) => {
    tokens = Math.min(most, tokens + ((performance.now() - atMs) * perSecond) / 1000)
    atMs = performance.now()
    if (tokens < needed) return false
    tokens -= needed
    return true
  }
}

const tooMany = (response: ServerResponse): boolean => {
  response.writeHead(429, { 'Retry-After': '1' }).end('slow down')
  return true
}

/** Timers of a lane keep no process alive; a test waits for them nevertheless. */
const keepAlive = setInterval(() => {}, 1000)
t.teardown(() => clearInterval(keepAlive))

t.test('a server that counts requests and asks to come again after a second', async (t) => {
  const mayPass = bucketOf(10, 10)
  const { lane, seen, dead } = await openLimited(t, (_, __, response) => !mayPass(1) && tooMany(response))
  for (let pack = 0; pack < 15; pack += 1) await lane.deliver(someEvents(3, `few${pack}_`))
  const [before, sizesBefore] = [seen.ids.length, seen.sizes.length]
  const packs = Array.from({ length: 100 }, (_, pack) => lane.deliver(someEvents(200, `many${pack}_`)))
  const results = await Promise.all(packs)
  t.ok(results.every(({ outcome }) => outcome === 'done'))
  t.equal(new Set(seen.ids).size, before + 20_000, 'every event arrived')
  t.equal(seen.ids.length, before + 20_000, 'once')
  t.same(dead, [])
  const requests = seen.sizes.length - sizesBefore
  t.ok(requests <= 40, `20,000 events in ${requests} requests of at most 1,000`)
})

t.test('a server that counts events refuses what is more than it takes at once, and gets less', async (t) => {
  const mayPass = bucketOf(2_000, 500)
  const { lane, seen, dead } = await openLimited(
    t,
    (events, _, response) => !mayPass(events) && tooMany(response),
  )
  const results = await Promise.all(
    Array.from({ length: 10 }, (_, pack) => lane.deliver(someEvents(200, `p${pack}_`))),
  )
  t.ok(results.every(({ outcome }) => outcome === 'done'))
  t.equal(new Set(seen.ids).size, 2_000)
  t.equal(seen.ids.length, 2_000)
  t.same(dead, [])
  t.ok(Math.max(...seen.sizes) <= 500)
})

t.test('a server that takes only small bodies gets small ones, and every event', async (t) => {
  const { lane, seen, dead } = await openLimited(t, (_, bodyBytes, response) => {
    if (bodyBytes <= 8_000) return false
    response.writeHead(413).end()
    return true
  })
  t.same(await lane.deliver(someEvents(2_000)).then(({ outcome }) => outcome), 'done')
  t.equal(new Set(seen.ids).size, 2_000)
  t.same(dead, [])
})

t.test('a date in Retry-After is waited for, and then everything is sent at once', async (t) => {
  let untilMs = 0
  const early: number[] = []
  const { lane, seen } = await openLimited(t, (_, __, response) => {
    if (untilMs === 0) {
      // A date has whole seconds.
      untilMs = (Math.floor(Date.now() / 1000) + 2) * 1000
      response.writeHead(503, { 'Retry-After': new Date(untilMs).toUTCString() }).end()
      return true
    }
    if (Date.now() < untilMs - 20) early.push(untilMs - Date.now())
    return false
  })
  t.same(await lane.deliver(someEvents(100)), done(100, 0, 100))
  t.same([early, seen.sizes, seen.refused], [[], [100], 1])
})
