/** Finds API keys by their tokens, of which only hashes are stored. */
import { timingSafeEqual } from 'node:crypto'
import { hashToken } from '../../core/ids.js'
import { getOrMake } from '../../core/maps.js'
import type { Row } from '../../resource/define.js'
import type { View } from '../../view/view.js'

export type KeyFinder = (token: string) => readonly Row[]

/** Finds rows by the hash of a token: one, unless the bucket contains a forged row. */
export function keyFinder(view: View): KeyFinder {
  /** Rebuilt when a key changes. */
  let byHash: Map<string, Row[]> | undefined
  view.onChange((kind) => {
    if (kind === 'api_key' || kind === '*') byHash = undefined
  })
  return (token) => {
    const hash = hashToken(token)
    if (byHash === undefined) {
      byHash = new Map()
      for (const row of view.state.rows.get('api_key')?.values() ?? [])
        getOrMake(byHash, String(row['token_hash']), () => []).push(row)
    }
    // The lookup compared hashes already; this comparison takes constant time.
    const isSame = (key: Row) => timingSafeEqual(Buffer.from(hash), Buffer.from(String(key['token_hash'])))
    return (byHash.get(hash) ?? []).filter(isSame)
  }
}
