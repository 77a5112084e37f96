/** How far something is that lasts: a line on standard error for a person who waits, with the share and the time left. */
import { monotonicMs } from '../../ground/core/clock.js'
import { forTerminal } from '../../ground/core/text/terminal.js'

/** The pace is that of the last seconds: an average of all of a long run says nothing of now. */
export const paceWindowMs = 10_000
/** What is looked at or shown more often says no more. */
const sampleEveryMs = 100
/** What is done sooner needs no progress. */
const patienceMs = 2_000

export const clearLine = '\r\u001b[K'

export interface Extent {
  readonly done: number
  readonly of: number
}

/** Rounded down: 100 % is all of it. Empty if there is nothing to do. */
export const shareText = ({ done, of }: Extent, what = ''): string[] =>
  of === 0 ? [] : [`${Math.floor((100 * Math.min(done, of)) / of)} %${what}`]

/** Estimates the time left. */
export class Pace {
  #samples: readonly { readonly atMs: number; readonly done: number }[] = []

  /** To be called from time to time. `nowMs`: monotonic. Empty as long as the pace is not known, and at the end. */
  left({ done, of }: Extent, nowMs: number): string[] {
    const recent = this.#samples.filter(({ atMs }) => nowMs - atMs <= paceWindowMs)
    const isNew = nowMs - (recent.at(-1)?.atMs ?? -sampleEveryMs) >= sampleEveryMs
    this.#samples = isNew ? [...recent, { atMs: nowMs, done }] : recent
    const [first] = recent
    if (first === undefined || nowMs - first.atMs < sampleEveryMs) return []
    const perMs = (done - first.done) / (nowMs - first.atMs)
    return perMs > 0 && done < of ? [`${spanText((of - done) / perMs)} left`] : []
  }
}

/** `40 s`, `3 min`, `2.5 h`. */
export function spanText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000))
  if (seconds < 100) return `${seconds} s`
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)} min`
  return `${Math.round(seconds / 360) / 10} h`
}

interface Output {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** One line that is replaced; nothing at all unless a person looks at it. */
export class ProgressLine {
  readonly #output: Output
  readonly #beganMs: number
  readonly #pace = new Pace()
  #isShown = false
  #shownMs = 0

  constructor(nowMs = monotonicMs(), output: Output = process.stderr) {
    this.#beganMs = nowMs
    this.#output = output
  }

  get isWatched(): boolean {
    return this.#output.isTTY === true
  }

  /** `extent` is undefined if it is not known how much there is. */
  show(text: string, extent?: Extent, nowMs = monotonicMs()): void {
    if (!this.isWatched) return
    const details = extent === undefined ? [] : [...shareText(extent), ...this.#pace.left(extent, nowMs)]
    if (nowMs - this.#beganMs < patienceMs) return
    if (this.#isShown && nowMs - this.#shownMs < sampleEveryMs) return
    this.#shownMs = nowMs
    this.#output.write(`${clearLine}${forTerminal([text, ...details].join(', '))}`)
    this.#isShown = true
  }

  /** Before anything else is written. */
  end(): void {
    if (this.#isShown) this.#output.write(clearLine)
    this.#isShown = false
  }
}
