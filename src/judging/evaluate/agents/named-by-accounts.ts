/** The names that accounts have: an agent of one account can't bind what another one has. */
import type { Slices } from '../../../ground/core/slices.js'
import {
  type ClaimedNames,
  isWithin,
  namesOfDomain,
  namesOfHostport,
} from '../../../words/resource/fields/claimed-names.js'
import { NameTree } from '../../../words/resource/fields/name-tree.js'
import type { DeclaredRow, KindName } from '../../../words/resource/registry.js'

/** The parts of a configuration that are read. */
interface RowSource {
  rowsOf<Kind extends KindName>(kind: Kind): Iterable<DeclaredRow<Kind>>
}

interface OwnedNames {
  readonly accountId: string
  readonly names: ClaimedNames
}

export class NamedByAccounts {
  readonly #tree = new NameTree<OwnedNames>()

  /** `id`: of the resource. A catch-all names nothing. */
  add(id: string, text: string, names: ClaimedNames | undefined, accountId: string): void {
    if (names !== undefined) this.#tree.set(names, `${id} ${text}`, { accountId, names })
  }

  /** Does another account have any of these names, and this account not all of them? */
  hasAnother(accountId: string, asked: ClaimedNames): boolean {
    let another = false
    for (const { accountId: owner, names } of this.#tree.overlapping(asked)) {
      if (owner !== accountId) another = true
      else if (isWithin(asked, names)) return false
    }
    return another
  }
}

export async function buildNamedByAccounts(source: RowSource, slices: Slices): Promise<NamedByAccounts> {
  const named = new NamedByAccounts()
  for (const kind of ['tcp_edge', 'https_edge'] as const) {
    for (const { id, hostports, account_id } of source.rowsOf(kind)) {
      if (slices.isDue()) await slices.pause()
      for (const text of hostports ?? []) named.add(id, text, namesOfHostport(text), account_id)
    }
  }
  for (const { id, domain, account_id } of source.rowsOf('domain')) {
    if (slices.isDue()) await slices.pause()
    named.add(id, domain, namesOfDomain(domain), account_id)
  }
  for (const { id, addr, account_id } of source.rowsOf('reserved_addr')) {
    if (slices.isDue()) await slices.pause()
    if (addr !== null) named.add(id, addr, namesOfHostport(addr), account_id)
  }
  return named
}
