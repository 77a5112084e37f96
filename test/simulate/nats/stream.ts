/** A stream of the model: what it stores, and what it refuses. */
import {
  deletionFailed,
  otherStream,
  sequenceNotFound,
  storeFailed,
  tooLarge,
  wrongLastSequence,
} from './errors.js'
import { readHeaders } from './headers.js'
import { matcher } from './subjects.js'

export interface StreamConfig {
  readonly name: string
  readonly subjects: readonly string[]
  readonly retention: 'limits' | 'workqueue' | 'interest'
  readonly discard: 'new' | 'old'
  /** -1: no limit. */
  readonly max_bytes: number
  readonly max_msgs: number
  readonly max_msgs_per_subject: number
  readonly max_msg_size: number
  /** Nanoseconds; 0: any age. */
  readonly max_age: number
  readonly duplicate_window: number
  readonly description?: string
}

export interface StoredMessage {
  readonly sequence: number
  readonly subject: string
  readonly headers: Buffer | undefined
  readonly data: Buffer
  readonly atMs: number
}

interface Publish {
  readonly subject: string
  readonly headers: Buffer | undefined
  readonly data: Buffer
}

const nanosPerMs = 1e6

/** The bytes that a file store counts for a message. */
const sizeOf = ({ subject, headers, data }: Publish): number =>
  22 + subject.length + (headers === undefined ? 0 : 4 + headers.length) + data.length + 8

export class Stream {
  config: StreamConfig
  readonly createdMs: number
  /** By sequence, the oldest first. */
  readonly messages = new Map<number, StoredMessage>()
  /** The sequences of each subject, the oldest first. */
  readonly #bySubject = new Map<string, number[]>()
  /** Message ids: when they were stored, and as what. */
  readonly #ids = new Map<string, { readonly sequence: number; readonly atMs: number }>()
  #last = 0
  #lastMs = 0
  #bytes = 0

  constructor(config: StreamConfig, createdMs: number) {
    this.config = config
    this.createdMs = createdMs
  }

  get last(): number {
    return this.#last
  }

  takes(subject: string): boolean {
    return this.config.subjects.some((pattern) => matcher(pattern)(subject))
  }

