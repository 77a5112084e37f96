/** The sources of a subscription, as a table. */
import type { Source } from '../../../client/client.js'
import type { Column } from '../../parts/table.js'

export const sourceColumns: readonly Column<Source>[] = [
  { title: 'Events', cell: ({ type }) => type },
  {
    title: 'Fields',
    cell: ({ fields }) =>
      fields === undefined ? (
        <span class="quiet">the default ones</span>
      ) : (
        <span class="mono">{fields.join(', ')}</span>
      ),
    isWide: true,
  },
  {
    title: 'Filter',
    cell: ({ filter }) => (filter === undefined ? <span class="quiet">none</span> : <code>{filter}</code>),
  },
]
