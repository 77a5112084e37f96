/**
 * Refuses entries from a source by which those who manage the account would be locked out. Nobody asked for the change, so
 * there is no address of a caller to look at: those from which the account's keys were used last are.
 */
import { now } from '../../../ground/core/clock.js'
import { WeirError } from '../../../ground/core/errors.js'
import { checkRestriction, type Restrictions } from '../../../judging/evaluate/ip-restriction.js'
import { apiKey, isExpired } from '../../../words/resource/api-key.js'
import type { AccountPolicies } from '../../access/account-policies.js'
import type { KeyUses } from '../../access/key-uses.js'
import { rowsOf } from '../../exchange/rows.js'
import type { VerifiedWrite } from '../../store/verify.js'

/** Keys that were used last before are not asked about. */
const usedWithinMs = 30 * 24 * 60 * 60_000
/** Addresses that are looked at: the latest. */
const addressesMax = 100

interface FeedLockoutParts {
  readonly policies: AccountPolicies
  readonly keyUses: Pick<KeyUses, 'lastUse'>
}

const places = { api: 'API', dashboard: 'web console' } as const

/** Rejects with a `WeirError` if an address that is let in now would not be after a write of entries from a source. */
export async function checkFeedLockout(write: VerifiedWrite, parts: FeedLockoutParts): Promise<void> {
  const { accountId, base, state, principal } = write
  if (principal.source !== 'FEED') return
  const ways = (['api', 'dashboard'] as const).filter((type) =>
    [...rowsOf(state, accountId, 'ip_restriction')].some((row) => row['type'] === type && row['enforced']),
  )
  const addresses = ways.length === 0 ? [] : lastAddresses(write, parts)
  if (addresses.length === 0) return
  const present = await parts.policies.of(base, accountId)
  const after = await parts.policies.after(base, state, accountId, write)
  for (const way of ways) {
    const isBlocked = (restrictions: Restrictions, address: string): boolean =>
      checkRestriction(restrictions, accountId, way, address).decision === 'block'
    const lockedOut = addresses.find((address) => !isBlocked(present, address) && isBlocked(after, address))
    if (lockedOut !== undefined)
      throw new WeirError(
        'ERR_LOCKOUT',
        `The new entries would lock ${lockedOut}, from which a key of the account was used last, out of the ${places[way]}: allow it by a rule of its own in an IP policy of the "${way}" restriction first.`,
      )
  }
}

/** From which keys that still work were used, the latest first. */
function lastAddresses({ state, accountId }: VerifiedWrite, { keyUses }: FeedLockoutParts): string[] {
  const nowMs = now()
  const uses = [...rowsOf(state, accountId, apiKey.kind)].flatMap((key) => {
    const use = isExpired(key, nowMs) ? undefined : keyUses.lastUse(key.id)
    return use === undefined || nowMs - use.at > usedWithinMs ? [] : [use]
  })
  const latest = uses.sort((one, other) => other.at - one.at).map(({ from }) => from)
  return [...new Set(latest)].slice(0, addressesMax)
}
