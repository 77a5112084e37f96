/** The demo's output: lines, and on a terminal also the progress of a step, which overwrites itself. */
import { monotonicMs } from '../../ground/core/clock.js'

interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  /** The number of colors of a terminal's stream, which respects NO_COLOR. */
  hasColors?(): boolean
  write(text: string): unknown
}

const progressEveryMs = 100

const styles = { bold: 1, red: 31, green: 32, yellow: 33 }

export class Screen {
  readonly #output: Output
  #progressMs = 0
  #shown = ''

  constructor(output: Output) {
    this.#output = output
  }

  paint(style: keyof typeof styles, text: string): string {
    return this.#output.hasColors?.() ? `\u001b[${styles[style]}m${text}\u001b[0m` : text
  }

  say(text: string): void {
    this.wipe()
    this.#output.write(`${text}\n`)
  }

  /** Shows the step until it is done. */
  async step<T>(what: string, work: () => Promise<T>): Promise<T> {
    this.#show(what)
    const value = await work()
    this.wipe()
    return value
  }

  /** Called often: shown now and then. */
  progress(text: () => string): void {
    if (monotonicMs() - this.#progressMs > progressEveryMs) this.#show(text())
  }

  #show(text: string): void {
    this.#progressMs = monotonicMs()
    if (!this.#output.isTTY) return
    this.wipe()
    this.#shown = `… ${text}`.slice(0, (this.#output.columns ?? 80) - 1)
    this.#output.write(this.#shown)
  }

  /** Removes the progress of a step. */
  wipe(): void {
    if (this.#shown !== '') this.#output.write(`\r${' '.repeat(this.#shown.length)}\r`)
    this.#shown = ''
  }
}

export const grouped = (value: number): string => value.toLocaleString('en-US')
