/** The traffic policies of an edge or a route: a draft, checked while it is typed, tried on real traffic, then saved. */
import { useAnswer } from '../../data/asking/api.js'
import type { Vocabulary } from '../../data/asking/completion.js'
import { usePolicyVocabularies } from '../../data/asking/vocabulary.js'
import { saveDraft } from '../../data/drafts/kept-draft.js'
import {
  bodyOf,
  type Draft,
  type DraftBody,
  type DraftPolicy,
  differences,
  draftOf,
  type Faults,
  newPolicy,
  type Side,
  sides,
} from '../../data/drafts/policies-draft.js'
import {
  draftAt,
  isHttps,
  type Place,
  type PoliciesModule,
  policiesAt,
  presentPolicies,
} from '../../data/resources/edges.js'
import { number } from '../../data/texts/format.js'
import { Choices, choiceIn } from '../../kit/choices.js'
import { SwitchField } from '../../kit/forms/fields.js'
import { Link } from '../../kit/link.js'
import { EditButton } from '../../parts/edit-button.js'
import { Editor } from '../../parts/editor/editor.js'
import { DraftConflict, DraftPanel } from '../../parts/forms/draft-panel.js'
import { Name } from '../../parts/name.js'
import { Answered, Failure } from '../../parts/states.js'
import { Shadow } from '../../parts/trial/shadow.js'
import { TrialRun } from '../../parts/trial/trial-run.js'
import { PolicyCard } from './policy-card.js'
import { type DraftState, useDraft } from './use-policies-draft.js'

const lookEveryMs = 15_000

export function PolicyEditor({ place }: { readonly place: Place }) {
  const { edgeId, routeId } = place
  // Asked again and again, so that what someone else saves meanwhile is seen before one's own is.
  const present = useAnswer([edgeId, routeId], (client) => presentPolicies(client, place), {
    everyMs: lookEveryMs,
  })
  return (
    <div class="stack">
      <p>
        <Link to={['edges', edgeId]}>← the edge</Link>
      </p>
      <h1>
        Traffic policies of <Name id={edgeId} />
        {routeId !== undefined && <span class="quiet"> route {routeId}</span>}
      </h1>
      <Answered answer={present}>
        {(module) => (
          <DraftView key={routeId ?? edgeId} place={place} present={module} again={present.again} />
        )}
      </Answered>
    </div>
  )
}

interface DraftViewProps {
  readonly place: Place
  readonly present: PoliciesModule | null
  readonly again: () => void
}

const views = [
  ['form', 'Form'],
  ['json', 'JSON'],
] as const

function DraftView({ place, present, again }: DraftViewProps) {
  const state = useDraft(place, present)
  return (
    <div class="split">
      <div class="stack">
        {state.kept.isConflict && (
          <DraftConflict kept={state.kept} what="these policies" id={place.routeId ?? place.edgeId}>
            <Differences between={[bodyIn(state.kept.base), bodyIn(draftOf(present))]} />
          </DraftConflict>
        )}
        <div class="row apart">
          <Choices label="Edit as" name="view" choices={views} />
          <CheckedWord faults={state.faults} isChecking={state.isChecking} />
        </div>
        {choiceIn('view', views) === 'json' ? (
          <JsonView state={state} />
        ) : (
          <FormView state={state} type={isHttps(place.edgeId) ? 'http_request' : 'tcp_connection'} />
        )}
      </div>
      <Outcome {...{ place, state, again }} />
    </div>
  )
}

