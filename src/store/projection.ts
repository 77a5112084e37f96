/**
 * Writes changes into the configuration bucket, key by key; the account's version moves last, so that a view that
 * has seen it has seen everything before. A change may be written several times, and by several processes at once.
 */
import { eachOf } from '../core/concurrency.js'
import { keysAtOnceMax } from '../core/limits.js'
import type { Bucket, BucketEntry } from '../core/nats-bucket.js'
import { account } from '../resource/account.js'
import type { Row } from '../resource/define.js'
import { BucketWriter } from './bucket-writer.js'
import type { Change, ChunkChange } from './change.js'
import {
  type AccountState,
  generationOf,
  type Meta,
  metaKey,
  type RulesChunk,
  rowKey,
  ruleKind,
  rulesKey,
  rulesOf,
  type SecretsEntry,
  secretKey,
  stateKey,
} from './keys.js'
import { editedChunk } from './rule-chunks.js'
import { sealedFields, splitSecrets } from './sealed-values.js'
import type { View } from './view.js'

const decode = <T>(value: Uint8Array): T => JSON.parse(Buffer.from(value).toString()) as T

export interface Buckets {
  readonly config: Bucket
  readonly secrets: Bucket
}

/** What a change is written with. */
export interface Writers {
  readonly config: BucketWriter
  readonly secrets: BucketWriter
}

export class Projection {
  readonly #buckets: Buckets
  readonly #view: View

  constructor(buckets: Buckets, view: View) {
    this.#buckets = buckets
    this.#view = view
  }

