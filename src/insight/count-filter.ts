/** Filters of `GET /stats`: those of logged decisions, except for names by which nothing can be counted. */
import { WeirError } from '../core/errors.js'
import type { CountFilter } from '../store/logs/filtered-counts.js'
import { emptyRow } from '../wire/blocks/row-columns.js'
import { type DecisionRow, decisionColumns } from '../wire/decision-rows.js'
import { compileDecisionFilter } from './decision-filter.js'
import { shownDecision } from './shown-decision.js'

const ofDecider = ['decidedBy', 'decidedById', 'policy', 'ruleId'] as const

/** The members of a row that each name reads. Names that are not listed have another value in each row. */
const rowMembers: Readonly<Record<string, readonly (keyof DecisionRow)[]>> = {
  record_id: ['recordId'],
  type: ['type'],
  edge_id: ['edgeId'],
  route_id: ['routeId'],
  server_name: ['serverName'],
  'conn.server_name': ['serverName'],
  server_port: ['serverPort'],
  client_ip: ['clientIp'],
  country: ['country'],
  asn: ['asn'],
  decision: ['decision'],
  decided_by: ofDecider,
  'decided_by.type': ['decidedBy'],
  'decided_by.id': ['decidedById'],
  'decided_by.policy': ['policy'],
  'decided_by.rule_id': ['ruleId'],
  revision: ['revision'],
  bytes_in: ['bytesIn'],
  bytes_out: ['bytesOut'],
  'conn.bytes_in': ['type', 'bytesIn'],
  'conn.bytes_out': ['type', 'bytesOut'],
  'http.request.body_length': ['type', 'bytesIn'],
  'http.response.body_length': ['type', 'bytesOut'],
  source: ['source'],
  weight: ['weight'],
  method: ['method'],
  path: ['path'],
  status_code: ['status'],
}

/** A filter that chooses what is counted. Throws a `WeirError` also for a name by which nothing can be counted. */
export function compileCountFilter(text: string): CountFilter {
  const { matches, condition, names } = compileDecisionFilter(text)
  const single = names.find((name) => rowMembers[name] === undefined)
  if (single !== undefined)
    throw new WeirError(
      'ERR_INVALID_EXPRESSION',
      `The query parameter "filter" uses ${single}, which is another in each decision, so nothing can be counted by it: "since" and "until" choose the time, and GET /decisions finds single ones. A filter here may use ${Object.keys(rowMembers).join(', ')}.`,
    )
  return {
    names,
    condition,
    reads: [...new Set(names.flatMap((name) => rowMembers[name]!))],
    matches: (row) => matches(shownDecision({ ...unreadRow, ...row })),
  }
}

/** Values of a row that a filter does not read. */
const unreadRow: DecisionRow = emptyRow(decisionColumns)
