/** A selection of logged decisions by values of their columns and by client, and its SQL. */
import { clientKeyOf } from './log-tables.js'

export interface Selection {
  /** Columns with exactly one of these values. */
  readonly values: Readonly<Record<string, readonly (string | number)[]>>
  /** The first and the last address of a range. */
  readonly clients?: readonly [string, string] | undefined
}

const firstClient = 'toIPv6({first:String})'
const lastClient = 'toIPv6({last:String})'
const [firstKey, lastKey] = [clientKeyOf(firstClient), clientKeyOf(lastClient)]

/**
 * Conditions on rows; adds their values to the parameters. `narrow`: those that are cheap to read, for a PREWHERE. `exact`:
 * checked in the rows that the narrow ones found.
 */
export function selectionSql(
  { values, clients }: Selection,
  params: Record<string, unknown>,
): { readonly narrow: readonly string[]; readonly exact: readonly string[] } {
  const narrow: string[] = []
  for (const [column, allowed] of Object.entries(values)) {
    const type = typeof allowed[0] === 'number' ? 'UInt32' : 'String'
    narrow.push(`${column} IN {of_${column}:Array(${type})}`)
    params[`of_${column}`] = allowed
  }
  if (clients === undefined) return { narrow, exact: [] }
  const [first, last] = clients
  Object.assign(params, { first, last })
  // Some of these addresses have no upper half.
  if (!first.startsWith('::')) narrow.push(`client_key BETWEEN ${firstKey} AND ${lastKey}`)
  return { narrow, exact: [`client_ip BETWEEN ${firstClient} AND ${lastClient}`] }
}
