/**
 * Standard error of the local nats-server. It is empty unless the server crashes or refuses its configuration, which its
 * log does not show. The file is replaced only when a server writes something, so that a restart does not remove the
 * evidence.
 */
import { appendFileSync, writeFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { sleep } from '../../ground/core/clock.js'
import { readText } from './files.js'

/** The size limit of the file. A crash reports the reason first; the stacks after it may be cut off. */
export const stderrBytesMax = 64 * 1024
const reasonCharactersMax = 300
/** Time to read the last lines after the server ended: a process it left over may keep the pipe open. */
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
    stream.on('data', (chunk: Buffer) => this.#store(chunk.subarray(0, stderrBytesMax - this.#bytes)))
    // After an error nothing more can be read.
    stream.on('error', () => {})
    this.#ended = new Promise((resolve) => stream.once('close', resolve))
  }

  /** The first line, which has the reason; undefined if nothing was written. */
  get reason(): string | undefined {
    return this.#start.split('\n').find((line) => line.trim() !== '')
  }

  /** Resolves when the output of the ended server is stored. */
  async ended(): Promise<void> {
    const waiting = new AbortController()
    await Promise.race([this.#ended, sleep(lastLinesMs, waiting.signal)])
    waiting.abort()
    this.#stream.destroy()
  }

  #store(chunk: Buffer): void {
    if (chunk.length === 0) return
    const write = this.#bytes === 0 ? writeFileSync : appendFileSync
    this.#bytes += chunk.length
    if (this.#start.length < reasonCharactersMax)
      this.#start = `${this.#start}${chunk.toString('utf8')}`.slice(0, reasonCharactersMax)
    try {
      write(this.path, chunk, { mode: 0o600 })
    } catch {
      // A full disk may be why the server ended: the reason in memory is reported anyway.
    }
  }
}

/** The reason of the last server's end, if it reported one, and the files with details. */
export function failureReport(
  log: string,
  stderr: ServerStderr | undefined,
): { readonly reason: string; readonly output: string[] } {
  if (stderr?.reason !== undefined) return { reason: stderr.reason, output: [log, stderr.path] }
  const lines = (readText(log) ?? '').trim().split('\n')
  return { reason: lines.findLast((line) => line.includes('[FTL]')) ?? lines.at(-1) ?? '', output: [log] }
}
