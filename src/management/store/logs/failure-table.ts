/**
 * The table of expressions without a result: a row per account, minute and place, in the layout of `wire/failure-rows.ts`.
 * Processes write a place again every few seconds while it fails; ClickHouse merges these rows.
 */
import type { TableColumn } from '../../../delivery/wire/blocks/row-columns.js'
import { failureColumns } from '../../../delivery/wire/failure-rows.js'
import { type LogBounds, type LogTable, mergedTable } from './log-table.js'

export const failuresTable = 'expression_failures'

/** How the values of merged rows become one. Row by row, so that a message and its record belong together. */
const merges: Readonly<Record<string, string>> = {
  failures: 'sum',
  first_at: 'min',
  last_at: 'max',
  expression: 'anyLast',
  message: 'anyLast',
  record_id: 'anyLast',
}

const merged = ({ name, type, codec }: TableColumn): TableColumn => {
  const merge = merges[name]
  return { name, type: merge === undefined ? type : `SimpleAggregateFunction(${merge}, ${type})`, codec }
}

export const failureTable = (bounds: LogBounds): LogTable =>
  mergedTable(
    {
      name: failuresTable,
      columns: Object.values(failureColumns).map(merged),
      order: 'account_id, minute, edge_id, route_id, policy, subscription_id, event_kind',
    },
    bounds,
  )
