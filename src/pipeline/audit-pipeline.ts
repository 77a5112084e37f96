/** What the ways of audit events have in common, whoever made them. */

import type { LedgerWriter } from '../books/ledger.js'
import { messageOf } from '../core/errors.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Nats } from '../nats/nats.js'
import type { View } from '../view/view.js'
import { Intake, type IntakeOptions } from './intake.js'

export interface AuditPipelineDeps {
  readonly nats: Nats
  readonly view: View
  readonly ledger: LedgerWriter
  readonly occurrences: Occurrences
}

/** One message at a time in the whole deployment, so that the order of messages is the order of events. */
export function auditIntake(
  { nats, ledger, occurrences }: AuditPipelineDeps,
  source: Pick<IntakeOptions, 'stream' | 'input' | 'process'>,
): Intake {
  const unrouted = (error: unknown): void => occurrences.auditUnrouted({ reason: messageOf(error) })
  const stoppedEarly = (messages: number): void => occurrences.stoppedEarly({ input: source.input, messages })
  const report = { unavailable: unrouted, unstored: unrouted, stoppedEarly }
  return new Intake({ ...source, ...report, nats, ledger, ackPendingMax: 1 })
}