  /** Stores the message, or knows it already; throws a `Refusal`. */
  publish(message: Publish, nowMs: number): { readonly sequence: number; readonly isDuplicate: boolean } {
    this.expire(nowMs)
    const { max_msg_size, name, duplicate_window } = this.config
    const { subject, headers, data } = message
    const named = readHeaders(headers)
    const expected = named.get('Nats-Expected-Stream')
    if (expected !== undefined && expected !== name) throw otherStream()
    this.#checkExpected(named, subject)
    const id = named.get('Nats-Msg-Id')
    this.#forgetIds(nowMs)
    const known = id === undefined ? undefined : this.#ids.get(id)
    if (known !== undefined) return { sequence: known.sequence, isDuplicate: true }
    if (max_msg_size > 0 && data.length + (headers?.length ?? 0) > max_msg_size) throw tooLarge()
    if (named.get('Nats-Rollup') === 'sub') for (const sequence of this.#of(subject)) this.remove(sequence)
    this.#makeRoom(message)
    this.#last += 1
    this.#lastMs = nowMs
    this.#add({ ...message, sequence: this.#last, atMs: nowMs })
    if (id !== undefined && duplicate_window > 0) this.#ids.set(id, { sequence: this.#last, atMs: nowMs })
    this.#keepLimits()
    return { sequence: this.#last, isDuplicate: false }
  }

  #checkExpected(named: ReadonlyMap<string, string>, subject: string): void {
    const lastOfSubject = named.get('Nats-Expected-Last-Subject-Sequence')
    const last = this.#of(subject).at(-1) ?? 0
    if (lastOfSubject !== undefined && Number(lastOfSubject) !== last) throw wrongLastSequence(last)
    const lastOfStream = named.get('Nats-Expected-Last-Sequence')
    if (lastOfStream !== undefined && Number(lastOfStream) !== this.#last) throw wrongLastSequence(this.#last)
  }

  #of(subject: string): number[] {
    return [...(this.#bySubject.get(subject) ?? [])]
  }

  /** Refuses what a stream that discards new messages has no room for. */
  #makeRoom(message: Publish): void {
    const { discard, max_bytes, max_msgs, max_msgs_per_subject } = this.config
    if (discard !== 'new') return
    const own = this.#of(message.subject)
    const replaces = max_msgs_per_subject > 0 && own.length >= max_msgs_per_subject
    const size = sizeOf(message)
    if (max_msgs > 0 && this.messages.size >= max_msgs && !replaces)
      throw storeFailed('maximum messages exceeded')
    if (max_bytes <= 0 || this.#bytes + size <= max_bytes) return
    const replaced = replaces ? sizeOf(this.messages.get(own[0]!)!) : 0
    if (replaced < size) throw storeFailed('maximum bytes exceeded')
  }

  #keepLimits(): void {
    const { max_bytes, max_msgs, max_msgs_per_subject } = this.config
    if (max_msgs_per_subject > 0)
      for (const sequence of this.#of(this.messages.get(this.#last)!.subject).slice(0, -max_msgs_per_subject))
        this.remove(sequence)
    while ((max_bytes > 0 && this.#bytes > max_bytes) || (max_msgs > 0 && this.messages.size > max_msgs))
      this.remove(this.first)
  }

  #add(message: StoredMessage): void {
    this.messages.set(message.sequence, message)
    this.#bytes += sizeOf(message)
    const own = this.#bySubject.get(message.subject)
    if (own === undefined) this.#bySubject.set(message.subject, [message.sequence])
    else own.push(message.sequence)
  }

  /** The first sequence that is stored; behind the last one if there is none. */
  get first(): number {
    for (const sequence of this.messages.keys()) return sequence
    return this.#last + 1
  }

  /** False if it is not there. */
  remove(sequence: number): boolean {
    const message = this.messages.get(sequence)
    if (message === undefined) return false
    this.messages.delete(sequence)
    this.#bytes -= sizeOf(message)
    const own = this.#bySubject.get(message.subject)!
    if (own.length === 1) this.#bySubject.delete(message.subject)
    else own.splice(own.indexOf(sequence), 1)
    return true
  }

  /** As a client asks for it; throws a `Refusal`. */
  delete(sequence: number): void {
    if (this.remove(sequence)) return
    if (sequence > this.#last) throw deletionFailed('EOF')
    throw sequence < this.first ? deletionFailed('no message found') : sequenceNotFound(sequence)
  }

  /** Removes messages of a subject, below a sequence, or all but some; how many there were. */
  purge({ filter, seq, keep = 0 }: { filter?: string; seq?: number; keep?: number }): number {
    const isMatch = filter === undefined ? () => true : matcher(filter)
    const found = [...this.messages.values()].filter(({ subject }) => isMatch(subject))
    // 0 stands for all messages.
    const below = !seq ? found : found.filter(({ sequence }) => sequence < seq)
    const purged = keep > 0 ? below.slice(0, Math.max(0, below.length - keep)) : below
    for (const { sequence } of purged) this.remove(sequence)
    return purged.length
  }

  /** Removes what is too old. */
  expire(nowMs: number): void {
    const maxMs = this.config.max_age / nanosPerMs
    if (maxMs === 0) return
    for (const { sequence, atMs } of this.messages.values()) {
      if (nowMs - atMs < maxMs) return
      this.remove(sequence)
    }
  }

  #forgetIds(nowMs: number): void {
    const windowMs = this.config.duplicate_window / nanosPerMs
    for (const [id, { atMs }] of this.#ids) {
      if (nowMs - atMs < windowMs) return
      this.#ids.delete(id)
    }
  }

  /** The first message at or after a sequence that matches. */
  next(from: number, isMatch: (subject: string) => boolean): StoredMessage | undefined {
    for (let sequence = Math.max(from, this.first); sequence <= this.#last; sequence++) {
      const message = this.messages.get(sequence)
      if (message !== undefined && isMatch(message.subject)) return message
    }
    return undefined
  }

  /** How many at or after a sequence match. */
  countFrom(from: number, isMatch: (subject: string) => boolean): number {
    let count = 0
    for (const { sequence, subject } of this.messages.values())
      if (sequence >= from && isMatch(subject)) count += 1
    return count
  }

  lastOf(subject: string): StoredMessage | undefined {
    const sequence = this.#of(subject).at(-1)
    return sequence === undefined ? undefined : this.messages.get(sequence)
  }

  /** Of each subject that matches, the sequence of its last message. */
  lastPerSubject(isMatch: (subject: string) => boolean): number[] {
    const found = [...this.#bySubject].filter(([subject]) => isMatch(subject))
    return found.map(([, sequences]) => sequences.at(-1)!).sort((a, b) => a - b)
  }

  /** How many messages each subject has. */
  subjectCounts(filter: string): Record<string, number> {
    const isMatch = matcher(filter)
    const found = [...this.#bySubject].filter(([subject]) => isMatch(subject))
    return Object.fromEntries(found.map(([subject, sequences]) => [subject, sequences.length]))
  }

  /** The last messages are lost, and with them that there ever were such sequences. What was lost, the oldest first. */
  loseLast(count: number): StoredMessage[] {
    const lost = [...this.messages.values()].filter(({ sequence }) => sequence > this.#last - count)
    for (const { sequence } of lost) this.remove(sequence)
    this.#last = Math.max(0, this.#last - count)
    for (const [id, { sequence }] of this.#ids) if (sequence > this.#last) this.#ids.delete(id)
    return lost
  }

  /** As a copy of its store has it. */
  copy(): Stream {
    const copied = new Stream(this.config, this.createdMs)
    for (const message of this.messages.values()) copied.#add(message)
    for (const [id, known] of this.#ids) copied.#ids.set(id, known)
    copied.#last = this.#last
    copied.#lastMs = this.#lastMs
    return copied
  }

  state(consumers: number) {
    return {
      messages: this.messages.size,
      bytes: this.#bytes,
      first_seq: this.#last === 0 ? 0 : this.first,
      first_ts: timeOf(this.messages.get(this.first)?.atMs),
      last_seq: this.#last,
      last_ts: timeOf(this.#lastMs || undefined),
      num_subjects: this.#bySubject.size,
      consumer_count: consumers,
    }
  }
}

const noTime = '0001-01-01T00:00:00Z'

export const timeOf = (ms: number | undefined): string =>
  ms === undefined ? noTime : new Date(ms).toISOString()
