/**
 * Names that two of the differences want. Each of them alone may be right to the API, which knows of no other before it is
 * written.
 */
import type { JsonObject } from '../../ground/core/json-object.js'
import { isAddressToBe } from './drawn-addresses.js'
import type { ManagedKind } from './managed-kinds.js'

interface Claiming {
  readonly action: string
  readonly kind: ManagedKind
  readonly name: string
  readonly body: JsonObject
  readonly refusal: string | undefined
}

/** The differences; the later one of two that want the same name has a refusal. `said`: as a plan shows what is refused. */
export function withTwinsRefused<T extends Claiming>(
  differences: readonly T[],
  said: (of: T, msg: string) => string,
): T[] {
  const first = new Map<string, T>()
  return differences.map((each) => {
    const claims = claimsOf(each)
    const taken = claims.find((claim) => first.has(claim))
    for (const claim of claims) if (!first.has(claim)) first.set(claim, each)
    if (taken === undefined || each.refusal !== undefined) return each
    return { ...each, refusal: said(each, refusalOf(taken, first.get(taken)!)) }
  })
}

const claimsOf = ({ action, kind: { resource }, body }: Claiming): readonly string[] =>
  action === 'delete' || resource.claimsAreDrawn ? [] : (resource.claims?.(body as never) ?? [])

/** Claims have a prefix, which says what they are. */
function refusalOf(claim: string, { kind, name }: Claiming): string {
  const dot = claim.indexOf('.')
  const claimed = claim.slice(dot + 1)
  const shown = isAddressToBe(claimed) ? 'the same reserved address' : `the ${claim.slice(0, dot)} ${claimed}`
  return `${kind.section} ${name}, which is to be written as well, has ${shown}.`
}
