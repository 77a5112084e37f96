/**
 * The keys and values of the buckets.
 *
 * `weir_config` (what the pipeline and the API read)
 * - `meta`: which deployment this is, and that it is complete.
 * - `mark`: written by a process that waits until its own view has everything before it.
 * - `state.<account>`: the account's version and how many rows of each kind it has; written last for each change.
 * - `row.<kind>.<id>`: a row without its secrets.
 * - `rules.<policy>.<generation>.<chunk>`: rules of an IP policy, in chunks. The policy's row names the generation
 *   that counts, so a replacement of all rules is seen completely or not at all.
 *
 * `weir_secrets`: `<kind>.<id>`, the row's sealed values. `weir_heads`: `<account>`, the write-ahead record.
 * `weir_claims`: `<claim in base64url>`, the resource that holds this name.
 * `weir_idempotency`: `<hash of account and key>`, the answer to the request with this idempotency key.
 */
import { newId } from '../../ground/core/ids.js'
import type { Row } from '../resource/kind/define.js'

export const metaKey = 'meta'
export const markKey = 'mark'
export const stateKey = (accountId: string): string => `state.${accountId}`
export const accountOfStateKey = (key: string): string | undefined =>
  key.startsWith('state.') ? key.slice('state.'.length) : undefined
export const rowKey = (kind: string, id: string): string => `row.${kind}.${id}`
export const secretKey = (kind: string, id: string): string => `${kind}.${id}`
/** The prefix of all keys of a policy's rules. */
export const rulesOf = (policyId: string): string => `rules.${policyId}.`
/** The prefix of all keys of one generation of a policy's rules. */
export const generationKeys = (policyId: string, generation: string): string =>
  `${rulesOf(policyId)}${generation}.`
export const rulesKey = (policyId: string, generation: string, chunk: number): string =>
  `${generationKeys(policyId, generation)}${chunk}`
export const claimKey = (claim: string): string => Buffer.from(claim).toString('base64url')
export const claimOfKey = (key: string): string => Buffer.from(key, 'base64url').toString()

export interface Meta {
  readonly deployment_id: string
  /** Raised each time the bucket is refilled: views then read everything again. */
  readonly epoch: number
  /** The bucket holds at least this many accounts. */
  readonly accounts: number
  /** Distinguishes secret keys without revealing them. */
  readonly key_fingerprint: string
  /** The format of what is in NATS, and the version of Weir that raised it; missing before there were formats. */
  readonly format?: number
  readonly version?: string
}

/** Far above any epoch that Weir writes, and below numbers that are no longer exact. */
const epochMax = 2 ** 50
export const isEpoch = (epoch: unknown): epoch is number =>
  Number.isSafeInteger(epoch) && (epoch as number) >= 0 && (epoch as number) < epochMax
/** An epoch that Weir can't have written counts as none. */
export const epochOf = (meta: Meta | undefined): number => (isEpoch(meta?.epoch) ? meta.epoch : 0)

export interface AccountState {
  /** Version of the last change in the bucket. */
  readonly version: number
  /** Version of the last change that wrote rows to ClickHouse: a database with less is an older one. */
  readonly stored: number
  /** Rows per kind. */
  readonly counts: Readonly<Record<string, number>>
}

export interface RulesChunk {
  readonly account_id: string
  readonly rules: readonly Row[]
}

export interface SecretsEntry {
  readonly account_id: string
  readonly version: number
  /** Sealed text per field. */
  readonly sealed: Readonly<Record<string, string>>
}

/** The generation of rules that were never replaced all at once. */
export const firstGeneration = '0'
/** The generation named by an IP policy's row. */
export const generationOf = (policy: Row | undefined): string =>
  String(policy?.['rules_generation'] ?? firstGeneration)
/** A unique generation for a replacement that will be this version of the account. */
export const newStagedGeneration = (version: number): string => newId(`${version}-`)
/** The version a staged generation was made for; undefined if it was not staged. */
export function versionOfStaged(generation: string): number | undefined {
  const cut = generation.indexOf('-')
  return cut === -1 ? undefined : Number(generation.slice(0, cut))
}

export const ruleKind = 'ip_policy_rule'
export const policyKind = 'ip_policy'
