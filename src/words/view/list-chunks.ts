/** The parts of IP lists in a state: see `resource/ip-list.ts`. */
import { unpackText } from '../../ground/core/text/packed-text.js'
import type { Row } from '../resource/kind/define.js'
import type { DeclaredRow } from '../resource/registry.js'

export const listKind = 'ip_list'
export const listChunkKind = 'ip_list_chunk'

/** A state of the configuration. */
interface State {
  readonly rows: ReadonlyMap<string, ReadonlyMap<string, Row>>
}

/** Far above what Weir cuts. */
const chunkBytesMax = 4 * 1024 * 1024

export type ListRow = DeclaredRow<'ip_list'>
export type ListChunk = DeclaredRow<'ip_list_chunk'>

/** The lines of a part. */
export const textOfChunk = ({ data }: Pick<ListChunk, 'data'>): string =>
  unpackText(data ?? '', chunkBytesMax)

export const chunkIn = (state: State, id: string): ListChunk | undefined =>
  state.rows.get(listChunkKind)?.get(id) as ListChunk | undefined

/** How the text of a part is read, now or later; undefined if there is no such part. */
export function readerOfChunk(state: State, id: string): (() => string) | undefined {
  const chunk = chunkIn(state, id)
  return chunk && (() => textOfChunk(chunk))
}

/** The parts of a list, in their order; undefined if one is missing, as may be while an account is being repaired. */
export function chunksOfList(state: State, { chunks }: Pick<ListRow, 'chunks'>): ListChunk[] | undefined {
  const found = chunks.map((id) => chunkIn(state, id))
  return found.every((chunk) => chunk !== undefined) ? found : undefined
}
