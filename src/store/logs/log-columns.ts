/** Columns of the logs (`wire/blocks/row-columns.ts`) in statements. */
import { timeType } from '../../wire/blocks/columns.js'
import type { RowColumns, TableColumn } from '../../wire/blocks/row-columns.js'

export const columnSql = ({ name, type, codec }: TableColumn): string => `${name} ${type} ${codec}`

/** The expressions of a SELECT of these members of a row. */
export function selected<Columns extends RowColumns>(
  columns: Columns,
  members: readonly (keyof Columns & string)[] = Object.keys(columns),
): string {
  const expressions = members.map((member) => {
    const { name, type } = columns[member]!
    const value = type === timeType ? `toUnixTimestamp64Milli(${name})` : name
    return value === member ? member : `${value} AS ${member}`
  })
  return expressions.join(', ')
}
