/** Creating and changing a destination. */
import { useSignal } from '@preact/signals'
import type { Client } from '../../../client/client.js'
import { errorText, useAnswer } from '../../data/asking/api.js'
import { useDraftCheck } from '../../data/drafts/draft-check.js'
import { objectIn } from '../../data/drafts/json-object.js'
import { type KeptDraft, saveDraft, useKeptDraft } from '../../data/drafts/kept-draft.js'
import { faultsOf } from '../../data/drafts/refused-places.js'
import { go, hrefTo } from '../../data/location.js'
import { Difference } from '../../parts/difference.js'
import { Drawer } from '../../parts/drawer.js'
import { Editor } from '../../parts/editor/editor.js'
import { DraftConflict, DraftPanel, MissingValues } from '../../parts/forms/draft-panel.js'
import { ChoiceField, SwitchField, TextField } from '../../parts/forms/fields.js'
import { Link } from '../../parts/link.js'
import { Answered } from '../../parts/states.js'
import { bodyOf, type Draft, draftDifference, draftOf, emptyDraft, storable } from './destination-draft.js'
import type { Destination } from './target.js'
import { Members } from './target-form.js'
import { emptyTarget, exampleTarget, type Member, type Value } from './target-members.js'
import { targetKinds } from './target-schema.js'

const lookEveryMs = 15_000

export function NewDestination() {
  const kinds = useAnswer([], targetKinds)
  return (
    <div class="stack form">
      <p>
        <Link to={['destinations']}>Destinations</Link>
      </p>
      <h1>New destination</h1>
      <Answered answer={kinds}>{(found) => <NewForm kinds={found} />}</Answered>
    </div>
  )
}

function NewForm({ kinds }: { readonly kinds: readonly Member[] }) {
  const kept = useKeptDraft({
    id: 'new event_destination',
    present: emptyDraft(kinds[0]!),
    bodyOf,
    storable: storable(kinds),
  })
  const save = async (): Promise<void> => {
    let id = ''
    const isDone = await saveDraft(kept, {
      latest: async () => kept.base,
      async work(client) {
        id = (await client.eventDestination.create(bodyOf(kept.draft))).id
      },
      done: 'The destination is created. A test event shows whether it works.',
    })
    if (isDone) go(hrefTo(['destinations', id]), { replace: true })
  }
  return (
    <Form
      isNew
      check={(client) => client.eventDestination.create(bodyOf(kept.draft), { validateOnly: true })}
      {...{ kinds, kept, save }}
    />
  )
}

interface EditProps {
  readonly destination: Destination
  readonly onClose: (isSaved: boolean) => void
}

export function EditDestination({ destination: { id, description }, onClose }: EditProps) {
  const kinds = useAnswer([], targetKinds)
  // Asked again and again, so that what someone else saves meanwhile is seen before one's own is.
  const present = useAnswer([id], (api) => api.eventDestination.get(id), { everyMs: lookEveryMs })
  return (
    <Drawer title={`Edit ${description || id}`} onClose={() => onClose(false)}>
      <Answered answer={kinds}>
        {(found) => (
          <Answered answer={present}>
            {(destination) => <EditForm kinds={found} again={present.again} {...{ destination, onClose }} />}
          </Answered>
        )}
      </Answered>
    </Drawer>
  )
}

interface EditFormProps extends EditProps {
  readonly kinds: readonly Member[]
  readonly again: () => void
}

function EditForm({ kinds, destination, again, onClose }: EditFormProps) {
  const { id } = destination
  const present = draftOf(destination)
  const kept = useKeptDraft({ id, present, bodyOf, storable: storable(kinds) })
  const save = async (): Promise<void> => {
    const isDone = await saveDraft(kept, {
      latest: async (client) => draftOf(await client.eventDestination.get(id)),
      work: (client) => client.eventDestination.update(id, bodyOf(kept.draft)),
      done: 'The destination is changed.',
    })
    if (isDone) onClose(true)
    else again()
  }
  return (
    <>
      {kept.isConflict && (
        <DraftConflict kept={kept} what="this destination" id={id}>
          <Difference fields={draftDifference(kinds, kept.base, present)} />
        </DraftConflict>
      )}
      <Form
        check={(client) => client.eventDestination.update(id, bodyOf(kept.draft), { validateOnly: true })}
        {...{ kinds, kept, save }}
      />
    </>
  )
}

interface FormProps {
  readonly kinds: readonly Member[]
  readonly kept: KeptDraft<Draft>
  readonly isNew?: boolean
  readonly check: (client: Client) => Promise<unknown>
  readonly save: () => Promise<void>
}

function Form({ kinds, kept, isNew = false, check, save }: FormProps) {
  const { draft, base, isChanged, isConflict, missing, forget } = kept
  const change = (changes: Partial<Draft>): void => kept.change({ ...draft, ...changes })
  const { kind: name, target, description, blocks } = draft
  const kind = kinds.find((each) => each.name === name)
  const { error, isChecking } = useDraftCheck(draft, check, base)
  const faults = faultsOf(error)
  const isWhole = error === undefined && missing.length === 0
  return (
    <>
      <MissingValues kept={kept} />
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
      <TargetFields key={`${name} ${kept.key}`} {...{ kind, name, target, faults }} onChange={change} />
      <SwitchField
        label="Keep records for it at any age (on_expiry: block)"
        value={blocks}
        hint="If it stays dead for so long that records would be removed, publishes are refused instead. Without it, the oldest events are dropped and counted."
        onChange={(next) => change({ blocks: next })}
      />
      {error !== undefined && !isChecking && <p class="quiet">The API says: {errorText(error)}</p>}
      <DraftPanel
        submit={isNew ? 'Create' : 'Save'}
        isSaveable={isWhole && (isNew || (isChanged && !isConflict))}
        {...{ isChanged, save, forget }}
      >
        {!isNew && <Difference fields={draftDifference(kinds, base, draft)} />}
      </DraftPanel>
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
