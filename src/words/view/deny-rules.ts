/** The bans of IP policies, by chunks of rules, each of which is counted once: it does not change. */
import { isBan } from '../resource/bouncers/ban-count.js'
import type { PolicyBans } from '../resource/kind/define.js'
import type { RulesChunk } from './keys.js'
import type { ViewState } from './view-state.js'

interface ChunkBans {
  readonly ranges: number
  readonly listIds: readonly string[]
  /** The version of the account with the latest change of a rule. */
  readonly version: number
}

const counted = new WeakMap<RulesChunk, ChunkBans>()

function bansIn(chunk: RulesChunk): ChunkBans {
  const known = counted.get(chunk)
  if (known !== undefined) return known
  const listIds: string[] = []
  let [ranges, version] = [0, 0]
  for (const rule of chunk.rules) {
    version = Math.max(version, rule.version)
    if (!isBan(rule)) continue
    if (rule['list_id']) listIds.push(String(rule['list_id']))
    else ranges += 1
  }
  const found = { ranges, listIds, version }
  counted.set(chunk, found)
  return found
}

/** The bans of a policy, and the version of the account with the latest change of its rules. */
export function policyBansOf(
  state: Pick<ViewState, 'chunks'>,
  policyId: string,
): PolicyBans & { readonly listIds: ReadonlySet<string>; readonly version: number } {
  const listIds = new Set<string>()
  let [ranges, version] = [0, 0]
  for (const chunk of state.chunks(policyId).values()) {
    const bans = bansIn(chunk)
    ranges += bans.ranges
    version = Math.max(version, bans.version)
    for (const id of bans.listIds) listIds.add(id)
  }
  return { ranges, listIds, version }
}
