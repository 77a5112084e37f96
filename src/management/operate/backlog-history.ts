/**
 * How many events waited for each destination, a minute apart, over the last day. Only this process's memory has it: a chart
 * needs no more, and nothing else depends on it. After a start, it begins again.
 *
 * A destination takes room only while events wait for it, and for a day afterwards: a minute in which none waited has no
 * sample. The largest backlogs are kept if there are too many.
 */
import { every, isoSeconds, now, type Timer } from '../../ground/core/clock.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { BacklogHistory as ShownHistory } from '../../words/shape/backlog-history.js'

const minuteMs = 60_000
const keptMs = 24 * 60 * minuteMs
/** Some 25 KiB each. */
const destinationsMax = 1_000

interface Sample {
  /** The beginning of its minute. */
  readonly atMs: number
  readonly events: number
}

/** Events that wait, by destination. */
type Backlogs = ReadonlyMap<string, { readonly backlog: number }>

export class BacklogHistory {
  readonly #backlogs: () => Backlogs
  readonly #timer: Timer
  readonly #samples = new Map<string, Sample[]>()
  readonly #begunMs = minuteOf(now())

  constructor(backlogs: () => Backlogs) {
    this.#backlogs = backlogs
    this.#timer = every(minuteMs, () => this.sample())
  }

  /** Notes what waits now. */
  sample(nowMs = now()): void {
    const atMs = minuteOf(nowMs)
    const waiting = [...this.#backlogs()].filter(([, { backlog }]) => backlog > 0)
    const largest = waiting
      .sort(([, one], [, other]) => other.backlog - one.backlog)
      .slice(0, destinationsMax)
    for (const [id, { backlog: events }] of largest)
      getOrMake(this.#samples, id, () => []).push({ atMs, events })
    this.#forget(nowMs - keptMs)
  }

  /** Minutes in which events waited; `waiting`: what waits at present. */
  of(destinationId: string, waiting: number): ShownHistory {
    const samples = this.#samples.get(destinationId) ?? []
    const nowMs = now()
    const points = [...samples, ...(waiting > 0 ? [{ atMs: nowMs, events: waiting }] : [])]
    return {
      since: isoSeconds(Math.max(this.#begunMs, minuteOf(nowMs) - keptMs)),
      until: isoSeconds(nowMs),
      points: points.map(({ atMs, events }) => ({ at: isoSeconds(atMs), events })),
    }
  }

  #forget(beforeMs: number): void {
    for (const [id, samples] of this.#samples) {
      const kept = samples.filter(({ atMs }) => atMs >= beforeMs)
      if (kept.length === 0) this.#samples.delete(id)
      else if (kept.length < samples.length) this.#samples.set(id, kept)
    }
    const quietest = [...this.#samples].sort(([, one], [, other]) => lastOf(one) - lastOf(other))
    for (const [id] of quietest.slice(0, Math.max(0, this.#samples.size - destinationsMax)))
      this.#samples.delete(id)
  }

  close(): void {
    this.#timer.stop()
  }
}

const minuteOf = (ms: number): number => Math.floor(ms / minuteMs) * minuteMs
const lastOf = (samples: readonly Sample[]): number => samples.at(-1)?.atMs ?? 0
