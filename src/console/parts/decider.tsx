/** What said no, in a sentence. */
import type { Explanation as Explained } from '../../shape/decision.js'
import { RuleLink, Source } from './chain.js'
import { Name } from './name.js'

export function Decider({ explanation }: { readonly explanation: Explained }) {
  const { type, id, name, ip_policy_id, rule_id, cidr } = explanation.decided_by
  if (type === 'none') return <>Nothing said no.</>
  if (type === 'traffic_policy')
    return (
      <>
        by the traffic policy <strong>“{name}”</strong> of {id !== null && <Name id={id} />}.
      </>
    )
  const by = id !== null && <Source source={type === 'restriction' ? id : `${type} of ${id}`} />
  if (rule_id === null || ip_policy_id === null || cidr === null)
    return <>because no allow rule contains the address ({by}).</>
  const description = explanation.ip_policies
    .flatMap(({ rules }) => rules)
    .find((rule) => rule.rule_id === rule_id)?.description
  return (
    <>
      by the rule{' '}
      <strong>
        <RuleLink rule={{ ip_policy_id, rule_id, action: 'deny', cidr }} />
      </strong>
      {description != null && <> “{description}”</>} of <Name id={ip_policy_id} /> ({by}).
    </>
  )
}
