/** What a change does to the fields of a resource: before and after, with signs. */

import type { ChangedField } from '../../shape/change-schema.js'
import { lineDifference } from '../data/drafts/differences.js'

/** A value as lines of text: an object or a list has a line for each member. */
const linesOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value, undefined, 2)

export function Difference({ fields }: { readonly fields: readonly ChangedField[] }) {
  if (fields.length === 0) return <p class="quiet">No field differs.</p>
  return (
    <dl class="difference">
      {fields.map((field) => (
        <div key={field.name}>
          <dt class="mono">{field.name}</dt>
          <dd>{field.secret ? <p class="quiet">A secret: its value is never shown.</p> : lines(field)}</dd>
        </div>
      ))}
    </dl>
  )
}

const titles = { ' ': undefined, '+': 'after', '-': 'before' } as const

const lines = ({ before, after }: ChangedField) => (
  <pre>
    {lineDifference(linesOf(before), linesOf(after)).map(({ sign, text }, index) => (
      <span
        key={index}
        class={`line ${sign === '+' ? 'added' : sign === '-' ? 'removed' : ''}`}
        title={titles[sign]}
      >
        {`${sign} ${text}\n`}
      </span>
    ))}
  </pre>
)

interface RuleNumbers {
  readonly added: number
  readonly updated: number
  readonly removed: number
}

/** `3 rules added, 1 removed`. */
export function rulesText({ added, updated, removed }: RuleNumbers): string {
  const parts = Object.entries({ added, updated, removed }).filter(([, count]) => count > 0)
  if (parts.length === 0) return 'no rule changed'
  return parts
    .map(([what, count], index) => `${count}${index === 0 ? (count === 1 ? ' rule' : ' rules') : ''} ${what}`)
    .join(', ')
}
