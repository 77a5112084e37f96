/**
 * Entries of the decision log about expressions without a result: for each place, a policy or a filter, how often, and the
 * last record. Places are collected for some seconds and written together, so that records which fail cost little, and
 * others nothing.
 */

import { type FailureRow, FailureRows } from '../../delivery/wire/failure-rows.js'
import { type LogMode, LogPublisher } from '../../delivery/wire/log-publisher.js'
import { failureRowsSubject } from '../../delivery/wire/names.js'
import { after, type Timer } from '../../ground/core/clock.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { CountVector, LastFailure } from './counts.js'

/** Someone who has just saved a policy waits for it. */
const writeEveryMs = 2_000
/** Places of one account, and of all accounts, in each write. The others are only in the metrics. */
const placesPerAccountMax = 100
const placesMax = 2_000
/** An expression has up to thousands of characters; its beginning shows which one it is. */
const textCharsMax = 300
const minuteMs = 60_000

interface FailureLogOptions {
  readonly nats: Pick<Nats, 'publish'>
  /** `off`: nothing is written. */
  readonly mode: LogMode
  readonly occurrences: Pick<Occurrences, 'decisionRowsLost'>
}

type Place = Pick<FailureRow, 'edgeId' | 'routeId' | 'policy' | 'subscriptionId' | 'eventKind'>

/** The failures at a place since the last write. */
interface Seen {
  readonly accountId: string
  readonly place: Place
  readonly firstAtMs: number
  failures: number
  lastAtMs: number
  last: LastFailure
}

export class FailureLog {
  readonly #isOn: boolean
  readonly #publisher: LogPublisher<FailureRows>
  readonly #seen = new Map<string, Seen>()
  readonly #placesOf = new Map<string, number>()
  #due: Timer | undefined

  constructor({ mode, ...options }: FailureLogOptions) {
    this.#isOn = mode !== 'off'
    this.#publisher = new LogPublisher({ ...options, rows: new FailureRows(), subject: failureRowsSubject })
  }

  /** `atMs`: when the records were stored, or the question was asked. */
  add(
    { policyFailures, filterFailures }: Pick<CountVector, 'policyFailures' | 'filterFailures'>,
    atMs: number,
  ): void {
    if (!this.#isOn) return
    for (const { edge_id: ownerId, policy, count, last } of policyFailures)
      this.#note(`${ownerId} ${policy}`, count, last, atMs, () => placeOfPolicy(ownerId, policy, last))
    for (const { subscription_id, kind, count, last } of filterFailures)
      this.#note(`${subscription_id} ${kind}`, count, last, atMs, () => placeOfFilter(subscription_id, kind))
  }

  #note(key: string, count: number, last: LastFailure, atMs: number, placeOf: () => Place): void {
    const seen = this.#seen.get(key)
    if (seen === undefined) {
      this.#begin(key, count, last, atMs, placeOf)
      return
    }
    seen.failures += count
    // Messages are acknowledged in any order.
    if (atMs < seen.lastAtMs) return
    seen.lastAtMs = atMs
    seen.last = last
  }

  #begin(key: string, failures: number, last: LastFailure, atMs: number, placeOf: () => Place): void {
    const { accountId } = last
    if (accountId === undefined || this.#seen.size >= placesMax) return
    const places = this.#placesOf.get(accountId) ?? 0
    if (places >= placesPerAccountMax) return
    this.#placesOf.set(accountId, places + 1)
    this.#seen.set(key, { accountId, place: placeOf(), failures, firstAtMs: atMs, lastAtMs: atMs, last })
    this.#due ??= after(writeEveryMs, () => this.#write())
  }

  #write(): void {
    this.#due?.stop()
    this.#due = undefined
    for (const seen of this.#seen.values()) {
      this.#publisher.batch.collected.add(rowOf(seen))
      this.#publisher.batch.added()
    }
    this.#publisher.batch.publish()
    this.#seen.clear()
    this.#placesOf.clear()
  }

  /** Publishes what is left; waits for batches under way. */
  async close(): Promise<void> {
    this.#write()
    await this.#publisher.close()
  }
}

/** Policies belong to the edge, or to the route that served the record. */
const placeOfPolicy = (ownerId: string, policy: string, { edgeId = ownerId }: LastFailure): Place => ({
  edgeId,
  routeId: ownerId === edgeId ? '' : ownerId,
  policy,
  subscriptionId: '',
  eventKind: '',
})

const placeOfFilter = (subscriptionId: string, eventKind: string): Place => ({
  edgeId: '',
  routeId: '',
  policy: '',
  subscriptionId,
  eventKind,
})

const rowOf = ({ accountId, place, failures, firstAtMs, lastAtMs, last }: Seen): FailureRow => ({
  accountId,
  ...place,
  minute: Math.floor(lastAtMs / minuteMs) * minuteMs,
  failures,
  firstAt: Math.min(firstAtMs, lastAtMs),
  lastAt: lastAtMs,
  expression: cut(last.expression),
  message: cut(last.msg),
  recordId: last.recordId,
})

const cut = (text: string): string => (text.length <= textCharsMax ? text : `${text.slice(0, textCharsMax)}…`)
