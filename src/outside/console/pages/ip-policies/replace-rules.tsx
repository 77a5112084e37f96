/** Rules from a list: what differs is shown, checked and tried before it is saved, as one change. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { rulesBodyBytesMax } from '../../../../ground/core/limits.js'
import { may } from '../../data/access/session.js'
import { act, api, useAnswer } from '../../data/asking/api.js'
import { now } from '../../data/clock.js'
import { useDraftCheck } from '../../data/drafts/draft-check.js'
import { draftedRules } from '../../data/drafts/drafted-rules.js'
import { useKeptText } from '../../data/drafts/kept-text.js'
import { go, hrefTo } from '../../data/location.js'
import {
  bodyOfRule,
  entryOfRule,
  type RuleDifference,
  type RuleEntry,
  ruleDifference,
  rulesInText,
  subjectOf,
} from '../../data/resources/rule-files.js'
import { number } from '../../data/texts/format.js'
import { Choices, choiceIn } from '../../kit/choices.js'
import { ListImport, ReadSoFar } from '../../kit/forms/list-import.js'
import { Link } from '../../kit/link.js'
import { DifferenceCounts, SignedList } from '../../kit/tables/signed-list.js'
import { EditButton } from '../../parts/edit-button.js'
import { Name } from '../../parts/name.js'
import { RuleSubject } from '../../parts/rule-subject.js'
import { Answered, Failure } from '../../parts/states.js'
import { Shadow } from '../../parts/trial/shadow.js'
import { TrialRun } from '../../parts/trial/trial-run.js'
import { ActionWord, UnenforcedWord } from '../../parts/words.js'

export function ReplaceRules({ id }: { readonly id: string }) {
  const read = useSignal(0)
  const present = useAnswer([id], async () => {
    const rules: RuleEntry[] = []
    for await (const rule of api.rules(id)) {
      rules.push(entryOfRule(rule))
      if (rules.length % 1_000 === 0) read.value = rules.length
    }
    return rules
  })
  return (
    <div class="stack">
      <p>
        <Link to={['ip-policies', id]}>← the policy</Link>
      </p>
      <h1>
        Import rules of <Name id={id} />
      </h1>
      <ReadSoFar isLoading={present.isLoading} count={read.value} what="rules" />
      <Answered answer={present}>
        {(rules) => <Import id={id} present={rules} again={present.again} />}
      </Answered>
    </div>
  )
}

const modes = [
  ['', 'replaces all rules'],
  ['add', 'is added, and wins'],
  ['remove', 'is taken out'],
] as const

const actions = [
  ['', 'deny'],
  ['allow', 'allow'],
] as const

interface ImportProps {
  readonly id: string
  readonly present: readonly RuleEntry[]
  readonly again: () => void
}

const shownFaults = 20
const mebibyte = 1024 * 1024

function Import({ id, present, again }: ImportProps) {
  const text = useKeptText(`weir-rules ${id}`)
  const mode = choiceIn('mode', modes)
  const action = choiceIn('default', actions) === 'allow' ? 'allow' : 'deny'
  const { rules, faults } = useMemo(() => rulesInText(text.value, action, now()), [text.value, action])
  const wanted = useMemo(() => wantedRules(present, rules, mode), [present, rules, mode])
  return (
    <ListImport
      label="The list"
      hint="A range in each line, with comments after # or ;. Or CSV: cidr,action,description,metadata,expires_at,enforced,list_id. Or JSON."
      text={text}
      mebibytesMax={rulesBodyBytesMax / mebibyte}
      present={`${number(present.length)} rules`}
      outcome={() => <Outcome {...{ id, present, wanted, again }} forget={text.forget} />}
    >
      <div class="row">
        <span>The list</span>
        <Choices label="What the list does" name="mode" choices={modes} />
      </div>
      <div class="row">
        <span>Entries without an action</span>
        <Choices label="Action of entries without one" name="default" choices={actions} />
      </div>
      {text.value.trim() !== '' && <Faults faults={faults} />}
    </ListImport>
  )
}

const Faults = ({
  faults,
}: {
  readonly faults: readonly { readonly line: number; readonly text: string }[]
}) =>
  faults.length === 0 ? null : (
    <div class="failure" role="alert">
      <p>
        {faults.length === 1 ? 'One entry is' : `${number(faults.length)} entries are`} wrong and left out:
      </p>
      <ul class="listed">
        {faults.slice(0, shownFaults).map(({ line, text }) => (
          <li key={`${line} ${text}`}>
            entry {number(line)}: {text}
          </li>
        ))}
        {faults.length > shownFaults && <li>and {number(faults.length - shownFaults)} more</li>}
      </ul>
    </div>
  )

function wantedRules(
  present: readonly RuleEntry[],
  listed: readonly RuleEntry[],
  mode: string,
): readonly RuleEntry[] {
  if (mode === '') return listed
  const inList = new Set(listed.map(subjectOf))
  const others = present.filter((rule) => !inList.has(subjectOf(rule)))
  return mode === 'add' ? [...others, ...listed] : others
}

interface OutcomeProps extends ImportProps {
  readonly wanted: readonly RuleEntry[]
  readonly forget: () => void
}

/** The API counts alike: another action for the same range is a rule less and a rule more. */
const countsOf = ({ added, removed, changed, kept }: RuleDifference) => {
  const replaced = changed.filter(({ before, after }) => before.action !== after.action).length
  return {
    added: added.length + replaced,
    updated: changed.length - replaced,
    removed: removed.length + replaced,
    kept,
  }
}

