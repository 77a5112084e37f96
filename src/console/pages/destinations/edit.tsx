/** Creating and changing a destination. */
import { useSignal } from '@preact/signals'
import type { Client } from '../../../client/client.js'
import { act, errorText, useAnswer } from '../../data/api.js'
import { useDraftCheck } from '../../data/draft-check.js'
import { faultsOf } from '../../data/faults.js'
import { objectIn } from '../../data/json-object.js'
import { go, hrefTo } from '../../data/location.js'
import { EditButton } from '../../parts/button.js'
import { Drawer } from '../../parts/drawer.js'
import { Editor } from '../../parts/editor/editor.js'
import { ChoiceField, SwitchField, TextField } from '../../parts/forms/fields.js'
import { Link } from '../../parts/link.js'
import { Answered } from '../../parts/states.js'
import { type Destination, targetOf } from './target.js'
import { Members, type Value } from './target-form.js'
import { emptyTarget, exampleTarget, type Member, targetKinds } from './target-schema.js'

interface Draft {
  readonly description: string
  readonly kind: string
  readonly target: Value
  readonly blocks: boolean
}

type Body = Parameters<Client['eventDestination']['create']>[0]

const bodyOf = ({ description, kind, target, blocks }: Draft): Body =>
  // The schema of the target is known at run time only; the API checks it.
  ({ description, target: { [kind]: target }, on_expiry: blocks ? 'block' : 'drop' }) as Body

export function NewDestination() {
  const kinds = useAnswer([], targetKinds)
  const create = async (draft: Draft): Promise<void> => {
    let id = ''
    const isDone = await act(
      'The destination is created. A test event shows whether it works.',
      async (client) => {
        id = (await client.eventDestination.create(bodyOf(draft))).id
      },
    )
    if (isDone) go(hrefTo(['destinations', id]), { replace: true })
  }
  return (
    <div class="stack form">
      <p>
        <Link to={['destinations']}>Destinations</Link>
      </p>
      <h1>New destination</h1>
      <Answered answer={kinds}>
        {(found) => (
          <Form
            kinds={found}
            first={{ description: '', kind: found[0]!.name, target: emptyTarget(found[0]!), blocks: false }}
            isNew
            check={(draft) => (client) =>
              client.eventDestination.create(bodyOf(draft), { validateOnly: true })
            }
            save={create}
          />
        )}
      </Answered>
    </div>
  )
}

interface EditProps {
  readonly destination: Destination
  readonly onClose: (isSaved: boolean) => void
}

export function EditDestination({ destination, onClose }: EditProps) {
  const kinds = useAnswer([], targetKinds)
  const { id, description = '', on_expiry } = destination
  const [kind, target] = targetOf(destination)
  const save = async (draft: Draft): Promise<void> => {
    const isDone = await act('The destination is changed.', (client) =>
      client.eventDestination.update(id, bodyOf(draft)),
    )
    if (isDone) onClose(true)
  }
  return (
    <Drawer title={`Edit ${description || id}`} onClose={() => onClose(false)}>
      <Answered answer={kinds}>
        {(found) => (
          <Form
            kinds={found}
            first={{ description, kind, target, blocks: on_expiry === 'block' }}
            check={(draft) => (client) =>
              client.eventDestination.update(id, bodyOf(draft), { validateOnly: true })
            }
            save={save}
          />
        )}
      </Answered>
    </Drawer>
  )
}

interface FormProps {
  readonly kinds: readonly Member[]
  readonly first: Draft
  readonly isNew?: boolean
  readonly check: (draft: Draft) => (client: Client) => Promise<unknown>
  readonly save: (draft: Draft) => Promise<void>
}

function Form({ kinds, first, isNew = false, check, save }: FormProps) {
  const draft = useSignal(first)
  const change = (changes: Partial<Draft>): void => {
    draft.value = { ...draft.value, ...changes }
  }
  const { kind: name, target, description, blocks } = draft.value
  const kind = kinds.find((each) => each.name === name)
  const { error, isChecking } = useDraftCheck(draft.value, check(draft.value))
  const faults = faultsOf(error)
  return (
    <>
      <TextField
        label="Description"
        value={description}
        onChange={(text) => change({ description: text })}
        fault={faults.get('description')}
      />
      {isNew && (
        <ChoiceField
          label="Kind of target"
          value={name}
          choices={kinds.map((each) => [each.name, each.name.replaceAll('_', ' ')] as const)}
          hint={kind?.about}
          onChange={(next) =>
            change({ kind: next, target: emptyTarget(kinds.find((each) => each.name === next)!) })
          }
        />
      )}
      <TargetFields key={name} kind={kind} name={name} target={target} faults={faults} onChange={change} />
      <SwitchField
        label="Keep records for it at any age (on_expiry: block)"
        value={blocks}
        hint="If it stays dead for so long that records would be removed, publishes are refused instead. Without it, the oldest events are dropped and counted."
        onChange={(next) => change({ blocks: next })}
      />
      {error !== undefined && !isChecking && <p class="quiet">The API says: {errorText(error)}</p>}
      <div class="actions">
        <EditButton kind="main" isDisabled={error !== undefined} onClick={() => save(draft.value)}>
          {isNew ? 'Create' : 'Save'}
        </EditButton>
      </div>
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
    <fieldset class="members">
      <legend>target.{name}</legend>
      <SwitchField
        label="As JSON"
        value={isJson}
        onChange={(next) => {
          const isEmpty = kind !== undefined && JSON.stringify(target) === JSON.stringify(emptyTarget(kind))
          json.value = next ? JSON.stringify(isEmpty ? exampleTarget(kind) : target, null, 2) : undefined
          if (next && isEmpty) onChange({ target: exampleTarget(kind) })
        }}
      />
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
    </fieldset>
  )
}
