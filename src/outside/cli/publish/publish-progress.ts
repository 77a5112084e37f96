/** How far `weir publish` is: a line for a person who waits, made of what was counted in the last seconds. */
import { Pace, paceWindowMs, shareText, spanText } from '../progress.js'

/** The numbers of records so far. */
interface Counts {
  readonly stored: number
  readonly refused: number
}

/** How far a file was read: bytes. */
export interface Place {
  readonly offset: number
  readonly size: number
}

interface Sample extends Counts {
  readonly atMs: number
}

export class Progress {
  #samples: readonly Sample[] = []
  #changedMs: number | undefined
  readonly #pace = new Pace()

  /**
   * To be called about once a second. `nowMs`: monotonic. `place` is undefined if there is no file, or its size is not
   * known.
   */
  text(counts: Counts, place: Place | undefined, nowMs: number): string {
    const sample = { ...counts, atMs: nowMs }
    const extent = place && { done: place.offset, of: place.size }
    const last = this.#samples.at(-1)
    if (last === undefined || last.stored !== counts.stored || last.refused !== counts.refused)
      this.#changedMs = nowMs
    this.#samples = [...this.#samples.filter(({ atMs }) => nowMs - atMs <= paceWindowMs), sample]
    return [
      `${counts.stored} records stored, ${counts.refused} refused`,
      ...this.#speed(sample),
      ...(extent === undefined
        ? []
        : [...shareText(extent, ' of the file'), ...this.#pace.left(extent, nowMs)]),
    ].join(', ')
  }

  #speed({ atMs, stored }: Sample): string[] {
    const idleMs = atMs - (this.#changedMs ?? atMs)
    if (idleMs >= paceWindowMs) return [`nothing new for ${spanText(idleMs)}`]
    const [first] = this.#samples
    if (first === undefined || first.atMs === atMs) return []
    return [`${Math.round((stored - first.stored) / ((atMs - first.atMs) / 1000))}/s`]
  }
}
