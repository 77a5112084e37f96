/** Columns and conditions of the logs in statements: values are parameters, and names of columns are our own. */
import { timeType } from '../../../delivery/wire/blocks/columns.js'
import type { RowColumn, RowColumns, TableColumn } from '../../../delivery/wire/blocks/row-columns.js'
import type { decisionColumns } from '../../../delivery/wire/decision-rows.js'

export const columnSql = ({ name, type, codec }: TableColumn): string => `${name} ${type} ${codec}`

/** The expressions of a SELECT of these members of a row. */
export function selected<Columns extends RowColumns>(
  columns: Columns,
  members: readonly (keyof Columns & string)[] = Object.keys(columns),
): string {
  const expressions = members.map((member) => {
    const { name, type } = columns[member]!
    const value = type.startsWith(timeType) ? `toUnixTimestamp64Milli(${name})` : name
    return value === member ? member : `${value} AS ${member}`
  })
  return expressions.join(', ')
}

type DecisionColumn = (typeof decisionColumns)[keyof typeof decisionColumns]
type NameOf<Column> = Column extends RowColumn<infer _Value, infer Name> ? Name : never

/** Columns of texts and of known words. */
export type TextColumn = NameOf<Extract<DecisionColumn, RowColumn<string>>>
export type NumberColumn = Exclude<NameOf<Extract<DecisionColumn, RowColumn<number>>>, 'time'>

export type LogCondition =
  | { readonly kind: 'any' | 'all'; readonly of: readonly LogCondition[] }
  | { readonly kind: 'equal' | 'beginning' | 'end'; readonly column: TextColumn; readonly value: string }
  | {
      readonly kind: 'order'
      readonly column: NumberColumn
      readonly operator: '=' | '<' | '<=' | '>' | '>='
      readonly value: number
    }
  /** From the first to the last of these addresses. */
  | { readonly kind: 'client'; readonly range: readonly [string, string] }

/** The SQL of a condition on rows of the decision log; adds its values to the parameters. */
export function conditionSql(condition: LogCondition, params: Record<string, unknown>): string {
  const parameter = (value: unknown, type: string): string => {
    const name = `c${Object.keys(params).length}`
    params[name] = value
    return `{${name}:${type}}`
  }
  switch (condition.kind) {
    case 'any':
    case 'all': {
      const parts = condition.of.map((part) => conditionSql(part, params))
      const [joint, none] = condition.kind === 'any' ? [' OR ', '0'] : [' AND ', '1']
      return parts.length === 0 ? none : `(${parts.join(joint)})`
    }
    // An enum column refuses unknown words; compared as text, it does not.
    case 'equal':
      return `toString(${condition.column}) = ${parameter(condition.value, 'String')}`
    case 'beginning':
      return `startsWith(toString(${condition.column}), ${parameter(condition.value, 'String')})`
    case 'end':
      return `endsWith(toString(${condition.column}), ${parameter(condition.value, 'String')})`
    case 'order':
      return `${condition.column} ${condition.operator} ${parameter(condition.value, 'Float64')}`
    case 'client': {
      const [first, last] = condition.range.map((address) => `toIPv6(${parameter(address, 'String')})`)
      return `client_ip BETWEEN ${first} AND ${last}`
    }
  }
}
