/**
 * This process's requests, known without ClickHouse: the last ones to each destination, and what AWS bills for
 * what they delivered. An operator asks for it when something is wrong, so it must not depend on the log, which may be
 * off or late. A restart forgets it; the log has what is older.
 */
import { isoMillis, monotonicMs, now, timeOfDay } from '../../ground/core/clock.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { attemptsMax, type DeliveryAttempt, type Usage } from '../wire/delivery-attempts.js'
import type { BillingUnit } from './aws/aws-kind.js'
import type { DeliveryLog } from './delivery-log.js'
import type { DestinationConfig } from './kind/destination.js'
import { faultIn, notAcceptedIn } from './kind/outcomes.js'
import type { SendAnswer, SendOutcome } from './kind/sender.js'
import { kindNamed, type ListedKind } from './kinds.js'
import type { AttemptLog } from './lane/attempt-log.js'
import type { Item } from './lane/job.js'

interface RequestHistoryOptions {
  /** Gets every request, too. */
  readonly log: Pick<DeliveryLog, 'of'>
  readonly occurrences: Pick<Occurrences, 'billingUnits'>
}

/** All destinations together keep so many, some 20 MB; each keeps a few, however many destinations there are. */
const attemptsOfAllMax = 100_000
const attemptsMin = 10
const attemptsOfIdle = 2

export class RequestHistory {
  readonly #options: RequestHistoryOptions
  readonly #destinations = new Map<string, Requests>()

  constructor(options: RequestHistoryOptions) {
    this.#options = options
  }

  /** The log of one destination. */
  of(destination: DestinationConfig): AttemptLog {
    const kind = kindNamed(destination.kind)
    const known = this.#destinations.get(destination.id)
    const requests = known?.kind === kind ? known : new Requests(kind, () => this.#keptOfEach)
    this.#destinations.set(destination.id, requests)
    const log = this.#options.log.of(destination)
    return {
      requested: (items, outcome, beganMs) => {
        log.requested(items, outcome, beganMs)
        for (const [unit, count] of requests.add(items, outcome, beganMs))
          this.#options.occurrences.billingUnits({ target: kind.name, unit }, count)
      },
      deadLettered: (item, fault) => log.deadLettered(item, fault),
    }
  }

  /** Keeps little of a destination that has nothing to do: there may be a hundred thousand. */
  shorten(destinationId: string): void {
    const requests = this.#destinations.get(destinationId)
    if (requests?.attempts.length === 0) this.forget(destinationId)
    else requests?.keepLast(attemptsOfIdle)
  }

  forget(destinationId: string): void {
    this.#destinations.delete(destinationId)
  }

  /** The newest first; undefined for a destination without requests. */
  attemptsOf(destinationId: string): readonly DeliveryAttempt[] | undefined {
    return this.#destinations.get(destinationId)?.attempts
  }

  usageOf(destinationId: string): Usage | undefined {
    return this.#destinations.get(destinationId)?.usage
  }

  /** Events accepted per second; undefined for a destination without requests. */
  rateOf(destinationId: string): number | undefined {
    return this.#destinations.get(destinationId)?.rate
  }

  get #keptOfEach(): number {
    const share = Math.floor(attemptsOfAllMax / this.#destinations.size)
    return Math.min(attemptsMax, Math.max(attemptsMin, share))
  }
}

/** The requests of one destination. */
class Requests {
  readonly kind: ListedKind
  readonly #kept: () => number
  /** The oldest first. */
  readonly #attempts: DeliveryAttempt[] = []
  readonly #usage: UsageCounter
  readonly #rate = new AcceptedRate()

  constructor(kind: ListedKind, kept: () => number) {
    this.kind = kind
    this.#kept = kept
    this.#usage = new UsageCounter(kind.aws?.billing ?? [])
  }

  get attempts(): readonly DeliveryAttempt[] {
    return this.#attempts.toReversed()
  }

  get usage(): Usage {
    return this.#usage.report()
  }

  get rate(): number {
    return this.#rate.perSecond()
  }

  keepLast(kept: number): void {
    const surplus = this.#attempts.length - kept
    if (surplus > 0) this.#attempts.splice(0, surplus)
  }

