/**
 * Brings the configuration bucket up to what ClickHouse holds: at every start, and when the bucket was made anew.
 *
 * - What the bucket lacks or has in an older version is written.
 * - What ClickHouse says is deleted is deleted, by compare-and-set. Nothing is deleted because it was not found.
 * - What the bucket has beyond ClickHouse is a contradiction that a person has to decide, unless an unfinished
 *   change explains it: unfinished changes are therefore carried out first.
 */

import { rulesChunkBytesMax, rulesPerChunkMax } from '../core/limits.js'
import { type Bucket, retried } from '../core/nats.js'
import type { AnyResource, Row } from '../resource/define.js'
import type { Head } from './change.js'
import type { Clickhouse } from './clickhouse.js'
import {
  type AccountState,
  generationOf,
  type Meta,
  metaKey,
  policyKind,
  type RulesChunk,
  rowKey,
  ruleKind,
  rulesKey,
  secretKey,
  stateKey,
} from './keys.js'
import { splitSecrets } from './sealed-values.js'
import { decodeRow, tableOf } from './tables.js'
import type { ViewState } from './view-state.js'

export interface Stored {
  readonly kind: string
  readonly row: Row
  readonly deleted: boolean
}

/** A head made anew starts this far above what ClickHouse has seen: versions of a lost head are never used again. */
const versionGap = 1_000

/** The last version of everything ClickHouse holds, tombstones included. */
export async function readStored(
  clickhouse: Clickhouse,
  resources: readonly AnyResource[],
): Promise<Stored[]> {
  const stored: Stored[] = []
  for (const resource of resources) {
    const rows = await clickhouse.rows<Record<string, unknown>>(
      `SELECT * FROM ${tableOf(resource.kind)} FINAL ORDER BY version DESC LIMIT 1 BY account_id, id`,
    )
    for (const encoded of rows) {
      stored.push({
        kind: resource.kind,
        row: decodeRow(resource, encoded),
        deleted: Boolean(encoded['deleted']),
      })
    }
  }
  return stored
}

export interface Mismatch {
  readonly kind: string
  readonly id: string
}

export interface Differences {
  readonly missing: readonly Stored[]
  readonly deleted: readonly Stored[]
  /** In the bucket, and unknown to ClickHouse or newer than what it has. */
  readonly ahead: readonly Mismatch[]
}

export function compare(stored: readonly Stored[], state: ViewState): Differences {
  const missing: Stored[] = []
  const deleted: Stored[] = []
  const ahead: Mismatch[] = []
  const known = new Map<string, number>()
  for (const entry of stored) {
    const there = state.rows.get(entry.kind)?.get(entry.row.id)
    known.set(`${entry.kind} ${entry.row.id}`, entry.row.version)
    if (entry.deleted) {
      if (there !== undefined && there.version <= entry.row.version) deleted.push(entry)
    } else if (there === undefined || there.version < entry.row.version) missing.push(entry)
  }
  for (const [kind, rows] of state.rows) {
    for (const row of rows.values()) {
      if ((known.get(`${kind} ${row.id}`) ?? -1) < row.version) ahead.push({ kind, id: row.id })
    }
  }
  return { missing, deleted, ahead }
}

export interface Buckets {
  readonly config: Bucket
  readonly secrets: Bucket
  readonly heads: Bucket
}

/** Writes what the bucket lacks; resolves with how many keys that took. */
export async function fill(
  buckets: Buckets,
  state: ViewState,
  differences: Differences,
  meta: Pick<Meta, 'deployment_id' | 'key_fingerprint'>,
): Promise<number> {
  const { missing, deleted } = differences
  let writes = 0
  for (const { kind, row } of missing.filter(({ kind }) => kind !== ruleKind)) {
    await fillRow(buckets, state, kind, row)
    writes += 1
  }
  const policies = new Set(
    [...missing, ...deleted].flatMap(({ kind, row }) =>
      kind === ruleKind ? [String(row['ip_policy_id'])] : [],
    ),
  )
  for (const policyId of policies) writes += await fillRules(buckets.config, state, policyId, differences)
  for (const { kind, row } of deleted.filter(({ kind }) => kind !== ruleKind)) {
    await retried(() => buckets.config.remove(rowKey(kind, row.id), state.revisionOfRow(kind, row.id)))
    writes += 1
  }
  if (writes === 0 && state.meta !== undefined) return 0
  const accounts = await fillStates(buckets, state, differences)
  const next: Meta = { ...meta, epoch: (state.meta?.epoch ?? 0) + 1, accounts }
  await buckets.config.put(metaKey, JSON.stringify(next))
  return writes + 1
}

