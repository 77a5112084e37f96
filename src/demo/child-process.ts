/** A program that the demo runs. It ends when the demo does, even if the demo is killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { within } from '../core/clock.js'
import { forkOptions } from '../core/source-maps.js'

interface ProgramOptions {
  readonly name: string
  readonly module: string
  readonly args: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  /** Gets its output. */
  readonly logFile: string
}

const readyTimeoutMs = 90_000
const endTimeoutMs = 25_000

/**
 * A running program, connected by its standard input and an IPC channel. Both close when this process ends, and the
 * program ends when one of them closes. A signal would come in addition to that of Ctrl-C.
 */
export class Program {
  readonly #child: ChildProcess
  readonly #name: string
  readonly #lines: string[] = []
  readonly #listeners = new Set<() => void>()
  /** Resolves when it has ended. */
  readonly ended: Promise<void>

  constructor({ name, module, args, environment, logFile }: ProgramOptions) {
    this.#name = name
    this.#child = spawn(process.execPath, [...forkOptions(), module, ...args], {
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

  /** Waits for a line that begins with `prefix`; returns the rest of it. */
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
