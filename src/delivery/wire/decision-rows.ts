/**
 * Rows of the decision log: one for each record of an account, and for questions of ingress nodes and proxies, with what was
 * decided and by what.
 */
import type { Address } from '../../ground/core/address/ip.js'
import { BlockWriter } from './blocks/block-writer.js'
import {
  address,
  oneOf,
  optional,
  type RowOf,
  readRows,
  text,
  time,
  uint,
  word,
} from './blocks/row-columns.js'

/** Words that are numbers on the wire. A number is never used for another word. */
export const typeNumbers = { tcp_connection: 0, http_request: 1 }
export const decisionNumbers = { allow: 0, block: 1, deny: 2 }
export const deciderNumbers = {
  none: 0,
  restriction: 1,
  ip_restriction: 2,
  traffic_policy: 3,
  unserved: 4,
}
/**
 * The subject of a decision: a record, a question before the connection was let in, or a record of the past that was loaded.
 */
export const sourceNumbers = { record: 0, asked: 1, history: 2 }
/**
 * Why `own_time` is the time when a record was stored: it says none (`implied`), exactly that one, or one that is too far
 * ahead or past. Of other rows, nothing is written.
 */
export const ownTimeNumbers = { implied: 0, same: 1, ahead: 2, past: 3 }

/** A longer path of a request is cut: the log is no archive of requests. */
export const loggedPathCharsMax = 300

/** The account of rows about records that belong to none: no edge serves them, and they name no account of several. */
export const noAccount = ''

/** Texts are empty and numbers 0 if there is no value. */
const recordColumns = {
  accountId: word('account_id'),
  /** When JetStream stored the record, or the question was answered. */
  at: time('time'),
  recordId: text('record_id'),
  type: oneOf('type', typeNumbers),
  edgeId: word('edge_id'),
  routeId: word('route_id'),
  /** As it was reported. */
  serverName: word('server_name'),
  serverPort: uint('server_port', 16, 'packed'),
  clientIp: address('client_ip'),
  /** ISO 3166-1 alpha-2. */
  country: word('country'),
  asn: uint('asn', 32, 'packed'),
  decision: oneOf('decision', decisionNumbers),
  decidedBy: oneOf('decided_by', deciderNumbers),
  /** The restriction, or the edge or route that has the module or the policy. */
  decidedById: word('decided_by_id'),
  /** Name of the traffic policy, else its place. */
  policy: word('policy'),
  /** The deny rule of an IP policy. */
  ruleId: word('rule_id'),
  /** The revision of the configuration. */
  revision: uint('revision', 64, 'deltas'),
  /** Bytes of the connection, or of the bodies of request and response. */
  bytesIn: uint('bytes_in', 64, 'narrowed'),
  bytesOut: uint('bytes_out', 64, 'narrowed'),
  /** The message and its line in the stream of records. A question has any number, and 0. */
  sequence: uint('sequence', 64, 'deltas'),
  line: uint('line', 32, 'deltas'),
  /** Only for requests: the method in lower case, the path without the query, the status of the response as digits. */
  method: optional(word('method'), ''),
  path: optional(text('path'), ''),
  status: optional(word('status'), ''),
  /** The partition of the stream of records that `sequence` is in. */
  partition: optional(uint('partition', 8, 'packed'), 0),
  /**
   * When it began, as the record says, within the bounds of `record/own-time.ts`; else the same as `at`. 0: the block does
   * not say.
   */
  ownAt: optional(time('own_time'), 0, 'time'),
}

/** Rows about records do not have them. */
const askedColumns = {
  source: optional(oneOf('source', sourceNumbers), 'record'),
  /** How many decisions the row stands for: questions are sampled beyond a rate. */
  weight: optional(uint('weight', 32, 'packed'), 1),
}

/** The decision of another verdict; `none`: there is none. */
export const verdictNumbers = { none: 0, allow: 1, block: 2, deny: 3 }

/** Another verdict on the same record, whose columns begin with this name. Most rows have none. */
const verdictColumns = <Name extends string>(name: Name) => ({
  decision: optional(oneOf(`${name}_decision`, verdictNumbers), 'none'),
  decidedBy: optional(oneOf(`${name}_decided_by`, deciderNumbers), 'none'),
  decidedById: optional(word(`${name}_decided_by_id`), ''),
  policy: optional(word(`${name}_policy`), ''),
  ruleId: optional(word(`${name}_rule_id`), ''),
})

