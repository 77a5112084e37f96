/** Which events a new destination gets: fields and a filter, tried on one's own traffic before anything is sent. */
import { useSignal } from '@preact/signals'
import type { Client } from '../../../../../words/client/client.js'
import { act, errorText, useAnswer } from '../../../data/asking/api.js'
import { useDraftCheck } from '../../../data/drafts/draft-check.js'
import { go, hrefTo } from '../../../data/location.js'
import { Link } from '../../../kit/link.js'
import { EditButton } from '../../../parts/edit-button.js'
import { Locked } from '../../../parts/flow/locked.js'
import { Answered } from '../../../parts/states.js'
import { TrialRun } from '../../../parts/trial/trial-run.js'
import { SourcesForm } from '../../subscriptions/sources-form.js'
import { bodyOf, type DraftSource, emptyDraft } from '../../subscriptions/subscription-draft.js'
import { TrialEventsResult } from '../../subscriptions/trial-events.js'
import type { Destination } from '../target.js'
import { targetOf } from '../target.js'
import { SetupSteps } from './setup-steps.js'

interface EventsStepProps {
  readonly destination: Destination
  readonly kind: string
}

/** Of the edges that the account has; of both kinds if it has none yet. */
async function usualSources(client: Client): Promise<DraftSource[]> {
  const hasAny = async (list: AsyncIterable<unknown>): Promise<boolean> => {
    for await (const _ of list) return true
    return false
  }
  const [http, tcp] = await Promise.all([hasAny(client.httpsEdge.list()), hasAny(client.tcpEdge.list())])
  const types = [
    ...(http || !tcp ? ['http_request_complete.v0'] : []),
    ...(tcp || !http ? ['tcp_connection_closed.v0'] : []),
  ]
  return types.map((type) => ({ type, filter: '' }))
}

export function EventsStep(props: EventsStepProps) {
  const usual = useAnswer([], usualSources)
  return <Answered answer={usual}>{(sources) => <Chosen {...props} usual={sources} />}</Answered>
}

function Chosen({ destination, kind, usual }: EventsStepProps & { readonly usual: readonly DraftSource[] }) {
  const sources = useSignal<readonly DraftSource[]>(usual)
  const name = destination.description || destination.id
  const body = bodyOf({
    ...emptyDraft,
    description: `events for ${name}`,
    destinationIds: [destination.id],
    sources: sources.value,
  })
  const { error, isChecking } = useDraftCheck(
    body,
    (client) => client.eventSubscription.create(body, { validateOnly: true }),
    null,
  )
  const create = async (): Promise<void> => {
    let subscription = ''
    const isDone = await act('Events are sent from now on.', async (client) => {
      subscription = (await client.eventSubscription.create(body)).id
    })
    if (isDone) go(hrefTo(['destinations', 'new'], { id: destination.id, subscription }))
  }
  return (
    <div class="split flow">
      <section class="panel stack" aria-label="Which events">
        <p>“{name}” is created. Which events should it get? Everything can be changed later.</p>
        <SourcesForm
          sources={sources.value}
          error={error}
          onChange={(next) => {
            sources.value = next
          }}
        />
        {error !== undefined && !isChecking && <p class="fault">{errorText(error)}</p>}
        <Locked />
        <div class="row">
          <EditButton kind="main" onClick={create} isDisabled={error !== undefined || isChecking}>
            Send these events
          </EditButton>
          <Link to={['destinations', destination.id]}>Later</Link>
        </div>
      </section>
      <div class="stack">
        <section class="panel stack" aria-label="Preview">
          <h2>What your traffic would have made</h2>
          <TrialRun
            isBegunAtOnce
            begin={(client, since) => client.trySubscription(body, { since })}
            draft={JSON.stringify(body)}
            blocked={error === undefined ? undefined : 'Something is not right yet.'}
          >
            {(trial) => <TrialEventsResult events={trial.events} />}
          </TrialRun>
        </section>
        {kind === 'clickhouse' && (
          <SetupSteps
            kind={kind}
            target={targetOf(destination)[1]}
            form={kind}
            eventKind={sources.value[0]?.type}
          />
        )}
      </div>
    </div>
  )
}