/** The changes of the draft, the decisions that it would have changed, and how it is saved. */
function Outcome({
  place,
  state,
  again,
}: {
  readonly place: Place
  readonly state: DraftState
  readonly again: () => void
}) {
  const { kept, body, faults, refusal, isChecking } = state
  const save = async ({ skipTests = false } = {}): Promise<void> => {
    await saveDraft(kept, {
      latest: async (client) => draftOf(await presentPolicies(client, place)),
      work(client) {
        const { id, policies } = policiesAt(client, place)
        return policies.put(id, body, skipTests ? { skipTests } : {})
      },
      done: 'The traffic policies were saved.',
    })
    again()
  }
  const base = bodyIn(kept.base)
  const isChanged = differences(base, body).length > 0
  const blocked = faults.size > 0 ? 'Something is wrong in the draft.' : undefined
  return (
    <div class="stack aside">
      <DraftPanel
        submit="Save"
        isSaveable={
          blocked === undefined && refusal === undefined && !isChecking && isChanged && !kept.isConflict
        }
        forget={kept.forget}
        save={() => save()}
        {...{ isChanged }}
      >
        <Differences between={[base, body]} />
        {refusal !== undefined && <Failure error={refusal} />}
        {refusal !== undefined && isChanged && !kept.isConflict && (
          <div class="row">
            <EditButton
              kind="danger"
              right="skip_tests"
              confirm="The policy tests above will fail, and the history will say that they were skipped. Save?"
              onClick={() => save({ skipTests: true })}
            >
              Save in spite of the tests
            </EditButton>
          </div>
        )}
      </DraftPanel>
      <section class="panel stack" aria-label="What would it change?">
        <h2>What would it change?</h2>
        <TrialRun
          draft={JSON.stringify(body)}
          blocked={blocked}
          begin={(client, since) => {
            const { id, policies } = policiesAt(client, place)
            return policies.try(id, body, { since })
          }}
        />
      </section>
      {isChanged && (
        <Shadow
          draft={() => draftAt(place, { policies: body })}
          isBlocked={blocked !== undefined || isChecking}
        />
      )}
    </div>
  )
}

function CheckedWord({ faults, isChecking }: { readonly faults: Faults; readonly isChecking: boolean }) {
  const text =
    faults.size === 1
      ? 'One thing is wrong.'
      : faults.size > 1
        ? `${number(faults.size)} things are wrong.`
        : isChecking
          ? 'Checking …'
          : 'Nothing is wrong.'
  return (
    <span role="status" class={faults.size > 0 ? 'fault' : 'quiet'}>
      {text}
    </span>
  )
}

const bodyIn = (draft: Draft): DraftBody => bodyOf(draft).body

const Differences = ({ between: [before, after] }: { readonly between: readonly [DraftBody, DraftBody] }) => (
  <ul class="listed">
    {differences(before, after).map((each) => (
      <li key={each}>{each}</li>
    ))}
  </ul>
)

type RecordName = Parameters<typeof usePolicyVocabularies>[0]

function FormView({ state, type }: { readonly state: DraftState; readonly type: RecordName }) {
  const vocabularies = usePolicyVocabularies(type)
  const {
    kept: { draft },
    faults,
  } = state
  return (
    <>
      {faults.get('') !== undefined && (
        <p class="fault" role="alert">
          {faults.get('')}
        </p>
      )}
      <SwitchField
        label="The policies apply"
        hint="Switched off, they are kept and do nothing."
        value={draft.isEnabled}
        onChange={(isEnabled) => state.change({ ...draft, isEnabled })}
      />
      {sides.map((side) => (
        <SideView key={side} {...{ state, side }} vocabulary={vocabularies?.[side]} />
      ))}
    </>
  )
}

const sideTitles: Readonly<Record<Side, string>> = {
  inbound: 'Inbound: before it is let in',
  outbound: 'Outbound: once it has ended; these can only log',
}

function SideView({
  state,
  side,
  vocabulary,
}: {
  readonly state: DraftState
  readonly side: Side
  readonly vocabulary: Vocabulary | undefined
}) {
  const {
    kept: { draft },
    faults,
  } = state
  const list = draft[side]
  const change = (next: readonly DraftPolicy[]): void => state.change({ ...draft, [side]: next })
  return (
    <section class="stack" aria-label={side}>
      <h2>{sideTitles[side]}</h2>
      {list.map((policy, index) => (
        <PolicyCard
          key={policy.key}
          {...{ policy, side, index, faults, vocabulary }}
          count={list.length}
          onChange={(next) => change(list.map((each) => (each.key === next.key ? next : each)))}
          onMove={(step) => change(moved(list, index, step))}
          onRemove={() => change(list.filter((each) => each.key !== policy.key))}
        />
      ))}
      <button type="button" class="start" onClick={() => change([...list, newPolicy(draft, side)])}>
        Add an {side} policy
      </button>
    </section>
  )
}

function moved(list: readonly DraftPolicy[], index: number, step: number): DraftPolicy[] {
  const others = list.filter((_, at) => at !== index)
  others.splice(index + step, 0, list[index]!)
  return others
}

/** The whole module as text. */
function JsonView({ state }: { readonly state: DraftState }) {
  const faults = [...state.faults].map(([place, text]) =>
    place === '' ? { text } : { text: `${place}: ${text}`, place },
  )
  return (
    <Editor
      label="The module as it is sent"
      mode="json"
      value={state.text}
      faults={faults}
      onChange={state.changeText}
    />
  )
}
