/** Rows of the decision log, as pipelines and deliverers publish them. */

import {
  type DecisionRow,
  DecisionRows,
  type RecordRow,
  SourcedRows,
} from '../../src/delivery/wire/decision-rows.js'
import { type DeliveryRow, DeliveryRows } from '../../src/delivery/wire/delivery-rows.js'
import { type FailureRow, FailureRows } from '../../src/delivery/wire/failure-rows.js'
import { decisionRowsSubject, rowsHeader } from '../../src/delivery/wire/names.js'
import { parseAddress } from '../../src/ground/core/address/ip.js'
import type { Nats } from '../../src/ground/nats/nats.js'

/** A row with these values; the rest is an allowed connection. */
export const decisionRow = (values: Partial<DecisionRow> = {}): DecisionRow => ({
  accountId: 'ac_1',
  at: Date.now(),
  recordId: 'r1',
  type: 'tcp_connection',
  edgeId: 'edgtcp_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ',
  routeId: '',
  serverName: 'ssh.example',
  serverPort: 22,
  clientIp: '198.51.100.7',
  country: 'DE',
  asn: 64_500,
  decision: 'allow',
  decidedBy: 'none',
  decidedById: '',
  policy: '',
  ruleId: '',
  revision: 7,
  bytesIn: 5,
  bytesOut: 2 ** 40,
  sequence: 77,
  line: 1,
  method: '',
  path: '',
  status: '',
  partition: 0,
  ownAt: values.at ?? Date.now(),
  source: 'record',
  weight: 1,
  shadowDecision: 'none',
  shadowDecidedBy: 'none',
  shadowDecidedById: '',
  shadowPolicy: '',
  shadowRuleId: '',
  challengerId: '',
  challengerDecision: 'none',
  challengerDecidedBy: 'none',
  challengerDecidedById: '',
  challengerPolicy: '',
  challengerRuleId: '',
  ownTime: 'implied',
  ...values,
})

/** A row as a writer gets it. */
export const writtenRow = (row: DecisionRow): RecordRow => ({
  ...row,
  shadow:
    row.shadowDecision === 'none'
      ? undefined
      : {
          decision: row.shadowDecision,
          decidedBy: row.shadowDecidedBy,
          decidedById: row.shadowDecidedById,
          policy: row.shadowPolicy,
          ruleId: row.shadowRuleId,
        },
  challenger:
    row.challengerDecision === 'none'
      ? undefined
      : {
          id: row.challengerId,
          decision: row.challengerDecision,
          decidedBy: row.challengerDecidedBy,
          decidedById: row.challengerDecidedById,
          policy: row.challengerPolicy,
          ruleId: row.challengerRuleId,
        },
})

/** One block: rows of records, of questions, or of records of the past. */
export function rowBytes(rows: readonly DecisionRow[]): Uint8Array {
  const source = rows[0]?.source ?? 'record'
  const collected = source === 'record' ? new DecisionRows() : new SourcedRows(source)
  for (const row of rows) collected.add(writtenRow(row), parseAddress(row.clientIp), row.weight)
  return collected.take()
}

/** A row with these values; the rest is one event that was delivered. */
export const deliveryRow = (values: Partial<DeliveryRow> = {}): DeliveryRow => ({
  accountId: 'ac_1',
  destinationId: 'ed_1',
  at: Date.now(),
  tookMs: 12,
  outcome: 'delivered',
  attempt: 1,
  requests: 1,
  pack: 9,
  requestId: 'request-1',
  shard: '',
  receipt: '',
  errorCode: '',
  error: '',
  eventsFrom: values.at ?? Date.now(),
  eventsUntil: values.at ?? Date.now(),
  events: values.tags?.length ?? 0,
  tags: [],
  ...values,
})

export function deliveryBytes(rows: readonly DeliveryRow[]): Uint8Array {
  const collected = new DeliveryRows()
  for (const row of rows) collected.add(row)
  return collected.take()
}

const minuteMs = 60_000

/** A row with these values; the rest is a policy that failed once just now. */
export function failureRow(values: Partial<FailureRow> = {}): FailureRow {
  const at = values.lastAt ?? Date.now()
  return {
    accountId: 'ac_1',
    minute: Math.floor(at / minuteMs) * minuteMs,
    edgeId: '',
    routeId: '',
    policy: '',
    subscriptionId: '',
    eventKind: '',
    failures: 1,
    firstAt: at,
    lastAt: at,
    expression: '',
    message: 'It has no result.',
    recordId: 'r1',
    ...values,
  }
}

export function failureBytes(rows: readonly FailureRow[]): Uint8Array {
  const collected = new FailureRows()
  for (const row of rows) collected.add(row)
  return collected.take()
}

export const publishRows = (
  nats: Nats,
  bytes: Uint8Array,
  rows: number,
  subject = decisionRowsSubject,
): Promise<unknown> => nats.publish(subject, bytes, { headers: { [rowsHeader]: String(rows) } })
