/** The entries of an IP list, and those that contain an address. */

import type { Resource } from '../../../../words/client/kinds.js'
import type { IpListEntry } from '../../../../words/shape/ip-lists/ip-list-entries.js'
import { useMore } from '../../data/asking/more.js'
import { parameter } from '../../data/location.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { CoversField } from '../../parts/forms/covers-field.js'
import { Listing } from '../../parts/listing.js'
import { Empty } from '../../parts/states.js'

const columns: readonly Column<IpListEntry>[] = [
  { title: 'Range', isMain: true, cell: ({ cidr }) => <span class="mono">{cidr}</span> },
  { title: 'Comment', isWide: true, cell: ({ comment }) => comment ?? '' },
  {
    title: 'Expires',
    cell: ({ expires_at }) => (expires_at === null ? '' : <Time at={expires_at} isRelative />),
  },
]

const step = 100

export function Entries({ list: { id, entries: count, updated_at } }: { readonly list: Resource<'ipList'> }) {
  const covers = parameter('covers')
  const entries = useMore(
    [id, covers, updated_at],
    (client) => client.listEntries.list(id, covers === '' ? {} : { covers }),
    step,
  )
  return (
    <section class="stack" aria-labelledby="entries">
      <div class="row apart">
        <h2 id="entries">Entries</h2>
        {count > 0 && (
          <CoversField
            label="Is this address or range on the list?"
            placeholder="is it on the list … 203.0.113.97"
          />
        )}
      </div>
      <Listing answer={entries}>
        {(found) => (
          <Table
            label="Entries in their order"
            rows={found}
            columns={columns}
            keyOf={({ cidr, comment }) => `${cidr} ${comment}`}
            empty={<NoEntries covers={covers} />}
          />
        )}
      </Listing>
    </section>
  )
}

const NoEntries = ({ covers }: { readonly covers: string }) =>
  covers === '' ? (
    <Empty>The list has no entries: no address is on it.</Empty>
  ) : (
    <Empty>
      <span class="mono">{covers}</span> is not on the list.
    </Empty>
  )
