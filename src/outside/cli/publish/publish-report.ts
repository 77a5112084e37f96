/** The report of `weir publish` for a person, and the file that keeps refused lines. */
import { type FileHandle, open } from 'node:fs/promises'
import { sentencesOf, type Unserved } from '../../../delivery/ingest/published-names.js'
import { every, monotonicMs, type Timer } from '../../../ground/core/clock.js'
import { type Problem, StartFault } from '../../../ground/core/errors.js'
import { forTerminal } from '../../../ground/core/text/terminal.js'
import { clearLine } from '../progress.js'
import { type Place, Progress } from './publish-progress.js'
import { columnOf, Doubts, excerpt, Refusals } from './refusals.js'

export async function rejectsFile(path: string | undefined): Promise<FileHandle | undefined> {
  if (path === undefined) return undefined
  try {
    return await open(path, 'a', 0o600)
  } catch (error) {
    throw new StartFault(`--rejects ${path} can't be written: ${(error as Error).message}.`)
  }
}

/** `lineEveryMs`: into a file or a journal, as often as a person looks there. */
const timesDefault = { tellEveryMs: 1_000, lineEveryMs: 60_000 }
const stalledSecondsMax = 5

/**
 * Counts, and what went wrong: the first line for each reason is shown, then one a second, with the number of the others.
 */
export class Report {
  read = 0
  stored = 0
  refused = 0
  /** Messages that came over UDP and were not read. */
  #lost = 0
  #storedBefore = 0
  #stalledSeconds = 0
  readonly #rejects: FileHandle | undefined
  readonly #isTerminal = process.stderr.isTTY === true
  readonly #timer: Timer
  readonly #lineEveryMs: number
  readonly #progress = new Progress()
  #lineMs = monotonicMs()
  /** Lines that were read when progress was last told. */
  #readBefore = 0
  #place: () => Place | undefined = () => undefined
  #example: readonly string[] | undefined
  #unshown = 0
  #last: (() => void) | undefined

  /** Names that no edge serves; undefined if that is not known. */
  unserved: Unserved | undefined

  readonly #refusals = new Refusals()
  readonly #doubts = new Doubts()
  /** The format of the lines. */
  readonly #format: string

  constructor(format: string, rejects: FileHandle | undefined, { tellEveryMs, lineEveryMs } = timesDefault) {
    this.#format = format
    this.#rejects = rejects
    this.#lineEveryMs = lineEveryMs
    this.#timer = every(tellEveryMs, () => this.#tell())
  }

  /** Resolves when the line is kept, if refused lines are. The first line for each reason is shown with its place. */
  async refuse(line: string, problem: Problem): Promise<void> {
    this.refused += 1
    const isFirst = this.#refusals.add(line, this.read, problem)
    const marked = isFirst ? excerpt(line, columnOf(line, problem)) : []
    const shown = [`Line ${this.read} is refused: ${problem.msg}`, ...marked]
    if (isFirst) this.#show(shown)
    else if (this.#example === undefined) this.#example = shown
    else this.#unshown += 1
    await this.#rejects?.appendFile(`${line}\n`)
  }

  /** About the record of the line that was read last. */
  doubt(sentence: string): void {
    if (this.#doubts.add(sentence, this.read)) this.note(`Line ${this.read}: ${sentence}`)
  }

  #show(lines: readonly string[]): void {
    for (const line of lines) this.note(line)
  }

  note(text: string): void {
    process.stderr.write(`${this.#isTerminal ? clearLine : ''}weir: ${forTerminal(text)}\n`)
  }

  lose(messages: number): void {
    this.#lost += messages
    this.note(`${messages} messages over UDP were lost: records could not be stored in time.`)
  }

  /** How far the source was read: asked for once a second. */
  reads(place: () => Place | undefined): void {
    this.#place = place
  }

  /** To be done when all is stored. */
  atEnd(last: () => void): void {
    this.#last = last
  }

  json(): string {
    const lost = this.#lost === 0 ? {} : { lost: this.#lost }
    const reasons = this.refused === 0 ? {} : { reasons: this.#refusals.all }
    const doubts = this.#doubts.all.length === 0 ? {} : { doubts: this.#doubts.all }
    const counts = { format: this.#format, read: this.read, stored: this.stored, refused: this.refused }
    const unserved = this.unserved === undefined ? {} : { unserved: this.unserved }
    return JSON.stringify({ ...counts, ...reasons, ...doubts, ...lost, ...unserved })
  }

  /** Records of these lines are not stored yet. */
  get #left(): number {
    return this.read - this.stored - this.refused
  }

  /** The exit code: 1 if lines are missing in NATS and nowhere kept. */
  end(isAllStored: boolean): number {
    this.#timer.stop()
    this.#tellRefused()
    const lost = this.#lost === 0 ? '' : `, ${this.#lost} lost over UDP`
    const left = isAllStored ? '' : `, ${this.#left} not stored: NATS does not store them`
    this.note(`${this.read} lines: ${this.stored} records stored, ${this.refused} refused${lost}${left}.`)
    for (const sentence of [...this.#refusals.sentences, ...this.#doubts.sentences])
      this.note(`${this.#format}: ${sentence}`)
    if (this.unserved !== undefined) for (const sentence of sentencesOf(this.unserved)) this.note(sentence)
    const isKept = this.refused === 0 || this.#rejects !== undefined
    return isAllStored && isKept && this.#lost === 0 ? 0 : 1
  }

  async close(): Promise<void> {
    this.#timer.stop()
    this.#last?.()
    await this.#rejects?.close()
  }

  #tell(): void {
    this.#tellRefused()
    this.#tellStalled()
    const nowMs = monotonicMs()
    const text = this.#progress.text(this, this.#place(), nowMs)
    if (this.#isTerminal) process.stderr.write(`${clearLine}${text}`)
    else if (nowMs - this.#lineMs >= this.#lineEveryMs && this.read !== this.#readBefore) {
      this.#lineMs = nowMs
      this.#readBefore = this.read
      this.note(`${text}.`)
    }
  }

  #tellRefused(): void {
    if (this.#example !== undefined) {
      const others = this.#unshown === 0 ? '' : ` (and ${this.#unshown} more)`
      this.note(`${this.#example[0]}${others}`)
    }
    this.#example = undefined
    this.#unshown = 0
  }

  /** Says once that records wait: whoever looks at a pipe that stands still should know why. */
  #tellStalled(): void {
    this.#stalledSeconds = this.#left > 0 && this.stored === this.#storedBefore ? this.#stalledSeconds + 1 : 0
    this.#storedBefore = this.stored
    if (this.#stalledSeconds === stalledSecondsMax)
      this.note(
        `Records wait for NATS, which has stored none for ${stalledSecondsMax} s: it is away, its stream is full, or this user may not publish.`,
      )
  }
}
