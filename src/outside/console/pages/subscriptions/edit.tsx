/**
 * Creating and changing a subscription: what is wrong is said while it is written, and it can be tried before it is saved.
 */
import type { Client } from '../../../../words/client/client.js'
import { errorText, firstOf, useAnswer } from '../../data/asking/api.js'
import { changedFields } from '../../data/drafts/differences.js'
import { useDraftCheck } from '../../data/drafts/draft-check.js'
import { type KeptDraft, saveDraft, useKeptDraft } from '../../data/drafts/kept-draft.js'
import { faultsOf } from '../../data/drafts/refused-places.js'
import { go, hrefTo } from '../../data/location.js'
import { nameOf } from '../../data/resources/resource-names.js'
import { Boxes } from '../../kit/forms/boxes.js'
import { TextField } from '../../kit/forms/fields.js'
import { Link } from '../../kit/link.js'
import { Difference } from '../../parts/difference.js'
import { DraftConflict, DraftPanel } from '../../parts/forms/draft-panel.js'
import { onDemand } from '../../parts/on-demand.js'
import { Answered } from '../../parts/states.js'
import { TrialRun } from '../../parts/trial/trial-run.js'
import { SourcesForm } from './sources-form.js'
import { bodyOf, type Draft, editableOf, emptyDraft } from './subscription-draft.js'

const TrialEventsResult = onDemand(async () => (await import('./trial-events.js')).TrialEventsResult)

const lookEveryMs = 15_000

export function NewSubscription() {
  const kept = useKeptDraft({ id: 'new event_subscription', present: emptyDraft, bodyOf })
  const save = async (): Promise<void> => {
    let id = ''
    const isDone = await saveDraft(kept, {
      latest: async () => kept.base,
      async work(client) {
        id = (await client.eventSubscription.create(bodyOf(kept.draft))).id
      },
      done: 'The subscription is created.',
    })
    if (isDone) go(hrefTo(['subscriptions', id]), { replace: true })
  }
  return (
    <div class="stack">
      <p>
        <Link to={['subscriptions']}>Subscriptions</Link>
      </p>
      <h1>New subscription</h1>
      <Form
        isNew
        check={(client) => client.eventSubscription.create(bodyOf(kept.draft), { validateOnly: true })}
        {...{ kept, save }}
      />
    </div>
  )
}

export function EditSubscription({ id }: { readonly id: string }) {
  // Asked again and again, so that what someone else saves meanwhile is seen before one's own is.
  const answer = useAnswer([id], (api) => api.eventSubscription.get(id), { everyMs: lookEveryMs })
  return (
    <div class="stack">
      <p>
        <Link to={['subscriptions']}>Subscriptions</Link> /{' '}
        <Link to={['subscriptions', id]}>{nameOf(id).text}</Link>
      </p>
      <h1>Edit a subscription</h1>
      <Answered answer={answer}>
        {(subscription) => <EditForm id={id} present={editableOf(subscription)} again={answer.again} />}
      </Answered>
    </div>
  )
}

interface EditProps {
  readonly id: string
  readonly present: Draft
  readonly again: () => void
}

function EditForm({ id, present, again }: EditProps) {
  const kept = useKeptDraft({ id, present, bodyOf })
  const save = async (): Promise<void> => {
    const isDone = await saveDraft(kept, {
      latest: async (client) => editableOf(await client.eventSubscription.get(id)),
      work: (client) => client.eventSubscription.update(id, bodyOf(kept.draft)),
      done: 'The subscription is changed.',
    })
    if (isDone) go(hrefTo(['subscriptions', id]), { replace: true })
    else again()
  }
  return (
    <>
      {kept.isConflict && (
        <DraftConflict kept={kept} what="this subscription" id={id}>
          <Difference fields={changedFields(bodyOf(kept.base), bodyOf(present))} />
        </DraftConflict>
      )}
      <Form
        check={(client) => client.eventSubscription.update(id, bodyOf(kept.draft), { validateOnly: true })}
        {...{ kept, save }}
      />
    </>
  )
}

