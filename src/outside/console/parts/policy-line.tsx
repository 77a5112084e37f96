/**
 * A traffic policy in words, for a list: where it stands, its name, when it applies and what it does; if it was another one,
 * both.
 */
import type { ComponentChildren } from 'preact'
import type { Side } from '../data/drafts/policies-draft.js'
import type { PoliciesModule } from '../data/resources/edges.js'
import { DecisionWord, StateWord, UnenforcedWord } from './words.js'

type Policy = PoliciesModule['inbound'][number]

interface PolicyLineProps {
  readonly side: Side
  readonly index: number
  readonly policy: Policy
  /** The policy that it is compared with; null: it is new. */
  readonly before?: Policy | null
  /** Before its actions. */
  readonly children?: ComponentChildren
}

export function PolicyLine({ side, index, policy, before, children }: PolicyLineProps) {
  const { name, actions, enforced } = policy
  return (
    <li>
      <div class="row apart">
        <span>
          <span class="quiet">
            {side} {index + 1}
          </span>{' '}
          <strong>{name ?? ''}</strong> <UnenforcedWord isEnforced={enforced} />{' '}
          {before === null && <StateWord tone="good" text="new" />}
        </span>
        <span class="row">
          {children}
          {actions.map(({ type }, at) =>
            type === 'deny' ? <DecisionWord key={at} decision="deny" /> : <span key={at}>log</span>,
          )}
        </span>
      </div>
      <Lines now={policy.expressions} before={before?.expressions} />
      {before != null && <ActionsIfChanged now={policy} before={before} />}
    </li>
  )
}

interface LinesProps {
  readonly now: readonly string[]
  readonly before: readonly string[] | undefined
}

/** The expressions, all of which must be true; marked if they differ from those before. */
const Lines = ({ now, before = now }: LinesProps) => (
  <>
    {now.length === 0 && <span class="quiet">always</span>}
    {before
      .filter((text) => !now.includes(text))
      .map((text) => (
        <del key={text} class="line removed" title="before">
          <code>{text}</code>
        </del>
      ))}
    {now.map((text, at) =>
      before.includes(text) ? (
        <code key={at} class="expression">
          {text}
        </code>
      ) : (
        <ins key={at} class="line added" title="after">
          <code>{text}</code>
        </ins>
      ),
    )}
  </>
)

const actionText = ({ type, config }: Policy['actions'][number]): string =>
  config == null ? type : `${type} ${JSON.stringify(Object.values(config)[0] ?? {})}`

/** The list above has the actions without what they log. */
function ActionsIfChanged({ now, before }: { readonly now: Policy; readonly before: Policy }) {
  const texts = [now, before].map(({ actions }) => actions.map(actionText)) as [string[], string[]]
  if (texts[0].join('\n') === texts[1].join('\n')) return null
  return <Lines now={texts[0]} before={texts[1]} />
}
