/** Hostports for names of everybody, such as `*:443`: they catch what other accounts have not named yet. */
import { WeirError } from '../../../ground/core/errors.js'
import type { AccountRight, Lookups } from '../kind/define.js'
import { isCatchAll } from './claimed-names.js'

const needed: AccountRight = 'catch_all_allowed'

interface Edge {
  readonly hostports: readonly string[] | null
}

/** Refuses new catch-alls of accounts that no operator gave the right to. */
export function checkCatchAlls(edge: Edge, previous: Edge | undefined, lookups: Lookups): void {
  const served = previous?.hostports ?? []
  for (const [index, hostport] of (edge.hostports ?? []).entries()) {
    if (served.includes(hostport) || !isCatchAll(hostport) || lookups.hasRight(needed)) continue
    throw new WeirError(
      'ERR_FORBIDDEN',
      `"hostports[${index}]" is ${JSON.stringify(hostport)}: a wildcard for all names, or for those below a domain of one label, needs the right "${needed}", which only an operator can give an account.`,
    )
  }
}
