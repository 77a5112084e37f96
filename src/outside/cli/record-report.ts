/** `weir record`: what became of a record, in a few lines. */
import { forTerminal } from '../../ground/core/text/terminal.js'
import type { Settings } from '../../management/process/settings.js'
import type { Explanation } from '../../words/shape/decisions/decision.js'
import type {
  AskedDecision,
  EventDelivery,
  PublishedRecord,
  TracedEvent,
  TracedRecord,
} from '../../words/shape/traced-record.js'
import { clientOf } from './connection/api-client.js'
import { headOf, policyLines, readingLines } from './why-report.js'

export async function showRecord(
  settings: Settings,
  id: string,
  { json }: { readonly json?: true },
): Promise<void> {
  const traced = await clientOf(settings).record(id)
  process.stdout.write(json ? `${JSON.stringify(traced)}\n` : `${forTerminal(recordText(traced))}\n`)
}

/** A paragraph per publication and per question, newest first. */
export function recordText({
  record_id,
  publications,
  publications_left_out,
  asked,
  asked_left_out,
}: TracedRecord): string {
  const paragraphs = publications.map((each) => publicationLines(record_id, each).join('\n'))
  if (publications_left_out) paragraphs.push('It was published more often; older publications are left out.')
  paragraphs.push(...asked.map((each) => decisionLines(record_id, each).join('\n')))
  if (asked_left_out) paragraphs.push('It was asked more often; older questions are left out.')
  return paragraphs.join('\n\n')
}

function publicationLines(recordId: string, publication: PublishedRecord): string[] {
  const { events, filtered } = publication
  return [
    ...decisionLines(recordId, publication),
    ...(events ?? []).flatMap(eventLines),
    ...filtered.map(({ type, subscription_id }) => `  ${type}: filtered by ${subscription_id}`),
    ...(events?.length === 0 && filtered.length === 0 ? ['  No subscription makes an event of it.'] : []),
  ]
}

function decisionLines(
  recordId: string,
  { decision, explained, missing }: PublishedRecord | AskedDecision,
): string[] {
  const { client_ip, country, server_name, server_port, edge_id, decided_by } = decision
  const from = country === null ? client_ip : `${client_ip} (${country})`
  const served = edge_id === null ? 'no edge' : edge_id
  const by = [decided_by.policy, decided_by.id, decided_by.rule_id].filter(Boolean).join(' ')
  return [
    headOf(recordId, decision),
    `  ${from} to ${server_name ?? '?'}:${server_port ?? '?'}, served by ${served}`,
    `  ${decision.decision}${decided_by.type === 'none' ? '' : `, decided by ${decided_by.type} ${by}`}`,
    ...reasonLines(explained?.explanation).map((line) => `    ${line}`),
    ...(explained?.warnings ?? []).map((warning) => `    ${warning}`),
    ...(missing === null ? [] : [`  ${missing}`]),
  ]
}

/** Why: a line per list of IP policies and per traffic policy, and the expressions of those that applied. */
const reasonLines = (explanation: Explanation | undefined): string[] => [
  ...readingLines(explanation ?? {}),
  ...(explanation?.ip_policies ?? []).map(({ reason }) => reason),
  ...(explanation?.policies ?? []).flatMap((policy) =>
    policyLines(policy).slice(0, policy.applied ? undefined : 1),
  ),
]

const eventLines = ({ id, type, subscription_id, deliveries }: TracedEvent): string[] => [
  `  ${type} of ${subscription_id}: ${id}`,
  ...deliveries.map((delivery) => `    ${deliveryText(delivery)}`),
]

function deliveryText({
  destination_id,
  state,
  at,
  attempts,
  request_id,
  last_error,
}: EventDelivery): string {
  const details = [
    at,
    attempts > 1 ? `${attempts} attempts` : undefined,
    request_id === null ? undefined : `request ${request_id}`,
    last_error === null || state === 'delivered' ? undefined : `${last_error.code}: ${last_error.msg}`,
  ]
  return [`${destination_id}  ${state}`, details.filter(Boolean).join(', ')].join('  ').trimEnd()
}
