/**
 * Reads a stream from its newest message to its oldest, without a consumer. JetStream itself reads forwards only:
 * messages are requested by their sequences, and a gap, which removed messages leave, is measured with forward reads.
 */
import type { StoredMessage } from './messages.js'
import { firstSince, type StoredStream } from './stream-replay.js'

/** The position to begin at; default: the newest message. */
interface Before {
  /** Only messages before this sequence … */
  readonly sequence?: number | undefined
  /** … and stored before this time. */
  readonly ms?: number | undefined
}

/** `atOnce` messages are requested together, and held in memory. */
export async function* replayBackward(
  stream: StoredStream,
  { sequence, ms }: Before,
  atOnce: number,
): AsyncGenerator<StoredMessage> {
  const bounds = (await stream.info())?.state
  if (bounds === undefined) return
  const { last_seq: last } = bounds
  // A stream that never had a message says 0.
  const first = Math.max(1, bounds.first_seq)
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