  /** Makes the bucket say what the change says. */
  async apply(accountId: string, version: number, change: Change): Promise<void> {
    if (this.#isSeen(accountId, version)) return
    const writers = this.writers(accountId, version)
    const puts = change.puts.filter(({ kind }) => kind !== ruleKind)
    const removals = change.removals.filter(({ kind }) => kind !== ruleKind)
    await eachOf(puts, keysAtOnceMax, ({ kind, row }) => this.putRow(writers, accountId, version, kind, row))
    const rules = new Map(change.puts.flatMap(({ kind, row }) => (kind === ruleKind ? [[row.id, row]] : [])))
    await eachOf(change.chunks, keysAtOnceMax, (chunk) =>
      this.#editChunk(writers, accountId, version, chunk, rules),
    )
    await eachOf(removals, keysAtOnceMax, ({ kind, id }) => this.removeRow(writers, kind, id))
    for (const policyId of change.emptiedPolicies) await this.removeRules(writers, policyId)
    const { counts, stored } = change
    await this.putState(writers, accountId, { version, stored, counts })
    if (change.puts.some(({ kind, isNew }) => kind === account.kind && isNew)) await this.#countAccounts()
  }

  writers(accountId: string, version: number): Writers {
    const isDone = async (): Promise<boolean> => (await this.#versionOf(accountId)) >= version
    return {
      config: new BucketWriter(this.#buckets.config, isDone),
      secrets: new BucketWriter(this.#buckets.secrets, isDone),
    }
  }

  /** Has the own view the change? Then so has the bucket. */
  #isSeen(accountId: string, version: number): boolean {
    return this.#view.latest.versionOf(accountId) >= version
  }

  async #versionOf(accountId: string): Promise<number> {
    const entry = await this.#buckets.config.get(stateKey(accountId))
    return entry?.value === undefined ? 0 : decode<AccountState>(entry.value).version
  }

  /** A key as the own view has it, which saves asking; undefined where the view may have seen later changes. */
  #known(accountId: string, version: number, key: string, value: unknown): BucketEntry | undefined {
    if (this.#isSeen(accountId, version)) return undefined
    const revision = this.#view.latest.revisionOf(key)
    return { key, revision, value: value === undefined ? undefined : Buffer.from(JSON.stringify(value)) }
  }

  /** Sealed values first: a row never is without them. */
  async putRow(
    writers: Writers,
    accountId: string,
    version: number,
    kind: string,
    row: Row,
    rulesGeneration?: number,
  ): Promise<void> {
    const { open, secrets } = splitSecrets(kind, row)
    if (secrets !== undefined) await writers.secrets.write(secretKey(kind, row.id), nextSecrets(secrets))
    const next = (current: Uint8Array | undefined): string | undefined => {
      const there = current === undefined ? undefined : decode<Row>(current)
      const generation = rulesGeneration ?? generationOf(there)
      const isThere = there !== undefined && there.version >= row.version
      if (isThere && generation === generationOf(there)) return undefined
      // A policy's row carries the generation of its rules, which is the bucket's own business.
      const base = isThere ? there : open
      return JSON.stringify(generation === 0 ? base : { ...base, rules_generation: generation })
    }
    const key = rowKey(kind, row.id)
    const known = this.#view.latest.rows.get(kind)?.get(row.id)
    await writers.config.write(key, next, this.#known(accountId, version, key, known))
  }

  async removeRow(writers: Writers, kind: string, id: string): Promise<void> {
    const key = rowKey(kind, id)
    await writers.config.remove(key, this.#view.latest.revisionOf(key))
    if (sealedFields(kind).length > 0) await writers.secrets.remove(secretKey(kind, id))
  }

  #editChunk(
    writers: Writers,
    accountId: string,
    version: number,
    { policyId, generation, chunk, put, gone }: ChunkChange,
    rows: ReadonlyMap<string, Row>,
  ): Promise<void> {
    const rules = put.flatMap((id) => rows.get(id) ?? [])
    const next = (current: Uint8Array | undefined): string | undefined => {
      const before = current === undefined ? undefined : decode<RulesChunk>(current)
      const value = JSON.stringify(editedChunk(accountId, before, rules, gone))
      return before !== undefined && value === JSON.stringify(before) ? undefined : value
    }
    const key = rulesKey(policyId, generation, chunk)
    const known = this.#view.latest.chunk(policyId, generation, chunk)
    return writers.config.write(key, next, this.#known(accountId, version, key, known))
  }

  /** Takes out the rules of a policy: all, or those of other generations than the one to keep. */
  async removeRules(writers: Writers, policyId: string, keptGeneration?: number): Promise<void> {
    const kept = keptGeneration === undefined ? undefined : `${rulesOf(policyId)}${keptGeneration}.`
    const keys = await this.#buckets.config.keys(`${rulesOf(policyId)}>`)
    const stale = keys.filter((key) => kept === undefined || !key.startsWith(kept))
    await eachOf(stale, keysAtOnceMax, (key) => writers.config.remove(key, this.#view.latest.revisionOf(key)))
  }

  async putState(writers: Writers, accountId: string, next: AccountState): Promise<void> {
    const key = stateKey(accountId)
    const known = this.#view.latest.accounts.get(accountId)
    const value = (current: Uint8Array | undefined): string | undefined =>
      current !== undefined && decode<AccountState>(current).version >= next.version
        ? undefined
        : JSON.stringify(next)
    await writers.config.write(key, value, this.#known(accountId, next.version, key, known))
  }

  /** There is one more account that the bucket must hold to be complete. */
  async #countAccounts(): Promise<void> {
    const accounts = (await this.#buckets.config.keys(stateKey('*'))).length
    const next = (current: Uint8Array | undefined): string | undefined => {
      const meta = current === undefined ? undefined : decode<Meta>(current)
      return meta === undefined || meta.accounts >= accounts
        ? undefined
        : JSON.stringify({ ...meta, accounts })
    }
    await new BucketWriter(this.#buckets.config, async () => false).write(metaKey, next)
  }
}

const nextSecrets =
  (secrets: SecretsEntry) =>
  (current: Uint8Array | undefined): string | undefined =>
    current !== undefined && decode<SecretsEntry>(current).version >= secrets.version
      ? undefined
      : JSON.stringify(secrets)
