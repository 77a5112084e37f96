/** The parts of the configuration that no test reaches, and those that no traffic reached. */

import { useSignal } from '@preact/signals'
import type { CoveredPart, PolicyTestCoverage } from '../../../../words/shape/policy-test-coverage.js'
import { useAnswer } from '../../data/asking/api.js'
import { kindTitle } from '../../data/resources/resource-kinds.js'
import { number } from '../../data/texts/format.js'
import { Choices, choiceIn } from '../../kit/choices.js'
import { Link } from '../../kit/link.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Answered, Empty } from '../../parts/states.js'
import { StateWord } from '../../parts/words.js'

const selections = [
  ['tests', 'Reached by no test'],
  ['traffic', 'Reached by no traffic'],
  ['both', 'Reached by neither'],
] as const

const isSelected: Readonly<Record<string, (part: CoveredPart) => boolean>> = {
  tests: ({ tests }) => !tests,
  traffic: ({ traffic }) => traffic === false,
  both: ({ tests, traffic }) => !tests && traffic === false,
}

type Kind = PolicyTestCoverage['kinds'][number]

const outOf = (reached: number | null, { parts }: Kind) =>
  reached === null ? <span class="quiet">not known</span> : `${number(reached)} of ${number(parts)}`

const kindColumns: readonly Column<Kind>[] = [
  { title: 'Kind', isMain: true, cell: ({ kind }) => kindTitle(kind) },
  { title: 'Reached by tests', isNumber: true, cell: (each) => outOf(each.reached_by_tests, each) },
  { title: 'By traffic of 30 days', isNumber: true, cell: (each) => outOf(each.reached_by_traffic, each) },
]

const partColumns: readonly Column<CoveredPart>[] = [
  { title: 'Kind', cell: ({ kind }) => kindTitle(kind) },
  { title: 'Part', isMain: true, cell: (part) => <PartName part={part} />, isWide: true },
  { title: 'Tests', cell: ({ tests }) => <Reached isReached={tests} /> },
  { title: 'Traffic', cell: ({ traffic }) => <Reached isReached={traffic} /> },
]

const Reached = ({ isReached }: { readonly isReached: boolean | null }) =>
  isReached === null ? (
    <span class="quiet">not known</span>
  ) : (
    <StateWord tone={isReached ? 'good' : 'quiet'} text={isReached ? 'reached' : 'none'} />
  )

/** With a link to where it is, as far as its id says that. */
function PartName({ part: { kind, id, name } }: { readonly part: CoveredPart }) {
  const text = name ?? id
  const isEdge = /^edg(tcp|hts)_/.test(id)
  if (kind === 'ip_restriction')
    return (
      <Link to={['ip-policies', id]} title={id}>
        {text}
      </Link>
    )
  if (!isEdge) return <span title={id}>{text}</span>
  return (
    <Link to={kind === 'traffic_policy' ? ['edges', id, 'policies'] : ['edges', id]} title={id}>
      {text}
    </Link>
  )
}

const step = 100

export function Coverage() {
  const answer = useAnswer([], (client) => client.policyTestCoverage())
  return (
    <Answered answer={answer}>
      {({ tests, kinds, unreached, unreached_left_out }) => (
        <div class="stack">
          <p>
            {number(tests)} {tests === 1 ? 'test' : 'tests'}. A test reaches the edge and route of its
            connection, the policies that apply to it, and the rules that contain its client.
          </p>
          <Table label="Coverage by kind" rows={kinds} columns={kindColumns} keyOf={({ kind }) => kind} />
          <Choices label="Parts that are" name="only" choices={selections} />
          <Parts parts={unreached.filter(isSelected[choiceIn('only', selections)]!)} />
          {unreached_left_out > 0 && (
            <p class="quiet">{number(unreached_left_out)} more parts are not listed.</p>
          )}
        </div>
      )}
    </Answered>
  )
}

function Parts({ parts }: { readonly parts: readonly CoveredPart[] }) {
  const count = useSignal(step)
  return (
    <>
      <Table
        label="Parts of the configuration that are not reached"
        rows={parts.slice(0, count.value)}
        columns={partColumns}
        keyOf={({ kind, id, name }) => `${kind} ${id} ${name}`}
        empty={<Empty>There is none.</Empty>}
      />
      {parts.length > count.value && (
        <div class="row">
          <button
            type="button"
            onClick={() => {
              count.value += step
            }}
          >
            Show more of {number(parts.length)}
          </button>
        </div>
      )}
    </>
  )
}
