/** The sources of audit events: the API, and other services. */

import { deadLetter } from '../../delivery/wire/dead-letter.js'
import {
  auditHeaders,
  auditInStream,
  auditStream,
  deadAuditsSubject,
  deadLetterHeaders,
} from '../../delivery/wire/names.js'
import { readPack } from '../../delivery/wire/pack.js'
import { isRecent } from '../../ground/core/clock.js'
import { messageOf, problem, type Result, shown, unavailable } from '../../ground/core/errors.js'
import { isObject } from '../../ground/core/json-object.js'
import type { PulledMessage } from '../../ground/nats/pulled-message.js'
import { type AuditInEvent, readAuditIn } from '../../words/event/audit-in.js'
import type { View } from '../../words/view/view.js'
import type { AuditPipelineDeps, AuditSource, RoutedAudit } from './audit-pipeline.js'
import type { InputMessage } from './open-pack.js'

/** Audit events of the API, which renders them when it makes a change. */
export const auditsOfApi = ({ nats, view, occurrences }: AuditPipelineDeps): AuditSource => ({
  stream: auditStream,
  input: 'audit',
  read: async ({ data, headers }, { sequence }) => {
    const accountId = headers?.get(auditHeaders.account) ?? ''
    const given = Number(headers?.get(auditHeaders.version) || 0)
    const version = Number.isSafeInteger(given) ? given : 0
    // A subscription made before a change receives it, even if the change arrives here first.
    await view.reached(accountId, version).catch((error: unknown) => {
      occurrences.auditUnrouted({ account_id: accountId, reason: messageOf(error) })
    })
    const damaged = (error: unknown): void =>
      nats.damaged.report({ stream: auditStream, sequence }, data, error)
    return { events: eventsIn(data, accountId, damaged) }
  },
})

/** A line that is no event is left out: audit events come in their order, so those behind it would wait for ever. */
function* eventsIn(
  pack: Uint8Array,
  accountId: string,
  damaged: (error: unknown) => void,
): Generator<RoutedAudit> {
  const { events, malformed } = readPack(pack)
  for (const { reason } of malformed) damaged(new Error(reason))
  if (events.length + malformed.length === 0) damaged(new Error('The message holds no event.'))
  for (const { data, partitionKey, timestampMs } of events) {
    const json = data.toString('utf8', 0, data.length - 1)
    const kind = kindIn(json)
    if (kind === undefined) damaged(new Error('A line of the message is no event.'))
    else yield { accountId, kind, partitionKey, timestampMs, json }
  }
}

function kindIn(json: string): string | undefined {
  try {
    const event: unknown = JSON.parse(json)
    return isObject(event) && typeof event['event_type'] === 'string' ? event['event_type'] : undefined
  } catch {
    return undefined
  }
}

/** A new account reaches every pipeline within this time; one still unknown after it does not exist. */
const accountPropagationMs = 5_000

/**
 * Audit events of other services: checked, and rendered like those of the API. An event that can't be right goes to
 * the dead letters.
 */
export const auditsOfServices = (deps: AuditPipelineDeps): AuditSource => ({
  stream: auditInStream,
  input: 'audit_in',
  read: async (message, input, signal) => {
    const event = await readEvent(deps.view, message, input)
    if (!event.ok) {
      await park(deps, message, input, event.problem.msg, signal)
      return { events: [], counts: { audits: 1, audits_bad: 1 } }
    }
    const { accountId, kind, resourceId: partitionKey, json } = event.value
    const routed = { accountId, kind, partitionKey, timestampMs: message.storedAtMs, json }
    return { events: [routed], counts: { audits: 1, audits_bad: 0 } }
  },
})

async function readEvent(
  view: View,
  { subject, data, storedAtMs }: PulledMessage,
  { sequence, since }: InputMessage,
): Promise<Result<AuditInEvent>> {
  const event = readAuditIn({ subject, data, storedAtMs, position: `${since} ${sequence}` })
  if (!event.ok || (await isKnown(view, event.value.accountId, storedAtMs))) return event
  return problem(`"account_id" is ${shown(event.value.accountId)}, which does not exist.`)
}

/** Waits for an account that may have been created just before its first event. */
async function isKnown(view: View, accountId: string, storedAtMs: number): Promise<boolean> {
  const isThere = (): boolean => view.state.rows.get('account')?.has(accountId) === true
  if (!isThere()) {
    // The clock may be wrong, so at least what is in NATS by now is read.
    const read = isRecent(storedAtMs, accountPropagationMs) ? view.reached(accountId, 1) : view.caughtUp()
    // A timeout is not a failure: the account may not exist.
    await read.catch(() => undefined)
  }
  if (!view.isUsable) throw unavailable('The configuration is not complete yet.')
  return isThere()
}

/** Stores a dead letter, once however often the message is processed. */
async function park(
  { nats, occurrences }: AuditPipelineDeps,
  { subject, data }: PulledMessage,
  { sequence, since }: InputMessage,
  reason: string,
  signal: AbortSignal,
): Promise<void> {
  const origin = {
    [deadLetterHeaders.reason]: reason,
    [deadLetterHeaders.stream]: auditInStream,
    [deadLetterHeaders.sequence]: String(sequence),
    [deadLetterHeaders.subject]: subject,
  }
  const letter = deadLetter(data, origin, nats.payloadBytesMax)
  const msgId = `${since}.${sequence}`
  await nats.publish(deadAuditsSubject, letter.data, { msgId, headers: letter.headers, signal })
  occurrences.auditBad({ sequence, subject, reason })
}
