/** Programs the demo runs: each ends when the demo does, however that ends. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { within } from '../core/clock.js'

export interface ProgramOptions {
  readonly name: string
  readonly module: string
  readonly args: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  /** Where what it writes is kept. */
  readonly logFile: string
}

const readyTimeoutMs = 90_000
const endTimeoutMs = 25_000

/**
 * A running program. It is held by its standard input and by a channel: both close when this process is gone, and
 * the program takes the one or the other for the sign to end. A signal would be a second one beside Ctrl-C.
 */
export class Program {
  readonly #child: ChildProcess
  readonly #name: string
  readonly #lines: string[] = []
  readonly #listeners = new Set<() => void>()
  /** Resolves when it is gone. */
  readonly ended: Promise<void>

  constructor({ name, module, args, environment, logFile }: ProgramOptions) {
    this.#name = name
    this.#child = spawn(process.execPath, ['--enable-source-maps', module, ...args], {
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
    })
    this.#child.stdin?.on('error', () => {})
    this.ended = new Promise((resolve) => {
      this.#child.once('exit', () => resolve())
      this.#child.once('error', () => resolve())
    })
    const log = createWriteStream(logFile)
    log.on('error', () => {})
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      createInterface({ input: stream! }).on('line', (line) => {
        log.write(`${line}\n`)
        this.#lines.push(line)
        if (this.#lines.length > 200) this.#lines.shift()
        for (const listener of [...this.#listeners]) listener()
      })
    }
    void this.ended.then(() => {
      for (const listener of [...this.#listeners]) listener()
      log.end()
    })
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** What follows `prefix` on a line that it writes when it has come that far. */
  async said(prefix: string): Promise<string> {
    let stopLooking = (): void => {}
    const found = new Promise<string>((resolve, reject) => {
      const look = (): void => {
        const line = this.#lines.find((each) => each.startsWith(prefix))
        if (line !== undefined) resolve(line.slice(prefix.length))
        else if (this.hasEnded)
          reject(new Error(`${this.#name} ended before it was ready:\n${this.lastLines()}`))
      }
      stopLooking = () => this.#listeners.delete(look)
      this.#listeners.add(look)
      look()
    })
    try {
      return await within(readyTimeoutMs, found, `${this.#name} does not get ready.`)
    } finally {
      stopLooking()
    }
  }

  lastLines(): string {
    return this.#lines.slice(-5).join('\n')
  }

  async close(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    this.#child.stdin?.end()
    try {
      await within(endTimeoutMs, this.ended, 'late')
    } catch {
      this.#child.kill('SIGKILL')
      await this.ended
    }
  }
}
