/** Rows of the decision log, as pipelines publish them. */
import { AddressSlot } from '../../src/core/ip.js'
import type { Nats } from '../../src/nats/nats.js'
import { type DecisionRow, writeDecisionRow } from '../../src/wire/decision-rows.js'
import { decisionRowsSubject, rowsHeader } from '../../src/wire/names.js'
import { RowWriter } from '../../src/wire/rows.js'

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
  ...values,
})

export function rowBytes(rows: readonly DecisionRow[]): Uint8Array {
  const writer = new RowWriter(1024)
  const client = new AddressSlot()
  for (const row of rows) {
    client.read(row.clientIp)
    writeDecisionRow(writer, row, client)
  }
  return writer.take()
}

export const publishRows = (nats: Nats, bytes: Uint8Array, rows: number): Promise<unknown> =>
  nats.publish(decisionRowsSubject, bytes, { headers: { [rowsHeader]: String(rows) } })
