/**
 * Quarantine: a message that was delivered several times without an end may hold a record that ends the process
 * that evaluates it. Its records are therefore tried one by one in a child process; one that the child does not
 * survive, or does not finish in time, is a culprit. The others can be processed as ever.
 */
import type { ChildProcess } from 'node:child_process'
import { after, type Timer } from '../core/clock.js'
import { parseMessage } from '../record/record.js'
import type { BadRecord } from './process-record.js'

/** A record to try. */
export interface Trial {
  readonly id: number
  readonly record: Uint8Array
}

/** What the child says: at first that it can begin, then of each record that it is through with it. */
export type FromQuarantine = { readonly type: 'ready' } | { readonly type: 'survived'; readonly id: number }

export interface QuarantineOptions {
  /** Starts a child that speaks as above, its channel of the kind `advanced`. */
  readonly fork: () => ChildProcess
  readonly readyWithinMs: number
  readonly recordWithinMs: number
}

/** A record takes a fraction of a millisecond; a child has to read the configuration first. */
export const quarantineTimes = { readyWithinMs: 30_000, recordWithinMs: 5_000 }

/** A child that nobody asked for this long is ended. */
const idleMs = 10_000
const space = 0x20

export class Quarantine {
  readonly #options: QuarantineOptions
  #child: Promise<QuarantineChild> | undefined
  #idle: Timer | undefined

  constructor(options: QuarantineOptions) {
    this.#options = options
  }

  /** The records of a message that a process does not survive. Rejects where no child can be started. */
  async culpritsIn(message: Uint8Array): Promise<BadRecord[]> {
    this.#idle?.stop()
    const culprits: BadRecord[] = []
    for (const { number, bytes } of parseMessage(message)) {
      const child = await this.#open()
      const reason = await child.try(bytes)
      if (reason === undefined) continue
      culprits.push({ line: number, bytes, reason })
      this.close()
    }
    this.#idle = after(idleMs, () => this.close())
    return culprits
  }

  #open(): Promise<QuarantineChild> {
    this.#child ??= this.#start()
    return this.#child
  }

  async #start(): Promise<QuarantineChild> {
    const child = new QuarantineChild(this.#options)
    try {
      await child.ready
      return child
    } catch (error) {
      this.close()
      throw error
    }
  }

  close(): void {
    this.#idle?.stop()
    void this.#child?.then(
      (child) => child.end(),
      () => {},
    )
    this.#child = undefined
  }
}

class QuarantineChild {
  readonly ready: Promise<void>
  readonly #process: ChildProcess
  readonly #recordWithinMs: number
  #trials = 0
  #hear: ((message: FromQuarantine) => void) | undefined
  #gone: ((how: string) => void) | undefined

  constructor({ fork, readyWithinMs, recordWithinMs }: QuarantineOptions) {
    this.#recordWithinMs = recordWithinMs
    this.#process = fork()
    this.#process.on('message', (message: FromQuarantine) => this.#hear?.(message))
    this.#process.on('exit', (code, signal) => this.#gone?.(signal ?? `exit code ${code}`))
    this.#process.on('error', (error) => this.#gone?.(error.message))
    this.ready = this.#answer(readyWithinMs, ({ type }) => type === 'ready').catch((error: Error) => {
      this.end()
      throw new Error(`The quarantine process did not become ready: ${error.message}.`)
    })
  }

  /** One sentence on how the child ended; undefined where it survived the record. */
  async try(record: Uint8Array): Promise<string | undefined> {
    this.#trials += 1
    const id = this.#trials
    const survived = this.#answer(
      this.#recordWithinMs,
      (message) => message.type === 'survived' && message.id === id,
    )
    if (this.#process.connected) this.#process.send({ id, record } satisfies Trial, () => {})
    try {
      await survived
      return undefined
    } catch (error) {
      return `The process that evaluated the record did not survive it: ${(error as Error).message}.`
    }
  }

  /** Resolves with the message meant; rejects with why none came. */
  #answer(withinMs: number, isMeant: (message: FromQuarantine) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = after(withinMs, () => end('no answer in time'))
      const end = (how: string): void => {
        late.stop()
        reject(new Error(how))
      }
      this.#gone = end
      this.#hear = (message) => {
        if (!isMeant(message)) return
        late.stop()
        resolve()
      }
      if (this.#process.exitCode !== null || this.#process.signalCode !== null) end('it had ended')
    })
  }

  end(): void {
    this.#process.kill('SIGKILL')
  }
}

/** The message without the lines of these records, which are blank then: the others keep their numbers. */
export function withoutLines(message: Uint8Array, records: readonly BadRecord[]): Uint8Array {
  if (records.length === 0) return message
  const copy = Buffer.from(message)
  for (const { bytes } of records) {
    const start = bytes.byteOffset - message.byteOffset
    copy.fill(space, start, start + bytes.length)
  }
  return copy
}
