/** The rule, policy or restriction that said no, in a sentence. */
import type { Decision, Explanation as Explained } from '../../../words/shape/decisions/decision.js'
import { RuleLink, Source } from './chain.js'
import { Name } from './name.js'
import { StateWord } from './words.js'

/** The decision if all were enforced; nothing if all that applied is. */
export const Shadow = ({ explanation: { shadow } }: { readonly explanation: Explained }) =>
  shadow === null ? null : (
    <p>
      <StateWord tone="warning" text={`would be ${shadow.decision}`} /> {shadow.reason}
    </p>
  )

/** How the request was read, if servers disagree about it. */
export const Readings = ({ explanation: { target, values } }: { readonly explanation: Explained }) => (
  <>
    {target && <p class="quiet">{target.reason}</p>}
    {target && (
      <ul class="indented" aria-label="How the path was read">
        {target.readings.map(({ path, how }) => (
          <li key={`${path} ${how}`}>
            <code>{path}</code> <span class="quiet">{how}</span>
          </li>
        ))}
      </ul>
    )}
    {values && <p class="quiet">{values.reason}</p>}
    {values && (
      <ul class="indented" aria-label="Values that servers may take">
        {values.others.map(({ name, value, how }) => (
          <li key={`${name} ${value} ${how}`}>
            <code>
              {name} = {JSON.stringify(value)}
            </code>{' '}
            <span class="quiet">{how}</span>
          </li>
        ))}
      </ul>
    )}
  </>
)

interface UnservedProps {
  readonly decision: Decision
  /** Whose edges were looked at. */
  readonly of: 'account' | 'file'
}

/** Records about a name without an edge pass, but proxies that ask about it are refused: an "allow" alone would mislead. */
export const Unserved = ({ decision: { served, decision }, of }: UnservedProps) =>
  served || decision !== 'allow' ? null : (
    <p class="warning-line">
      No edge of the {of} serves this name, so no policy of an edge was asked. A proxy that asks about it over
      HTTP is refused, unless its question has unserved=allow or the account allows such names.
    </p>
  )

export function Decider({ explanation }: { readonly explanation: Explained }) {
  const { type, id, name, ip_policy_id, rule_id, cidr } = explanation.decided_by
  if (type === 'none') return <>Nothing refused it.</>
  if (type === 'unserved') return <>because no edge of the account serves this name.</>
  if (type === 'traffic_policy')
    return (
      <>
        by the traffic policy <strong>“{name}”</strong> of {id !== null && <Name id={id} />}.
      </>
    )
  const by = id !== null && <Source source={type === 'restriction' ? id : `${type} of ${id}`} />
  if (rule_id === null || ip_policy_id === null)
    return <>because no allow rule contains the address ({by}).</>
  const { description, list_id = null } =
    explanation.ip_policies.flatMap(({ rules }) => rules).find((rule) => rule.rule_id === rule_id) ?? {}
  return (
    <>
      by the rule{' '}
      <strong>
        <RuleLink rule={{ ip_policy_id, rule_id, action: 'deny', cidr, list_id }} />
      </strong>
      {description != null && <> “{description}”</>} of <Name id={ip_policy_id} /> ({by}).
    </>
  )
}