  /** Returns how many units AWS bills for it, by their names. */
  add(items: readonly Item[], outcome: SendOutcome, beganMs: number): readonly (readonly [string, number])[] {
    const refused = outcome.outcome === 'failed' ? undefined : notAcceptedIn(outcome)
    const accepted = refused === undefined ? 0 : items.length - refused.size
    this.#attempts.push(attemptOf(items, outcome, accepted, beganMs))
    this.keepLast(this.#kept())
    if (outcome.outcome === 'failed' || accepted === 0) return []
    this.#rate.add(accepted)
    const counts = this.#usage.add(accepted, this.#acceptedSizes(items, outcome, refused!))
    return (this.kind.aws?.billing ?? []).map(({ name }, index) => [name, counts[index]!])
  }

  /** The sizes of accepted records, as the service counts them. A record is accepted as a whole or not at all. */
  #acceptedSizes(
    items: readonly Item[],
    { records }: SendAnswer,
    refused: ReadonlySet<number>,
  ): readonly number[] {
    const { sizeOf } = this.kind.limits
    const sizes: number[] = []
    if (records === undefined) {
      for (let index = 0; index < items.length; index += 1)
        if (!refused.has(index)) sizes.push(sizeOf(items[index]!.event))
    } else {
      for (const record of records) if (!refused.has(record.indices![0]!)) sizes.push(sizeOf(record))
    }
    return sizes
  }
}

function attemptOf(
  items: readonly Item[],
  outcome: SendOutcome,
  accepted: number,
  beganMs: number,
): DeliveryAttempt {
  const atMs = now()
  const fault = faultIn(outcome)
  const requestId = outcome.outcome === 'failed' ? outcome.fault.requestId : outcome.requestId
  return {
    at: isoMillis(atMs),
    took_ms: Math.max(0, atMs - beganMs),
    outcome: accepted === items.length ? 'delivered' : accepted > 0 ? 'partial' : 'failed',
    events: items.length,
    accepted,
    bytes: items.reduce((sum, { event }) => sum + event.dataBytes, 0),
    request_id: requestId ?? null,
    error: fault === undefined ? null : { code: fault.code, msg: fault.msg },
  }
}

const slotMs = 5 * 60_000
const slotsKept = 12

interface Slot {
  /** Monotonic. */
  readonly startMs: number
  events: number
  records: number
  bytes: number
  /** In the order of the kind's units. */
  readonly counts: number[]
  readonly packed: number[]
}

/** Units that AWS bills for the accepted records of one destination, in the last hour. */
export class UsageCounter {
  readonly #units: readonly BillingUnit[]
  /** The oldest first. */
  #slots: Slot[] = []

  constructor(units: readonly BillingUnit[]) {
    this.#units = units
  }

  /** Accepted records of a request. Returns how many of each unit they take. */
  add(events: number, recordBytes: readonly number[]): readonly number[] {
    const slot = this.#slot()
    const counts = this.#units.map((unit) => {
      let count = 0
      for (const bytes of recordBytes) count += Math.ceil(bytes / unit.bytes)
      return count
    })
    const total = recordBytes.reduce((sum, bytes) => sum + bytes, 0)
    slot.events += events
    slot.records += recordBytes.length
    slot.bytes += total
    for (const [index, unit] of this.#units.entries()) {
      slot.counts[index]! += counts[index]!
      slot.packed[index]! += Math.ceil(total / unit.bytes)
    }
    return counts
  }

  report(): Usage {
    this.#forgetOld()
    const sum = (of: (slot: Slot) => number): number => this.#slots.reduce((all, slot) => all + of(slot), 0)
    return {
      sinceMs: timeOfDay(this.#slots[0]?.startMs ?? monotonicMs()),
      events: sum(({ events }) => events),
      records: sum(({ records }) => records),
      bytes: sum(({ bytes }) => bytes),
      units: Object.fromEntries(
        this.#units.map(({ name }, index) => [
          name,
          { count: sum(({ counts }) => counts[index]!), packed: sum(({ packed }) => packed[index]!) },
        ]),
      ),
    }
  }

  #slot(): Slot {
    const last = this.#slots.at(-1)
    if (last !== undefined && monotonicMs() - last.startMs < slotMs) return last
    const zeros = (): number[] => this.#units.map(() => 0)
    const slot = { startMs: monotonicMs(), events: 0, records: 0, bytes: 0, counts: zeros(), packed: zeros() }
    this.#slots.push(slot)
    this.#forgetOld()
    return slot
  }

  #forgetOld(): void {
    const sinceMs = monotonicMs() - slotMs * slotsKept
    while (this.#slots.length > 0 && this.#slots[0]!.startMs < sinceMs) this.#slots.shift()
  }
}

/** A rate covers the present slot and the eleven before it: 55 to 60 s. */
const rateSlotMs = 5_000
const rateSlots = 12

/** Events of one destination that the service accepted, per second, over about the last minute. */
export class AcceptedRate {
  readonly #beganMs: number
  readonly #nowMs: () => number
  /** By the number of the slot, modulo their count. */
  readonly #events = new Array<number>(rateSlots).fill(0)
  #slot: number

  constructor(nowMs = monotonicMs) {
    this.#nowMs = nowMs
    this.#beganMs = nowMs()
    this.#slot = this.#slotNow()
  }

  add(events: number): void {
    this.#advance()
    this.#events[this.#slot % rateSlots]! += events
  }

  /** Events per second; a destination that is younger than a minute has had less time. */
  perSecond(): number {
    this.#advance()
    const startMs = Math.max(this.#beganMs, (this.#slot - rateSlots + 1) * rateSlotMs)
    // At least a slot: the first event in the first millisecond is no rate.
    const spanMs = Math.max(rateSlotMs, this.#nowMs() - startMs)
    return (this.#events.reduce((sum, events) => sum + events, 0) * 1_000) / spanMs
  }

  #slotNow(): number {
    return Math.floor(this.#nowMs() / rateSlotMs)
  }

  /** Empties the slots that begin since the last call. */
  #advance(): void {
    const slot = this.#slotNow()
    const begun = Math.min(slot - this.#slot, rateSlots)
    for (let step = 0; step < begun; step += 1) this.#events[(slot - step) % rateSlots] = 0
    this.#slot = slot
  }
}
