/**
 * Segments: which input messages caused the events of a pack, and how many each. They travel as a header of the
 * pack, so that its events can be counted even where its ledger entry was lost with the process that stored it.
 */
import type { SequenceRange } from './sequence-set.js'

/**
 * Events that one input message caused at one destination, for a run of messages with equal counts. A message whose
 * events fill more than a pack is cut into parts, always at the same places.
 */
export interface Segment {
  readonly range: SequenceRange
  /** Counted from 0. */
  readonly part: number
  /** Events per message. */
  readonly events: number
}

/** As a pack's header carries them: `10-14:2,17:1`, a later part as `17/1:200`. */
export const formatSegments = (segments: readonly Segment[]): string =>
  segments
    .map(({ range: [first, last], part, events }) => {
      const range = last === first ? `${first}` : `${first}-${last}`
      return `${range}${part === 0 ? '' : `/${part}`}:${events}`
    })
    .join(',')

const entryForm = /^(\d+)(?:-(\d+))?(?:\/(\d+))?:(\d+)$/

/** The segments of a header; what has another form is left out. */
export function parseSegments(text: string): Segment[] {
  return text.split(',').flatMap((entry) => {
    const match = entryForm.exec(entry)
    if (match === null) return []
    const [, first, last = first, part = '0', events] = match
    return [{ range: [Number(first), Number(last)], part: Number(part), events: Number(events) } as const]
  })
}

/** Appends a message to segments; runs of equal messages become one. */
export function addToSegments(segments: Segment[], sequence: number, part: number, events: number): void {
  const last = segments.at(-1)
  const continues =
    last !== undefined && last.events === events && last.part === part && last.range[1] === sequence - 1
  if (continues) segments[segments.length - 1] = { ...last, range: [last.range[0], sequence] }
  else segments.push({ range: [sequence, sequence], part, events })
}

/** The message that caused each event of a pack: its position in the pack to the message's sequence. */
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
