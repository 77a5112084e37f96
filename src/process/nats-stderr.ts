/**
 * What the local nats-server writes to its standard error, which is nothing unless it crashes or refuses its
 * configuration: its log has neither. The file holds what the last server wrote that wrote anything, so that a restart
 * does not remove the evidence.
 */
import { appendFileSync, writeFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { sleep } from '../core/clock.js'

/** The bound of the file. A crash says why first; the stacks after it may be cut off. */
export const stderrBytesMax = 64 * 1024
const reasonCharactersMax = 300
/** The last lines of a server that has ended are read within this time; a process it left behind may hold the pipe. */
const lastLinesMs = 500

export class ServerStderr {
  readonly path: string
  #bytes = 0
  #start = ''
  readonly #stream: Readable
  readonly #ended: Promise<void>

  /** One run of the server. */
  constructor(path: string, stream: Readable) {
    this.path = path
    this.#stream = stream
    stream.on('data', (chunk: Buffer) => this.#keep(chunk.subarray(0, stderrBytesMax - this.#bytes)))
    // An error is the end of what can be read.
    stream.on('error', () => {})
    this.#ended = new Promise((resolve) => stream.once('close', resolve))
  }

  /** The first line, which says why; undefined if nothing was written. */
  get reason(): string | undefined {
    return this.#start.split('\n').find((line) => line.trim() !== '')
  }

  /** Resolves when all that an ended server wrote is kept. */
  async ended(): Promise<void> {
    const waiting = new AbortController()
    await Promise.race([this.#ended, sleep(lastLinesMs, waiting.signal)])
    waiting.abort()
    this.#stream.destroy()
  }

  #keep(chunk: Buffer): void {
    if (chunk.length === 0) return
    const write = this.#bytes === 0 ? writeFileSync : appendFileSync
    this.#bytes += chunk.length
    if (this.#start.length < reasonCharactersMax)
      this.#start = `${this.#start}${chunk.toString('utf8')}`.slice(0, reasonCharactersMax)
    try {
      write(this.path, chunk, { mode: 0o600 })
    } catch {
      // The disk may be full, which may be why the server ended: the reason in memory is reported all the same.
    }
  }
}
