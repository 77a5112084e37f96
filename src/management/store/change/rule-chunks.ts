/**
 * The rules of an IP policy are stored in chunks: keys of the bucket with so few rules that even the largest possible ones
 * fit a message. A set of chunks is a generation, and the policy's row names the generation that counts.
 *
 * Chunks and generations are two mechanisms because there are two sizes of change:
 * - An edit of single rules (`placeRules`, `editedChunk`) rewrites the chunks of these rules in the generation that counts.
 *   It costs a chunk, however many rules there are. Each write gives the same result when it is repeated, and the account's
 *   version is written last, so an edit that was killed is finished by the next process.
 * - A replacement of all rules (`store/replace-rules.ts`), and a repair (`store/repair.ts`), write a new generation next to
 *   the one that counts and then name it. A reader gets the keys one at a time, and up to 3,125 of them: it sees all old rules
 *   until the row arrives, and then all new ones. The rules of a replacement do not fit the head either, so they are stored
 *   before the commit; a writer that is killed before it leaves a generation that never counts, and that others delete.
 *
 * Immutable chunks alone, listed in the row by their hashes, would do without generations. They were not built: an edit of
 * one rule of 100,000 would rewrite a row of 75 KiB; chunks that no row lists would need a collector that spares those of a
 * write under way; and processes of an earlier version could not read the rules, which ends rolling upgrades.
 *
 * The tests that show it are in test/management/store: `kill` (an edit or a replacement that is killed at each write),
 * `replace-rules` (all old or all new rules; staged rules of a dead process), `repaired` (a killed repair is continued) and
 * `two-processes` (edits during a replacement).
 */
import { getOrMake } from '../../../ground/core/maps.js'
import { Slices } from '../../../ground/core/slices.js'
import type { Row } from '../../../words/resource/kind/define.js'
import { type RulesChunk, ruleKind } from '../../../words/view/keys.js'
import type { ViewState } from '../../../words/view/view-state.js'
import type { ChunkChange, Put, Removal } from './change.js'
import type { ReplacedRules } from './change-rows.js'

/**
 * Rules of one IP policy that share a key of the bucket: a change rewrites one such chunk. A rule has at most 4.3 KiB
 * of text, 26 KiB if JSON escapes all of it, and a chunk must fit a NATS message of 1 MiB.
 */
export const rulesPerChunkMax = 32

interface Edit {
  readonly put: string[]
  readonly gone: string[]
}

/** The chunk of each rule that is put or removed: its present one, else the last one if it has room, else a new one. */
export function placeRules(
  state: ViewState,
  puts: readonly Put[],
  removals: readonly Removal[],
): ChunkChange[] {
  const policies = new Map<string, { put: Row[]; removed: Row[] }>()
  const ofPolicy = (rule: Row) =>
    getOrMake(policies, String(rule['ip_policy_id']), () => ({ put: [], removed: [] }))
  for (const { kind, row } of puts) if (kind === ruleKind) ofPolicy(row).put.push(row)
  for (const { kind, row } of removals) if (kind === ruleKind) ofPolicy(row).removed.push(row)
  return [...policies].flatMap(([policyId, { put, removed }]) => placeInPolicy(state, policyId, put, removed))
}

function placeInPolicy(
  state: ViewState,
  policyId: string,
  put: readonly Row[],
  removed: readonly Row[],
): ChunkChange[] {
  const edits = new Map<number, Edit>()
  const editOf = (chunk: number): Edit => getOrMake(edits, chunk, () => ({ put: [], gone: [] }))
  for (const { id } of removed) {
    const chunk = state.chunkOf(id)
    if (chunk !== undefined) editOf(chunk).gone.push(id)
  }
  const chunks = state.chunks(policyId)
  let last = Math.max(0, ...chunks.keys())
  let inLast = chunks.get(last)?.rules.length ?? 0
  for (const { id } of put) {
    const known = state.chunkOf(id)
    if (known === undefined && inLast >= rulesPerChunkMax) {
      last += 1
      inLast = 0
    }
    if (known === undefined) inLast += 1
    editOf(known ?? last).put.push(id)
  }
  const generation = state.generationOf(policyId)
  return [...edits].map(([chunk, edit]) => ({ policyId, generation, chunk, ...edit }))
}

/** The chunk after a change; equal to `before` if the change is in it already. */
export function editedChunk(
  accountId: string,
  before: RulesChunk | undefined,
  put: readonly Row[],
  gone: readonly string[],
): RulesChunk {
  const replaced = new Set([...put.map(({ id }) => id), ...gone])
  const kept = (before?.rules ?? []).filter(({ id }) => !replaced.has(id))
  return { account_id: accountId, rules: [...kept, ...put] }
}

/** Cuts rules into chunks that fit a key. */
export function* chunksOf(rules: readonly Row[], accountId: string): Generator<RulesChunk> {
  for (let index = 0; index < rules.length; index += rulesPerChunkMax) {
    yield { account_id: accountId, rules: rules.slice(index, index + rulesPerChunkMax) }
  }
}

/** Are these the staged rules: the right number, and none of a later change? */
export function isStagedFor(staged: readonly RulesChunk[], count: number, version: number): boolean {
  let found = 0
  for (const { rules } of staged) {
    if (rules.some((rule) => rule.version > version)) return false
    found += rules.length
  }
  return found === count
}

/** Adds the rules that are put and removed if `staged` replaces `present`; with pauses, as there may be very many. */
export async function addReplaced(
  replaced: ReplacedRules,
  present: readonly RulesChunk[],
  staged: readonly RulesChunk[],
  version: number,
): Promise<void> {
  const slices = new Slices()
  const kept = new Set<string>()
  for (const { rules } of staged) {
    if (slices.isDue()) await slices.pause()
    for (const rule of rules) {
      if (rule.version === version) replaced.put.push(rule)
      kept.add(rule.id)
    }
  }
  for (const { rules } of present) {
    if (slices.isDue()) await slices.pause()
    for (const rule of rules) if (!kept.has(rule.id)) replaced.removed.push(rule)
  }
}
