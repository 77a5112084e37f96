/** All IP lists: category, size, and whether their sources can be fetched. */
import type { Resource } from '../../../client/kinds.js'
import { useMore } from '../../data/asking/more.js'
import { go, hrefTo, parameter, setParameters } from '../../data/location.js'
import { number } from '../../data/texts/format.js'
import { EditButton } from '../../parts/button.js'
import { Link } from '../../parts/link.js'
import { Answered, Command, Empty } from '../../parts/states.js'
import { type Column, Table } from '../../parts/tables/table.js'
import { Time } from '../../parts/time.js'
import { SourceState } from './list-source.js'
import { NewList } from './new-list.js'

type List = Resource<'ipList'>

const columns: readonly Column<List>[] = [
  {
    title: 'Name',
    cell: ({ id, name }) => (
      <Link to={['ip-lists', id]} title={id}>
        {name}
      </Link>
    ),
  },
  { title: 'Category', cell: ({ category }) => category ?? '', isExtra: true },
  { title: 'Entries', isNumber: true, cell: ({ entries }) => number(entries) },
  { title: 'Source', cell: (list) => <SourceState list={list} /> },
  {
    title: 'Changed',
    cell: ({ updated_at }) =>
      updated_at === null ? <span class="quiet">never</span> : <Time at={updated_at} isRelative />,
  },
  { title: 'Description', isExtra: true, isWide: true, cell: ({ description }) => description ?? '' },
]

const step = 100

export function ListTable() {
  const lists = useMore([], (client) => client.ipList.list({ limit: step }), step)
  return (
    <div class="stack">
      <div class="row apart">
        <h1>IP lists</h1>
        <EditButton onClick={() => setParameters({ new: 'list' })}>New IP list</EditButton>
      </div>
      <Answered answer={lists}>
        {({ entries, hasMore }) => (
          <>
            <Table
              label="IP lists, newest first"
              rows={entries}
              columns={columns}
              keyOf={({ id }) => id}
              onOpen={({ id }) => go(hrefTo(['ip-lists', id]))}
              empty={<NoLists />}
            />
            {hasMore && (
              <button type="button" class="start" onClick={() => void lists.more()}>
                More
              </button>
            )}
          </>
        )}
      </Answered>
      {parameter('new') === 'list' && <NewList onClose={() => setParameters({ new: '' })} />}
    </div>
  )
}

const NoLists = () => (
  <Empty>
    <p>
      There is no IP list yet. It is a named list of addresses, set by hand or fetched from a source, that
      rules of IP policies and expressions use.
    </p>
    <p>Switch on “edit” and make one here, or by the API:</p>
    <Command text={'POST /ip_lists {"name": "tor-exits", "category": "proxy.tor"}'} />
  </Empty>
)
