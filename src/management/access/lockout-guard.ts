/** Refuses writes by which callers would lock their own address out of the API or of the web console. */
import { now, yieldTurn } from '../../ground/core/clock.js'
import { WeirError } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import { Slices } from '../../ground/core/slices.js'
import { lockoutBy } from '../../judging/evaluate/lockout.js'
import type { CheckedWrite, Draft } from '../store/change/plan.js'
import { accountSource } from './account-source.js'
import type { Caller } from './caller.js'
import { places } from './lockout.js'

/**
 * The check of a draft, for the way by which the caller came. The other way may be closed: the caller is still let in, and
 * can open it again.
 */
export const lockoutGuard = (caller: Caller): Guard => getOrMake(guards, caller, () => guardOf(caller))

type Guard = Pick<Draft<unknown>, 'check'>

/** Of a caller, all drafts have one check: a batch of them runs it once. */
const guards = new WeakMap<Caller, Guard>()

function guardOf({ accountId, address, session }: Caller): Guard {
  if (address === undefined) return {}
  const types = session === undefined ? (['api'] as const) : (['dashboard', 'api'] as const)
  const check = async ({ state, ...write }: CheckedWrite): Promise<void> => {
    const present = accountSource(state, accountId)
    const slices = new Slices({ letOthers: yieldTurn })
    const lockout = await lockoutBy(write, { present, types, address, nowMs: now(), slices })
    if (lockout === undefined) return
    const place = places[session === undefined ? 'api' : 'dashboard']
    const [when, by] =
      lockout.when === 'expiry'
        ? [' when its rules expire', ' by a rule or an entry that does not expire']
        : ['', '']
    throw new WeirError(
      'ERR_LOCKOUT',
      `This change would lock your own address ${address} out of the ${place}${when}: allow it${by} in an IP policy of the "${lockout.restriction.type}" restriction first.`,
    )
  }
  return { check }
}
