/** Changing a destination. */
import type { Client } from '../../../../words/client/client.js'
import { errorText, useAnswer } from '../../data/asking/api.js'
import { useDraftCheck } from '../../data/drafts/draft-check.js'
import { type KeptDraft, saveDraft, useKeptDraft } from '../../data/drafts/kept-draft.js'
import { faultsOf } from '../../data/drafts/refused-places.js'
import { Drawer } from '../../kit/drawer.js'
import { Difference } from '../../parts/difference.js'
import { DraftConflict, DraftPanel, MissingValues } from '../../parts/forms/draft-panel.js'
import { Answered } from '../../parts/states.js'
import { bodyOf, type Draft, draftDifference, draftOf, storable } from './destination-draft.js'
import { DestinationFields } from './destination-fields.js'
import type { Destination } from './target.js'
import type { Member } from './target-members.js'
import { targetKinds } from './target-schema.js'

const lookEveryMs = 15_000

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
  readonly check: (client: Client) => Promise<unknown>
  readonly save: () => Promise<void>
}

function Form({ kinds, kept, check, save }: FormProps) {
  const { draft, base, isChanged, isConflict, missing, forget } = kept
  const kind = kinds.find((each) => each.name === draft.kind)
  const { error, isChecking } = useDraftCheck(draft, check, base)
  const isWhole = error === undefined && missing.length === 0
  return (
    <>
      <MissingValues kept={kept} />
      <DestinationFields kind={kind} kept={kept} faults={faultsOf(error)} />
      {error !== undefined && !isChecking && <p class="quiet">The API says: {errorText(error)}</p>}
      <DraftPanel
        submit="Save"
        isSaveable={isWhole && isChanged && !isConflict}
        {...{ isChanged, save, forget }}
      >
        <Difference fields={draftDifference(kinds, base, draft)} />
      </DraftPanel>
    </>
  )
}
