/**
 * Audit events on their way to destinations: they were rendered when the change was made; here each goes to the
 * destinations of the subscriptions that name its kind.
 *
 * One message at a time in the whole deployment, so that the order of changes is the order of events.
 */

import { noRecords } from '../books/books.js'
import type { SourceTally } from '../books/ledger.js'
import { messageOf } from '../core/errors.js'
import type { PulledMessage } from '../nats/messages.js'
import { auditHeaders, auditStream } from '../wire/names.js'
import { readPack } from '../wire/pack.js'
import { type AuditPipelineDeps, auditIntake } from './audit-pipeline.js'
import { AuditRoutes } from './audit-routes.js'
import type { Intake, Processed } from './intake.js'
import type { InputMessage } from './packs.js'

export class AuditPipeline {
  readonly #deps: AuditPipelineDeps
  readonly #intake: Intake
  readonly #routes: AuditRoutes

  constructor(deps: AuditPipelineDeps) {
    this.#deps = deps
    this.#intake = auditIntake(deps, {
      stream: auditStream,
      input: 'audit',
      process: (message, input) => this.#process(message, input),
    })
    this.#routes = new AuditRoutes(deps.view)
  }

  open(): void {
    this.#intake.open()
  }

  async #process(message: PulledMessage, input: InputMessage): Promise<Processed> {
    const accountId = message.headers?.get(auditHeaders.account) ?? ''
    await this.#upToDate(accountId, Number(message.headers?.get(auditHeaders.version) || 0))
    const sources = this.#route(accountId, message.data, input)
    // The next message comes when this one is done.
    this.#intake.packs.storeAll()
    return { counts: { ...noRecords, sources } }
  }

  /** A change is heard of by those who subscribed before it, whichever of the two comes here first. */
  async #upToDate(accountId: string, version: number): Promise<void> {
    await this.#deps.view.reached(accountId, version).catch((error: unknown) => {
      this.#deps.occurrences.auditUnrouted({ account_id: accountId, reason: messageOf(error) })
    })
  }

  /** Every event into the packs of those who hear of it; answers how many events went where. */
  #route(accountId: string, pack: Uint8Array, input: InputMessage): SourceTally[] {
    const tallies = new Map<string, SourceTally>()
    const buffers = this.#intake.packs.buffersFor(input)
    try {
      for (const event of readPack(pack).events) {
        const json = event.data.toString('utf8', 0, event.data.length - 1)
        const { event_type: kind } = JSON.parse(json) as { event_type: string }
        const { partitionKey, timestampMs } = event
        this.#routes.handOn({ accountId, kind, partitionKey, timestampMs, json }, buffers, tallies)
      }
    } finally {
      buffers.close()
    }
    return [...tallies.values()]
  }

  close(): Promise<void> {
    return this.#intake.close()
  }
}
