/**
 * Quarantine: a message that was delivered several times without being acknowledged may hold a record that crashes the
 * process that evaluates it. Its records are therefore tried one by one in a child process. A record that crashes the
 * child, or takes too long, is a culprit; the others are processed as usual.
 */
import type { ChildProcess } from 'node:child_process'
import { parseMessage } from '../../delivery/record/record.js'
import { after, every, type Timer } from '../../ground/core/clock.js'
import { BadRecord } from './process-record.js'

/** A record to try. */
export interface Trial {
  readonly id: number
  readonly record: Uint8Array
}

/** Messages of the child: first that it is ready, then each record that it survived. */
export type FromQuarantine = { readonly type: 'ready' } | { readonly type: 'survived'; readonly id: number }

interface QuarantineOptions {
  /** Starts a child that sends `FromQuarantine`, with a channel of the kind `advanced`. */
  readonly fork: () => ChildProcess
  readonly readyWithinMs: number
  readonly recordWithinMs: number
}

/** A record takes a fraction of a millisecond; a child must read the configuration first. */
export const quarantineTimes = { readyWithinMs: 30_000, recordWithinMs: 10_000 }

/**
 * Time is counted in so many parts. One that takes longer, because the machine has no time for this process either, counts
 * as one: a good record must not be condemned for that.
 */
const partsOfTime = 20

/** A child without trials for this long is ended. */
const idleMs = 10_000
const space = 0x20

export class Quarantine {
  readonly #options: QuarantineOptions
  #child: Promise<QuarantineChild> | undefined
  #idle: Timer | undefined
  /** Resolves when the messages before are tried. */
  #busy: Promise<unknown> = Promise.resolve()

  constructor(options: QuarantineOptions) {
    this.#options = options
  }

  /** The records of a message that crash a process. Rejects if no child can be started. */
  culpritsIn(message: Uint8Array): Promise<BadRecord[]> {
    // Each partition has messages of its own, and there is one child, which tries one record at a time.
    const culprits = this.#busy.then(() => this.#try(message))
    this.#busy = culprits.catch(() => {})
    return culprits
  }

  async #try(message: Uint8Array): Promise<BadRecord[]> {
    this.#idle?.stop()
    const culprits: BadRecord[] = []
    for (const line of parseMessage(message)) {
      const child = await this.#open()
      const reason = await child.try(line.bytes)
      if (reason === undefined) continue
      culprits.push(new BadRecord(line, reason))
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
  #onMessage: ((message: FromQuarantine) => void) | undefined
  #onEnd: ((how: string) => void) | undefined

  constructor({ fork, readyWithinMs, recordWithinMs }: QuarantineOptions) {
    this.#recordWithinMs = recordWithinMs
    this.#process = fork()
    this.#process.on('message', (message: FromQuarantine) => this.#onMessage?.(message))
    this.#process.on('exit', (code, signal) => this.#onEnd?.(signal ?? `exit code ${code}`))
    this.#process.on('error', (error) => this.#onEnd?.(error.message))
    this.ready = this.#answer(readyWithinMs, ({ type }) => type === 'ready').catch((error: Error) => {
      this.end()
      throw new Error(`The quarantine process did not become ready: ${error.message}.`)
    })
  }

  /** A sentence on how the child ended; undefined if it survived the record. */
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

  /** Resolves when the expected message arrives; rejects with the reason why it does not. */
  #answer(withinMs: number, isExpected: (message: FromQuarantine) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let partsLeft = partsOfTime
      const late = every(withinMs / partsOfTime, () => {
        partsLeft -= 1
        if (partsLeft === 0) end('no answer in time')
      })
      const end = (how: string): void => {
        late.stop()
        reject(new Error(how))
      }
      this.#onEnd = end
      this.#onMessage = (message) => {
        if (!isExpected(message)) return
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

/** The message with the lines of these records blanked, so that the others keep their line numbers. */
export function withoutLines(message: Uint8Array, records: readonly BadRecord[]): Uint8Array {
  if (records.length === 0) return message
  const copy = Buffer.from(message)
  for (const { bytes } of records) {
    const start = bytes.byteOffset - message.byteOffset
    copy.fill(space, start, start + bytes.length)
  }
  return copy
}
