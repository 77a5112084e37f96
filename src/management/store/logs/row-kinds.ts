/** The kinds of rows in the stream of the logs: where they are stored, and which of them are whole. */
import { readDecisionRows } from '../../../delivery/wire/decision-rows.js'
import { readDeliveryRows } from '../../../delivery/wire/delivery-rows.js'
import { readFailureRows } from '../../../delivery/wire/failure-rows.js'
import { decisionRowsSubject, deliveryRowsSubject, failureRowsSubject } from '../../../delivery/wire/names.js'
import { deliveriesTable } from './delivery-tables.js'
import { failuresTable } from './failure-table.js'
import { decisionsTable } from './log-tables.js'

/** The rows of a subject. */
export interface RowKind {
  readonly table: string
  /** For each row, whether its words are known; throws a `RangeError` for bytes that are cut off. */
  readonly areValid: (data: Uint8Array) => Iterable<boolean>
}

export const rowKinds: ReadonlyMap<string, RowKind> = new Map([
  [decisionRowsSubject, { table: decisionsTable, areValid: validDecisions }],
  [deliveryRowsSubject, { table: deliveriesTable, areValid: validDeliveries }],
  [failureRowsSubject, { table: failuresTable, areValid: validFailures }],
])

/** A word of a later version is undefined here. */
function* validDecisions(data: Uint8Array): Iterable<boolean> {
  for (const row of readDecisionRows(data))
    yield row.type !== undefined &&
      row.decision !== undefined &&
      row.decidedBy !== undefined &&
      row.shadowDecision !== undefined &&
      row.shadowDecidedBy !== undefined &&
      row.challengerDecision !== undefined &&
      row.challengerDecidedBy !== undefined
}

function* validDeliveries(data: Uint8Array): Iterable<boolean> {
  for (const { outcome } of readDeliveryRows(data)) yield outcome !== undefined
}

/** Half of a place would be merged with that of others. */
function* validFailures(data: Uint8Array): Iterable<boolean> {
  for (const { policy, subscriptionId } of readFailureRows(data))
    yield (policy === '') !== (subscriptionId === '')
}

/** Are these so many whole rows? */
export function holdsRows({ areValid }: RowKind, block: Uint8Array, rowsExpected: number): boolean {
  let rows = 0
  try {
    for (const isValid of areValid(block)) {
      if (!isValid) return false
      rows += 1
    }
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
  return rows === rowsExpected
}
