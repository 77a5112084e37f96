/** One traffic policy of a draft: its name, its expressions with faults at their place while they are typed, its actions. */

import type { Vocabulary } from '../../data/asking/completion.js'
import { lengthAt } from '../../data/asking/completion.js'
import {
  type DraftAction,
  type DraftPolicy,
  type Faults,
  faultsBelow,
  offsetIn,
  type Side,
} from '../../data/drafts/policies-draft.js'
import { SwitchField, TextField } from '../../kit/forms/fields.js'
import { Editor } from '../../parts/editor/editor.js'
import type { EditorFault } from '../../parts/editor/editor-props.js'

interface PolicyCardProps {
  readonly policy: DraftPolicy
  readonly side: Side
  readonly index: number
  /** How many there are on this side. */
  readonly count: number
  readonly faults: Faults
  readonly vocabulary: Vocabulary | undefined
  readonly onChange: (policy: DraftPolicy) => void
  readonly onMove: (step: number) => void
  readonly onRemove: () => void
}

export function PolicyCard(props: PolicyCardProps) {
  const { policy, side, index, count, faults, vocabulary, onChange, onMove, onRemove } = props
  const place = `${side}[${index}]`
  const title = policy.name === '' ? `policy ${index + 1}` : `“${policy.name}”`
  return (
    <fieldset class="panel stack policy-card" aria-label={`${side} ${title}`}>
      <div class="row apart">
        <span class="quiet">
          {side} {index + 1}
        </span>
        <span class="row">
          <button
            type="button"
            disabled={index === 0}
            onClick={() => onMove(-1)}
            aria-label={`${title}: earlier`}
          >
            ↑
          </button>
          <button
            type="button"
            disabled={index === count - 1}
            onClick={() => onMove(1)}
            aria-label={`${title}: later`}
          >
            ↓
          </button>
          <button type="button" onClick={onRemove} aria-label={`${title}: remove`}>
            Remove
          </button>
        </span>
      </div>
      <TextField
        label="Name"
        value={policy.name}
        onChange={(name) => onChange({ ...policy, name })}
        fault={faults.get(`${place}.name`)}
      />
      <Expressions {...{ policy, place, faults, vocabulary, onChange }} />
      <Actions {...{ policy, side, place, faults, onChange }} />
      <SwitchField
        label="Enforced"
        hint="If not, it denies and logs nothing; decisions show what it would have changed."
        value={policy.isEnforced ?? true}
        onChange={(isEnforced) => onChange({ ...policy, isEnforced })}
      />
      {[...faults].map(([at, text]) =>
        at === place || at === `${place}.actions` || at === `${place}.expressions` ? (
          <p key={at} class="fault" role="alert">
            {text}
          </p>
        ) : null,
      )}
    </fieldset>
  )
}

type PartProps = Pick<PolicyCardProps, 'policy' | 'faults' | 'onChange'> & { readonly place: string }

/** The list with one entry replaced, or removed. */
const replaced = <Entry,>(list: readonly Entry[], index: number, entry: Entry | undefined): Entry[] =>
  list.flatMap((each, at) => (at === index ? (entry === undefined ? [] : [entry]) : [each]))

function Expressions({
  policy,
  place,
  faults,
  vocabulary,
  onChange,
}: PartProps & Pick<PolicyCardProps, 'vocabulary'>) {
  const { expressions } = policy
  const change = (next: readonly string[]): void => onChange({ ...policy, expressions: next })
  return (
    <div class="stack tight">
      <span class="label">{expressions.length === 0 ? 'Applies always' : 'Applies if all are true'}</span>
      {expressions.map((text, index) => (
        <div class="with-button" key={index}>
          <Editor
            label={`Expression ${index + 1}`}
            isLabelHidden
            mode="expression"
            value={text}
            placeholder="conn.geo.country_code in ['KP', 'IR']"
            vocabulary={vocabulary}
            faults={faultsBelow(faults, `${place}.expressions[${index}]`).map(([, each]) =>
              faultAt(each, text),
            )}
            onChange={(next) => change(replaced(expressions, index, next))}
          />
          <button
            type="button"
            aria-label={`Remove expression ${index + 1}`}
            onClick={() => change(replaced(expressions, index, undefined))}
          >
            ×
          </button>
        </div>
      ))}
      <button type="button" class="start" onClick={() => change([...expressions, ''])}>
        Add an expression
      </button>
    </div>
  )
}

function faultAt(sentence: string, text: string): EditorFault {
  const offset = offsetIn(sentence)
  return {
    text: sentence,
    offset: offset ?? 0,
    length: offset === undefined ? text.length : lengthAt(text, offset),
  }
}

function Actions({ policy, side, place, faults, onChange }: PartProps & { readonly side: Side }) {
  const { actions } = policy
  const change = (next: readonly DraftAction[]): void => onChange({ ...policy, actions: next })
  return (
    <div class="stack tight">
      <span class="label">Then</span>
      {actions.map((action, index) => (
        <ActionRow
          key={index}
          {...{ action, index, side, faults }}
          place={`${place}.actions[${index}]`}
          onChange={(next) => change(replaced(actions, index, next))}
        />
      ))}
      <div class="row">
        {/* A deny must be the last action, so others go before it. */}
        <button type="button" onClick={() => change([{ type: 'log', metadata: '{}' }, ...actions])}>
          Add log
        </button>
        {side === 'inbound' && !actions.some(({ type }) => type === 'deny') && (
          <button type="button" onClick={() => change([...actions, { type: 'deny', metadata: '{}' }])}>
            Add deny
          </button>
        )}
      </div>
    </div>
  )
}

interface ActionRowProps {
  readonly action: DraftAction
  readonly index: number
  readonly side: Side
  readonly place: string
  readonly faults: Faults
  /** Undefined: it is removed. */
  readonly onChange: (action: DraftAction | undefined) => void
}

const typesOf: Readonly<Record<Side, readonly DraftAction['type'][]>> = {
  inbound: ['deny', 'log'],
  outbound: ['log'],
}

function ActionRow({ action, index, side, place, faults, onChange }: ActionRowProps) {
  const types = new Set([...typesOf[side], action.type])
  return (
    <div class="with-button">
      <div class="action">
        <select
          aria-label={`Action ${index + 1}`}
          value={action.type}
          onChange={({ currentTarget }) =>
            onChange({ ...action, type: currentTarget.value === 'deny' ? 'deny' : 'log' })
          }
        >
          {[...types].map((type) => (
            <option key={type}>{type}</option>
          ))}
        </select>
        {action.type === 'log' && (
          <Editor
            label={`Metadata of the event of action ${index + 1}`}
            isLabelHidden
            mode="json"
            value={action.metadata}
            faults={faultsBelow(faults, `${place}.config`).map(([, text]) => ({ text }))}
            onChange={(metadata) => onChange({ ...action, metadata })}
          />
        )}
        {faultsBelow(faults, place)
          .filter(([each]) => !each.startsWith(`${place}.config`))
          .map(([each, text]) => (
            <p key={each} class="fault" role="alert">
              {text}
            </p>
          ))}
      </div>
      <button type="button" aria-label={`Remove action ${index + 1}`} onClick={() => onChange(undefined)}>
        ×
      </button>
    </div>
  )
}