interface FormProps {
  readonly kept: KeptDraft<Draft>
  readonly isNew?: boolean
  readonly check: (client: Client) => Promise<unknown>
  readonly save: () => Promise<void>
}

function Form({ kept, isNew = false, check, save }: FormProps) {
  const { draft, base, isChanged, isConflict, forget } = kept
  const change = (changes: Partial<Draft>): void => kept.change({ ...draft, ...changes })
  const { error, isChecking } = useDraftCheck(draft, check, base)
  const tried = bodyOf({ ...draft, startFrom: '' })
  const isSaveable = error === undefined && (isNew || (isChanged && !isConflict))
  return (
    <div class="split">
      <div class="stack">
        <Fields {...{ draft, error, isNew, change }} />
        {error !== undefined && !isChecking && <p class="quiet">The API says: {errorText(error)}</p>}
        <DraftPanel submit={isNew ? 'Create' : 'Save'} {...{ isChanged, isSaveable, save, forget }}>
          {!isNew && <Difference fields={changedFields(bodyOf(base), bodyOf(draft))} />}
        </DraftPanel>
      </div>
      <section class="panel stack aside" aria-label="Preview">
        <h2>What it would have made</h2>
        <TrialRun
          begin={(client, since) => client.trySubscription(tried, { since })}
          draft={JSON.stringify(tried)}
          blocked={error === undefined ? undefined : 'The draft is not right yet.'}
        >
          {(trial) => <TrialEventsResult events={trial.events} />}
        </TrialRun>
      </section>
    </div>
  )
}

interface FieldsProps {
  readonly draft: Draft
  /** The API's error about the draft. */
  readonly error: unknown
  readonly isNew: boolean
  readonly change: (changes: Partial<Draft>) => void
}

function Fields({ draft, error, isNew, change }: FieldsProps) {
  const { description, metadata, destinationIds, sources, startFrom } = draft
  const faults = faultsOf(error)
  return (
    <>
      <TextField
        label="Description"
        value={description}
        fault={faults.get('description')}
        onChange={(text) => change({ description: text })}
      />
      <SourcesForm sources={sources} error={error} onChange={(next) => change({ sources: next })} />
      <DestinationBoxes
        chosen={destinationIds}
        fault={faults.get('destination_ids')}
        onChange={(ids) => change({ destinationIds: ids })}
      />
      {isNew && (
        <TextField
          label="Also events since"
          isOptional
          value={startFrom}
          placeholder="24h"
          hint="Events of records that are kept are sent, too: a length of time before now, or a time."
          fault={faults.get('start_from')}
          onChange={(text) => change({ startFrom: text })}
        />
      )}
      <TextField
        label="Notes for programs"
        isOptional
        hint="Any text of yours, such as {&quot;team&quot;: &quot;shop&quot;}. The API calls it metadata."
        value={metadata}
        fault={faults.get('metadata')}
        onChange={(text) => change({ metadata: text })}
      />
    </>
  )
}

/** More can be named by the API or the command line. */
const destinationsMax = 300

interface DestinationsProps {
  readonly chosen: readonly string[]
  readonly fault: string | undefined
  readonly onChange: (ids: readonly string[]) => void
}

function DestinationBoxes({ chosen, fault, onChange }: DestinationsProps) {
  const answer = useAnswer([], (api) => firstOf(api.eventDestination.list(), destinationsMax))
  return (
    <section class="stack" aria-label="Destinations">
      <h2>Destinations</h2>
      <Answered answer={answer}>
        {({ entries, hasMore }) => {
          const listed = entries.map(({ id, description }) => ({ id, text: description || id }))
          const others = chosen
            .filter((id) => !listed.some((each) => each.id === id))
            .map((id) => ({ id, text: nameOf(id).text }))
          return (
            <Boxes
              label="Destinations"
              entries={[...others, ...listed]}
              chosen={chosen}
              fault={fault}
              onChange={onChange}
            >
              {listed.length === 0 && (
                <p>
                  There is none yet: <Link to={['destinations', 'new']}>create one</Link>.
                </p>
              )}
              {hasMore && <p class="quiet">The newest {destinationsMax} are listed.</p>}
            </Boxes>
          )
        }}
      </Answered>
    </section>
  )
}
