/** The steps to a decision, in order: restriction, module, traffic policies; which of them won, and why others did not. */

import type { ComponentChildren } from 'preact'
import type { Addition } from '../../../words/shape/decisions/change-schema.js'
import type {
  ExplainedGroup,
  ExplainedPolicy,
  ExplainedRule,
  Explanation,
} from '../../../words/shape/decisions/decision.js'
import { nameOf } from '../data/resources/resource-names.js'
import { number, textOf } from '../data/texts/format.js'
import { Link } from '../kit/link.js'
import { Time } from '../kit/time.js'
import { Name } from './name.js'
import { DecisionWord, StateWord, UnenforcedWord } from './words.js'

interface AddedProps {
  readonly addition: Addition
}

export function Chain({ explanation }: { readonly explanation: Explanation }) {
  const { ip_policies, policies, policies_not_reached } = explanation
  const groups = ip_policies.toSorted((one, other) => orderOf(one) - orderOf(other))
  return (
    <ol class="chain" aria-label="What was looked at, in order">
      {groups.map((group) => (
        <li key={group.source}>
          <Group group={group} />
        </li>
      ))}
      {policies.map((policy, index) => (
        <li key={`${index} ${policy.policy}`}>
          <Policy policy={policy} />
        </li>
      ))}
      {policies_not_reached.map((each, index) => (
        <li key={`${index} ${each.policy} not reached`} class="quiet">
          <p>
            <StateWord tone="quiet" text="not reached" /> {each.direction} policy “{each.policy}” (
            <Source source={each.source} />)
          </p>
          <p>{each.reason.replace(/^Not reached: /, '')}</p>
        </li>
      ))}
    </ol>
  )
}

/** `ip_restriction of edgtcp_…`. Without an account, an id may be any text without spaces. */
const moduleSource = /^(\w+) of (\S+)$/

/** The account's restriction comes before the module of an edge. */
const orderOf = ({ source }: ExplainedGroup): number => (moduleSource.test(source) ? 1 : 0)

/** The part that refers to policies: a restriction by its id, or a module of an edge or route. */
export function Source({ source }: { readonly source: string }) {
  const [, module, id = source] = moduleSource.exec(source) ?? []
  return (
    <>
      {module === undefined ? 'restriction ' : `${module} of `}
      <Name id={id} />
    </>
  )
}

function Group({ group }: { readonly group: ExplainedGroup }) {
  const { source, enforced, decision, reason, rules, rules_left_out } = group
  const matching = rules.filter(({ matches }) => matches)
  const others = rules.filter(({ matches }) => !matches)
  const othersCount = others.length + rules_left_out
  return (
    <>
      <p>
        <DecisionWord decision={decision} /> <Source source={source} />{' '}
        {!enforced && <StateWord tone="warning" text="not enforced, only warns" />}
      </p>
      <p>{withRules(reason, rules)}</p>
      {matching.length > 0 && <Rules label="Rules that contain the address" rules={matching} />}
      {othersCount > 0 && (
        <details>
          <summary>
            {othersCount === 1
              ? 'One other rule does not contain the address.'
              : `${number(othersCount)} other rules do not contain the address.`}
          </summary>
          <Rules label="Rules that do not contain the address" rules={others} />
          {rules_left_out > 0 && <p class="quiet">{number(rules_left_out)} of them are not listed.</p>}
        </details>
      )}
    </>
  )
}

/** A reason of the API names rules by their ids; a person knows their ranges. */
function withRules(reason: string, rules: readonly ExplainedRule[]): ComponentChildren {
  return reason.split(/\b(ipr_\w+)/).map((part) => {
    const rule = rules.find(({ rule_id }) => rule_id === part)
    return rule === undefined ? (
      part
    ) : (
      <code key={part} title={part}>
        {rule.cidr ?? nameOf(rule.list_id ?? part).text}
      </code>
    )
  })
}

