/** The demo's output: lines, and the progress of long steps. */
import { monotonicMs } from '../../ground/core/clock.js'

interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  /** The number of colors of a terminal's stream, which respects NO_COLOR. */
  hasColors?(): boolean
  write(text: string): unknown
}

/** On a terminal, progress overwrites itself; elsewhere it is a line now and then, if all details are wanted. */
const terminalEveryMs = 100
const linesEveryMs = 3_000

const styles = { bold: 1, red: 31, green: 32, yellow: 33 }

export class Screen {
  readonly #output: Output
  /** Show all details? */
  readonly isVerbose: boolean
  #progressMs = 0
  #shown = ''

  constructor(output: Output, isVerbose: boolean) {
    this.#output = output
    this.isVerbose = isVerbose
  }

  paint(style: keyof typeof styles, text: string): string {
    return this.#output.hasColors?.() ? `\u001b[${styles[style]}m${text}\u001b[0m` : text
  }

  say(text: string): void {
    this.wipe()
    this.#output.write(`${text}\n`)
  }

  /** On a terminal, Ctrl-C has left `^C` on the line. */
  sayAfterKey(text: string): void {
    this.say(this.#output.isTTY ? `\n${text}` : text)
  }

  /** Shows the current step; with all details also its result and duration. */
  async step<T>(what: string, work: () => Promise<T>, result?: (value: T) => string): Promise<T> {
    const startedMs = monotonicMs()
    this.#progressMs = startedMs
    if (this.#output.isTTY) this.#show(`… ${what}`)
    const value = await work()
    const seconds = ((monotonicMs() - startedMs) / 1000).toFixed(1)
    if (this.isVerbose) this.say(`${what}: ${result?.(value) ?? 'done'} (${seconds} s)`)
    else this.wipe()
    return value
  }

  progress(text: () => string): void {
    const everyMs = this.#output.isTTY ? terminalEveryMs : linesEveryMs
    if (monotonicMs() - this.#progressMs < everyMs) return
    this.#progressMs = monotonicMs()
    if (this.#output.isTTY) this.#show(`… ${text()}`)
    else if (this.isVerbose) this.#output.write(`  … ${text()}\n`)
  }

  #show(text: string): void {
    this.wipe()
    this.#shown = text.slice(0, (this.#output.columns ?? 80) - 1)
    this.#output.write(this.#shown)
  }

  /** Removes the progress of a step. */
  wipe(): void {
    if (this.#shown !== '') this.#output.write(`\r${' '.repeat(this.#shown.length)}\r`)
    this.#shown = ''
  }
}

export const grouped = (value: number): string => value.toLocaleString('en-US')

/** Rows under a heading; columns are aligned, numbers to the right. */
export function table(heading: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [heading, ...rows].map((row) =>
    row.map((cell) => (typeof cell === 'number' ? grouped(cell) : cell)),
  )
  const widths = heading.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)))
  const toTheRight = heading.map((_, column) => rows.every((row) => typeof row[column] === 'number'))
  const lineOf = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        toTheRight[column] ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join('  ')
      .trimEnd()
  const [head, ...body] = cells.map((row) => `  ${lineOf(row)}`)
  return [head, `  ${widths.map((width) => '-'.repeat(width)).join('  ')}`, ...body].join('\n')
}
