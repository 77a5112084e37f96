/**
 * Keeps the buckets equal to ClickHouse, and says why nothing may be written if they contradict each other.
 *
 * At a start, accounts that need no repair are served as soon as it is known which these are; nothing of the others is
 * served before they are repaired (`View.useWithout`). A name that one of those holds must not be taken meanwhile, so
 * claims are filled before, also from the rows that the repairs will write.
 */
import { now, sleep } from '../../ground/core/clock.js'
import { deferred } from '../../ground/core/concurrency.js'
import { dataFormat, raisedFormat } from '../../ground/core/files/data-format.js'
import type { Sealer } from '../../ground/core/seal.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { BucketPosition } from '../../ground/nats/bucket.js'
import { faultOfMeta, faultsIn } from '../../words/view/completeness.js'
import { epochOf, isEpoch, type Meta, metaKey } from '../../words/view/keys.js'
import type { View } from '../../words/view/view.js'
import type { StoreBuckets } from './buckets.js'
import type { Deployment } from './clickhouse/migrate.js'
import { Queue } from './queues.js'
import {
  compare,
  type Differences,
  fillClaims,
  lasting,
  readSideBuckets,
  rowsWith,
  seenIn,
} from './reconcile.js'
import { beginRepairs, carryOutRepairs, type RepairParts } from './repair.js'
import { readVersions } from './stored-rows.js'

export interface ReconcilerParts extends RepairParts {
  readonly buckets: StoreBuckets
  /** Creates missing buckets. */
  readonly makeBuckets: () => Promise<unknown>
  readonly deployment: Deployment
  readonly sealer: Pick<Sealer, 'knows'>
  readonly occurrences: Occurrences
  readonly view: View
}

const looksMax = 3
const settleMs = 500

const beingCompared = 'The data in NATS is being compared with ClickHouse.'

type Positions = readonly BucketPosition[]

export class Reconciler {
  readonly #parts: ReconcilerParts
  #refusal: string | undefined
  /** No change is finished, either, before the first comparison. */
  #doubt: { readonly reason: string } | undefined = { reason: beingCompared }
  #isStarting = true
  readonly #othersServed = deferred()
  #positions: Positions = []
  /** Faults of the bucket that a comparison with ClickHouse could not mend. */
  #unmended: ReadonlySet<string> = new Set()
  /** Damaged heads and sealed values that were found until the last comparison. */
  #damagedBefore = 0
  /** One comparison at a time. */
  readonly #queue = new Queue()

  constructor(parts: ReconcilerParts) {
    this.#parts = parts
  }

  /** The reason why nothing may be written; undefined if writes are allowed. */
  get refusal(): string | undefined {
    return this.#refusal ?? this.#doubt?.reason
  }

  /** Resolves when a start serves the accounts that need no repair, before the others are repaired. */
  get othersServed(): Promise<void> {
    return this.#othersServed.promise
  }

  /** Refuses writes until the next comparison. */
  doubt(reason: string): void {
    this.#doubt = { reason }
  }

