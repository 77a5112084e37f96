/** Changes of the fields of a resource: traffic policies in words, other values before and after, with signs. */
import type { ChangedField } from '../../../words/shape/decisions/change-schema.js'
import { lineDifference } from '../data/drafts/differences.js'
import {
  isJsonEqual,
  namesOf,
  type ShownPolicy,
  type Side,
  sideDifferences,
  sides,
} from '../data/drafts/policies-draft.js'
import { PolicyLine } from './policy-line.js'

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
          <dd>
            {field.secret ? (
              <p class="quiet">A secret: its value is never shown.</p>
            ) : (
              <FieldDifference field={field} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** The side whose traffic policies a field has; undefined for other fields. */
const sideOf = ({ name }: ChangedField): Side | undefined => sides.find((side) => name === `policies.${side}`)

const policiesIn = (value: unknown): readonly ShownPolicy[] => (value ?? []) as readonly ShownPolicy[]

function FieldDifference({ field }: { readonly field: ChangedField }) {
  const { before, after } = field
  const side = sideOf(field)
  if (side === undefined) return <Lines before={before} after={after} />
  return (
    <>
      <ChangedPolicies side={side} before={policiesIn(before)} after={policiesIn(after)} />
      <details>
        <summary>As JSON</summary>
        <Lines before={before} after={after} />
      </details>
    </>
  )
}

interface ChangedPoliciesProps {
  readonly side: Side
  readonly before: readonly ShownPolicy[]
  readonly after: readonly ShownPolicy[]
}

/** A line for each policy that differs. */
function ChangedPolicies({ side, before, after }: ChangedPoliciesProps) {
  const [was, is] = [namesOf(before), namesOf(after)]
  const removed = [...was.keys()].filter((name) => !is.has(name))
  const lines = [...is].flatMap(([name, policy], index) => {
    const old = was.get(name) ?? null
    return old !== null && isJsonEqual(old, policy)
      ? []
      : [<PolicyLine key={name} {...{ side, index, policy }} before={old} />]
  })
  return (
    <ol class="policies">
      {lines}
      {removed.map((name) => (
        <li key={name}>
          <del class="line removed">
            {side} {name} is removed
          </del>
        </li>
      ))}
      {lines.length + removed.length === 0 && <li>The order differs.</li>}
    </ol>
  )
}

/** The differences in a field, for a line: `inbound: “no scanners” is changed`, else the name of the field. */
export function fieldSummary(field: ChangedField): readonly string[] {
  const side = sideOf(field)
  return side === undefined
    ? [field.name]
    : sideDifferences(side, policiesIn(field.before), policiesIn(field.after))
}

const titles = { ' ': undefined, '+': 'after', '-': 'before' } as const

/** So few lines that stay the same are shown between those that differ. */
const keptLinesMax = 3

type SignedLine = ReturnType<typeof lineDifference>[number]

/** Lines in runs of those that stay and those that differ. */
function runsOf(lines: readonly SignedLine[]): SignedLine[][] {
  const runs: SignedLine[][] = []
  for (const line of lines) {
    const last = runs.at(-1)
    if (last === undefined || (last[0]!.sign === ' ') !== (line.sign === ' ')) runs.push([line])
    else last.push(line)
  }
  return runs
}

const Lines = ({ before, after }: Pick<ChangedField, 'before' | 'after'>) => (
  <>
    {runsOf(lineDifference(linesOf(before), linesOf(after))).map((run, index) =>
      run[0]!.sign === ' ' && run.length > keptLinesMax ? (
        <details key={index}>
          <summary>{run.length} lines that stay</summary>
          <Run lines={run} />
        </details>
      ) : (
        <Run key={index} lines={run} />
      ),
    )}
  </>
)

const Run = ({ lines }: { readonly lines: readonly SignedLine[] }) => (
  <pre>
    {lines.map(({ sign, text }, index) => (
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
