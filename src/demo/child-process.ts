/** A program that the demo runs. It ends when the demo does, even if the demo is killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
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
  /** Emits `change` for each line, and when the program has ended. */
  readonly #changes = new EventEmitter()
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
        this.#changes.emit('change')
      })
    }
    void this.ended.then(() => {
      this.#changes.emit('change')
      log.end()
    })
  }

  /** Waits for a line that begins with `prefix`; returns the rest of it. */
  said(prefix: string): Promise<string> {
    return within(readyTimeoutMs, this.#find(prefix), `${this.#name} does not get ready.`)
  }

  async #find(prefix: string): Promise<string> {
    for (;;) {
      const line = this.#lines.find((each) => each.startsWith(prefix))
      if (line !== undefined) return line.slice(prefix.length)
      const { exitCode, signalCode } = this.#child
      if (exitCode !== null || signalCode !== null)
        throw new Error(`${this.#name} ended before it was ready:\n${this.lastLines()}`)
      await once(this.#changes, 'change')
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
