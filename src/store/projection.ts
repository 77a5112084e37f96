/**
 * Writes changes into the configuration bucket.
 *
 * Every write names the revision it replaces. A writer that was overtaken (it stalled, somebody else finished its
 * change, and another change followed) therefore fails, looks at the account's state, and finds itself done.
 */

import { WeirError } from '../core/errors.js'
import { projectedValueBytesMax, rulesChunkBytesMax, rulesPerChunkMax } from '../core/limits.js'
import { type Bucket, type BucketEntry, retried } from '../core/nats.js'
import type { Row } from '../resource/define.js'
import { resourceOf } from '../resource/registry.js'
import type { Change, Put } from './change.js'
import {
  type AccountState,
  generationOf,
  policyKind,
  type RulesChunk,
  rowKey,
  ruleKind,
  rulesKey,
  type SecretsEntry,
  secretKey,
  stateKey,
} from './keys.js'
import { sealedFields, splitSecrets } from './sealed-values.js'
import type { View } from './view.js'
import type { ViewState } from './view-state.js'

const decode = <T>(value: Uint8Array): T => JSON.parse(Buffer.from(value).toString()) as T

/** Refuses what would not fit the bucket, before it is committed. */
export function checkProjectedSize(put: Put, bytesMax = projectedValueBytesMax): void {
  const bytes = Buffer.byteLength(JSON.stringify(put.row))
  if (bytes <= bytesMax) return
  throw new WeirError(
    'ERR_INVALID_REQUEST',
    `The ${resourceOf(put.kind).title} has ${bytes} bytes as JSON: at most ${bytesMax} are allowed.`,
  )
}

export class Projection {
  readonly #config: Bucket
  readonly #secrets: Bucket
  readonly #view: View

  constructor(config: Bucket, secrets: Bucket, view: View) {
    this.#config = config
    this.#secrets = secrets
    this.#view = view
  }

