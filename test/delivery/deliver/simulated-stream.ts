/**
 * A lane over a simulated stream, in simulated time: the lane's own code, with a simulated clock and chance, so that a
 * minute of load takes a second and is the same on every machine.
 */
import { mock } from 'node:test'
import type { Sender, SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { someEvents } from './events.js'
import { config, fault, roomForAll } from './fake-lane.js'

export interface Stream {
  /** The share of records that fail at any rate. */
  readonly failingShare?: number
  readonly failingCode?: 'throttle' | 'transient'
  /** Records per second; unused capacity of at most one second is saved up. */
  readonly recordsPerSecond?: number
  /** Counts per second of the clock, instead of a bucket that fills up steadily. */
  readonly isByTheSecond?: boolean
  /** A request is accepted or refused as a whole: it needs capacity for all of its records … */
  readonly isWhole?: boolean
  /** … or for itself, however many records it holds. */
  readonly requestsPerSecond?: number
  /** The capacity that the service saves up at most, in seconds. Default: 1. */
  readonly savedSeconds?: number
  /** When refused requests may come again, as the service says. */
  readonly retryAfterMs?: number
  /** Never answers. */
  readonly isHole?: boolean
  readonly latencyMs?: number
}

interface Load {
  readonly eventsPerSecond: number
  readonly seconds: number
  /** The stream during this second of the run. */
  readonly streamAt: (second: number) => Stream
}

export interface Run {
  /** Events accepted in each second. */
  readonly acceptedPerSecond: readonly number[]
  /** Events tried in each second. */
  readonly triedPerSecond: readonly number[]
  /** Times from production to acceptance of events, ascending. */
  readonly latenciesMs: readonly number[]
  readonly underWayMax: readonly number[]
  /** Requests accepted and refused in each second. */
  readonly acceptedRequestsPerSecond: readonly number[]
  readonly refusedRequestsPerSecond: readonly number[]
}

const packEveryMs = 350
/** As many as a destination's run holds. */
const packsInHandMax = 16
const tickMs = 5
const timeoutMs = 15_000

export async function simulate({ eventsPerSecond, seconds, streamAt }: Load): Promise<Run> {
  const [dice, wholeDice] = [seeded(7), seeded(13)]
  const random = mock.method(Math, 'random', dice)
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 })
  const passed = mock.method(performance, 'now', () => Date.now())
  const startMs = Date.now()
  const second = (): number => Math.floor((Date.now() - startMs) / 1000)
  const zeros = (): number[] => Array.from({ length: seconds + 1 }, () => 0)
  const run = {
    acceptedPerSecond: zeros(),
    triedPerSecond: zeros(),
    underWayMax: zeros(),
    acceptedRequestsPerSecond: zeros(),
    refusedRequestsPerSecond: zeros(),
    latenciesMs: [] as number[],
  }
  const capacity = new Capacity()
  let underWay = 0
  const sender: Sender = {
    limits: () => ({
      eventsMax: 500,
      requestBytesMax: 5e6,
      eventBytesMax: 1e6,
      sizeOf: ({ dataBytes }) => dataBytes,
    }),
    send: (events) =>
      new Promise<SendOutcome>((resolve) => {
        const stream = streamAt(second())
        const { latencyMs = 20, failingShare = 0, failingCode = 'throttle', isHole = false } = stream
        underWay += 1
        run.underWayMax[second()] = Math.max(run.underWayMax[second()]!, underWay)
        run.triedPerSecond[second()]! += events.length
        setTimeout(
          () => {
            underWay -= 1
            if (isHole) return resolve({ outcome: 'failed', fault: fault('transient', 'Timeout' as never) })
            const accept = (event: PackedEvent): void => {
              run.acceptedPerSecond[second()]! += 1
              run.latenciesMs.push(Date.now() - event.timestampMs)
            }
            if (isWhole(stream)) {
              const needed = stream.requestsPerSecond === undefined ? events.length : 1
              const isAccepted = wholeDice() >= failingShare && capacity.take(stream, needed)
              const counts = isAccepted ? run.acceptedRequestsPerSecond : run.refusedRequestsPerSecond
              counts[second()]! += 1
              if (isAccepted) for (const event of events) accept(event)
              return resolve(isAccepted ? { outcome: 'accepted' } : refusal(failingCode, stream))
            }
            const retry: number[] = []
            for (const [index, event] of events.entries()) {
              if (dice() < failingShare || !capacity.take(stream, 1)) retry.push(index)
              else accept(event)
            }
            if (retry.length === 0) return resolve({ outcome: 'accepted' })
            resolve({ outcome: 'partial', retry, rejected: [], reason: fault(failingCode) })
          },
          isHole ? timeoutMs : latencyMs,
        )
      }),
    dropCredentials: () => {},
    close: () => {},
  }
  const lane = new Lane(config, { open: () => sender, deadLetter: async () => {}, budget: roomForAll })
  /** When each pack was produced. */
  const waiting: number[] = []
  let inHand = 0
  const feed = (): void => {
    while (waiting.length > 0 && lane.wanted(packsInHandMax - inHand) > 0) {
      const producedMs = waiting.shift()!
      const count = Math.round((eventsPerSecond * packEveryMs) / 1000)
      inHand += 1
      void lane.deliver(someEvents(count, 'e', { timestampMs: producedMs })).then(({ outcome }) => {
        inHand -= 1
        if (outcome === 'returned') waiting.unshift(producedMs)
      })
    }
  }
  try {
    for (let atMs = 0; atMs < seconds * 1000; atMs += tickMs) {
      if (atMs % packEveryMs === 0) waiting.push(Date.now())
      feed()
      mock.timers.tick(tickMs)
      await new Promise(setImmediate)
    }
  } finally {
    mock.timers.reset()
    passed.mock.restore()
    random.mock.restore()
    await lane.close()
  }
  run.latenciesMs.sort((a, b) => a - b)
  return run
}

const isWhole = (stream: Stream): boolean => stream.isWhole ?? stream.requestsPerSecond !== undefined

const refusal = (failingCode: 'throttle' | 'transient', { retryAfterMs }: Stream): SendOutcome => ({
  outcome: 'failed',
  fault: { ...fault(failingCode), ...(retryAfterMs !== undefined && { retryAfterMs }) },
})

/** The number of requests or records that a stream can accept now. */
class Capacity {
  #tokens = Number.NaN
  #atMs = 0

  take(stream: Stream, needed: number): boolean {
    const { isByTheSecond = false, savedSeconds = 1 } = stream
    const perSecond = stream.requestsPerSecond ?? stream.recordsPerSecond
    if (perSecond === undefined) return true
    const most = Math.max(1, perSecond * savedSeconds)
    const nowMs = Date.now()
    const isNewSecond = Math.floor(nowMs / 1000) !== Math.floor(this.#atMs / 1000)
    if (Number.isNaN(this.#tokens) || (isByTheSecond && isNewSecond)) this.#tokens = most
    if (!isByTheSecond) this.#tokens += ((nowMs - this.#atMs) * perSecond) / 1000
    this.#tokens = Math.min(this.#tokens, most)
    this.#atMs = nowMs
    if (this.#tokens < needed) return false
    this.#tokens -= needed
    return true
  }
}

/** Mulberry32. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
