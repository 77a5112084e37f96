/** IP policies and their rules, and the restrictions of the account. */

import { choiceIn } from '../kit/choices.js'
import { onDemand } from '../parts/on-demand.js'
import type { PageProps } from '../parts/page.js'
import { PolicyList, tabs } from './ip-policies/policy-list.js'
import { PolicyView } from './ip-policies/policy-view.js'
import { Restrictions } from './ip-policies/restrictions.js'

const RestrictionView = onDemand(
  async () => (await import('./ip-policies/restriction-view.js')).RestrictionView,
)

const ReplaceRules = onDemand(async () => (await import('./ip-policies/replace-rules.js')).ReplaceRules)

/** `ip-policies`, `ip-policies/<policy>`, `ip-policies/<policy>/replace`, `ip-policies/<restriction>`. */
export function IpPolicies({ rest: [id, second] }: PageProps) {
  if (id === undefined) return choiceIn('tab', tabs) === 'restrictions' ? <Restrictions /> : <PolicyList />
  if (id.startsWith('ipx_')) return <RestrictionView key={id} id={id} />
  if (second === 'replace') return <ReplaceRules key={id} id={id} />
  return <PolicyView key={id} id={id} />
}
