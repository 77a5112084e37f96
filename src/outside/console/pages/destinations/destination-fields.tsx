/** The name of a destination, its target, and what happens to late events. */
import { useSignal } from '@preact/signals'
import { objectIn } from '../../data/drafts/json-object.js'
import type { KeptDraft } from '../../data/drafts/kept-draft.js'
import { SwitchField, TextField } from '../../kit/forms/fields.js'
import { Editor } from '../../parts/editor/editor.js'
import type { Draft } from './destination-draft.js'
import { Members } from './target-form.js'
import { emptyTarget, exampleTarget, type Member, type Value } from './target-members.js'

interface DestinationFieldsProps {
  /** Undefined: this page does not know it, and the target is written as JSON. */
  readonly kind: Member | undefined
  readonly kept: KeptDraft<Draft>
  /** The faults that the API found, by their places. */
  readonly faults: ReadonlyMap<string, string>
  /** A name that it could have. */
  readonly suggestion?: string
}

export function DestinationFields({ kind, kept, faults, suggestion = '' }: DestinationFieldsProps) {
  const { draft, key } = kept
  const { kind: name, target, description, blocks } = draft
  const change = (changes: Partial<Draft>): void => kept.change({ ...draft, ...changes })
  return (
    <>
      <TextField
        label="Name"
        isOptional
        hint="How lists and messages call it."
        value={description}
        placeholder={suggestion}
        onChange={(text) => change({ description: text })}
        fault={faults.get('description')}
      />
      <TargetFields key={`${name} ${key}`} {...{ kind, name, target, faults }} onChange={change} />
      <SwitchField
        label="Keep its events at any age"
        value={blocks}
        hint="If it is out of order for so long that records would be removed, publishes are refused instead. Otherwise the oldest events are dropped and counted."
        onChange={(next) => change({ blocks: next })}
      />
    </>
  )
}

interface TargetProps {
  readonly kind: Member | undefined
  readonly name: string
  readonly target: Value
  readonly faults: ReadonlyMap<string, string>
  readonly onChange: (changes: Pick<Draft, 'target'>) => void
}

/** The target as fields, or as JSON for those who have it already. */
function TargetFields({ kind, name, target, faults, onChange }: TargetProps) {
  const json = useSignal<string | undefined>(undefined)
  const isJson = json.value !== undefined || kind === undefined
  const readJson = (text: string): void => {
    json.value = text
    const { object } = objectIn(text, 'A target')
    if (object !== undefined) onChange({ target: object })
  }
  const { fault } = objectIn(json.value ?? '{}', 'A target')
  const places = [...faults].map(([place, text]) => ({ text, place: place.slice(`target.${name}.`.length) }))
  return (
    <>
      {isJson ? (
        <Editor
          label="The target, as JSON"
          mode="json"
          value={json.value ?? JSON.stringify(target, null, 2)}
          onChange={readJson}
          faults={fault === undefined ? places.slice(0, 1) : [fault]}
        />
      ) : (
        <Members
          members={kind.members}
          value={target}
          place={`target.${name}`}
          faults={faults}
          onChange={(next) => onChange({ target: next })}
        />
      )}
      <SwitchField
        label="Write the target as JSON"
        value={isJson}
        onChange={(next) => {
          const isEmpty = kind !== undefined && JSON.stringify(target) === JSON.stringify(emptyTarget(kind))
          json.value = next ? JSON.stringify(isEmpty ? exampleTarget(kind) : target, null, 2) : undefined
          if (next && isEmpty) onChange({ target: exampleTarget(kind) })
        }}
      />
    </>
  )
}
