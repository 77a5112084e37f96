/**
 * Rows of the decision log: one for each record of an account, and for questions of ingress nodes and proxies, with what was
 * decided and by what.
 */
import type { Address } from '../core/address/ip.js'
import { BlockReader } from './block-reader.js'
import { BlockWriter } from './block-writer.js'
import { wordsByNumber } from './words.js'

/** Words that are numbers on the wire. A number is never used for another word. */
export const typeNumbers = { tcp_connection: 0, http_request: 1 }
export const decisionNumbers = { allow: 0, block: 1, deny: 2 }
export const deciderNumbers = {
  none: 0,
  restriction: 1,
  ip_restriction: 2,
  traffic_policy: 3,
}
/** What was decided about: a record, or a question before the connection was let in. */
export const sourceNumbers = { record: 0, asked: 1 }

/** A longer path of a request is cut: the log is no archive of requests. */
export const loggedPathCharsMax = 300

/** Texts are empty and numbers 0 where there is no value. */
export interface DecisionRow {
  readonly accountId: string
  /** When JetStream stored the record, or the question was answered: milliseconds since the epoch. */
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
  /** The message and its line in the stream of records. Of a question: any number, and 0. */
  readonly sequence: number
  readonly line: number
  /** Of a request: in lower case, its path without the query, and the status of the response as digits. */
  readonly method: string
  readonly path: string
  readonly status: string
  readonly source: keyof typeof sourceNumbers
  /** How many decisions the row stands for: questions are sampled beyond a rate. */
  readonly weight: number
}

/** A row about a record stands for itself. The address is given apart. */
export type RecordRow = Omit<DecisionRow, 'clientIp' | 'source' | 'weight'>

const types = wordsByNumber(typeNumbers)
const decisions = wordsByNumber(decisionNumbers)
const deciders = wordsByNumber(deciderNumbers)
const sources = wordsByNumber(sourceNumbers)

/** Collects rows about records. */
export class DecisionRows extends BlockWriter {
  readonly #accountId = this.word('account_id')
  readonly #at = this.time('time')
  readonly #recordId = this.text('record_id')
  readonly #type = this.number('type')
  readonly #edgeId = this.word('edge_id')
  readonly #routeId = this.word('route_id')
  readonly #serverName = this.word('server_name')
  readonly #serverPort = this.number('server_port')
  readonly #clientIp = this.address('client_ip')
  readonly #country = this.word('country')
  readonly #asn = this.number('asn')
  readonly #decision = this.number('decision')
  readonly #decidedBy = this.number('decided_by')
  readonly #decidedById = this.word('decided_by_id')
  readonly #policy = this.word('policy')
  readonly #ruleId = this.word('rule_id')
  readonly #revision = this.number('revision')
  readonly #bytesIn = this.number('bytes_in')
  readonly #bytesOut = this.number('bytes_out')
  readonly #sequence = this.number('sequence')
  readonly #line = this.number('line')
  readonly #method = this.word('method')
  readonly #path = this.text('path')
  readonly #status = this.word('status')

  add(row: RecordRow, client: Address): void {
    this.#accountId.add(row.accountId)
    this.#at.add(row.at)
    this.#recordId.add(row.recordId)
    this.#type.add(typeNumbers[row.type])
    this.#edgeId.add(row.edgeId)
    this.#routeId.add(row.routeId)
    this.#serverName.add(row.serverName)
    this.#serverPort.add(row.serverPort)
    this.#clientIp.add(client)
    this.#country.add(row.country)
    this.#asn.add(row.asn)
    this.#decision.add(decisionNumbers[row.decision])
    this.#decidedBy.add(deciderNumbers[row.decidedBy])
    this.#decidedById.add(row.decidedById)
    this.#policy.add(row.policy)
    this.#ruleId.add(row.ruleId)
    this.#revision.add(row.revision)
    this.#bytesIn.add(row.bytesIn)
    this.#bytesOut.add(row.bytesOut)
    this.#sequence.add(row.sequence)
    this.#line.add(row.line)
    this.#method.add(row.method)
    this.#path.add(row.path)
    this.#status.add(row.status)
    this.endRow()
  }
}

/** Collects rows about questions, which have two columns more: rows about records need not pay for them. */
export class AskedRows extends DecisionRows {
  readonly #source = this.number('source')
  readonly #weight = this.number('weight')

  override add(row: RecordRow, client: Address, weight = 1): void {
    this.#source.add(sourceNumbers.asked)
    this.#weight.add(weight)
    super.add(row, client)
  }
}

const columnsOfRecords = 24
const columnsOfQuestions = 26
/** An earlier version publishes blocks without the columns of requests. */
const columnsOfRequests = 3
const noText = (): string => ''

/** The rows of accounts that are wanted; throws a `RangeError` for bytes that are no such block. */
export function* readDecisionRows(
  bytes: Uint8Array,
  isWanted: (accountId: string) => boolean = () => true,
): Generator<DecisionRow> {
  const block = new BlockReader(
    bytes,
    columnsOfRecords,
    columnsOfQuestions,
    columnsOfRecords - columnsOfRequests,
    columnsOfQuestions - columnsOfRequests,
  )
  const accountId = block.word('account_id')
  const valuesOf = otherValues(block)
  block.end()
  for (let row = 0; row < block.rows; row += 1)
    if (isWanted(accountId(row))) yield { accountId: accountId(row), ...valuesOf(row) }
}

/** Reads the columns after the first. */
function otherValues(block: BlockReader): (row: number) => Omit<DecisionRow, 'accountId'> {
  const at = block.time('time')
  const recordId = block.text('record_id')
  const type = block.number('type')
  const edgeId = block.word('edge_id')
  const routeId = block.word('route_id')
  const serverName = block.word('server_name')
  const serverPort = block.number('server_port')
  const clientIp = block.address('client_ip')
  const country = block.word('country')
  const asn = block.number('asn')
  const decision = block.number('decision')
  const decidedBy = block.number('decided_by')
  const decidedById = block.word('decided_by_id')
  const policy = block.word('policy')
  const ruleId = block.word('rule_id')
  const revision = block.number('revision')
  const bytesIn = block.number('bytes_in')
  const bytesOut = block.number('bytes_out')
  const sequence = block.number('sequence')
  const line = block.number('line')
  const hasRequests = block.columns === columnsOfRecords || block.columns === columnsOfQuestions
  const method = hasRequests ? block.word('method') : noText
  const path = hasRequests ? block.text('path') : noText
  const status = hasRequests ? block.word('status') : noText
  const isAsked = block.columns + (hasRequests ? 0 : columnsOfRequests) === columnsOfQuestions
  const source = isAsked ? block.number('source') : () => sourceNumbers.record
  const weight = isAsked ? block.number('weight') : () => 1
  return (row) => ({
    at: at(row),
    recordId: recordId(row),
    type: types.get(type(row))!,
    edgeId: edgeId(row),
    routeId: routeId(row),
    serverName: serverName(row),
    serverPort: serverPort(row),
    clientIp: clientIp(row),
    country: country(row),
    asn: asn(row),
    decision: decisions.get(decision(row))!,
    decidedBy: deciders.get(decidedBy(row))!,
    decidedById: decidedById(row),
    policy: policy(row),
    ruleId: ruleId(row),
    revision: revision(row),
    bytesIn: bytesIn(row),
    bytesOut: bytesOut(row),
    sequence: sequence(row),
    line: line(row),
    method: method(row),
    path: path(row),
    status: status(row),
    source: sources.get(source(row))!,
    weight: weight(row),
  })
}
