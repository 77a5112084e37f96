/** Rows of the decision log: one for each record of an account, with what was decided about it and by what. */
import type { AddressSlot } from '../core/ip.js'
import { RowReader, type RowWriter, wordsByNumber } from './rows.js'

/** Words that are numbers on the wire. A number is never used for another word. */
export const typeNumbers = { tcp_connection: 0, http_request: 1 }
export const decisionNumbers = { allow: 0, block: 1, deny: 2 }
export const deciderNumbers = {
  none: 0,
  restriction: 1,
  ip_restriction: 2,
  traffic_policy: 3,
}

/** Texts are empty and numbers 0 where there is no value. */
export interface DecisionRow {
  readonly accountId: string
  /** When JetStream stored the record: milliseconds since the epoch. */
  readonly at: number
  readonly recordId: string
  readonly type: keyof typeof typeNumbers
  readonly edgeId: string
  readonly routeId: string
  /** As it was reported. */
  readonly serverName: string
  readonly serverPort: number
  readonly clientIp: string
  /** ISO 3166-1 alpha-2. */
  readonly country: string
  readonly asn: number
  readonly decision: keyof typeof decisionNumbers
  readonly decidedBy: keyof typeof deciderNumbers
  /** The restriction, or the edge or route that has the module or the policy. */
  readonly decidedById: string
  /** Name of the traffic policy, else its place. */
  readonly policy: string
  /** The deny rule of an IP policy. */
  readonly ruleId: string
  /** The revision of the configuration. */
  readonly revision: number
  /** Bytes of the connection, or of the bodies of request and response. */
  readonly bytesIn: number
  readonly bytesOut: number
  /** The message and its line in the stream of records. */
  readonly sequence: number
  readonly line: number
}

const types = wordsByNumber(typeNumbers)
const decisions = wordsByNumber(decisionNumbers)
const deciders = wordsByNumber(deciderNumbers)

/** `client` holds the client's address. */
export function writeDecisionRow(
  writer: RowWriter,
  row: Omit<DecisionRow, 'clientIp'>,
  client: AddressSlot,
): void {
  writer.text(row.accountId)
  writer.uint64(row.at)
  writer.text(row.recordId)
  writer.uint8(typeNumbers[row.type])
  writer.text(row.edgeId)
  writer.text(row.routeId)
  writer.text(row.serverName)
  writer.uint16(row.serverPort)
  writer.address(client)
  writer.text(row.country)
  writer.uint32(row.asn)
  writer.uint8(decisionNumbers[row.decision])
  writer.uint8(deciderNumbers[row.decidedBy])
  writer.text(row.decidedById)
  writer.text(row.policy)
  writer.text(row.ruleId)
  writer.uint64(row.revision)
  writer.uint64(row.bytesIn)
  writer.uint64(row.bytesOut)
  writer.uint64(row.sequence)
  writer.uint32(row.line)
  writer.end()
}

/** Throws a `RangeError` for bytes that are cut off. */
export function* readDecisionRows(bytes: Uint8Array): Generator<DecisionRow> {
  const reader = new RowReader(bytes)
  while (!reader.isAtEnd) {
    yield {
      accountId: reader.text(),
      at: reader.uint64(),
      recordId: reader.text(),
      type: types.get(reader.uint8())!,
      edgeId: reader.text(),
      routeId: reader.text(),
      serverName: reader.text(),
      serverPort: reader.uint16(),
      clientIp: reader.address(),
      country: reader.text(),
      asn: reader.uint32(),
      decision: decisions.get(reader.uint8())!,
      decidedBy: deciders.get(reader.uint8())!,
      decidedById: reader.text(),
      policy: reader.text(),
      ruleId: reader.text(),
      revision: reader.uint64(),
      bytesIn: reader.uint64(),
      bytesOut: reader.uint64(),
      sequence: reader.uint64(),
      line: reader.uint32(),
    }
  }
}
