/**
 * A queue of events that is cut into requests. Order is kept, except that retries go first. An event that exceeds the
 * service's limit is set apart, and its neighbours continue. An event that exceeds the request's limit alone is sent in a
 * separate request. If a request holds whole packs only, a pack that does not fit waits for the next one; a pack that no
 * request can hold is divided all the same. What was in such a request stays together when it is sent again.
 */
import type { PackedEvent } from '../../wire/packed-event.js'
import type { BatchLimits } from '../kind/sender.js'

export interface Batchable {
  readonly event: PackedEvent
  /** Its pack has ended: it is skipped. */
  readonly abandoned: boolean
  /** The identity of its pack. */
  readonly job: object
  /** When the lane took its pack: monotonic. */
  readonly takenMs: number
  /** The request that it was in, if requests hold whole packs only. */
  request?: object | undefined
}

interface Cut<T> {
  readonly batch: readonly T[]
  /** Each of them exceeds the service's limit. */
  readonly oversize: readonly T[]
}

export class Batcher<T extends Batchable> {
  readonly #again = new Line<T>()
  readonly #fresh = new Line<T>()

  get length(): number {
    return this.#again.length + this.#fresh.length
  }

  get byteLength(): number {
    return this.#again.byteLength + this.#fresh.byteLength
  }

  /** Since when the next event has waited: the time that its pack was taken, or for ever if it was sent before. */
  get sinceMs(): number {
    const next = this.#again.length > 0 ? undefined : this.#next()
    return next?.takenMs ?? Number.NEGATIVE_INFINITY
  }

  add(items: Iterable<T>): void {
    for (const item of items) this.#fresh.push(item)
  }

  /** These go before everything that was added by `add`. */
  addFirst(items: Iterable<T>): void {
    for (const item of items) this.#again.push(item)
  }

  /** Is there enough for a full request? An estimate: it ignores the service's overhead per event. */
  fills({ eventsMax, requestBytesMax }: BatchLimits): boolean {
    return this.length >= eventsMax || this.byteLength >= requestBytesMax
  }

  /** Takes what fits into one request; an empty batch when nothing is left. */
  cut({
    eventsMax,
    requestBytesMax,
    eventBytesMax,
    sizeOf,
    packed,
    spanMaxMs = Number.POSITIVE_INFINITY,
    wholePacks,
  }: BatchLimits): Cut<T> {
    const before = wholePacks && this.#next()?.request
    if (before !== undefined) return { batch: this.#takeAgain(before), oversize: [] }
    const batch: T[] = []
    const oversize: T[] = []
    let bytes = 0
    let records = 0
    let oldestMs = Number.POSITIVE_INFINITY
    let newestMs = Number.NEGATIVE_INFINITY
    for (
      let item = this.#next();
      item !== undefined && item.request === undefined && batch.length < eventsMax;
      item = this.#next()
    ) {
      const size = sizeOf(item.event)
      if (size > eventBytesMax) {
        oversize.push(item)
      } else {
        if (spanMaxMs < Number.POSITIVE_INFINITY) {
          const { timestampMs } = item.event
          oldestMs = Math.min(oldestMs, timestampMs)
          newestMs = Math.max(newestMs, timestampMs)
        }
        bytes += size
        if (packed !== undefined) records += packed.recordPartOf(item.event)
        const fits =
          bytes <= requestBytesMax &&
          newestMs - oldestMs <= spanMaxMs &&
          (packed === undefined || Math.ceil(records) <= packed.recordsMax)
        if (!fits && batch.length > 0) break
        batch.push(item)
      }
      this.#shift()
    }
    if (!wholePacks) return { batch, oversize }
    const whole = this.#wholePacksOf(batch)
    for (const item of whole) item.request = whole
    return { batch: whole, oversize }
  }

  /** The rest of a request that failed, and nothing else, so that it is the same request again. */
  #takeAgain(request: object): T[] {
    const batch: T[] = []
    for (let item = this.#next(); item?.request === request; item = this.#next()) {
      batch.push(item)
      this.#shift()
    }
    return batch
  }

  /** Puts the last pack of a request back if the request has only a part of it, and others. */
  #wholePacksOf(batch: readonly T[]): readonly T[] {
    const last = batch.at(-1)?.job
    if (last === undefined || this.#next()?.job !== last || batch[0]!.job === last) return batch
    const whole = batch.findIndex(({ job }) => job === last)
    this.#line().unshift(batch.slice(whole))
    return batch.slice(0, whole)
  }

  /** Drops the items of packs that have ended. */
  dropAbandoned(): void {
    this.#again.keep((item) => !item.abandoned)
    this.#fresh.keep((item) => !item.abandoned)
  }

  #line(): Line<T> {
    return this.#again.length > 0 ? this.#again : this.#fresh
  }

  #next(): T | undefined {
    while (this.#line().first?.abandoned) this.#shift()
    return this.#line().first
  }

  #shift(): void {
    this.#line().shift()
  }
}

/** First in, first out, without moving the rest at every `shift`. */
class Line<T extends Batchable> {
  #items: T[] = []
  #head = 0
  byteLength = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  get first(): T | undefined {
    return this.#items[this.#head]
  }

  push(item: T): void {
    this.#items.push(item)
    this.byteLength += item.event.dataBytes
  }

  unshift(items: readonly T[]): void {
    this.#items = [...items, ...this.#items.slice(this.#head)]
    this.#head = 0
    for (const { event } of items) this.byteLength += event.dataBytes
  }

  keep(wanted: (item: T) => boolean): void {
    const kept = this.#items.slice(this.#head).filter(wanted)
    this.#items = []
    this.#head = 0
    this.byteLength = 0
    for (const item of kept) this.push(item)
  }

  shift(): void {
    this.byteLength -= this.#items[this.#head]!.event.dataBytes
    this.#head += 1
    if (this.#head * 2 < this.#items.length) return
    this.#items = this.#items.slice(this.#head)
    this.#head = 0
  }
}

/** The smallest share. */
const shareMin = 1 / 512
/** Each accepted request adds one part in a thousand: 700 of them undo a halving. */
const growth = 1.001

/**
 * The share of the service's limits that a request uses. An endpoint may accept less than documented, for instance behind
 * a proxy with its own limit. If a request is refused but none of its events is refused alone, requests become smaller.
 * They grow back slowly, so that a lasting limit costs few searches.
 */
export class RequestSize {
  #share = 1

  of(limits: BatchLimits): BatchLimits {
    if (this.#share === 1) return limits
    return {
      ...limits,
      eventsMax: Math.max(1, Math.floor(limits.eventsMax * this.#share)),
      requestBytesMax: Math.max(1, Math.floor(limits.requestBytesMax * this.#share)),
    }
  }

  shrink(): void {
    this.#share = Math.max(shareMin, this.#share / 2)
  }

  grow(): void {
    this.#share = Math.min(1, this.#share * growth)
  }

  reset(): void {
    this.#share = 1
  }
}
