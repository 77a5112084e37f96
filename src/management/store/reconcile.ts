/**
 * Compares the buckets with ClickHouse: at every start, and after a bucket was recreated or restored.
 *
 * An account is repaired if its part of the buckets lacks something. If the buckets have more than ClickHouse, an
 * operator has to decide; until then nothing is repaired or written.
 */
import { eachOf } from '../../ground/core/concurrency.js'
import { keysAtOnceMax } from '../../ground/core/limits.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Bucket } from '../../ground/nats/bucket.js'
import { readEntries } from '../../ground/nats/bucket-follower.js'
import { apiKey } from '../../words/resource/api-key.js'
import type { Row } from '../../words/resource/kind/define.js'
import { damagedRuleKeys, secretsIn } from '../../words/view/entry-values.js'
import { claimKey, rowKey, ruleKind, secretKey, stateKey } from '../../words/view/keys.js'
import type { ViewState } from '../../words/view/view-state.js'
import { decodeHead } from './change/head-text.js'
import { claimsOf } from './change/plan.js'
import { type ClaimHolder, decodeClaim } from './claims/claim-holder.js'
import { sealedFields } from './sealed-values.js'
import type { StoredRow, StoredVersion, StoredVersions } from './stored-rows.js'

/** Versions in the buckets other than the configuration. */
export interface SideBuckets {
  /** Versions of the heads, by account. */
  readonly heads: ReadonlyMap<string, number>
  /** Versions of the sealed values, by key. */
  readonly secrets: ReadonlyMap<string, number>
}

export async function readSideBuckets(buckets: { heads: Bucket; secrets: Bucket }): Promise<SideBuckets> {
  const heads = new Map<string, number>()
  const secrets = new Map<string, number>()
  await readEntries(buckets.heads, ({ key, value }) => {
    if (value !== undefined) heads.set(key, decodeHead(value).version)
  })
  await readEntries(buckets.secrets, ({ key, value }) => {
    if (value !== undefined) secrets.set(key, secretsIn(value).version)
  })
  return { heads, secrets }
}

/** A snapshot of an account in the bucket. */
export interface SeenAccount {
  readonly version: number
  readonly stored: number
  readonly isWhole: boolean
  /** Versions of its rows, by kind and id. */
  readonly rows: ReadonlyMap<string, ReadonlyMap<string, number>>
}

type SeenAccounts = ReadonlyMap<string, SeenAccount>

/** A snapshot of a state, which keeps changing while ClickHouse is being read. */
export function seenIn(state: ViewState): SeenAccounts {
  const rows = new Map<string, Map<string, Map<string, number>>>()
  for (const [kind, ofKind] of state.rows) {
    for (const row of ofKind.values()) {
      // The earlier row of the key is in use still, but no other process can read it.
      if (isDamaged(state, kind, row)) continue
      const { account_id, id, version } = row
      const ofAccount = getOrMake(rows, account_id, () => new Map<string, Map<string, number>>())
      getOrMake(ofAccount, kind, () => new Map<string, number>()).set(id, version)
    }
  }
  return new Map(
    [...state.accounts].map(([accountId, { version, stored }]) => {
      const isWhole = state.isWhole(accountId) && !state.damaged.has(stateKey(accountId))
      const seen = { version, stored, isWhole }
      return [accountId, { ...seen, rows: rows.get(accountId) ?? new Map() }]
    }),
  )
}

/** Is the entry damaged that has the row? */
export const isDamaged = (state: ViewState, kind: string, row: Row): boolean =>
  state.damaged.size > 0 &&
  (kind === ruleKind
    ? damagedRuleKeys(state, String(row['ip_policy_id'])).length > 0
    : state.damaged.has(rowKey(kind, row.id)))

const nothing: SeenAccount = { version: 0, stored: 0, isWhole: false, rows: new Map() }

export interface Differences {
  /** Accounts whose part of the buckets lacks something, with their highest known version. */
  readonly behind: ReadonlyMap<string, number>
  /** The missing parts of each of them: during a change, an account lacks something else at each look. */
  readonly lacks: ReadonlyMap<string, ReadonlySet<string>>
  /** Accounts of which the buckets have more than ClickHouse. */
  readonly ahead: readonly string[]
}

/** The differences of a later look, but only of accounts that still lack something they lacked before. */
export function lasting(before: Differences, { behind, lacks, ahead }: Differences): Differences {
  const left = new Map<string, number>()
  const leftLacks = new Map<string, ReadonlySet<string>>()
  for (const [accountId, highest] of behind) {
    const known = before.lacks.get(accountId)
    const same = new Set([...(lacks.get(accountId) ?? [])].filter((lack) => known?.has(lack)))
    if (same.size === 0) continue
    left.set(accountId, highest)
    leftLacks.set(accountId, same)
  }
  return { behind: left, lacks: leftLacks, ahead }
}

