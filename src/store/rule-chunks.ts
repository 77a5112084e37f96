/**
 * The rules of an IP policy lie in chunks that fit a key of the bucket: a change of one rule rewrites one chunk. A
 * chunk holds so few rules that the largest there can be still fit a message.
 */

import { rulesPerChunkMax } from '../core/limits.js'
import { getOrMake } from '../core/maps.js'
import { Slices } from '../core/slices.js'
import type { Row } from '../resource/define.js'
import { type RulesChunk, ruleKind } from '../view/keys.js'
import type { ViewState } from '../view/view-state.js'
import type { ChunkChange, Put, Removal } from './change.js'
import type { ReplacedRules } from './change-rows.js'

interface Edit {
  readonly put: string[]
  readonly gone: string[]
}

/** Which chunk each rule is put into or taken out of: its own, else the last one with room, else a new one. */
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

/** The chunk as it is after a change; the same when the change is in it already. */
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

/** Rules in chunks that fit a key. */
export function* chunksOf(rules: readonly Row[], accountId: string): Generator<RulesChunk> {
  for (let at = 0; at < rules.length; at += rulesPerChunkMax) {
    yield { account_id: accountId, rules: rules.slice(at, at + rulesPerChunkMax) }
  }
}

/** Are these the rules that were staged: so many, and none of a later change? */
export function isStagedFor(staged: readonly RulesChunk[], count: number, version: number): boolean {
  let found = 0
  for (const { rules } of staged) {
    if (rules.some((rule) => rule.version > version)) return false
    found += rules.length
  }
  return found === count
}

/** Adds what is put and taken away where `staged` comes for `present`, in slices: they may be very many. */
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
