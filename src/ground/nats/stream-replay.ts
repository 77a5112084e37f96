/** Reads messages of a stream again, without a consumer: this needs the right to read, and no other. */
import type { StoredMessage } from './messages.js'

/** As the state of a stream has them. */
interface Bounds {
  readonly first_seq: number
  readonly last_seq: number
}

export interface StoredStream {
  /** Sequences of the first and the last message. */
  info(): Promise<{ readonly state: Bounds } | undefined>
  /** Undefined if there is none, or no longer. */
  at(sequence: number): Promise<StoredMessage | undefined>
  /** The first message at or after `sequence`. */
  next(sequence: number): Promise<StoredMessage | undefined>
}

/** A stream that never had a message says 0, which no message has: NATS refuses to look for it. */
const firstOf = (firstSequence: number): number => Math.max(1, firstSequence)

/** The messages that were stored since a time, in order, up to the one that is last now. `atOnce`: requests ahead. */
export async function* replay(
  stream: StoredStream,
  sinceMs: number,
  atOnce: number,
): AsyncGenerator<StoredMessage> {
  const bounds = (await stream.info())?.state
  if (bounds === undefined) return
  const { last_seq: last } = bounds
  const ahead: Promise<StoredMessage | undefined>[] = []
  const request = (sequence: number): void => {
    const message = stream.at(sequence)
    // It is awaited later, or never.
    message.catch(() => {})
    ahead.push(message)
  }
  for (let sequence = await firstSince(stream, bounds, sinceMs); sequence <= last; ) {
    while (ahead.length < atOnce && sequence + ahead.length <= last) request(sequence + ahead.length)
    const message = await ahead.shift()
    if (message !== undefined) {
      yield message
      sequence += 1
      continue
    }
    // Removed messages leave gaps, which may be long.
    const following = await stream.next(sequence)
    if (following === undefined) return
    ahead.length = 0
    sequence = following.sequence
  }
}

/** How many messages some streams have from a time on; those that were removed from the middle count, too. */
export async function countSince(streams: readonly StoredStream[], sinceMs: number): Promise<number> {
  const counts = await Promise.all(
    streams.map(async (stream) => {
      const bounds = (await stream.info())?.state
      return bounds === undefined ? 0 : bounds.last_seq + 1 - (await firstSince(stream, bounds, sinceMs))
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

/** From when on all messages of some streams are kept: earlier ones are gone, if there were any. Undefined if there are none. */
export async function keptFrom(streams: readonly StoredStream[]): Promise<number | undefined> {
  const oldest = await Promise.all(
    streams.map(async (stream) => {
      const bounds = (await stream.info())?.state
      return bounds && (await stream.next(firstOf(bounds.first_seq)))
    }),
  )
  const times = oldest.flatMap((message) => message?.storedAtMs ?? [])
  return times.length === 0 ? undefined : Math.max(...times)
}

/** The messages of several streams in the order of their times; equal ones in the order of the streams. */
export async function* inOrder(
  streams: readonly AsyncGenerator<StoredMessage>[],
): AsyncGenerator<StoredMessage> {
  const [only, ...others] = streams
  if (only !== undefined && others.length === 0) return yield* only
  const next = await Promise.all(streams.map((stream) => stream.next()))
  for (;;) {
    let first: number | undefined
    for (const [index, { done, value }] of next.entries())
      if (!done && (first === undefined || value.storedAtMs < next[first]!.value.storedAtMs)) first = index
    if (first === undefined) return
    yield next[first]!.value
    next[first] = await streams[first]!.next()
  }
}

/** The first sequence that was stored at or after a time, or will be: times grow with sequences. */
export async function firstSince(
  stream: Pick<StoredStream, 'next'>,
  { first_seq, last_seq }: Bounds,
  sinceMs: number,
): Promise<number> {
  let [low, high] = [firstOf(first_seq), last_seq + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const message = await stream.next(middle)
    if (message === undefined || message.sequence >= high) high = middle
    else if (message.storedAtMs < sinceMs) low = message.sequence + 1
    else high = middle
  }
  return low
}

/** The position to begin at; default: the newest message. */
interface Before {
  /** Only messages before this sequence … */
  readonly sequence?: number | undefined
  /** … and stored before this time. */
  readonly ms?: number | undefined
}

/**
 * Reads a stream from its newest message to its oldest, without a consumer. JetStream itself reads forwards only:
 * messages are requested by their sequences, and a gap, which removed messages leave, is measured with forward reads.
 *
 * `atOnce` messages are requested together, and held in memory.
 */
export async function* replayBackward(
  stream: StoredStream,
  { sequence, ms }: Before,
  atOnce: number,
): AsyncGenerator<StoredMessage> {
  const bounds = (await stream.info())?.state
  if (bounds === undefined) return
  const { last_seq: last } = bounds
  const first = firstOf(bounds.first_seq)
  if (last < first) return
  const inTime = ms === undefined ? last + 1 : await firstSince(stream, bounds, ms)
  let end = Math.min(last + 1, inTime, sequence ?? last + 1)
  while (end > first) {
    const start = Math.max(first, end - atOnce)
    const requested = Array.from({ length: end - start }, (_, index) => stream.at(end - 1 - index))
    const found = (await Promise.all(requested)).filter((message) => message !== undefined)
    yield* found
    end = found.length === 0 ? await gapStart(stream, first, start) : start
  }
}

/** The end of the messages before a gap, or a little after it: `end` lies in the gap. */
async function gapStart(stream: StoredStream, first: number, end: number): Promise<number> {
  let size = 1
  let gap = end
  while (gap > first) {
    const start = Math.max(first, gap - size)
    const next = await stream.next(start)
    if (next === undefined || next.sequence >= gap) {
      gap = start
      size *= 2
    } else if (size === 1) return gap
    else size = Math.max(1, Math.floor(size / 4))
  }
  return first
}
