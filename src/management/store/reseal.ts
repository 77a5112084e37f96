/**
 * Seals with the key of today what an earlier key sealed: in every version of the rows in ClickHouse, and in the buckets. No
 * version changes, because nothing does that anyone sees. Every step can be repeated, also by several processes at once: what is
 * sealed with the key of today is left alone, so a run that was killed is finished by the next one.
 */
import { eachOf } from '../../ground/core/concurrency.js'
import { keysAtOnceMax } from '../../ground/core/limits.js'
import type { Sealer } from '../../ground/core/seal.js'
import type { Bucket } from '../../ground/nats/bucket.js'
import type { Row } from '../../words/resource/kind/define.js'
import { resourceOf } from '../../words/resource/registry.js'
import { sealedOwners } from '../../words/resource/sealed-owners.js'
import { checkedValue, secretsIn } from '../../words/view/entry-values.js'
import { rowKey, type SecretsEntry } from '../../words/view/keys.js'
import type { StoreBuckets } from './buckets.js'
import { decodeHead } from './change/head-text.js'
import type { Clickhouse } from './clickhouse/clickhouse.js'
import { type Deployment, storeFingerprint } from './clickhouse/migrate.js'
import { tableOf } from './clickhouse/tables.js'
import type { Projection } from './projection.js'
import { sealedFields } from './sealed-values.js'

interface ResealingParts {
  readonly clickhouse: Clickhouse
  readonly buckets: Pick<StoreBuckets, 'config' | 'secrets' | 'heads'>
  readonly projection: Pick<Projection, 'nameSealingKey'>
  readonly deployment: Deployment
  readonly sealer: Sealer
}

interface ResealParts extends ResealingParts {
  /** Only counts. */
  readonly isDry: boolean
}

export interface Resealed {
  /** Values that an earlier key had sealed. */
  old: number
  /** Values that no key opens: they are left as they are. */
  unreadable: number
}

const digestField = 'secret_digest'
/** Values of a statement: its text is bounded (`max_query_size`, 256 KiB). */
const rowsAtOnce = 200
const charsAtOnce = 64 * 1024
const mutationTimeoutMs = 120_000

export class Resealing {
  readonly #parts: ResealingParts

  constructor(parts: ResealingParts) {
    this.#parts = parts
  }

