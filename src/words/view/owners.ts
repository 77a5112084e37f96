import type { Row } from '../resource/kind/define.js'
import { resources } from '../resource/registry.js'

const parentFields = new Map(resources.map(({ kind, parent }) => [kind, parent?.field]))

/** The account of a row, and the resource above it. */
export function ownersOf(kind: string, row: Row): readonly string[] {
  const field = parentFields.get(kind)
  return field === undefined ? [row.account_id] : [row.account_id, String(row[field])]
}
