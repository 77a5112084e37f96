/** Decisions now and with a draft, and the clients, countries and edges that it concerns: of a trial, or of a challenger. */
import type { TrialDecisions } from '../../../../words/shape/trial.js'
import { countryName, number } from '../../data/texts/format.js'
import { Ranking } from '../../kit/charts/ranking.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { ClientLink } from '../decision-cells.js'
import { Name } from '../name.js'
import { DecisionWord } from '../words.js'

type Pair = TrialDecisions['matrix'][number]

const pairColumns: readonly Column<Pair>[] = [
  { title: 'Now', cell: ({ before }) => <DecisionWord decision={before} /> },
  { title: 'With the draft', cell: ({ after }) => <DecisionWord decision={after} /> },
  { title: 'Records', isNumber: true, cell: ({ records }) => number(records) },
  {
    title: '',
    cell: ({ before, after }) =>
      before === after ? <span class="quiet">unchanged</span> : <strong>changed</strong>,
  },
]

/** Changed ones first, the most frequent at the top. */
export function Directions({ matrix }: Pick<TrialDecisions, 'matrix'>) {
  const isChanged = ({ before, after }: Pair): number => (before === after ? 0 : 1)
  const rows = matrix.toSorted((a, b) => isChanged(b) - isChanged(a) || b.records - a.records)
  return (
    <Table
      label="Decisions now and with the draft"
      rows={rows}
      columns={pairColumns}
      keyOf={({ before, after }) => `${before} ${after}`}
    />
  )
}

const shownMax = 8

const keyOfChange = ({ value, before, after }: TrialDecisions['edge_changes'][number]): string =>
  `${value} ${before} ${after}`

interface FrequentProps {
  readonly decisions: Pick<TrialDecisions, 'clients' | 'country_changes' | 'edge_changes' | 'changed'>
}

export function Frequent({ decisions: { clients, country_changes, edge_changes, changed } }: FrequentProps) {
  const lists = [
    ['Countries', country_changes, (value: string) => countryName(value)],
    ['Edges', edge_changes, (value: string) => <Name id={value} />],
  ] as const
  return (
    <div class="thirds">
      <div>
        <h3>Clients that it concerns</h3>
        <Ranking
          label="Clients among the changed records"
          total={changed}
          entries={clients.slice(0, shownMax).map(({ value, records }) => ({
            key: value ?? '',
            label: value === null ? 'unknown' : <ClientLink address={value} />,
            count: records,
          }))}
        />
      </div>
      {lists.map(([title, counts, label]) => (
        <div key={title}>
          <h3>{title}, and what becomes of them</h3>
          <Ranking
            label={`${title} among the changed records`}
            total={changed}
            entries={counts.slice(0, shownMax).map((each) => ({
              key: keyOfChange(each),
              label: (
                <>
                  {each.value === null ? 'unknown' : label(each.value)}{' '}
                  <span class="quiet">
                    {each.before} → {each.after}
                  </span>
                </>
              ),
              count: each.records,
            }))}
          />
        </div>
      ))}
    </div>
  )
}
