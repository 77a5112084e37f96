/**
 * Rows of the decision log about expressions without a result: what one process saw of one place, a policy or a filter, in
 * some seconds. Rows of the same place and minute are merged in the table.
 */
import { BlockWriter } from './blocks/block-writer.js'
import { type RowOf, readRows, text, time, uint, word } from './blocks/row-columns.js'

/** Texts are empty if there is no value. A row has either a policy, and then an edge, or a subscription. */
export const failureColumns = {
  accountId: word('account_id'),
  /** The beginning of the minute in which the last of them was. */
  minute: time('minute'),
  edgeId: word('edge_id'),
  /** If the policy is that of a route. */
  routeId: word('route_id'),
  /** The name of the traffic policy, with its place if another one has the same name; else its place. */
  policy: word('policy'),
  subscriptionId: word('subscription_id'),
  eventKind: word('event_kind'),
  /** Records and questions for which it had no result. */
  failures: uint('failures', 64, 'narrowed'),
  firstAt: time('first_at'),
  lastAt: time('last_at'),
  /** The expression of the policy that failed last. */
  expression: text('expression'),
  message: text('message'),
  /** The record, or the question, that failed last. */
  recordId: text('record_id'),
}

export type FailureRow = RowOf<typeof failureColumns>

/** Collects rows. */
export class FailureRows extends BlockWriter {
  readonly #columns = Object.entries(this.open(failureColumns))

  add(row: FailureRow): void {
    for (const [member, column] of this.#columns) column.add(row[member as keyof FailureRow] as never)
    this.endRow()
  }
}

/** Throws a `RangeError` for bytes that are no such block. */
export const readFailureRows = (bytes: Uint8Array): Generator<FailureRow> => readRows(bytes, failureColumns)