const Rules = ({ label, rules }: { readonly label: string; readonly rules: readonly ExplainedRule[] }) => (
  <ul class="chain-rules" aria-label={label}>
    {rules.map((rule) => (
      <li key={`${rule.ip_policy_id} ${rule.rule_id}`} class={rule.won ? 'won' : undefined}>
        <p>
          {rule.won && <strong>won: </strong>}
          {rule.matches && !rule.won && 'lost: '}
          <RuleLink rule={rule} /> <UnenforcedWord isEnforced={rule.enforced} />{' '}
          {rule.description !== null && `“${rule.description}” `}
          {rule.list_id !== null && rule.cidr !== null && (
            <span>
              in the list <Name id={rule.list_id} />{' '}
              {rule.comment !== null && <span class="quiet">“{rule.comment}” </span>}
            </span>
          )}
          {rule.expires_at !== null && (
            <span class="quiet">
              expires <Time at={rule.expires_at} isRelative />{' '}
            </span>
          )}
          {rule.matches && (
            <span class="quiet">
              of <Name id={rule.ip_policy_id} />
            </span>
          )}
        </p>
        {rule.matches && (
          <p class="quiet">
            {rule.reason}
            {rule.added && (
              <>
                {' '}
                Added <Added addition={rule.added} />.
              </>
            )}
          </p>
        )}
      </li>
    ))}
  </ul>
)

/** When something was added, and by whom. */
export const Added = ({ addition: { at, by, by_description, version, earlier } }: AddedProps) =>
  earlier ? (
    <>
      before <Time at={at} />, in a version that was not looked at
    </>
  ) : (
    <>
      <Time at={at} isRelative /> by <Author by={by ?? ''} description={by_description} />, version{' '}
      {number(version)}
    </>
  )

interface AuthorProps {
  readonly by: string
  readonly description: string | null
}

export const Author = ({ by, description }: AuthorProps) => (
  <span title={by}>{(description ?? by).replace(/\.$/, '')}</span>
)

interface RuleLinkProps {
  readonly rule: Pick<ExplainedRule, 'ip_policy_id' | 'rule_id' | 'action' | 'cidr'> &
    Partial<Pick<ExplainedRule, 'list_id'>>
}

/** A rule by what it does, which leads to it. One about a list has a range if an entry contains the address. */
export const RuleLink = ({ rule: { ip_policy_id, rule_id, action, cidr, list_id } }: RuleLinkProps) => (
  <Link to={['ip-policies', ip_policy_id]} with={{ rule: rule_id }} title={rule_id} class="mono">
    {action} {cidr ?? (list_id == null ? 'by a list' : `list ${nameOf(list_id).text}`)}
  </Link>
)

function Policy({ policy }: { readonly policy: ExplainedPolicy }) {
  const { source, direction, enforced, applied, reason, expressions, actions } = policy
  const isDenial = applied && actions.includes('deny')
  return (
    <>
      <p>
        {isDenial ? (
          <DecisionWord decision="deny" />
        ) : (
          <StateWord tone={applied ? 'good' : 'quiet'} text={applied ? 'applied' : 'did not apply'} />
        )}{' '}
        {direction} policy “{policy.policy}” (<Source source={source} />){' '}
        <UnenforcedWord isEnforced={enforced} />
      </p>
      <p>{reason}</p>
      <ul class="chain-rules" aria-label="Its expressions">
        {expressions.map(({ expression, value, failure, decisive, names, names_left_out }, index) => (
          <li key={`${index} ${expression}`}>
            <code>{expression}</code>{' '}
            {failure === undefined ? (
              <code>= {JSON.stringify(value)}</code>
            ) : (
              <span class="fault">no result: {textOf(failure)}</span>
            )}
            {decisive !== null && (
              <p>
                decided by <code>{decisive}</code>
              </p>
            )}
            {names.length > 0 && (
              <ul class="indented" aria-label="What it saw">
                {names.map((each) => (
                  <li key={each.name}>
                    <code>
                      {each.name} = {JSON.stringify(each.value)}
                    </code>
                  </li>
                ))}
              </ul>
            )}
            {names_left_out > 0 && <p class="quiet">{number(names_left_out)} more names are not listed.</p>}
          </li>
        ))}
      </ul>
    </>
  )
}