function Outcome({ id, present, wanted, again, forget }: OutcomeProps) {
  const difference = useMemo(() => ruleDifference(present, wanted), [present, wanted])
  const body = useMemo(() => wanted.map(bodyOfRule), [wanted])
  // The text of many rules is long: their number and difference say as well whether it is another draft.
  const draft = useMemo(() => JSON.stringify([difference, wanted.length]), [difference, wanted])
  // A key that may not write can't ask: a trial says what is wrong, too.
  const { isChecking, error } = useDraftCheck(draft, async (client) =>
    may('write') ? client.replaceRules(id, body, { validateOnly: true }) : undefined,
  )
  const { added, removed, changed } = difference
  const isNothing = added.length + removed.length + changed.length === 0
  const save = async (): Promise<void> => {
    const isDone = await act('The rules were replaced.', async (client) => {
      const counts = await client.replaceRules(id, body, { validateOnly: true })
      if (!isSameCounts(counts, countsOf(difference))) {
        again()
        throw new Error('The rules were changed meanwhile: look at the difference again')
      }
      await client.replaceRules(id, body)
    })
    if (!isDone) return
    forget()
    go(hrefTo(['ip-policies', id]))
  }
  return (
    <div class="stack">
      <section class="panel stack" aria-label="What is different">
        <DifferenceLists difference={difference} />
        {error !== undefined && <Failure error={error} />}
        <div class="row">
          <EditButton
            kind="main"
            onClick={save}
            isDisabled={isNothing || isChecking || error !== undefined}
            {...(removed.length > 0 && {
              confirm: `Replace the rules? ${number(removed.length)} of ${number(present.length)} are removed, in one change that can be undone on the page “Changes”.`,
            })}
          >
            Save as one change
          </EditButton>
        </div>
      </section>
      <section class="panel stack" aria-label="What would it change?">
        <h2>What would it change?</h2>
        <TrialRun
          draft={draft}
          blocked={isNothing ? 'Nothing is different.' : undefined}
          begin={(client, since) => client.tryRules(id, body, { since })}
        />
      </section>
      {!isNothing && (
        <Shadow draft={() => draftedRules(id, difference)} isBlocked={isChecking || error !== undefined} />
      )}
    </div>
  )
}

const isSameCounts = (one: object, other: object): boolean =>
  Object.entries(other).every(([name, count]) => (one as Record<string, unknown>)[name] === count)

function DifferenceLists({ difference }: { readonly difference: RuleDifference }) {
  const { added, removed, changed, kept } = difference
  return (
    <>
      <DifferenceCounts
        {...{ added: added.length, removed: removed.length, changed: changed.length, kept }}
      />
      <SignedList title="Removed" sign="−" kind="removed" entries={removed} line={RuleLine} />
      <SignedList title="Added" sign="+" kind="added" entries={added} line={RuleLine} />
      <SignedList title="Changed" sign="~" kind="" entries={changed} line={ChangedLine} />
    </>
  )
}

const Until = ({ at }: { readonly at: string | null | undefined }) =>
  at == null ? null : <span class="quiet">until {at}</span>

const RuleLine = ({ entry }: { readonly entry: RuleEntry }) => (
  <>
    <ActionWord action={entry.action} /> <UnenforcedWord isEnforced={entry.enforced} />{' '}
    <RuleSubject {...entry} /> <span class="quiet">{entry.description ?? ''}</span>{' '}
    <Until at={entry.expires_at} />
  </>
)

const ChangedLine = ({ entry: { before, after } }: { readonly entry: RuleDifference['changed'][number] }) => (
  <>
    <RuleSubject {...after} /> <ActionWord action={before.action} />{' '}
    <UnenforcedWord isEnforced={before.enforced} /> <span class="quiet">{before.description ?? ''}</span>{' '}
    <Until at={before.expires_at} /> → <ActionWord action={after.action} />{' '}
    <UnenforcedWord isEnforced={after.enforced} /> <span class="quiet">{after.description ?? ''}</span>{' '}
    <Until at={after.expires_at} />
  </>
)
