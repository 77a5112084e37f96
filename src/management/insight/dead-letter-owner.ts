/**
 * The owner of a dead letter. An event belongs to the account of its destination. A record or an audit event names its
 * account or its edge. If it is too broken for that, or names an account that does not exist, it belongs to no account: only
 * the operator sees it (`weir dead --all`), and, if there is only one account, that one.
 */

import type { DeadLetterOrigin } from '../../delivery/wire/dead-letter.js'
import { bufferOf, jsonOf } from '../../ground/core/bytes.js'
import type { View } from '../../words/view/view.js'

/** The account that sees a letter besides the operator. */
export type OwnerOf = (origin: DeadLetterOrigin, data: Uint8Array) => string | undefined

export const ownersIn = (view: Pick<View, 'state' | 'isComplete'>): OwnerOf => {
  const accountOf = (id: string): string | undefined => {
    const kinds = ['event_destination', 'tcp_edge', 'https_edge']
    const rows = kinds.map((kind) => view.state.rows.get(kind)?.get(id))
    return rows.find((row) => row !== undefined)?.account_id
  }
  return (origin, data) => {
    const accounts = view.state.rows.get('account')
    const named = namedIn(origin, data, accountOf)
    // A record may name anything.
    if (named !== undefined && accounts?.has(named) === true) return named
    // A view that is not complete may lack other accounts.
    return view.isComplete && accounts?.size === 1 ? [...accounts.keys()][0] : undefined
  }
}

function namedIn(
  { accountId, destinationId }: Pick<DeadLetterOrigin, 'accountId' | 'destinationId'>,
  data: Uint8Array,
  accountOf: (id: string) => string | undefined,
): string | undefined {
  if (destinationId !== null) return accountId ?? accountOf(destinationId)
  const letter = parsed(data)
  if (typeof letter?.account_id === 'string') return letter.account_id
  return typeof letter?.edge_id === 'string' ? accountOf(letter.edge_id) : undefined
}

const openingBrace = 0x7b
const spaces = [0x20, 0x09, 0x0d, 0x0a]

/** Avoids parsing data that is no object or has no such member: a message may hold 20,000 letters. */
function mayNameOwner(data: Uint8Array): boolean {
  let start = 0
  while (spaces.includes(data[start]!)) start += 1
  if (data[start] !== openingBrace) return false
  const bytes = bufferOf(data)
  // The name of a member may be escaped.
  return bytes.includes('_id"') || bytes.includes('\\')
}

function parsed(data: Uint8Array): { account_id?: unknown; edge_id?: unknown } | null {
  if (!mayNameOwner(data)) return null
  try {
    const value = jsonOf<unknown>(data)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}
