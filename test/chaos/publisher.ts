/** Ingress nodes that publish numbered records. Each acknowledgement is an obligation: these records must arrive. */
import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../../src/ground/core/clock.js'
import type { Nats } from '../../src/ground/nats/nats.js'
import { reportedLater } from '../integration/node-traffic.js'
import type { Issue } from './issue.js'

export const recordsPerMessage = 50
/** Each waits for the acknowledgement of one message before the next. Their names spread over the partitions. */
const nodes = Array.from({ length: 8 }, (_, n) => `node-${n}`)
/** A node does not give up: its records exist, and someone will ask for them. */
const patience = { patienceMs: 600_000 }

export class Publisher {
  readonly #nats: Nats
  readonly #issue: Issue
  readonly #edgeId: string
  #issued = 0
  #wanted = 0
  #perSecond = 0
  #beganMs = 0
  #begunWith = 0
  #isEnding = false
  #longestGapMs = 0
  #lastMs = 0
  readonly #acknowledged = new Set<number>()
  readonly #publishing: Promise<unknown>

  constructor(nats: Nats, issue: Issue, edgeId: string) {
    this.#nats = nats
    this.#issue = issue
    this.#edgeId = edgeId
    this.#publishing = reportedLater(Promise.all(nodes.map((node) => this.#node(node))))
  }

  /** Records that were published, or are on their way. */
  get issued(): number {
    return this.#issued
  }

  get messages(): number {
    return this.#acknowledged.size
  }

  /** The longest time without an acknowledgement while there was something to acknowledge. */
  get longestGapMs(): number {
    return this.#longestGapMs
  }

  forgetGap(): void {
    this.#longestGapMs = 0
    this.#lastMs = monotonicMs()
  }

  isAcknowledged(n: number): boolean {
    return this.#acknowledged.has(n - (n % recordsPerMessage))
  }

  /** Records that were acknowledged so far. */
  get obligations(): number {
    return this.#acknowledged.size * recordsPerMessage
  }

  /** Publishes so many records a second from now on. */
  pace(perSecond: number): void {
    this.#begunWith = this.#issued
    this.#beganMs = this.#lastMs = monotonicMs()
    this.#perSecond = perSecond
    this.#wanted = Number.POSITIVE_INFINITY
  }

  /** Publishes no more than have been issued, and waits until these are acknowledged. */
  async pause(): Promise<void> {
    this.#wanted = 0
    while (this.obligations < this.#issued) await sleep(50)
  }

  /** Publishes as fast as they are taken, until there are so many records in all; resolves when all are acknowledged. */
  async fillUp(records: number): Promise<void> {
    this.pace(Number.POSITIVE_INFINITY)
    this.#wanted = records
    while (this.#issued < records) await sleep(50)
    await this.pause()
  }

  async end(): Promise<void> {
    this.#isEnding = true
    await this.#publishing
  }

  get #isDue(): boolean {
    if (this.#issued >= this.#wanted) return false
    const seconds = (monotonicMs() - this.#beganMs) / 1_000
    return this.#issued - this.#begunWith < seconds * this.#perSecond
  }

  async #node(node: string): Promise<void> {
    while (!this.#isEnding) {
      if (!this.#isDue) {
        await sleep(10)
        continue
      }
      const first = this.#issued
      this.#issued += recordsPerMessage
      const lines = Array.from({ length: recordsPerMessage }, (_, at) =>
        this.#issue.line(first + at, this.#edgeId),
      )
      const msgId = this.#issue.recordId(first)
      await this.#nats.publish(`weir.records.eu.${node}`, lines.join('\n'), { msgId, ...patience })
      this.#acknowledged.add(first)
      const nowMs = monotonicMs()
      this.#longestGapMs = Math.max(this.#longestGapMs, nowMs - this.#lastMs)
      this.#lastMs = nowMs
    }
  }
}
