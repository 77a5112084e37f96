/** Names from before overlapping ones were refused. */
import { now } from '../../src/ground/core/clock.js'
import { cli } from '../../src/management/write/accounts.js'
import type { StoreParts } from '../../src/roles/store-parts.js'
import { resourceOf } from '../../src/words/resource/registry.js'

/** Creates a resource with names that are not looked at; resolves with its id. */
export async function createUnclaimed(
  { store, writes }: Pick<StoreParts, 'store' | 'writes'>,
  accountId: string,
  kind: 'tcp_edge' | 'https_edge' | 'domain',
  values: Readonly<Record<string, unknown>>,
): Promise<string> {
  const caller = { accountId, accountName: 'before', principal: cli, address: undefined }
  const plan = await writes.create(caller, resourceOf(kind), values, now())
  const { row } = await store.commit(accountId, cli, (...planned) => ({ ...plan(...planned), claims: [] }))
  return row.id
}
