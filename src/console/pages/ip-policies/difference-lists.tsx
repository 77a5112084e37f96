/** Rules that are added, removed or changed, in lists with signs. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { RuleDifference, RuleEntry } from '../../data/resources/rule-files.js'
import { number } from '../../data/texts/format.js'
import { RuleSubject } from '../../parts/rule-subject.js'
import { UnenforcedWord } from '../../parts/words.js'
import { ActionWord } from './rule-table.js'

const step = 50

export function DifferenceLists({ difference }: { readonly difference: RuleDifference }) {
  const { added, removed, changed, kept } = difference
  return (
    <>
      <h2>
        {number(added.length)} added, {number(removed.length)} removed, {number(changed.length)} changed,{' '}
        {number(kept)} kept
      </h2>
      <Listed title="Removed" sign="−" kind="removed" entries={removed} line={RuleLine} />
      <Listed title="Added" sign="+" kind="added" entries={added} line={RuleLine} />
      <Listed title="Changed" sign="~" kind="" entries={changed} line={ChangedLine} />
    </>
  )
}

interface ListedProps<Entry> {
  readonly title: string
  readonly sign: string
  readonly kind: string
  readonly entries: readonly Entry[]
  readonly line: (props: { readonly entry: Entry }) => ComponentChildren
}

function Listed<Entry>({ title, sign, kind, entries, line: Line }: ListedProps<Entry>) {
  const count = useSignal(step)
  if (entries.length === 0) return null
  return (
    <div class="difference">
      <h3>{title}</h3>
      <ul>
        {entries.slice(0, count.value).map((entry, index) => (
          <li key={index} class={`line ${kind}`}>
            {sign} <Line entry={entry} />
          </li>
        ))}
      </ul>
      {entries.length > count.value && (
        <button
          type="button"
          class="start"
          onClick={() => {
            count.value += 10 * step
          }}
        >
          {number(entries.length - count.value)} more
        </button>
      )}
    </div>
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
