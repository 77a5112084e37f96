/**
 * Names that two of the differences want. Each of them alone may be right to the API, which knows of no other before it is
 * written.
 */
import type { Difference, Plan } from './difference.js'
import { isAddressToBe } from './drawn-addresses.js'

/** The differences; the later one of two that want the same name has a refusal. `said`: as a plan shows what is refused. */
export function withTwinsRefused(differences: readonly Difference[], said: Plan['refusalOf']): Difference[] {
  const first = new Map<string, Difference>()
  return differences.map((each) => {
    const claims = claimsOf(each)
    const taken = claims.find((claim) => first.has(claim))
    for (const claim of claims) if (!first.has(claim)) first.set(claim, each)
    if (taken === undefined || each.refusal !== undefined) return each
    return { ...each, refusal: said(each, refusalOf(taken, first.get(taken)!)) }
  })
}

const claimsOf = ({ action, kind: { resource }, body }: Difference): readonly string[] =>
  action === 'delete' || resource.claimsAreDrawn ? [] : (resource.claims?.(body as never) ?? [])

/** Claims have a prefix, which says what they are. */
function refusalOf(claim: string, { kind, name }: Difference): string {
  const dot = claim.indexOf('.')
  const claimed = claim.slice(dot + 1)
  const shown = isAddressToBe(claimed) ? 'the same reserved address' : `the ${claim.slice(0, dot)} ${claimed}`
  return `${kind.section} ${name}, which is to be written as well, has ${shown}.`
}
