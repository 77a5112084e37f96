/** Where and how a new destination sends: a form in words, the steps at the other side, a test before it is created. */
import { useSignal } from '@preact/signals'
import type { TargetTest } from '../../../../../words/shape/delivery/target-test.js'
import type { TargetTile } from '../../../../../words/shape/delivery/target-words.js'
import { api, errorText } from '../../../data/asking/api.js'
import { useDraftCheck } from '../../../data/drafts/draft-check.js'
import { saveDraft, useKeptDraft } from '../../../data/drafts/kept-draft.js'
import { faultsOf } from '../../../data/drafts/refused-places.js'
import { go, hrefTo } from '../../../data/location.js'
import { number } from '../../../data/texts/format.js'
import { Link } from '../../../kit/link.js'
import { Mark } from '../../../kit/mark.js'
import { Sentence } from '../../../kit/sentence.js'
import { EditButton } from '../../../parts/edit-button.js'
import { Locked } from '../../../parts/flow/locked.js'
import { MissingValues } from '../../../parts/forms/draft-panel.js'
import { Failure } from '../../../parts/states.js'
import { StateWord } from '../../../parts/words.js'
import { bodyOf, type Draft, emptyDraft, storable } from '../destination-draft.js'
import { DestinationFields } from '../destination-fields.js'
import type { TargetKind } from '../target-members.js'
import { SetupSteps } from './setup-steps.js'

interface TargetStepProps {
  readonly kinds: readonly TargetKind[]
  readonly kind: TargetKind
  readonly tile: TargetTile
}

interface Tested {
  readonly draft: string
  readonly test?: TargetTest
  readonly fault?: unknown
}

export function TargetStep({ kinds, kind, tile }: TargetStepProps) {
  const kept = useKeptDraft({
    id: `new event_destination ${tile.id}`,
    present: emptyDraft(kind, tile),
    bodyOf,
    storable: storable(kinds),
  })
  const { draft, missing, base } = kept
  const named = { ...draft, description: draft.description || tile.name }
  const isPressed = useSignal(false)
  const tested = useSignal<Tested | undefined>(undefined)
  const check = useDraftCheck(
    draft,
    (client) => client.eventDestination.create(bodyOf(named), { validateOnly: true }),
    // A draft that is not filled in yet is not asked about.
    isPressed.value ? null : base,
  )
  const { error } = check
  const faults = shownFaults(faultsOf(error), draft, base, isPressed.value)
  const isWhole = missing.length === 0
  const test = async (): Promise<void> => {
    isPressed.value = true
    const text = JSON.stringify(draft)
    tested.value = await api.targets.test(bodyOf(named)).then(
      (answer) => ({ draft: text, test: answer }),
      (fault: unknown) => ({ draft: text, fault }),
    )
  }
  const create = async (): Promise<void> => {
    isPressed.value = true
    let id = ''
    const isDone = await saveDraft(kept, {
      latest: async () => base,
      async work(client) {
        id = (await client.eventDestination.create(bodyOf(named))).id
      },
      done: 'The destination is created.',
    })
    if (isDone) go(hrefTo(['destinations', 'new'], { id }))
  }
  return (
    <div class="split flow">
      <section class="panel stack" aria-label={tile.name}>
        <h2 class="row">
          <Mark path={tile.mark} /> {tile.name}
        </h2>
        <MissingValues kept={kept} />
        <DestinationFields kind={kind} kept={kept} faults={faults} suggestion={tile.name} />
        {isPressed.value && error !== undefined && !check.isChecking && faults.size === 0 && (
          <p class="fault">{errorText(error)}</p>
        )}
        {tested.value?.fault !== undefined && <Failure error={tested.value.fault} />}
        {tested.value?.test && (
          <TargetTestAnswer test={tested.value.test} isOlder={tested.value.draft !== JSON.stringify(draft)} />
        )}
        <Actions isTested={tested.value?.test?.result === 'accepted'} {...{ isWhole, test, create }} />
        <p class="quiet">
          Nothing is stored before you create it. What you type stays in this tab, without secrets.
        </p>
      </section>
      <SetupSteps kind={kind.name} target={draft.target} form={tile.id} />
    </div>
  )
}

interface ActionsProps {
  /** The test event was accepted, so creating is what comes next. */
  readonly isTested: boolean
  readonly isWhole: boolean
  readonly test: () => Promise<void>
  readonly create: () => Promise<void>
}

const Actions = ({ isTested, isWhole, test, create }: ActionsProps) => (
  <>
    <Locked />
    <div class="row">
      <EditButton kind={isTested ? 'plain' : 'main'} isDisabled={!isWhole} onClick={test}>
        Send a test event
      </EditButton>
      <EditButton kind={isTested ? 'main' : 'plain'} isDisabled={!isWhole} onClick={create}>
        Create, and choose events
      </EditButton>
      <Link to={['destinations', 'new']}>Another kind</Link>
    </div>
  </>
)

/** A member that is not filled in yet is no mistake, until one tries to go on. */
function shownFaults(
  faults: ReadonlyMap<string, string>,
  { kind, target }: Draft,
  base: Draft,
  isPressed: boolean,
): ReadonlyMap<string, string> {
  if (isPressed) return faults
  const valueAt = (of: unknown, place: string): string =>
    JSON.stringify(
      place
        .slice(`target.${kind}.`.length)
        .split('.')
        .reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], of) ?? '',
    )
  const isTyped = (place: string): boolean =>
    !place.startsWith(`target.${kind}.`) ||
    (valueAt(target, place) !== valueAt(base.target, place) && valueAt(target, place) !== '""')
  return new Map([...faults].filter(([place]) => isTyped(place)))
}

/** The answer of the other side. `isOlder`: the form has changed since. */
function TargetTestAnswer({ test, isOlder }: { readonly test: TargetTest; readonly isOlder: boolean }) {
  const { result, event, took_ms, request_id, receipt, error, advice } = test
  return (
    <div class={`stack answer ${result === 'accepted' ? 'good' : 'bad'}`} role="status">
      {isOlder && <p class="quiet">The form has changed since this test.</p>}
      <p>
        {result === 'accepted' ? (
          <>
            <StateWord tone="good" text="accepted" /> The other side took the test event in {number(took_ms)}{' '}
            ms.
          </>
        ) : (
          <>
            <StateWord tone="bad" text="not accepted" /> <span class="mono">{error?.code}</span> {error?.msg}
          </>
        )}
      </p>
      {advice !== null && (
        <p>
          <Sentence text={advice} />
        </p>
      )}
      {(request_id !== null || receipt !== null) && (
        <p class="quiet mono">{[request_id, receipt].filter(Boolean).join(' · ')}</p>
      )}
      <details>
        <summary>The test event</summary>
        <pre>{JSON.stringify(event, null, 2)}</pre>
      </details>
    </div>
  )
}
