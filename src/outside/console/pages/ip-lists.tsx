/** Named lists of addresses: what is in each, where it comes from, and who uses it. */
import { onDemand } from '../parts/on-demand.js'
import type { PageProps } from '../parts/page.js'
import { ListTable } from './ip-lists/list-table.js'
import { ListView } from './ip-lists/list-view.js'
import { ReplaceEntries } from './ip-lists/replace-entries.js'

const NewList = onDemand(async () => (await import('./ip-lists/new/flow.js')).NewList)

/** `ip-lists`, `ip-lists/new`, `ip-lists/<list>`, `ip-lists/<list>/entries`. */
export function IpLists({ rest: [id, second] }: PageProps) {
  if (id === undefined) return <ListTable />
  if (id === 'new') return <NewList />
  if (second === 'entries') return <ReplaceEntries key={id} id={id} />
  return <ListView key={id} id={id} />
}
