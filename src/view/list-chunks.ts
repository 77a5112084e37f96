/** The parts of IP lists in a state: see `resource/ip-list.ts`. */
import { unpackText } from '../core/packed-text.js'
import type { DeclaredRow } from '../resource/registry.js'
import type { ViewState } from './view-state.js'

export const listKind = 'ip_list'
export const listChunkKind = 'ip_list_chunk'

/** Far above what Weir cuts. */
const chunkBytesMax = 4 * 1024 * 1024

export type ListRow = DeclaredRow<'ip_list'>
export type ListChunk = DeclaredRow<'ip_list_chunk'>

/** The lines of a part. */
export const textOfChunk = ({ data }: Pick<ListChunk, 'data'>): string =>
  unpackText(data ?? '', chunkBytesMax)

export const chunkIn = (state: ViewState, id: string): ListChunk | undefined =>
  state.rows.get(listChunkKind)?.get(id) as ListChunk | undefined

/** The parts of a list, in their order; undefined if one is missing, as may be while an account is being repaired. */
export function chunksOfList(state: ViewState, { chunks }: Pick<ListRow, 'chunks'>): ListChunk[] | undefined {
  const found = chunks.map((id) => chunkIn(state, id))
  return found.every((chunk) => chunk !== undefined) ? found : undefined
}
