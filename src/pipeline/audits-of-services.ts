/**
 * Audit events of other services on their way to destinations: checked, rendered as the API's own, and handed to the
 * subscriptions that name their kind. Those that can't be right go to the dead letters.
 *
 * One message at a time in the whole deployment, so that the order of publishing is the order of events.
 */

import { noRecords } from '../books/books.js'
import type { SourceTally } from '../books/ledger.js'
import { now } from '../core/clock.js'
import { problem, type Result, shown, unavailable } from '../core/errors.js'
import { accountNewsMs } from '../core/limits.js'
import { type AuditInEvent, readAuditIn } from '../event/audit-in.js'
import type { PulledMessage } from '../nats/messages.js'
import { deadLetter } from '../wire/dead-letter.js'
import { auditInStream, deadAuditsSubject, deadLetterHeaders } from '../wire/names.js'
import { type AuditPipelineDeps, auditIntake } from './audit-pipeline.js'
import { AuditRoutes } from './audit-routes.js'
import type { Intake, Processed } from './intake.js'
import type { InputMessage } from './packs.js'

export class AuditInPipeline {
  readonly #deps: AuditPipelineDeps
  readonly #intake: Intake
  readonly #routes: AuditRoutes

  constructor(deps: AuditPipelineDeps) {
    this.#deps = deps
    this.#intake = auditIntake(deps, {
      stream: auditInStream,
      input: 'audit_in',
      process: (message, input) => this.#process(message, input),
    })
    this.#routes = new AuditRoutes(deps.view)
  }

  open(): void {
    this.#intake.open()
  }

  async #process(message: PulledMessage, input: InputMessage): Promise<Processed> {
    const read = await this.#read(message, input)
    if (!read.ok) await this.#park(message, input, read.problem.msg)
    const sources = this.#route(read, message.storedAtMs, input)
    // The next message comes when this one is done.
    this.#intake.packs.storeAll()
    return { counts: { ...noRecords, audits: 1, audits_bad: read.ok ? 0 : 1, sources } }
  }

  async #read(message: PulledMessage, { sequence, since }: InputMessage): Promise<Result<AuditInEvent>> {
    const { subject, data, storedAtMs } = message
    const read = readAuditIn({ subject, data, storedAtMs, position: `${since} ${sequence}` })
    if (!read.ok || (await this.#knows(read.value.accountId, storedAtMs))) return read
    return problem(`"account_id" is ${shown(read.value.accountId)}, which does not exist.`)
  }

  /** An account that was made a moment before its first event may not be heard of yet. */
  async #knows(accountId: string, storedAtMs: number): Promise<boolean> {
    const { view } = this.#deps
    const isThere = (): boolean => view.state.rows.get('account')?.has(accountId) === true
    if (!isThere() && now() - storedAtMs < accountNewsMs) {
      // Whether it came is looked at below; that it did not is no failure.
      await view.reached(accountId, 1).catch(() => undefined)
    }
    if (!view.isUsable) throw unavailable('The configuration is not complete yet.')
    return isThere()
  }

  #route(read: Result<AuditInEvent>, timestampMs: number, input: InputMessage): SourceTally[] {
    const tallies = new Map<string, SourceTally>()
    const buffers = this.#intake.packs.buffersFor(input)
    try {
      if (read.ok) {
        const { accountId, kind, resourceId: partitionKey, json } = read.value
        this.#routes.handOn({ accountId, kind, partitionKey, timestampMs, json }, buffers, tallies)
      }
    } finally {
      buffers.close()
    }
    return [...tallies.values()]
  }

  /** Once, however often the message is processed. */
  async #park(
    { subject, data }: PulledMessage,
    { sequence, since }: InputMessage,
    reason: string,
  ): Promise<void> {
    const { nats, occurrences } = this.#deps
    const given = {
      [deadLetterHeaders.reason]: reason,
      [deadLetterHeaders.stream]: auditInStream,
      [deadLetterHeaders.sequence]: String(sequence),
      [deadLetterHeaders.subject]: subject,
    }
    const letter = deadLetter(data, given, nats.payloadBytesMax)
    const msgId = `${since}.${sequence}`
    const { headers } = letter
    await nats.publish(deadAuditsSubject, letter.data, { msgId, headers, signal: this.#intake.gaveUp })
    occurrences.auditBad({ sequence, subject, reason })
  }

  close(): Promise<void> {
    return this.#intake.close()
  }
}
