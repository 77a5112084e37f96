/** What a person sees of `weir publish`, and what is kept of refused lines. */
import { type FileHandle, open } from 'node:fs/promises'
import { every, monotonicMs } from '../core/clock.js'
import { StartFault } from '../core/errors.js'
import { forTerminal } from '../core/text/terminal.js'

export async function rejectsFile(path: string | undefined): Promise<FileHandle | undefined> {
  if (path === undefined) return undefined
  try {
    return await open(path, 'a', 0o600)
  } catch (error) {
    throw new StartFault(`--rejects ${path} can't be written: ${(error as Error).message}.`)
  }
}

const clearLine = '\r\u001b[K'
const tellEveryMs = 1_000

/** Counts, and what went wrong: one refused line a second is shown, with the number of the others. */
export class Report {
  read = 0
  stored = 0
  refused = 0
  readonly #rejects: FileHandle | undefined
  readonly #isTerminal = process.stderr.isTTY === true
  readonly #timer = every(tellEveryMs, () => this.#tell())
  readonly #begunMs = monotonicMs()
  #example: string | undefined
  #unshown = 0
  #last: (() => void) | undefined

  constructor(rejects: FileHandle | undefined) {
    this.#rejects = rejects
  }

  /** Resolves when the line is kept, if refused lines are. */
  async refuse(line: string, reason: string): Promise<void> {
    this.refused += 1
    if (this.#example === undefined) this.#example = `Line ${this.read} is refused: ${reason}`
    else this.#unshown += 1
    await this.#rejects?.appendFile(`${line}\n`)
  }

  note(text: string): void {
    process.stderr.write(`${this.#isTerminal ? clearLine : ''}weir: ${forTerminal(text)}\n`)
  }

  /** To be done when all is stored. */
  atEnd(last: () => void): void {
    this.#last = last
  }

  json(): string {
    return JSON.stringify({ read: this.read, stored: this.stored, refused: this.refused })
  }

  /** The exit code: 1 if lines are missing in NATS and nowhere kept. */
  end(isAllStored: boolean): number {
    this.#tell()
    const left = this.read - this.stored - this.refused
    this.note(
      `${this.read} lines: ${this.stored} records stored, ${this.refused} refused${isAllStored ? '' : `, ${left} not stored: NATS does not answer`}.`,
    )
    return isAllStored && (this.refused === 0 || this.#rejects !== undefined) ? 0 : 1
  }

  async close(): Promise<void> {
    this.#timer.stop()
    this.#last?.()
    await this.#rejects?.close()
  }

  #tell(): void {
    if (this.#example !== undefined) {
      const others = this.#unshown === 0 ? '' : ` (and ${this.#unshown} more)`
      this.note(`${this.#example}${others}`)
    }
    this.#example = undefined
    this.#unshown = 0
    if (!this.#isTerminal) return
    const seconds = Math.max(1, (monotonicMs() - this.#begunMs) / 1000)
    const rate = Math.round(this.stored / seconds)
    process.stderr.write(`${clearLine}${this.stored} records stored, ${this.refused} refused, ${rate}/s`)
  }
}
