/** The sources of a subscription: what they make, and what they keep back. */
import type { Source } from '../../../client/client.js'
import type { SubscriptionCounts } from '../../../shape/subscription-counts.js'
import { useAnswer } from '../../data/asking/api.js'
import { number, percent } from '../../data/texts/format.js'
import { Name } from '../../parts/name.js'
import { Failure } from '../../parts/states.js'
import { type Column, Table } from '../../parts/tables/table.js'

type Count = SubscriptionCounts['counts'][number]

interface SourceRow {
  readonly key: string
  readonly source: Source
  /** For one destination; undefined if it has had no record yet. */
  readonly count: Count | undefined
}

const askEveryMs = 10_000

interface SourcesTableProps {
  readonly id: string
  readonly sources: readonly Source[]
}

export function SourcesTable({ id, sources }: SourcesTableProps) {
  const { data, error } = useAnswer([id], (api) => api.subscriptionCounts(id), { everyMs: askEveryMs })
  const rows = sources.flatMap((source): SourceRow[] => {
    const counts = data?.counts.filter(({ type }) => type === source.type) ?? []
    if (counts.length === 0) return [{ key: source.type, source, count: undefined }]
    return counts.map((count) => ({ key: `${source.type} ${count.destination_id}`, source, count }))
  })
  return (
    <>
      {error !== undefined && <Failure error={error} />}
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

const columns: readonly Column<SourceRow>[] = [
  { title: 'Events', cell: ({ source: { type } }) => type },
  {
    title: 'For',
    cell: ({ count }) => (count === undefined ? '' : <Name id={count.destination_id} />),
    isExtra: true,
  },
  { title: 'Produced', cell: ({ count }) => (count ? number(count.produced) : '–'), isNumber: true },
  {
    title: 'Kept back',
    cell: ({ count }) =>
      count ? `${number(count.kept_back)} (${percent(count.kept_back, count.looked_at)})` : '–',
    isNumber: true,
  },
  {
    title: 'Records asked about',
    cell: ({ count }) => (count ? number(count.looked_at) : '–'),
    isNumber: true,
    isExtra: true,
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
    isExtra: true,
  },
]
