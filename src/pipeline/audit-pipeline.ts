/**
 * Audit events on their way to destinations: read from a message, then put into the packs of the destinations whose
 * subscriptions name their kind. Each source of audit events says how its messages are read.
 */

import type { InputCounts, InputStream, LedgerWriter, SourceTally } from '../books/ledger.js'
import { noRecords } from '../books/record-totals.js'
import type { SettledInput } from '../books/settled-input.js'
import { messageOf } from '../core/errors.js'
import type { Occurrences } from '../core/telemetry/occurrences.js'
import type { PulledMessage } from '../nats/messages.js'
import type { Nats } from '../nats/nats.js'
import type { View } from '../view/view.js'
import { AuditRoutes, type RoutedAudit } from './audit-routes.js'
import { Intake, type ProcessedMessage } from './intake.js'
import type { InputMessage } from './packs.js'

export interface AuditPipelineDeps {
  readonly nats: Nats
  readonly view: View
  readonly ledger: LedgerWriter
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

  constructor({ nats, view, ledger, settled, occurrences }: AuditPipelineDeps, source: AuditSource) {
    const { stream, input } = source
    const unrouted = (error: unknown): void => occurrences.auditUnrouted({ reason: messageOf(error) })
    this.#source = source
    this.#routes = new AuditRoutes(view)
    this.#intake = new Intake({
      nats,
      ledger,
      settled,
      stream,
      input,
      // One message at a time in the whole deployment, so that events keep the order of their messages.
      ackPendingMax: 1,
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
