/** Named lists of addresses: what is in each, where it comes from, and who uses it. */
import type { PageProps } from '../parts/page-props.js'
import { ListTable } from './ip-lists/list-table.js'
import { ListView } from './ip-lists/list-view.js'
import { ReplaceEntries } from './ip-lists/replace-entries.js'

/** `ip-lists`, `ip-lists/<list>`, `ip-lists/<list>/entries`. */
export function IpLists({ rest: [id, second] }: PageProps) {
  if (id === undefined) return <ListTable />
  if (second === 'entries') return <ReplaceEntries key={id} id={id} />
  return <ListView key={id} id={id} />
}
