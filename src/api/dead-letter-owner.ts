/**
 * To which account a dead letter belongs. An event is of the account of its destination. A record or an audit event
 * says itself whose it is, by its account or its edge; if it is too broken for that, no account sees it, only the
 * operator, in the stream.
 */
import type { ViewState } from '../view/view-state.js'
import type { DeadLetterOrigin } from '../wire/dead-letter.js'

/** The account of a destination or an edge, by its id. */
export type AccountOf = (id: string) => string | undefined

export const accountsIn =
  (stateOf: () => ViewState): AccountOf =>
  (id) => {
    const kinds = ['event_destination', 'tcp_edge', 'https_edge']
    const rows = kinds.map((kind) => stateOf().rows.get(kind)?.get(id))
    return rows.find((row) => row !== undefined)?.account_id
  }

export function accountOfLetter(
  { accountId, destinationId }: Pick<DeadLetterOrigin, 'accountId' | 'destinationId'>,
  data: Uint8Array,
  accountOf: AccountOf,
): string | undefined {
  if (destinationId !== null) return accountId ?? accountOf(destinationId)
  const letter = parsed(data)
  if (typeof letter?.account_id === 'string') return letter.account_id
  return typeof letter?.edge_id === 'string' ? accountOf(letter.edge_id) : undefined
}

function parsed(data: Uint8Array): { account_id?: unknown; edge_id?: unknown } | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(data).toString())
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}