  /** Compares again if something happened since the last time that makes it necessary. */
  check(): Promise<void> {
    return this.#queue.inTurn(async () => {
      const isContinued = this.#isContinued(await this.#read())
      if (isContinued && this.refusal === undefined && this.#parts.view.isComplete) return this.#mend()
      // Before they exist: in a bucket that is empty, each name seems to be free.
      this.#doubt ??= { reason: beingCompared }
      await this.#parts.makeBuckets()
      await this.#parts.view.reread()
      await this.#reconcile()
    })
  }

  /**
   * Corrects the bucket's numbers about itself if they are wrong: otherwise a process that starts would wait for ever.
   * During a change, an account lacks something for a short time.
   */
  async #mend(): Promise<void> {
    const { view, occurrences, buckets } = this.#parts
    const found = buckets.heads.damagedFound + buckets.secrets.damagedFound
    if (found > this.#damagedBefore) await this.#mendSide()
    let faults = faultsIn(view.latest)
    for (let look = 2; look <= looksMax && faults.size > 0; look += 1) {
      await sleep(settleMs)
      const last = faults
      faults = new Map([...faultsIn(view.latest)].filter(([key]) => last.has(key)))
    }
    const [reason] = faults.values()
    if (reason === undefined || [...faults.keys()].every((key) => this.#unmended.has(key))) return
    occurrences.configurationIncomplete({ reason, faults: faults.size })
    await this.#repairBehind()
    await this.#putMeta(undefined)
    this.#unmended = new Set(faultsIn(view.latest).keys())
  }

  /** Repairs what differs from ClickHouse, under a view that stays in use. */
  async #repairBehind(): Promise<void> {
    const { behind, ahead } = await this.#compare()
    // Rows that ClickHouse does not have are left to an operator, who learns of them: see `foreign-rows.ts`.
    const mended = new Map([...behind].filter(([accountId]) => !ahead.includes(accountId)))
    await carryOutRepairs(this.#parts, await beginRepairs(this.#parts, mended))
    this.#parts.occurrences.projectionRepaired({ accounts: mended.size, claims: 0 })
  }

  /** Heads and sealed values are no part of the view: a comparison finds the accounts of those that can't be read. */
  async #mendSide(): Promise<void> {
    const { heads, secrets } = this.#parts.buckets
    await this.#repairBehind()
    this.#damagedBefore = heads.damagedFound + secrets.damagedFound
  }

  /** Compares the view with ClickHouse, and repairs. */
  run(): Promise<void> {
    return this.#queue.inTurn(() => this.#reconcile())
  }

  adoptClickhouse(): Promise<void> {
    return this.#queue.inTurn(async () => {
      const { buckets, view } = this.#parts
      await view.reread()
      const epoch = epochOf(view.latest.meta)
      const versions = new Map([...view.latest.accounts].map(([id, { version }]) => [id, version]))
      for (const bucket of Object.values(buckets)) await bucket.empty()
      await view.reread()
      await this.#reconcile(epoch, versions)
    })
  }

  async #read(): Promise<Positions> {
    return Promise.all(Object.values(this.#parts.buckets).map((bucket) => bucket.position()))
  }

  /** Are the buckets the same as last time, with nothing rolled back? */
  #isContinued(after: Positions): boolean {
    const before = this.#positions
    const isContinued = after.every(({ identity, lastRevision }, index) => {
      const known = before[index]
      return known?.identity === identity && known.lastRevision <= lastRevision
    })
    if (isContinued) this.#positions = after
    return isContinued
  }

  /** `epochBefore`, `versionsBefore`: of a configuration that was emptied to be rebuilt. */
  async #reconcile(epochBefore = 0, versionsBefore: ReadonlyMap<string, number> = new Map()): Promise<void> {
    const { view } = this.#parts
    const { meta } = view.latest
    const doubt = this.#doubt
    const foreign = foreignMeta(meta, this.#parts)
    if (foreign !== undefined) return this.#refuse(foreign)
    const { behind, ahead } = await this.#compare()
    const [first] = ahead
    if (first !== undefined) {
      return this.#refuse(
        `The configuration in NATS is ahead of ClickHouse (${ahead.length} accounts, such as ${first}): restore a newer backup of ClickHouse, or run "weir store adopt" to use the contents of ClickHouse.`,
      )
    }
    const repairs = await beginRepairs(this.#parts, behind, versionsBefore)
    const claims = await fillClaims(this.#parts.buckets.claims, rowsWith(view.latest, repairs.stored))
    if (this.#isStarting && meta !== undefined) this.#serveOthers(behind)
    await carryOutRepairs(this.#parts, repairs)
    const isFilled = meta === undefined || behind.size > 0
    // Otherwise the view is as good as a fresh one, which would take as long to read.
    if (isFilled) await view.reread()
    view.useWithout(new Set([...view.withheld].filter((accountId) => !view.latest.isWhole(accountId))))
    await this.#putMeta(isFilled ? nextEpoch(epochBefore, view) : undefined)
    if (claims + behind.size > 0)
      this.#parts.occurrences.projectionRepaired({ accounts: behind.size, claims })
    this.#positions = await this.#read()
    this.#isStarting = false
    this.#refusal = undefined
    // A doubt that came up meanwhile needs another comparison.
    if (this.#doubt === doubt) this.#doubt = undefined
  }

  /** Not if all accounts are repaired: then there is nothing to serve. */
  #serveOthers(behind: Differences['behind']): void {
    const { view, occurrences } = this.#parts
    const isOther = (accountId: string): boolean => !behind.has(accountId)
    if (behind.size === 0 || ![...view.latest.accounts.keys()].some(isOther)) return
    occurrences.accountsWithheld({ accounts: behind.size })
    view.useWithout(new Set(behind.keys()))
    this.#refusal = undefined
    this.#doubt = undefined
    this.#othersServed.resolve()
  }

  #refuse(reason: string): void {
    if (this.#refusal !== reason) this.#parts.occurrences.storeMismatch({ reason })
    this.#refusal = reason
    this.#doubt = undefined
    this.#isStarting = false
  }

  /**
   * An account that lacks something may have a change that its writer did not finish: that is finished first, and what
   * it would have written is not missing. Other writers' changes are under way, so an account is behind only if it lacks
   * the same thing at several looks. One look will do if there is no configuration at all.
   */
  async #compare(): Promise<Differences> {
    const { view, heads, projection } = this.#parts
    let found = await this.#look()
    if (view.latest.meta === undefined) return found
    for (let look = 2; look <= looksMax && found.behind.size > 0 && found.ahead.length === 0; look += 1) {
      // A change that can't be finished is reported, and its account is still behind.
      if (look === 2) await heads.leftBehind.finishAll(found.behind.keys())
      else await sleep(settleMs)
      await projection.caughtUp()
      found = lasting(found, await this.#look())
    }
    return found
  }

  async #look(): Promise<Differences> {
    const { clickhouse, resources, buckets, view } = this.#parts
    const seen = seenIn(view.latest)
    const stored = await readVersions(clickhouse, resources)
    return compare(seen, stored, await readSideBuckets(buckets))
  }

  /**
   * Writes the complete bucket's statement about itself, if it changed: every account of ClickHouse is in the bucket,
   * so the number of accounts may also become lower. `refilled`: the epoch, if it was filled again.
   */
  async #putMeta(refilled: number | undefined): Promise<void> {
    const { buckets, deployment, view, projection } = this.#parts
    const isRaised = (view.latest.meta?.format ?? 0) >= dataFormat
    if (refilled === undefined && isRaised && faultOfMeta(view.latest) === undefined) return
    for (;;) {
      // Others may be creating accounts: the entry that is replaced must name none that this view has not seen.
      await projection.caughtUp()
      const { meta: present, accounts } = view.latest
      const revision = view.latest.revisionOf(metaKey)
      const meta: Meta = {
        deployment_id: deployment.id,
        key_fingerprint: deployment.keyFingerprint,
        epoch: refilled ?? (isEpoch(present?.epoch) ? present.epoch : nextEpoch(0, view)),
        accounts: accounts.size,
        ...raisedFormat(present),
      }
      if ((await buckets.config.replace(metaKey, JSON.stringify(meta), revision)) !== undefined) return
    }
  }
}

/**
 * An epoch above all that this process knows, and at least the time in seconds: the epoch of a lost bucket is unknown, but
 * other processes still use a configuration with it.
 */
const nextEpoch = (before: number, { latest, state }: View): number =>
  1 + Math.max(before, epochOf(latest.meta), epochOf(state.meta), Math.floor(now() / 1_000))

/** The reason why a configuration does not belong to this deployment. */
function foreignMeta(
  meta: Meta | undefined,
  { deployment, sealer }: Pick<ReconcilerParts, 'deployment' | 'sealer'>,
): string | undefined {
  if (meta === undefined) return undefined
  if (meta.deployment_id !== deployment.id) {
    return 'The configuration in NATS belongs to another ClickHouse database: set the right one, or run "weir store adopt" to use the contents of this one.'
  }
  if (sealer.knows(meta.key_fingerprint)) return undefined
  return 'The configuration in NATS was sealed with another secret key: run "weir store adopt" to rebuild it from ClickHouse.'
}
