/** Writing a policy test: what is wrong is said at its place while it is written, and whether it would pass now. */
import type { ComponentChildren } from 'preact'
import type { Client } from '../../../../words/client/client.js'
import { may } from '../../data/access/session.js'
import { act, errorText, useAnswer } from '../../data/asking/api.js'
import { failedTestsIn } from '../../data/asking/test-runs.js'
import { changedFields } from '../../data/drafts/differences.js'
import { useDraftCheck } from '../../data/drafts/draft-check.js'
import { type KeptDraft, saveDraft, useKeptDraft } from '../../data/drafts/kept-draft.js'
import { faultsOf } from '../../data/drafts/refused-places.js'
import {
  draftOfTest,
  emptyTest,
  faultsOfText,
  loadYaml,
  newTestId,
  type ReadYaml,
  readDraft,
  type TestDraft,
} from '../../data/drafts/test-draft.js'
import { go, hrefTo } from '../../data/location.js'
import { ChoiceField, TextField } from '../../kit/forms/fields.js'
import { Link } from '../../kit/link.js'
import { Difference } from '../../parts/difference.js'
import { EditButton } from '../../parts/edit-button.js'
import { Editor } from '../../parts/editor/editor.js'
import { faultsOfYaml } from '../../parts/editor/editor-props.js'
import { DraftConflict, DraftPanel } from '../../parts/forms/draft-panel.js'
import { HistoryLink } from '../../parts/history-link.js'
import { Answered, Failure } from '../../parts/states.js'
import { StateWord } from '../../parts/words.js'

const lookEveryMs = 15_000

const bodyOf = (draft: TestDraft): TestDraft => draft

const completedBy =
  (present: TestDraft) =>
  (draft: Partial<TestDraft>): TestDraft => ({ ...present, ...draft })

type Body = NonNullable<ReturnType<typeof readDraft>['body']>

export function NewTest() {
  const kept = useKeptDraft({
    id: newTestId,
    present: emptyTest,
    bodyOf,
    completed: completedBy(emptyTest),
  })
  return (
    <Frame title="New policy test">
      <Form
        isNew
        kept={kept}
        check={(client, body) => client.policyTest.create(body, { validateOnly: true })}
        save={async (body) => {
          const isDone = await saveDraft(kept, {
            latest: async () => kept.base,
            work: (client) => client.policyTest.create(body),
            done: 'The policy test is created.',
          })
          if (isDone) go(hrefTo(['tests']), { replace: true })
        }}
      />
    </Frame>
  )
}

export function EditTest({ id }: { readonly id: string }) {
  // Asked again and again, so that what someone else saves meanwhile is seen before one's own is.
  const answer = useAnswer([id], (client) => client.policyTest.get(id), { everyMs: lookEveryMs })
  return (
    <Frame title="A policy test">
      <Answered answer={answer}>
        {(test) => <Existing id={id} present={draftOfTest(test)} again={answer.again} />}
      </Answered>
    </Frame>
  )
}

const Frame = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }) => (
  <div class="stack">
    <p>
      <Link to={['tests']}>Policy tests</Link>
    </p>
    <h1>{title}</h1>
    {children}
  </div>
)

interface ExistingProps {
  readonly id: string
  readonly present: TestDraft
  readonly again: () => void
}

function Existing({ id, present, again }: ExistingProps) {
  const kept = useKeptDraft({ id, present, bodyOf, completed: completedBy(present) })
  const remove = async (): Promise<void> => {
    const isDone = await act('The policy test is deleted.', (client) => client.policyTest.delete(id))
    if (!isDone) return
    kept.forget()
    go(hrefTo(['tests']), { replace: true })
  }
  return (
    <>
      {kept.isConflict && (
        <DraftConflict kept={kept} what="this policy test" id={id}>
          <Difference fields={changedFields({ ...kept.base }, { ...present })} />
        </DraftConflict>
      )}
      <Form
        kept={kept}
        check={(client, body) => client.policyTest.update(id, body, { validateOnly: true })}
        save={async (body) => {
          const isDone = await saveDraft(kept, {
            latest: async (client) => draftOfTest(await client.policyTest.get(id)),
            work: (client) => client.policyTest.update(id, body),
            done: 'The policy test is changed.',
          })
          if (isDone) go(hrefTo(['tests']), { replace: true })
          else again()
        }}
      />
      <div class="row">
        <EditButton
          kind="danger"
          confirm="Delete this policy test? It guards no change any more."
          onClick={remove}
        >
          Delete the test
        </EditButton>
        <HistoryLink id={id} />
      </div>
    </>
  )
}

const partHint =
  'For example {type: traffic_policy, name: not from there}; also id, ip_policy_id, rule_id, cidr. What is left out may be anything.'

