/** The sources of a subscription: what they make, and what they keep back. */
import type { Source } from '../../../../words/client/client.js'
import type { SubscriptionCounts } from '../../../../words/shape/subscription-counts.js'
import { useAnswer } from '../../data/asking/api.js'
import { useShown } from '../../data/asking/questions.js'
import { number, percent } from '../../data/texts/format.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Name } from '../../parts/name.js'
import { Failure, WaitsInLine } from '../../parts/states.js'

type Count = SubscriptionCounts['counts'][number]

interface SourceRow {
  readonly key: string
  readonly source: Source
  /** For one destination; undefined if it has had no record yet. */
  readonly count: Count | undefined
  readonly isWaiting: boolean
}

const askEveryMs = 10_000

interface SourcesTableProps {
  readonly id: string
  readonly sources: readonly Source[]
}

export function SourcesTable({ id, sources }: SourcesTableProps) {
  const answer = useAnswer([id], (api) => api.subscriptionCounts(id), { everyMs: askEveryMs })
  useShown(answer)
  const { data, error, again } = answer
  const isWaiting = data === undefined && error === undefined
  const rows = sources.flatMap((source): SourceRow[] => {
    const counts = data?.counts.filter(({ type }) => type === source.type) ?? []
    if (counts.length === 0) return [{ key: source.type, source, count: undefined, isWaiting }]
    return counts.map((count) => ({
      key: `${source.type} ${count.destination_id}`,
      source,
      count,
      isWaiting,
    }))
  })
  return (
    <>
      {error !== undefined && <Failure error={error} again={again} />}
      <Table
        label="Sources, with totals for each destination"
        rows={rows}
        columns={columns}
        keyOf={({ key }) => key}
        empty={<p>It has no source, so it makes no event.</p>}
      />
    </>
  )
}

/** A count that is missing is not zero. */
const numberOf =
  (text: (count: Count) => string) =>
  ({ count, isWaiting }: SourceRow) =>
    count ? text(count) : isWaiting ? <WaitsInLine /> : <>–</>

const columns: readonly Column<SourceRow>[] = [
  { title: 'Events', isMain: true, cell: ({ source: { type } }) => type },
  {
    title: 'For',
    cell: ({ count }) => (count === undefined ? '' : <Name id={count.destination_id} />),
  },
  { title: 'Produced', cell: numberOf(({ produced }) => number(produced)), isNumber: true },
  {
    title: 'Kept back',
    cell: numberOf(({ kept_back, looked_at }) => `${number(kept_back)} (${percent(kept_back, looked_at)})`),
    isNumber: true,
  },
  {
    title: 'Records asked about',
    cell: numberOf(({ looked_at }) => number(looked_at)),
    isNumber: true,
  },
  {
    title: 'Filter',
    cell: ({ source: { filter } }) =>
      filter === undefined ? <span class="quiet">none</span> : <code>{filter}</code>,
    isWide: true,
  },
  {
    title: 'Fields',
    cell: ({ source: { fields } }) =>
      fields === undefined ? (
        <span class="quiet">the default ones</span>
      ) : (
        <span title={fields.join(', ')}>{fields.length}</span>
      ),
  },
]