async function fillRow(buckets: Buckets, state: ViewState, kind: string, row: Row): Promise<void> {
  const { open, secrets } = splitSecrets(kind, row)
  if (secrets !== undefined) await buckets.secrets.put(secretKey(kind, row.id), JSON.stringify(secrets))
  const generation = kind === policyKind ? generationOf(state.rows.get(kind)?.get(row.id)) : 0
  const value = generation === 0 ? open : { ...open, rules_generation: generation }
  await retried(() =>
    buckets.config.replace(rowKey(kind, row.id), JSON.stringify(value), state.revisionOfRow(kind, row.id)),
  )
}

/** The rules of a policy that lacks some, or has some too many, are written whole, into its present generation. */
async function fillRules(
  config: Bucket,
  state: ViewState,
  policyId: string,
  { missing, deleted }: Differences,
): Promise<number> {
  const generation = generationOf(state.rows.get(policyKind)?.get(policyId))
  const rules = new Map<string, Row>()
  let accountId = ''
  for (const rule of state.rules(policyId)?.rules ?? []) rules.set(rule.id, rule)
  for (const { kind, row } of deleted) if (kind === ruleKind) rules.delete(row.id)
  for (const { kind, row } of missing) {
    if (kind !== ruleKind || row['ip_policy_id'] !== policyId) continue
    rules.set(row.id, row)
  }
  for (const rule of rules.values()) accountId = rule.account_id
  const chunks = [...chunksOf([...rules.values()], accountId)]
  for (const [chunk, value] of chunks.entries()) {
    const revision = state.revisionOfChunk(policyId, generation, chunk)
    await retried(() =>
      config.replace(rulesKey(policyId, generation, chunk), JSON.stringify(value), revision),
    )
  }
  for (const chunk of state.chunks(policyId).keys()) {
    if (chunk < chunks.length) continue
    const revision = state.revisionOfChunk(policyId, generation, chunk)
    await retried(() => config.remove(rulesKey(policyId, generation, chunk), revision))
  }
  return chunks.length
}

/** Rules in chunks that fit a key. */
export function* chunksOf(rules: readonly Row[], accountId: string): Generator<RulesChunk> {
  let chunk: Row[] = []
  let bytes = 0
  for (const rule of rules) {
    const size = Buffer.byteLength(JSON.stringify(rule)) + 1
    if (chunk.length > 0 && (chunk.length >= rulesPerChunkMax || bytes + size > rulesChunkBytesMax)) {
      yield { account_id: accountId, rules: chunk }
      chunk = []
      bytes = 0
    }
    chunk.push(rule)
    bytes += size
  }
  if (chunk.length > 0) yield { account_id: accountId, rules: chunk }
}

/** Accounts' states and heads after a fill; resolves with the number of accounts. */
async function fillStates(
  buckets: Buckets,
  state: ViewState,
  { missing, deleted }: Differences,
): Promise<number> {
  const counts = new Map<string, Record<string, number>>()
  const versions = new Map<string, number>()
  const touched = new Set<string>()
  const count = (accountId: string, kind: string, by: number): void => {
    const ofAccount = counts.get(accountId) ?? state.countsOf(accountId)
    counts.set(accountId, ofAccount)
    ofAccount[kind] = (ofAccount[kind] ?? 0) + by
  }
  for (const { kind, row } of missing) {
    const isNew = state.rows.get(kind)?.has(row.id) !== true
    count(row.account_id, kind, isNew ? 1 : 0)
    versions.set(row.account_id, Math.max(versions.get(row.account_id) ?? 0, row.version))
    touched.add(row.account_id)
  }
  for (const { kind, row } of deleted) {
    count(row.account_id, kind, -1)
    versions.set(row.account_id, Math.max(versions.get(row.account_id) ?? 0, row.version))
    touched.add(row.account_id)
  }
  for (const accountId of touched) {
    const entry = await buckets.heads.get(accountId)
    const head =
      entry?.value === undefined ? undefined : (JSON.parse(Buffer.from(entry.value).toString()) as Head)
    const known = Math.max(state.accounts.get(accountId)?.version ?? 0, versions.get(accountId) ?? 0)
    const version = head?.version ?? known + versionGap
    if (head === undefined) {
      const made: Head = { version, change: null }
      await retried(() => buckets.heads.replace(accountId, JSON.stringify(made), entry?.revision ?? 0))
    }
    const kept = Object.entries(counts.get(accountId) ?? {}).filter(([, rows]) => rows > 0)
    const next: AccountState = { version, counts: Object.fromEntries(kept) }
    await buckets.config.put(stateKey(accountId), JSON.stringify(next))
  }
  return new Set([...state.accounts.keys(), ...touched]).size
}
