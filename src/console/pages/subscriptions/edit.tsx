/** Creating and changing a subscription: what is wrong is said while it is written, and it can be tried before it is saved. */
import { useSignal } from '@preact/signals'
import type { Client } from '../../../client/client.js'
import { act, errorText, firstOf, useAnswer } from '../../data/api.js'
import { useDraftCheck } from '../../data/draft-check.js'
import { faultsOf } from '../../data/faults.js'
import { go, hrefTo } from '../../data/location.js'
import { nameOf } from '../../data/resource-names.js'
import { Boxes } from '../../parts/boxes.js'
import { EditButton } from '../../parts/button.js'
import { TextField } from '../../parts/forms/fields.js'
import { Link } from '../../parts/link.js'
import { Answered } from '../../parts/states.js'
import { TrialRun } from '../../parts/trial/trial-run.js'
import { bodyOf, type Draft, editableOf, emptyDraft } from './draft.js'
import { SourcesForm } from './sources-form.js'
import { TrialEventsResult } from './trial-events.js'

export function NewSubscription() {
  const save = async (draft: Draft): Promise<void> => {
    let id = ''
    const isDone = await act('The subscription is created.', async (client) => {
      id = (await client.eventSubscription.create(bodyOf(draft))).id
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
        first={emptyDraft}
        isNew
        check={(draft) => (client) => client.eventSubscription.create(bodyOf(draft), { validateOnly: true })}
        save={save}
      />
    </div>
  )
}

export function EditSubscription({ id }: { readonly id: string }) {
  const answer = useAnswer([id], (api) => api.eventSubscription.get(id))
  const save = async (draft: Draft): Promise<void> => {
    const isDone = await act('The subscription is changed.', (client) =>
      client.eventSubscription.update(id, bodyOf(draft)),
    )
    if (isDone) go(hrefTo(['subscriptions', id]), { replace: true })
  }
  return (
    <div class="stack">
      <p>
        <Link to={['subscriptions']}>Subscriptions</Link> /{' '}
        <Link to={['subscriptions', id]}>{nameOf(id).text}</Link>
      </p>
      <h1>Edit a subscription</h1>
      <Answered answer={answer}>
        {(subscription) => (
          <Form
            first={editableOf(subscription)}
            check={(draft) => (client) =>
              client.eventSubscription.update(id, bodyOf(draft), { validateOnly: true })
            }
            save={save}
          />
        )}
      </Answered>
    </div>
  )
}

interface FormProps {
  readonly first: Draft
  readonly isNew?: boolean
  readonly check: (draft: Draft) => (client: Client) => Promise<unknown>
  readonly save: (draft: Draft) => Promise<void>
}

function Form({ first, isNew = false, check, save }: FormProps) {
  const draft = useSignal(first)
  const change = (changes: Partial<Draft>): void => {
    draft.value = { ...draft.value, ...changes }
  }
  const { description, metadata, destinationIds, sources, startFrom } = draft.value
  const { error, isChecking } = useDraftCheck(draft.value, check(draft.value))
  const faults = faultsOf(error)
  const tried = bodyOf({ ...draft.value, startFrom: '' })
  return (
    <div class="split">
      <div class="stack">
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
            label="Also events since (optional)"
            value={startFrom}
            placeholder="24h"
            hint="Events of records that are kept are sent, too: a length of time before now, or a time."
            fault={faults.get('start_from')}
            onChange={(text) => change({ startFrom: text })}
          />
        )}
        <TextField
          label="Metadata (optional)"
          value={metadata}
          fault={faults.get('metadata')}
          onChange={(text) => change({ metadata: text })}
        />
        {error !== undefined && !isChecking && <p class="quiet">The API says: {errorText(error)}</p>}
        <div class="actions">
          <EditButton kind="main" isDisabled={error !== undefined} onClick={() => save(draft.value)}>
            {isNew ? 'Create' : 'Save'}
          </EditButton>
        </div>
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
