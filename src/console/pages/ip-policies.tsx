/** IP policies and their rules, and the restrictions of the account. */

import { choiceIn } from '../parts/forms/choices.js'
import type { PageProps } from '../parts/page-props.js'
import { PolicyList, tabs } from './ip-policies/policy-list.js'
import { PolicyView } from './ip-policies/policy-view.js'
import { ReplaceRules } from './ip-policies/replace-rules.js'
import { RestrictionView } from './ip-policies/restriction-view.js'
import { Restrictions } from './ip-policies/restrictions.js'

/** `ip-policies`, `ip-policies/<policy>`, `ip-policies/<policy>/replace`, `ip-policies/<restriction>`. */
export function IpPolicies({ rest: [id, second] }: PageProps) {
  if (id === undefined) return choiceIn('tab', tabs) === 'restrictions' ? <Restrictions /> : <PolicyList />
  if (id.startsWith('ipx_')) return <RestrictionView key={id} id={id} />
  if (second === 'replace') return <ReplaceRules key={id} id={id} />
  return <PolicyView key={id} id={id} />
}