interface FormProps {
  readonly kept: KeptDraft<TestDraft>
  readonly isNew?: boolean
  readonly check: (client: Client, body: Body) => Promise<unknown>
  readonly save: (body: Body) => Promise<void>
}

function Form({ kept, isNew = false, check, save }: FormProps) {
  const loading = useAnswer([], loadYaml)
  return (
    <Answered answer={loading}>
      {(readYaml) => <LoadedForm {...{ kept, isNew, check, save, readYaml }} />}
    </Answered>
  )
}

function LoadedForm({ kept, isNew, check, save, readYaml }: FormProps & { readonly readYaml: ReadYaml }) {
  const { draft, base, isChanged, isConflict, forget } = kept
  const { body, given, decidedBy, shadowDecidedBy } = readDraft(readYaml, draft)
  const checked = useDraftCheck(
    draft,
    async (client) => (body !== undefined && may('write') ? check(client, body) : undefined),
    // A new one is checked as it begins: it may be of another page.
    isNew ? null : base,
  )
  const { error, isChecking } = checked
  const faults = faultsOf(error)
  const change = (changes: Partial<TestDraft>): void => kept.change({ ...draft, ...changes })
  const isRight = body !== undefined && error === undefined && !isChecking
  return (
    <div class="split">
      <div class="stack">
        <TextField
          label="Description"
          value={draft.description}
          fault={faults.get('description')}
          onChange={(description) => change({ description })}
        />
        <Editor
          label="Given: the record, as YAML or JSON"
          mode="yaml"
          value={draft.given}
          hint="As POST /decide takes it; country and asn in place of what the GeoIP database says."
          faults={faultsOfYaml(faultsOfText(given, error, 'given'))}
          onChange={(text) => change({ given: text })}
        />
        <ChoiceField
          label="Expected decision"
          value={draft.decision}
          choices={decisions}
          onChange={(decision) => change({ decision })}
        />
        <Editor
          label="Decided by, as YAML or JSON"
          mode="yaml"
          value={draft.decidedBy}
          hint={`May be left out. ${partHint}`}
          faults={faultsOfYaml(faultsOfText(decidedBy, error, 'expect.decided_by'))}
          onChange={(text) => change({ decidedBy: text })}
        />
        <ShadowFields
          draft={draft}
          faults={faultsOfYaml(faultsOfText(shadowDecidedBy, error, 'expect.shadow.decided_by'))}
          change={change}
        />
      </div>
      <div class="stack aside">
        <Verdict
          error={error}
          isChecking={isChecking}
          passes={isRight && (isNew || isChanged) && may('write')}
        />
        <DraftPanel
          submit={isNew ? 'Create' : 'Save'}
          isSaveable={isRight && (isNew || (isChanged && !isConflict))}
          save={async () => body && save(body)}
          {...{ isChanged, forget }}
        >
          {!isNew && <Difference fields={changedFields({ ...base }, { ...draft })} />}
        </DraftPanel>
      </div>
    </div>
  )
}

interface ShadowFieldsProps {
  readonly draft: TestDraft
  /** Of what must decide. */
  readonly faults: ReturnType<typeof faultsOfYaml>
  readonly change: (changes: Partial<TestDraft>) => void
}

const ShadowFields = ({ draft: { shadow, shadowDecidedBy }, faults, change }: ShadowFieldsProps) => (
  <>
    <ChoiceField
      label="Expected if everything were enforced"
      value={shadow}
      choices={[['', 'anything'], ...decisions]}
      hint="With the rules, traffic policies and restrictions that are not enforced."
      onChange={(chosen) => change({ shadow: chosen, ...(chosen === '' && { shadowDecidedBy: '' }) })}
    />
    {shadow !== '' && (
      <Editor
        label="Then decided by, as YAML or JSON"
        mode="yaml"
        value={shadowDecidedBy}
        hint={`May be left out. ${partHint}`}
        faults={faults}
        onChange={(text) => change({ shadowDecidedBy: text })}
      />
    )}
  </>
)

interface VerdictProps {
  readonly error: unknown
  readonly isChecking: boolean
  readonly passes: boolean
}

/** The result that the test would have now. */
function Verdict({ error, isChecking, passes }: VerdictProps) {
  const isFailing = failedTestsIn(error).length > 0
  return (
    <section class="stack" aria-label="With the present configuration">
      <p role="status">
        {isChecking && 'Running …'}
        {!isChecking && isFailing && <StateWord tone="bad" text="would fail now" />}
        {passes && <StateWord tone="good" text="would pass now" />}
      </p>
      {isFailing && <Failure error={error} />}
      {error !== undefined && !isFailing && <p class="quiet">The API says: {errorText(error)}</p>}
    </section>
  )
}

const decisions = [
  ['allow', 'allow'],
  ['block', 'block: by an IP policy or restriction'],
  ['deny', 'deny: by a traffic policy'],
] as const
