/** A sender of one destination: it sends a request and reports what became of each event. The lane decides what follows. */

import type { Result } from '../../../ground/core/errors.js'
import type { ConfirmedPublisher } from '../../../ground/nats/confirmed-publisher.js'
import type { Fault } from '../../outgoing/fault-class.js'
import type { ReachableNetworks } from '../../outgoing/private-networks.js'
import type { PackedEvent } from '../../wire/packed-event.js'

/** The limits of one request. */
export interface BatchLimits {
  readonly eventsMax: number
  /** For all events of a request, each as `sizeOf` counts it. */
  readonly requestBytesMax: number
  readonly eventBytesMax: number
  /** The size of an event as the service counts it, overhead included. */
  readonly sizeOf: (event: Sized) => number
  /** For events that share records. */
  readonly packed?: PackedLimits
  /** The longest time between the oldest and the newest event of a request, if the service limits it. */
  readonly spanMaxMs?: number
  /** How long events wait for others to fill a request that is not full; missing: not at all. */
  readonly lingerMs?: number
  /** A request holds whole packs only, so that after a crash the same packs can make the same request again. */
  readonly wholePacks?: true
}

/** The records of a request are at most the sum of what its events need of them, rounded up. */
interface PackedLimits {
  readonly recordsMax: number
  /** The most that an event adds to the records of a request: twice its share of a record, or 1 if it may need its own. */
  readonly recordPartOf: (event: PackedEvent) => number
}

/** The size of an event or record depends on these. */
type Sized = Pick<PackedEvent, 'dataBytes' | 'partitionKeyBytes'>

/** An event that the service refused while it accepted others. */
export interface Rejection {
  readonly index: number
  readonly fault: Fault
}

/** Events that shared a record that was refused: at least one of them is at fault. */
export interface Suspects {
  readonly indices: readonly number[]
  readonly fault: Fault
}

/** How the service names a request and the first event that it accepted, so that its owner finds them there. */
export interface Receipt {
  readonly requestId?: string
  /** Kinesis: the sequence number; Firehose: the record id. */
  readonly receipt?: string
  /** Kinesis. */
  readonly shard?: string
}

/** A record that the service stores: an event, or several of them. */
export interface ServiceRecord {
  readonly dataBytes: number
  /** The length of its first event's key, which is the record's. */
  readonly partitionKeyBytes: number
  /** Indices of its events in the request, ascending; undefined if the record at an index is the event at that index. */
  readonly indices?: readonly number[]
}

/** The records of a request, if they held several events; otherwise each event was one. */
interface Packed {
  readonly records?: readonly ServiceRecord[]
}

/** The outcome of a request; indices refer to the given events. */
export type SendOutcome =
  | ({ readonly outcome: 'accepted' } & Receipt & Packed)
  | ({
      readonly outcome: 'partial'
      /** Events to be sent again, ascending. */
      readonly retry: readonly number[]
      /** Why; present if `retry` is not empty. */
      readonly reason?: Fault
      readonly rejected: readonly Rejection[]
      /** To be searched for the event at fault. If more records were refused, their events are among `retry`. */
      readonly suspects?: Suspects
    } & Receipt &
      Packed)
  /** As far as known, nothing was accepted. */
  | { readonly outcome: 'failed'; readonly fault: Fault }

/** The request was answered, but some of its events may have failed. */
export type SendAnswer = Exclude<SendOutcome, { outcome: 'failed' }>

/** The findings of a check that wrote nothing; each entry is a sentence. */
export interface Finding {
  /** Is it proved that the service would accept an event now? */
  readonly mayWrite: boolean
  readonly proved: readonly string[]
  readonly notProved: readonly string[]
}

export interface Sender {
  /** The limits as far as known now: a Kinesis stream has its own record limit. */
  limits(): BatchLimits
  /**
   * Sends all of these events, which are within the limits, in one request. Never rejects: a fault is an outcome. An
   * abort is a `transient` fault.
   */
  send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome>
  /**
   * Finds out as much as the service tells without writing anything; a fault means that events can't be delivered. Never
   * rejects. Absent if the service has no request for it. An endpoint that does not know the request may store the event.
   */
  check?(event: PackedEvent, signal: AbortSignal): Promise<Result<Finding, Fault>>
  /**
   * For kinds that borrow rights: looks whether only this account can. The value: sentences about what is proved; a fault
   * means that nothing may be sent. Never rejects.
   */
  checkBorrowed?(signal: AbortSignal): Promise<Result<readonly string[], Fault>>
  /** Forgets fetched credentials, so that the next request fetches them again. */
  dropCredentials(): void
  close(): void
}

/** The settings of one kind. */
export interface KindSettings {
  /** Replaces the address of the service itself. */
  readonly endpointUrl?: string | undefined
  /** Where a kind that writes files may write; absolute. */
  readonly directory?: string | undefined
  /** How much it may write there for an account. */
  readonly spaceBytesMax?: number | undefined
  /** Bytes of events in one request, at most the service's own limit. */
  readonly requestBytesMax: number
}

/** Publishes messages that are no part of Weir. */
export type EventPublisher = Pick<ConfirmedPublisher, 'payloadBytesMax' | 'store' | 'tell'>

export interface SenderDeps extends Omit<KindSettings, 'requestBytesMax'> {
  readonly limits: BatchLimits
  /** From call to answer, fetching credentials included. */
  readonly requestTimeoutMs: number
  /** For kinds whose server the account chooses. */
  readonly networks: ReachableNetworks
  /** Publishes to Weir's own NATS; undefined where there is none. */
  readonly cluster?: EventPublisher | undefined
}
