/** Entries that are added, removed or changed: how many, and a list of each, with signs. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { number } from '../../data/texts/format.js'

interface CountsProps {
  readonly added: number
  readonly removed: number
  readonly changed: number
  readonly kept: number
}

export const DifferenceCounts = ({ added, removed, changed, kept }: CountsProps) => (
  <h2>
    {number(added)} added, {number(removed)} removed, {number(changed)} changed, {number(kept)} kept
  </h2>
)

const step = 50

interface SignedListProps<Entry> {
  readonly title: string
  readonly sign: string
  readonly kind: string
  readonly entries: readonly Entry[]
  readonly line: (props: { readonly entry: Entry }) => ComponentChildren
}

export function SignedList<Entry>({ title, sign, kind, entries, line: Line }: SignedListProps<Entry>) {
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
