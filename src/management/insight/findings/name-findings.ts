/**
 * Names that overlap with those of another account. The API refuses new ones, so they are older than the rule. Neither
 * account learns whose the other names are, or which.
 */

import {
  type ClaimedNames,
  claimedHostport,
  isCatchAll,
  namesOfClaim,
} from '../../../words/resource/fields/claimed-names.js'
import { NameTree } from '../../../words/resource/fields/name-tree.js'
import type { AccountRight, Row } from '../../../words/resource/kind/define.js'
import { accountRightsOf } from '../../access/account-rights.js'
import { rowsOf } from '../../exchange/rows.js'
import { claimsOf } from '../../store/change/plan.js'
import type { Search } from './collected.js'

const kinds = ['tcp_edge', 'https_edge', 'domain'] as const
const catchAllRight: AccountRight = 'catch_all_allowed'

interface OwnClaim {
  readonly kind: string
  readonly row: Row
  /** As its account wrote it. */
  readonly text: string
  readonly place: string
  readonly names: ClaimedNames | undefined
}

export async function overlappingNames(search: Search, tcpDomain: string): Promise<void> {
  const { found, state, accountId } = search
  const own = await ownClaims(search, tcpDomain)
  found.lookedAt('name_overlaps', own.length)
  const overlapping = await overlappingWithOthers(search, own, tcpDomain)
  const mayCatchAll = accountRightsOf(state, accountId).includes(catchAllRight)
  for (const claim of own) {
    const sentence = overlapping.has(claim) ? overlaps(claim) : mayCatchAll ? undefined : catchesAll(claim)
    if (sentence === undefined) continue
    const about = found.placeOf(claim.kind, claim.row, claim.place)
    found.add('name_overlaps', () => ({ severity: 'attention', about, sentence }))
  }
}

const overlaps = ({ text }: OwnClaim): string =>
  `${JSON.stringify(text)} overlaps with names of another account, and was there before the API refused this. Questions with a key see the names of its account alone; for records and questions that name no account, the more exact name decides. An operator can settle whose the name is.`

function catchesAll({ kind, text }: OwnClaim): string | undefined {
  if (kind === 'domain' || !isCatchAll(text)) return undefined
  return `${JSON.stringify(text)} stands for names of everybody, and the account does not have the right "${catchAllRight}": it stays, but once removed, it can't be added again.`
}

async function ownClaims({ state, accountId, slices }: Search, tcpDomain: string): Promise<OwnClaim[]> {
  const own: OwnClaim[] = []
  for (const kind of kinds) {
    for (const row of [...rowsOf(state, accountId, kind)]) {
      if (slices.isDue()) await slices.pause()
      for (const [index, claim] of claimsOf(kind, row).entries()) {
        const hostport = claimedHostport(claim)
        const place = hostport === undefined ? 'domain' : `hostports[${index}]`
        const text = hostport ?? String(row['domain'])
        own.push({ kind, row, text, place, names: namesOfClaim(claim, tcpDomain) })
      }
    }
  }
  return own
}

/** Claims of the account that overlap with one of another account. */
async function overlappingWithOthers(
  { state, accountId, slices }: Search,
  own: readonly OwnClaim[],
  tcpDomain: string,
): Promise<ReadonlySet<OwnClaim>> {
  const tree = new NameTree<OwnClaim>()
  for (const claim of own)
    if (claim.names !== undefined) tree.set(claim.names, `${claim.kind} ${claim.text}`, claim)
  const found = new Set<OwnClaim>()
  for (const kind of kinds) {
    for (const row of state.rows.get(kind)?.values() ?? []) {
      if (slices.isDue()) await slices.pause()
      if (row.account_id === accountId) continue
      for (const text of claimsOf(kind, row)) {
        const names = namesOfClaim(text, tcpDomain)
        if (names === undefined) continue
        for (const claim of tree.overlapping(names)) found.add(claim)
      }
    }
  }
  return found
}
