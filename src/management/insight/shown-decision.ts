/** A row of the decision log as clients see it, whether they search the log or watch. */

import type { DecisionRow } from '../../delivery/wire/decision-rows.js'
import { canonicalAddress } from '../../ground/core/address/ip.js'
import { isoMillis } from '../../ground/core/clock.js'
import type { LoggedDecision } from '../../words/shape/decisions/logged-decision.js'
import type { LogPosition } from '../store/logs/log-windows.js'

/** Its place in the list. */
export const decisionIdOf = ({ at, sequence, line, partition }: LogPosition): string =>
  `${at}-${sequence}-${line}${partition === 0 ? '' : `-${partition}`}`

/** Null if the row has none. */
function ownTimeIn({ at, ownAt, ownTime }: DecisionRow): string | null {
  const isNone = ownTime === 'implied' ? ownAt === 0 || ownAt === at : ownTime !== 'same'
  return isNone ? null : isoMillis(ownAt)
}

export const shownDecision = (row: DecisionRow): LoggedDecision => ({
  id: decisionIdOf(row),
  at: isoMillis(row.at),
  own_at: ownTimeIn(row),
  own_at_refused: row.ownTime === 'ahead' || row.ownTime === 'past' ? row.ownTime : null,
  record_id: row.recordId,
  type: row.type,
  edge_id: row.edgeId || null,
  route_id: row.routeId || null,
  server_name: row.serverName || null,
  server_port: row.serverPort || null,
  client_ip: canonicalAddress(row.clientIp),
  country: row.country || null,
  asn: row.asn || null,
  decision: row.decision,
  decided_by: {
    type: row.decidedBy,
    id: row.decidedById || null,
    policy: row.policy || null,
    rule_id: row.ruleId || null,
  },
  shadow:
    row.shadowDecision === 'none'
      ? null
      : {
          decision: row.shadowDecision,
          decided_by: {
            type: row.shadowDecidedBy,
            id: row.shadowDecidedById || null,
            policy: row.shadowPolicy || null,
            rule_id: row.shadowRuleId || null,
          },
        },
  challenger:
    row.challengerDecision === 'none'
      ? null
      : {
          id: row.challengerId,
          decision: row.challengerDecision,
          decided_by: {
            type: row.challengerDecidedBy,
            id: row.challengerDecidedById || null,
            policy: row.challengerPolicy || null,
            rule_id: row.challengerRuleId || null,
          },
        },
  revision: row.revision,
  bytes_in: row.bytesIn,
  bytes_out: row.bytesOut,
  sequence: row.source === 'asked' ? null : row.sequence,
  line: row.source === 'asked' ? null : row.line,
  source: row.source,
  weight: row.weight,
  method: row.method || null,
  path: row.path || null,
  status_code: row.status === '' ? null : Number(row.status),
})

/** A row that was stored twice comes twice in a row, and is shown once. */
export const shownDecisions = (rows: readonly DecisionRow[]): LoggedDecision[] =>
  rows
    .filter((row, index) => index === 0 || decisionIdOf(row) !== decisionIdOf(rows[index - 1]!))
    .map(shownDecision)
