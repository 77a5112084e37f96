/** Names in the records of the last day that no edge serves: what one's proxy really sends. */
import type { Client } from '../../../../../words/client/client.js'
import type { Attention } from '../../../../../words/shape/overview.js'

type UnservedName = Attention['names'][number]

/** Those that such an edge could serve, the most frequent first. */
export async function unservedNames(client: Client, type: UnservedName['type']): Promise<UnservedName[]> {
  const { attention } = await client.overview()
  return attention
    .filter((each) => each.type === 'unserved_names')
    .flatMap(({ names }) => names)
    .filter((name) => name.type === type && name.server_name !== null && name.server_port !== null)
}
