/** How far `weir publish` is: a line for a person who waits, made of what was counted in the last seconds. */

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
  readonly offset: number | undefined
}

/** The rate is that of the last seconds: an average of all of a long run says nothing of now. */
const windowMs = 10_000

export class Progress {
  #samples: readonly Sample[] = []
  #changedMs: number | undefined

  /**
   * To be called about once a second. `nowMs`: monotonic. `place` is undefined if there is no file, or its size is not
   * known.
   */
  text(counts: Counts, place: Place | undefined, nowMs: number): string {
    const sample = { ...counts, atMs: nowMs, offset: place?.offset }
    const last = this.#samples.at(-1)
    if (last === undefined || last.stored !== counts.stored || last.refused !== counts.refused)
      this.#changedMs = nowMs
    this.#samples = [...this.#samples.filter(({ atMs }) => nowMs - atMs <= windowMs), sample]
    return [
      `${counts.stored} records stored, ${counts.refused} refused`,
      ...this.#speed(sample),
      ...shareOf(place),
      ...this.#left(sample, place),
    ].join(', ')
  }

  #speed({ atMs, stored }: Sample): string[] {
    const idleMs = atMs - (this.#changedMs ?? atMs)
    if (idleMs >= windowMs) return [`nothing new for ${spanText(idleMs)}`]
    const [first] = this.#samples
    if (first === undefined || first.atMs === atMs) return []
    return [`${Math.round((stored - first.stored) / ((atMs - first.atMs) / 1000))}/s`]
  }

  #left({ atMs, offset }: Sample, place: Place | undefined): string[] {
    const first = this.#samples.find((each) => each.offset !== undefined)
    if (place === undefined || offset === undefined || first?.offset === undefined) return []
    const bytesPerMs = (offset - first.offset) / (atMs - first.atMs)
    // The first seconds say little, and a file that is followed to its end has nothing left.
    if (!(bytesPerMs > 0) || place.offset >= place.size) return []
    return [`${spanText((place.size - place.offset) / bytesPerMs)} left`]
  }
}

function shareOf(place: Place | undefined): string[] {
  if (place === undefined || place.size === 0) return []
  // Rounded down: 100 % is all of it.
  return [`${Math.floor((100 * place.offset) / place.size)} % of the file`]
}

/** `40 s`, `3 min`, `2.5 h`. */
function spanText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000))
  if (seconds < 100) return `${seconds} s`
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)} min`
  return `${Math.round(seconds / 360) / 10} h`
}
