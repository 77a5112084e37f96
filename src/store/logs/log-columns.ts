/** How values of a row of the decision log are read from its columns. */
import type { DecisionRow } from '../../wire/decision-rows.js'

export const rowColumns: Readonly<Record<keyof DecisionRow, string>> = {
  accountId: 'account_id',
  at: 'toUnixTimestamp64Milli(time)',
  recordId: 'record_id',
  type: 'type',
  edgeId: 'edge_id',
  routeId: 'route_id',
  serverName: 'server_name',
  serverPort: 'server_port',
  clientIp: 'client_ip',
  country: 'country',
  asn: 'asn',
  decision: 'decision',
  decidedBy: 'decided_by',
  decidedById: 'decided_by_id',
  policy: 'policy',
  ruleId: 'rule_id',
  revision: 'revision',
  bytesIn: 'bytes_in',
  bytesOut: 'bytes_out',
  sequence: 'sequence',
  line: 'line',
  method: 'method',
  path: 'path',
  status: 'status',
  source: 'source',
  weight: 'weight',
}

/** The expressions of a SELECT. */
export const selected = (names: readonly (keyof DecisionRow)[]): string =>
  names.map((name) => (rowColumns[name] === name ? name : `${rowColumns[name]} AS ${name}`)).join(', ')
