/**
 * Audit events on their way to destinations: read from a message, then put into the packs of the destinations whose
 * subscriptions name their kind. Each source of audit events says how its messages are read.
 */
import {
  type InputCounts,
  type InputStream,
  type LedgerWriter,
  noRecords,
  type SourceTally,
} from '../../delivery/books/ledger.js'
import type { SettledInput } from '../../delivery/books/reading.js'
import type { PartitionSet } from '../../delivery/wire/partitions.js'
import { messageOf } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { PulledMessage } from '../../ground/nats/pulled-message.js'
import type { View } from '../../words/view/view.js'
import type { BusyDestinations } from './busy-destinations.js'
import { Intake } from './intake.js'
import type { ProcessedMessage } from './intake-message.js'
import type { InputMessage } from './open-pack.js'
import type { Buffers } from './packs.js'

interface AuditRoute {
  readonly subscriptionId: string
  readonly destinationId: string
}

/** An audit event to be routed. */
export interface RoutedAudit {
  readonly accountId: string
  readonly kind: string
  /** The resource's id: its events stay in order. */
  readonly partitionKey: string
  readonly timestampMs: number
  /** The envelope. */
  readonly json: string
}

/** Which destinations receive which audit kinds, per account; rebuilt when subscriptions change. */
class AuditRoutes {
  readonly #view: View
  #byKind: Map<string, AuditRoute[]> | undefined

  constructor(view: View) {
    this.#view = view
    view.onChange((kind) => {
      if (kind === 'event_subscription' || kind === '*') this.#byKind = undefined
    })
  }

  #find(accountId: string, kind: string): readonly AuditRoute[] {
    this.#byKind ??= this.#build()
    return this.#byKind.get(keyOf(accountId, kind)) ?? []
  }

  /** Puts an event into the packs of its destinations, and adds it to the tallies of their sources. */
  route(event: RoutedAudit, buffers: Buffers, tallies: Map<string, SourceTally>): void {
    const { accountId, kind, partitionKey, timestampMs, json } = event
    for (const { subscriptionId, destinationId } of this.#find(accountId, kind)) {
      buffers.packOf(destinationId).append(partitionKey, timestampMs, json)
      const key = `${subscriptionId} ${kind} ${destinationId}`
      tallies.set(key, [subscriptionId, kind, destinationId, (tallies.get(key)?.[3] ?? 0) + 1, 0])
    }
  }

  #build(): Map<string, AuditRoute[]> {
    const byKind = new Map<string, AuditRoute[]>()
    for (const row of this.#view.state.rowsOf('event_subscription')) {
      const { id, account_id, sources, destination_ids } = row
      for (const { type } of sources) {
        const routes = getOrMake(byKind, keyOf(account_id, type), () => [])
        for (const destinationId of new Set(destination_ids))
          routes.push({ subscriptionId: id, destinationId })
      }
    }
    return byKind
  }
}

const keyOf = (accountId: string, kind: string): string => `${accountId} ${kind}`

export interface AuditPipelineDeps {
  readonly nats: Nats
  readonly view: View
  readonly ledger: LedgerWriter
  readonly partitions: Pick<PartitionSet, 'homeOf'>
  readonly busy: Pick<BusyDestinations, 'hasNext'>
  readonly settled: SettledInput
  readonly occurrences: Occurrences
}

interface ReadAudits {
  readonly events: Iterable<RoutedAudit>
  readonly counts?: Pick<InputCounts, 'audits' | 'audits_bad'>
}

export interface AuditSource {
  /** The JetStream stream. */
  readonly stream: string
  /** Its name in the books. */
  readonly input: InputStream
  /** The events of a message; `signal` is aborted when a stop takes too long. */
  readonly read: (message: PulledMessage, input: InputMessage, signal: AbortSignal) => Promise<ReadAudits>
}

export class AuditPipeline {
  readonly #source: AuditSource
  readonly #intake: Intake
  readonly #routes: AuditRoutes

  constructor(
    { nats, partitions, busy, view, ledger, settled, occurrences }: AuditPipelineDeps,
    source: AuditSource,
  ) {
    const { stream, input } = source
    const unrouted = (error: unknown): void => occurrences.auditUnrouted({ reason: messageOf(error) })
    this.#source = source
    this.#routes = new AuditRoutes(view)
    this.#intake = new Intake({
      nats,
      partitions,
      busy,
      ledger,
      settled,
      stream,
      input,
      // One message at a time in the whole deployment, so that events keep the order of their messages.
      ackPendingMax: 1,
      isTraced: true,
      process: (message, input) => this.#process(message, input),
      unavailable: unrouted,
      unstored: unrouted,
      stoppedEarly: (messages) => occurrences.stoppedEarly({ input, messages }),
    })
  }

  open(): void {
    this.#intake.open()
  }

  async #process(message: PulledMessage, input: InputMessage): Promise<ProcessedMessage> {
    const { packs, gaveUp } = this.#intake
    const { events, counts } = await this.#source.read(message, input, gaveUp)
    const tallies = new Map<string, SourceTally>()
    packs.begin(input)
    try {
      for (const event of events) this.#routes.route(event, packs, tallies)
    } finally {
      packs.end()
    }
    // The next message comes only when this one is done, so no pack waits to be filled.
    packs.storeAll()
    return { counts: { ...noRecords, ...counts, sources: [...tallies.values()] } }
  }

  close(): Promise<void> {
    return this.#intake.close()
  }
}
