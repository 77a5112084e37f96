/** All IP lists: category, size, and whether their sources can be fetched. */

import type { Resource } from '../../../../words/client/kinds.js'
import { may } from '../../data/access/session.js'
import { useMore } from '../../data/asking/more.js'
import { go, hrefTo } from '../../data/location.js'
import { number } from '../../data/texts/format.js'
import { Link } from '../../kit/link.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { Listing } from '../../parts/listing.js'
import { Empty } from '../../parts/states.js'
import { SourceState } from './list-source.js'

type List = Resource<'ipList'>

const columns: readonly Column<List>[] = [
  {
    title: 'Name',
    isMain: true,
    cell: ({ id, name }) => (
      <Link to={['ip-lists', id]} title={id}>
        {name}
      </Link>
    ),
  },
  { title: 'Category', cell: ({ category }) => category ?? '' },
  { title: 'Entries', isNumber: true, cell: ({ entries }) => number(entries) },
  { title: 'Source', cell: (list) => <SourceState list={list} /> },
  {
    title: 'Changed',
    cell: ({ updated_at }) =>
      updated_at === null ? <span class="quiet">never</span> : <Time at={updated_at} isRelative />,
  },
  { title: 'Description', isWide: true, cell: ({ description }) => description ?? '' },
]

const step = 100

export function ListTable() {
  const lists = useMore([], (client) => client.ipList.list({ limit: step }), step)
  return (
    <div class="stack">
      <div class="row apart">
        <h1>IP lists</h1>
        {may('write') && (
          <Link class="button main" to={['ip-lists', 'new']}>
            New IP list
          </Link>
        )}
      </div>
      <Listing answer={lists}>
        {(entries) => (
          <Table
            label="IP lists, newest first"
            rows={entries}
            columns={columns}
            keyOf={({ id }) => id}
            onOpen={({ id }) => go(hrefTo(['ip-lists', id]))}
            empty={<NoLists />}
          />
        )}
      </Listing>
    </div>
  )
}

const NoLists = () => (
  <Empty>
    <p>
      There is no IP list yet. It is a named list of addresses, set by hand or fetched from a source, that
      rules of IP policies and expressions use.
    </p>
    {may('write') && <Link to={['ip-lists', 'new']}>Create the first list</Link>}
  </Empty>
)