  /** One pass over all, which is counted while it runs. Another one finds what was written meanwhile. */
  async pass(found: Resealed, isDry: boolean): Promise<void> {
    const parts = { ...this.#parts, isDry }
    for (const kind of Object.keys(sealedOwners)) await resealTable(parts, kind, found)
    const keys = await parts.buckets.secrets.keys('>')
    await eachOf(keys, keysAtOnceMax, (key) => resealEntry(parts, key, found))
    await countInHeads(parts, found)
  }

  /** Everything is sealed with the key of today: from now on, a process without it does not start. */
  async nameKey(): Promise<void> {
    const { clickhouse, deployment, projection, sealer } = this.#parts
    deployment.keyFingerprint = sealer.fingerprint
    await storeFingerprint(clickhouse, deployment)
    await projection.nameSealingKey(sealer.fingerprint)
  }
}

/** A sealed value and the digest of its secret, as they should be; undefined if they are so, or no key opens the value. */
function renewed(
  { sealer }: ResealParts,
  sealed: string,
  belongsTo: string,
  found: Resealed,
): { readonly sealed: string; readonly digest: string } | undefined {
  if (sealer.isCurrent(sealed, belongsTo)) return undefined
  let secret: string
  try {
    secret = sealer.unseal(sealed, belongsTo)
  } catch {
    found.unreadable += 1
    return undefined
  }
  found.old += 1
  return { sealed: sealer.seal(secret, belongsTo), digest: sealer.digest(secret, belongsTo) }
}

// --- ClickHouse ---

/** A version of a row, with the columns that matter here. */
type SealedVersion = Pick<Row, 'account_id' | 'id' | 'version'> & {
  readonly sealed: string
  readonly digest: string | null
}

async function resealTable(parts: ResealParts, kind: string, found: Resealed): Promise<void> {
  const [field = ''] = sealedFields(kind)
  const hasDigest = Object.hasOwn(resourceOf(kind).fields, digestField)
  const select = `SELECT account_id, id, version, ${field} AS sealed, ${hasDigest ? digestField : 'NULL'} AS digest
FROM ${tableOf(kind)} WHERE ${field} IS NOT NULL AND (account_id, id, version) > ({account:String}, {id:String}, {version:UInt64})
ORDER BY account_id, id, version LIMIT ${rowsAtOnce}`
  for (let after: Pick<Row, 'account_id' | 'id' | 'version'> = { account_id: '', id: '', version: 0 }; ; ) {
    const position = { account: after.account_id, id: after.id, version: after.version }
    const rows = await parts.clickhouse.rows<SealedVersion>(select, position)
    const last = rows.at(-1)
    if (last === undefined) return
    await resealRows(parts, kind, rows, found)
    after = last
  }
}

async function resealRows(
  parts: ResealParts,
  kind: string,
  rows: readonly SealedVersion[],
  found: Resealed,
): Promise<void> {
  // Versions of a resource mostly share a sealed value.
  const next = new Map<string, string>()
  const digests = new Map<string, string>()
  let chars = 0
  for (const row of rows) {
    if (next.has(row.sealed)) continue
    const made = renewed(parts, row.sealed, sealedOwners[kind]!(row), found)
    if (made === undefined) continue
    next.set(row.sealed, made.sealed)
    if (row.digest !== null) digests.set(row.digest, made.digest)
    chars += row.sealed.length + made.sealed.length
    if (chars < charsAtOnce) continue
    await replaceValues(parts, kind, next, digests)
    chars = 0
  }
  await replaceValues(parts, kind, next, digests)
}

async function replaceValues(
  { clickhouse, isDry }: ResealParts,
  kind: string,
  sealed: Map<string, string>,
  digests: Map<string, string>,
): Promise<void> {
  const [field = ''] = sealedFields(kind)
  const replaced = (column: string, name: string): string =>
    `${column} = transform(assumeNotNull(${column}), {${name}:Array(String)}, {new_${name}:Array(String)}, assumeNotNull(${column}))`
  if (sealed.size > 0 && !isDry) {
    const withDigests = digests.size > 0
    const assignments = [
      replaced(field, 'sealed'),
      // Of the rows that are changed, each has a digest or none has.
      ...(withDigests ? [replaced(digestField, 'digests')] : []),
    ]
    await clickhouse.command(
      `ALTER TABLE ${tableOf(kind)} UPDATE ${assignments.join(', ')} WHERE ${field} IN {sealed:Array(String)} SETTINGS mutations_sync = 2`,
      {
        sealed: [...sealed.keys()],
        new_sealed: [...sealed.values()],
        ...(withDigests && { digests: [...digests.keys()], new_digests: [...digests.values()] }),
      },
      mutationTimeoutMs,
    )
  }
  sealed.clear()
  digests.clear()
}

// --- buckets ---

async function resealEntry(parts: ResealParts, key: string, found: Resealed): Promise<void> {
  const { buckets, sealer, isDry } = parts
  const [kind = '', id = ''] = key.split('.')
  const ownerOf = sealedOwners[kind]
  if (ownerOf === undefined) return
  for (;;) {
    const entry = await buckets.secrets.get(key)
    const present = buckets.secrets.decoded(entry, secretsIn)
    if (entry === undefined || present === undefined) return
    const [[field, sealed] = ['', '']] = Object.entries(present.sealed)
    if (sealed === '') return
    const belongsTo = ownerOf({ account_id: present.account_id, id })
    const made = renewed(parts, sealed, belongsTo, found)
    if (isDry) return
    // The row's digest is looked at again, even if the value was sealed again before: a run may end between the two.
    if (made === undefined) {
      if (sealer.isCurrent(sealed, belongsTo))
        await renewDigest(
          buckets.config,
          kind,
          id,
          sealer.digest(sealer.unseal(sealed, belongsTo), belongsTo),
          present,
        )
      return
    }
    const next: SecretsEntry = { ...present, sealed: { ...present.sealed, [field]: made.sealed } }
    if ((await buckets.secrets.replace(key, JSON.stringify(next), entry.revision)) === undefined) continue
    return renewDigest(buckets.config, kind, id, made.digest, present)
  }
}

/** In the row of the same version: another one has a secret of its own. */
async function renewDigest(
  config: Bucket,
  kind: string,
  id: string,
  digest: string,
  { version }: SecretsEntry,
): Promise<void> {
  const key = rowKey(kind, id)
  for (;;) {
    const entry = await config.get(key)
    const row = entry && (config.decoded(entry, () => checkedValue(entry)) as Row | undefined)
    if (entry === undefined || row?.version !== version) return
    if (typeof row[digestField] !== 'string' || row[digestField] === digest) return
    const next = JSON.stringify({ ...row, [digestField]: digest })
    if ((await config.replace(key, next, entry.revision)) !== undefined) return
  }
}

/** Changes that are committed and not carried out: their rows are sealed again once they are. */
async function countInHeads({ buckets: { heads }, sealer }: ResealParts, found: Resealed): Promise<void> {
  await eachOf(await heads.keys('>'), keysAtOnceMax, async (key) => {
    const head = heads.decoded(await heads.get(key), decodeHead)
    const changes = [...(head?.earlier ?? []), ...(head?.change ? [head.change] : [])]
    for (const { kind, row } of changes.flatMap(({ puts }) => puts)) {
      for (const name of sealedFields(kind)) {
        const sealed = row[name]
        if (typeof sealed === 'string' && !sealer.isCurrent(sealed, sealedOwners[kind]!(row))) found.old += 1
      }
    }
  })
}
