/**
 * A pack as a message: its id, and the headers that say which input its events come from.
 *
 * **Segments** say which input messages caused the events of a pack, and how many each. They are a header of the pack, so
 * that its events can be counted even if its ledger entry was lost with the process that stored it.
 */
import { hashBytes128 } from '../../ground/core/ids.js'
import { messageIdHeader } from '../../ground/nats/messages.js'
import { packHeaders } from './names.js'
import type { SequenceRange } from './sequence-set.js'

/** Headers of a message. */
interface Headers {
  get(name: string): string
}

interface PackOrigin {
  /** The input's name in the books. */
  readonly stream: string
  /** The run of its stream's sequences. */
  readonly since: string
  /** Formatted. */
  readonly segments: string
}

export function packMessage(
  destination: string,
  bytes: Uint8Array,
  events: number,
  { stream, since, segments }: PackOrigin,
  traces?: string,
) {
  return {
    // Records that were published twice can give equal bytes for different messages: those need different packs.
    msgId: `${destination}.${hashBytes128(bytes, `${stream} ${since} ${segments}`)}`,
    headers: {
      [packHeaders.events]: String(events),
      [packHeaders.stream]: stream,
      [packHeaders.since]: since,
      [packHeaders.segments]: segments,
      ...(traces !== undefined && { [packHeaders.traces]: traces }),
    },
  }
}

/** The id of a pack, from the headers of its message; empty if it has none. */
export const packIdIn = (headers: Headers | undefined): string =>
  headers?.get(packHeaders.pack) || headers?.get(messageIdHeader) || ''

/** Was the pack stored again, for its destination's own consumer? */
export const isMoved = (headers: Headers | undefined): boolean => !!headers?.get(packHeaders.pack)

/** When the pack was stored first, in milliseconds since the epoch: its age counts from then, also if it was moved. */
export function firstStoredAtMs({ storedAtMs, headers }: StoredPack): number {
  const first = Number(headers?.get(packHeaders.storedAt) || Number.NaN)
  return first < storedAtMs ? first : storedAtMs
}

/** The message of a pack. */
interface StoredPack {
  readonly storedAtMs: number
  readonly headers: Headers | undefined
}

/** The part of a pack's id that is equal for all destinations which get the same events of the same input. */
export const contentsIdIn = (msgId: string, destination: string): string =>
  msgId.slice(destination.length + 1)

/** The destination of a pack, from its message id. */
export const destinationIn = (msgId: string): string => msgId.slice(0, msgId.lastIndexOf('.'))

/** The origin of a pack, from its headers. */
export const packOrigin = (headers: Headers | undefined): PackOrigin => ({
  stream: headers?.get(packHeaders.stream) || 'records',
  since: headers?.get(packHeaders.since) ?? '',
  segments: headers?.get(packHeaders.segments) ?? '',
})

/**
 * The events that each of consecutive input messages with equal counts caused at one destination. If the events of a
 * message fill more than a pack, they are split into parts, always at the same positions.
 */
interface Segment {
  readonly range: SequenceRange
  /** Counted from 0. */
  readonly part: number
  /** Events per message. */
  readonly events: number
}

/** So many numbers make a segment of `Segments`. */
const segmentNumbers = 4

/** Segments that are being made. They are kept as numbers: a pack may have one for each of its events. */
export class Segments {
  /** Four for each segment: its first and its last message, its part, its events per message. */
  readonly #numbers: number[] = []

  /** Appends a message; consecutive messages with equal counts become one segment. */
  add(sequence: number, part: number, events: number): void {
    const numbers = this.#numbers
    const last = numbers.length - segmentNumbers
    const continues =
      last >= 0 &&
      numbers[last + 3] === events &&
      numbers[last + 2] === part &&
      numbers[last + 1] === sequence - 1
    if (continues) numbers[last + 1] = sequence
    else numbers.push(sequence, sequence, part, events)
  }

  /** The form in a pack's header: `10-14:2,17:1`; a later part as `17/1:200`. */
  format(): string {
    const numbers = this.#numbers
    let text = ''
    for (let at = 0; at < numbers.length; at += segmentNumbers) {
      const [first, last, part, events] = [numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]]
      text += `${at === 0 ? '' : ','}${first}`
      if (last !== first) text += `-${last}`
      if (part !== 0) text += `/${part}`
      text += `:${events}`
    }
    return text
  }
}

const entryForm = /^(\d+)(?:-(\d+))?(?:\/(\d+))?:(\d+)$/

/** The segments of a header; malformed ones are skipped. */
export function parseSegments(text: string): Segment[] {
  return text.split(',').flatMap((entry) => {
    const match = entryForm.exec(entry)
    if (match === null) return []
    const [first = 0, last = 0, part = 0, events = 0] = [
      match[1],
      match[2] ?? match[1],
      match[3] ?? 0,
      match[4],
    ].map(Number)
    const areExact = [last, part, events].every(Number.isSafeInteger)
    return areExact && first <= last ? [{ range: [first, last], part, events } as const] : []
  })
}

/** The sequence of the message that caused an event, by the event's position in the pack. */
export function sequenceOfEvent(segments: readonly Segment[], position: number): number | undefined {
  let before = 0
  for (const {
    range: [first, last],
    events,
  } of segments) {
    const within = position - before
    const held = (last - first + 1) * events
    if (within < held) return first + Math.floor(within / events)
    before += held
  }
  return undefined
}