export type LoggedVerdict = RowOf<ReturnType<typeof verdictColumns>>

/** The shadow decision: as if everything that is not enforced were. */
const shadowColumns = verdictColumns('shadow')

/** The decision of a challenger's draft. */
const challengerColumns = { id: optional(word('challenger_id'), ''), ...verdictColumns('challenger') }

/** Few rows have another word than the first. */
const ownColumns = { ownTime: optional(oneOf('own_time_word', ownTimeNumbers), 'implied') }

export const decisionColumns = {
  ...recordColumns,
  ...askedColumns,
  shadowDecision: shadowColumns.decision,
  shadowDecidedBy: shadowColumns.decidedBy,
  shadowDecidedById: shadowColumns.decidedById,
  shadowPolicy: shadowColumns.policy,
  shadowRuleId: shadowColumns.ruleId,
  challengerId: challengerColumns.id,
  challengerDecision: challengerColumns.decision,
  challengerDecidedBy: challengerColumns.decidedBy,
  challengerDecidedById: challengerColumns.decidedById,
  challengerPolicy: challengerColumns.policy,
  challengerRuleId: challengerColumns.ruleId,
  ...ownColumns,
}

export type DecisionRow = RowOf<typeof decisionColumns>

/** A row about a record stands for itself. The address is given apart. */
export type RecordRow = Omit<RowOf<typeof recordColumns>, 'clientIp'> & {
  readonly shadow: LoggedVerdict | undefined
  readonly challenger?: (LoggedVerdict & { readonly id: string }) | undefined
  readonly ownTime: keyof typeof ownTimeNumbers
}

/** Collects rows about records. */
export class DecisionRows extends BlockWriter {
  readonly #columns = this.open(recordColumns)
  readonly #shadow = this.openRare(shadowColumns)
  readonly #challenger = this.openRare(challengerColumns)
  readonly #own = this.openRare(ownColumns)

  /** Each record has a row, and a loop over the columns takes twice the time. */
  add(row: RecordRow, client: Address): void {
    const columns = this.#columns
    columns.accountId.add(row.accountId)
    columns.at.add(row.at)
    columns.recordId.add(row.recordId)
    columns.type.add(row.type)
    columns.edgeId.add(row.edgeId)
    columns.routeId.add(row.routeId)
    columns.serverName.add(row.serverName)
    columns.serverPort.add(row.serverPort)
    columns.clientIp.add(client)
    columns.country.add(row.country)
    columns.asn.add(row.asn)
    columns.decision.add(row.decision)
    columns.decidedBy.add(row.decidedBy)
    columns.decidedById.add(row.decidedById)
    columns.policy.add(row.policy)
    columns.ruleId.add(row.ruleId)
    columns.revision.add(row.revision)
    columns.bytesIn.add(row.bytesIn)
    columns.bytesOut.add(row.bytesOut)
    columns.sequence.add(row.sequence)
    columns.line.add(row.line)
    columns.method.add(row.method)
    columns.path.add(row.path)
    columns.status.add(row.status)
    columns.partition.add(row.partition)
    columns.ownAt.add(row.ownAt)
    if (row.shadow !== undefined) this.#shadow.add(this.rows, row.shadow)
    if (row.challenger !== undefined) this.#challenger.add(this.rows, row.challenger)
    if (row.ownTime !== 'implied') this.#own.add(this.rows, row)
    this.endRow()
  }
}

/**
 * Collects rows about questions, or about records of the past, which have two columns more: other rows need not pay for
 * them.
 */
export class SourcedRows extends DecisionRows {
  readonly #columns = this.open(askedColumns)
  readonly #source: 'asked' | 'history'

  constructor(source: 'asked' | 'history') {
    super()
    this.#source = source
  }

  override add(row: RecordRow, client: Address, weight = 1): void {
    this.#columns.source.add(this.#source)
    this.#columns.weight.add(weight)
    super.add(row, client)
  }
}

/** The rows of accounts that are wanted; throws a `RangeError` for bytes that are no such block. */
export const readDecisionRows = (
  bytes: Uint8Array,
  isWanted?: (accountId: string) => boolean,
): Generator<DecisionRow> =>
  readRows(bytes, decisionColumns, isWanted && (({ accountId }, row) => isWanted(accountId(row))))