/**
 * The arguments must be read in this order. A change goes to the head, to ClickHouse and to the bucket in turn, so
 * reading against that order never makes the bucket look ahead.
 */
export function compare(seen: SeenAccounts, stored: StoredVersions, side: SideBuckets): Differences {
  const behind = new Map<string, number>()
  const lacks = new Map<string, ReadonlySet<string>>()
  const ahead: string[] = []
  for (const accountId of new Set([...stored.keys(), ...seen.keys()])) {
    const account = seen.get(accountId) ?? nothing
    const rows: StoredAccount = stored.get(accountId) ?? new Map()
    const highestStored = highestIn(rows)
    if (isAhead(account, rows, highestStored)) ahead.push(accountId)
    const highest = Math.max(highestStored, account.version)
    const lacking = new Set(lacksOf(account, rows, side))
    const head = side.heads.get(accountId) ?? -1
    if (head < highest) lacking.add(`head ${highest}`)
    if (lacking.size === 0) continue
    behind.set(accountId, highest)
    lacks.set(accountId, lacking)
  }
  return { behind, lacks, ahead }
}

type StoredAccount = ReadonlyMap<string, readonly StoredVersion[]>

function highestIn(stored: StoredAccount): number {
  let highest = 0
  for (const rows of stored.values()) for (const { version } of rows) highest = Math.max(highest, version)
  return highest
}

/** Has ClickHouse less than the bucket says it should have, or is a row of the bucket unknown to it? */
function isAhead(seen: SeenAccount, stored: StoredAccount, highestStored: number): boolean {
  if (seen.stored > highestStored) return true
  for (const [kind, rows] of seen.rows) {
    // A foreign API key needs no decision: a key counts only if ClickHouse has it.
    if (kind === apiKey.kind) continue
    let known = 0
    for (const { id, version } of stored.get(kind) ?? []) {
      const there = rows.get(id)
      if (there === undefined) continue
      known += 1
      // Also true if the version is not a number, which Weir did not write.
      if (!(there <= version)) return true
    }
    if (known < rows.size) return true
  }
  return false
}

/** The missing parts of the account in the buckets, each named with its missing version. */
function* lacksOf(seen: SeenAccount, stored: StoredAccount, { secrets }: SideBuckets): Generator<string> {
  if (!seen.isWhole) yield `counts ${seen.version}`
  for (const [kind, rows] of stored) {
    const isSealed = sealedFields(kind).length > 0
    for (const { id, version, deleted } of rows) {
      const there = seen.rows.get(kind)?.get(id)
      const isOther = kind === apiKey.kind && there !== undefined && there !== version
      const isMissing = deleted ? there !== undefined : there === undefined || there < version
      const lacksSecret = isSealed && !deleted && (secrets.get(secretKey(kind, id)) ?? 0) < version
      if (isMissing || isOther || lacksSecret) yield `${kind} ${id} ${version}`
    }
  }
}

/** The rows of a state, except that those of some accounts are as ClickHouse has them. */
export function* rowsWith(
  state: ViewState,
  stored: ReadonlyMap<string, readonly StoredRow[]>,
): Generator<Pick<StoredRow, 'kind' | 'row'>> {
  for (const [kind, rows] of state.rows)
    for (const row of rows.values()) if (!stored.has(row.account_id)) yield { kind, row }
  for (const rows of stored.values())
    for (const { kind, row, deleted } of rows) if (!deleted) yield { kind, row }
}

/** Creates missing claims of rows, and takes over claims whose holder has no right to them. */
export async function fillClaims(
  claims: Bucket,
  rows: Iterable<Pick<StoredRow, 'kind' | 'row'>>,
): Promise<number> {
  const held = new Map<string, Row[]>()
  for (const { kind, row } of rows)
    for (const claim of claimsOf(kind, row)) getOrMake(held, claimKey(claim), () => []).push(row)
  const there = new Map<string, { revision: number; holder: ClaimHolder | undefined }>()
  await readEntries(claims, ({ key, revision, value }) => {
    // A damaged one is known to be there, so that it is replaced.
    there.set(key, { revision, holder: undefined })
    if (value !== undefined) there.set(key, { revision, holder: decodeClaim(value) })
  })
  const missing: { key: string; revision: number; holder: ClaimHolder }[] = []
  for (const [key, [first, ...others]] of held) {
    const { revision, holder } = there.get(key) ?? { revision: 0, holder: undefined }
    if (first === undefined || [first, ...others].some(({ id }) => id === holder?.id)) continue
    const { account_id, id, version } = first
    missing.push({ key, revision, holder: { account_id, id, version } })
  }
  await eachOf(missing, keysAtOnceMax, ({ key, revision, holder }) =>
    claims.replace(key, JSON.stringify(holder), revision),
  )
  return missing.length
}