  /** Makes the bucket say what the change says. */
  async apply(accountId: string, version: number, change: Change): Promise<void> {
    const done = async (): Promise<boolean> => (await this.#versionOf(accountId)) >= version
    if ((this.#view.state.accounts.get(accountId)?.version ?? 0) >= version) return
    const rows = change.puts.filter(({ kind }) => kind !== ruleKind)
    await Promise.all(rows.map(({ kind, row }) => this.#putSecrets(kind, row, done)))
    await Promise.all(rows.map(({ kind, row }) => this.#putRow(kind, row, done)))
    await this.#applyRules(accountId, version, change, done)
    const removals = change.removals.filter(({ kind }) => kind !== ruleKind)
    await Promise.all(removals.map(({ kind, row }) => this.#removeRow(kind, row.id, done)))
    await Promise.all(change.emptiedPolicies.map((policyId) => this.#removeChunks(policyId, done)))
    await this.#putState(accountId, { version, counts: change.counts })
  }

  async #versionOf(accountId: string): Promise<number> {
    const entry = await this.#config.get(stateKey(accountId))
    return entry?.value === undefined ? 0 : decode<AccountState>(entry.value).version
  }

  /**
   * Replaces a key, whatever it holds, by what `next` makes of it; `next` answers undefined where there is nothing
   * to do. Gives up where the change turns out to be finished.
   */
  async #replace(
    bucket: Bucket,
    key: string,
    known: BucketEntry,
    next: (current: Uint8Array | undefined) => string | undefined,
    done: () => Promise<boolean>,
  ): Promise<void> {
    for (let current = known; ; ) {
      const value = next(current.value)
      if (value === undefined) return
      const stored = await retried(() => bucket.replace(key, value, current.revision))
      if (stored !== undefined) return
      current = (await bucket.get(key)) ?? { key, revision: 0, value: undefined }
      if (await done()) return
    }
  }

  #putRow(kind: string, row: Row, done: () => Promise<boolean>): Promise<void> {
    const { state } = this.#view
    const key = rowKey(kind, row.id)
    const { open } = splitSecrets(kind, row)
    const next = (current: Uint8Array | undefined): string | undefined => {
      if (current === undefined) return JSON.stringify(open)
      const there = decode<Row>(current)
      if (there.version >= row.version) return undefined
      // A policy's row carries the generation of its rules, which is the bucket's own business.
      const generation = generationOf(there)
      return JSON.stringify(generation === 0 ? open : { ...open, rules_generation: generation })
    }
    const known = state.rows.get(kind)?.get(row.id)
    const value = known === undefined ? undefined : Buffer.from(JSON.stringify(known))
    return this.#replace(
      this.#config,
      key,
      { key, revision: state.revisionOfRow(kind, row.id), value },
      next,
      done,
    )
  }

  async #putSecrets(kind: string, row: Row, done: () => Promise<boolean>): Promise<void> {
    const { secrets } = splitSecrets(kind, row)
    if (secrets === undefined) return
    const key = secretKey(kind, row.id)
    const known = (await this.#secrets.get(key)) ?? { key, revision: 0, value: undefined }
    const next = (current: Uint8Array | undefined): string | undefined =>
      current !== undefined && decode<SecretsEntry>(current).version >= row.version
        ? undefined
        : JSON.stringify(secrets)
    await this.#replace(this.#secrets, key, known, next, done)
  }

  async #removeRow(kind: string, id: string, done: () => Promise<boolean>): Promise<void> {
    await this.#remove(this.#config, rowKey(kind, id), done)
    if (sealedFields(kind).length > 0) {
      await this.#remove(this.#secrets, secretKey(kind, id), done)
    }
  }

  async #remove(bucket: Bucket, key: string, done: () => Promise<boolean>): Promise<void> {
    for (;;) {
      const current = await bucket.get(key)
      if (current?.value === undefined) return
      if (await retried(() => bucket.remove(key, current.revision))) return
      if (await done()) return
    }
  }

  async #applyRules(
    accountId: string,
    version: number,
    change: Change,
    done: () => Promise<boolean>,
  ): Promise<void> {
    const put = change.puts.flatMap(({ kind, row }) => (kind === ruleKind ? [row] : []))
    const removed = change.removals.flatMap(({ kind, row }) => (kind === ruleKind ? [row] : []))
    const policies = new Set([...put, ...removed].map((rule) => String(rule['ip_policy_id'])))
    for (const policyId of policies) {
      const ofPolicy = (rule: Row): boolean => rule['ip_policy_id'] === policyId
      await this.#changeChunks(
        accountId,
        policyId,
        version,
        put.filter(ofPolicy),
        removed.filter(ofPolicy),
        done,
      )
    }
  }

  async #changeChunks(
    accountId: string,
    policyId: string,
    version: number,
    put: readonly Row[],
    removed: readonly Row[],
    done: () => Promise<boolean>,
  ): Promise<void> {
    const { state } = this.#view
    const generation = generationOf(state.rows.get(policyKind)?.get(policyId))
    for (const [chunk, { rules, gone }] of placeRules(state, policyId, put, removed)) {
      const key = rulesKey(policyId, generation, chunk)
      const known = state.chunks(policyId).get(chunk)
      const entry = {
        key,
        revision: state.revisionOfChunk(policyId, generation, chunk),
        value: known === undefined ? undefined : Buffer.from(JSON.stringify(known)),
      }
      const next = (current: Uint8Array | undefined): string =>
        JSON.stringify(changedChunk(accountId, version, current, rules, gone))
      await this.#replace(this.#config, key, entry, next, done)
    }
  }

  async #removeChunks(policyId: string, done: () => Promise<boolean>): Promise<void> {
    const keys = [...this.#view.state.revisions.keys()].filter((key) => key.startsWith(`rules.${policyId}.`))
    for (const key of keys) await this.#remove(this.#config, key, done)
  }

  /** The account's version moves last: a view that has seen it has seen everything before. */
  async #putState(accountId: string, next: AccountState): Promise<void> {
    const key = stateKey(accountId)
    const at = this.#view.state
    const known = at.accounts.get(accountId)
    const entry = {
      key,
      revision: at.revisions.get(key) ?? 0,
      value: known === undefined ? undefined : Buffer.from(JSON.stringify(known)),
    }
    const value = (current: Uint8Array | undefined): string | undefined =>
      current !== undefined && decode<AccountState>(current).version >= next.version
        ? undefined
        : JSON.stringify(next)
    await this.#replace(this.#config, key, entry, value, async () => false)
  }
}

interface ChunkChange {
  readonly rules: Row[]
  readonly gone: Set<string>
}

/** Which chunk each rule is put into or taken out of: its own, else the last one with room, else a new one. */
function placeRules(
  state: ViewState,
  policyId: string,
  put: readonly Row[],
  removed: readonly Row[],
): Map<number, ChunkChange> {
  const changes = new Map<number, ChunkChange>()
  const changeOf = (chunk: number): ChunkChange => {
    let change = changes.get(chunk)
    if (change === undefined) changes.set(chunk, (change = { rules: [], gone: new Set() }))
    return change
  }
  for (const rule of removed) {
    const chunk = state.chunkOf(rule.id)
    if (chunk !== undefined) changeOf(chunk).gone.add(rule.id)
  }
  const room = new ChunkRoom(state.chunks(policyId))
  for (const rule of put) changeOf(state.chunkOf(rule.id) ?? room.take(rule)).rules.push(rule)
  return changes
}

/** Room in the last chunk of a policy. */
class ChunkRoom {
  #chunk: number
  #rules: number
  #bytes: number

  constructor(chunks: ReadonlyMap<number, RulesChunk>) {
    this.#chunk = Math.max(0, ...chunks.keys())
    const last = chunks.get(this.#chunk)?.rules ?? []
    this.#rules = last.length
    this.#bytes = Buffer.byteLength(JSON.stringify(last))
  }

  take(rule: Row): number {
    const bytes = Buffer.byteLength(JSON.stringify(rule)) + 1
    if (this.#rules >= rulesPerChunkMax || this.#bytes + bytes > rulesChunkBytesMax) {
      this.#chunk += 1
      this.#rules = 0
      this.#bytes = 0
    }
    this.#rules += 1
    this.#bytes += bytes
    return this.#chunk
  }
}

function changedChunk(
  accountId: string,
  version: number,
  current: Uint8Array | undefined,
  rules: readonly Row[],
  gone: ReadonlySet<string>,
): RulesChunk {
  const before = current === undefined ? [] : decode<RulesChunk>(current).rules
  const put = new Map(rules.map((rule) => [rule.id, rule]))
  const kept = before.filter((rule) => !put.has(rule.id) && !(gone.has(rule.id) && rule.version < version))
  return { account_id: accountId, rules: [...kept, ...rules] }
}
