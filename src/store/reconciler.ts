/** Keeps the buckets equal to ClickHouse, and says why nothing may be written if they contradict each other. */
import { sleep } from '../core/clock.js'
import { eachOf } from '../core/concurrency.js'
import { headsAtOnceMax } from '../core/limits.js'
import type { Occurrences } from '../core/occurrences.js'
import type { BucketPosition } from '../nats/bucket.js'
import type { AnyResource } from '../resource/define.js'
import { type Meta, metaKey } from '../view/keys.js'
import type { View } from '../view/view.js'
import type { StoreBuckets } from './buckets.js'
import type { Clickhouse } from './clickhouse.js'
import type { Deployment } from './migrate.js'
import { Queue } from './queues.js'
import { compare, type Differences, fillClaims, readSideBuckets, seenIn } from './reconcile.js'
import { type CarryOutRepair, commitRepair, type RepairParts } from './repair.js'
import { readStored, readVersions } from './stored-rows.js'

export interface ReconcilerParts extends RepairParts {
  readonly clickhouse: Clickhouse
  readonly resources: readonly AnyResource[]
  readonly buckets: StoreBuckets
  /** Creates missing buckets. */
  readonly makeBuckets: () => Promise<unknown>
  readonly deployment: Deployment
  readonly occurrences: Occurrences
  readonly view: View
}

const looksMax = 3
const settleMs = 500

type Positions = readonly BucketPosition[]

export class Reconciler {
  readonly #parts: ReconcilerParts
  #refusal: string | undefined
  #doubt: string | undefined
  #positions: Positions = []
  /** One comparison at a time. */
  readonly #queue = new Queue()

  constructor(parts: ReconcilerParts) {
    this.#parts = parts
  }

  /** Why nothing may be written; undefined if writes are allowed. */
  get refusal(): string | undefined {
    return this.#refusal ?? this.#doubt
  }

  /** Refuses writes until the next comparison. */
  doubt(reason: string): void {
    this.#doubt = reason
  }

  /** Compares again if something happened since the last time that makes it necessary. */
  check(): Promise<void> {
    return this.#queue.inTurn(async () => {
      const isContinued = this.#isContinued(await this.#read())
      if (isContinued && this.refusal === undefined && this.#parts.view.isUsable) return
      await this.#parts.makeBuckets()
      this.#doubt ??= 'The data in NATS is being compared with ClickHouse.'
      await this.#parts.view.reread()
      await this.#reconcile()
    })
  }

  /** Compares the view with ClickHouse, and repairs. */
  run(): Promise<void> {
    return this.#queue.inTurn(() => this.#reconcile())
  }

  adoptClickhouse(): Promise<void> {
    return this.#queue.inTurn(async () => {
      const { buckets, view } = this.#parts
      await view.reread()
      const { epoch = 0 } = view.latest.meta ?? {}
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
    const { view, deployment } = this.#parts
    const { meta } = view.latest
    const foreign = foreignMeta(meta, deployment)
    if (foreign !== undefined) return this.#refuse(foreign)
    const { behind, ahead } = await this.#compare()
    const [first] = ahead
    if (first !== undefined) {
      return this.#refuse(
        `The configuration in NATS is ahead of ClickHouse (${ahead.length} accounts, such as ${first}): restore a newer backup of ClickHouse, or run "weir store adopt" to use the contents of ClickHouse.`,
      )
    }
    await this.#repair(behind, versionsBefore)
    const isFilled = meta === undefined || behind.size > 0
    // Else the view is as good as a fresh one, which would take as long as the first.
    if (isFilled) await view.reread()
    const claims = await fillClaims(this.#parts.buckets.claims, view.latest)
    const epoch = Math.max(epochBefore, meta?.epoch ?? 0)
    if (isFilled) await this.#putMeta(epoch + 1)
    if (claims + behind.size > 0)
      this.#parts.occurrences.projectionRepaired({ accounts: behind.size, claims })
    this.#positions = await this.#read()
    this.#refusal = undefined
    this.#doubt = undefined
  }

  #refuse(reason: string): void {
    if (this.#refusal !== reason) this.#parts.occurrences.storeMismatch({ reason })
    this.#refusal = reason
    this.#doubt = undefined
  }

  /**
   * During a change, the bucket seems to lack something, so an account is behind only if several looks say so. One
   * look will do if there is no configuration at all.
   */
  async #compare(): Promise<Differences> {
    const { view } = this.#parts
    let found = await this.#look()
    const looks = view.latest.meta === undefined ? 1 : looksMax
    for (let look = 2; look <= looks && found.behind.size > 0 && found.ahead.length === 0; look += 1) {
      await sleep(settleMs)
      const again = await this.#look()
      const behind = [...again.behind].filter(([accountId]) => found.behind.has(accountId))
      found = { behind: new Map(behind), ahead: again.ahead }
    }
    return found
  }

  async #look(): Promise<Differences> {
    const { clickhouse, resources, buckets, view } = this.#parts
    const seen = seenIn(view.latest)
    const stored = await readVersions(clickhouse, resources)
    return compare(seen, stored, await readSideBuckets(buckets))
  }

  /** All repairs are committed before ClickHouse is read once for all of them, so the rows read are current. */
  async #repair(behind: Differences['behind'], versionsBefore: ReadonlyMap<string, number>): Promise<void> {
    const { clickhouse, resources } = this.#parts
    const carriers = new Map<string, CarryOutRepair>()
    await eachOf(behind, headsAtOnceMax, async ([accountId, floor]) => {
      const atLeast = Math.max(floor, versionsBefore.get(accountId) ?? 0)
      carriers.set(accountId, await commitRepair(this.#parts, accountId, atLeast))
    })
    if (carriers.size === 0) return
    const accountIds = carriers.size <= namedAccountsMax ? [...carriers.keys()] : undefined
    const stored = await readStored(clickhouse, resources, accountIds)
    await eachOf(carriers, headsAtOnceMax, ([accountId, carryOut]) => carryOut(stored.get(accountId) ?? []))
  }

  async #putMeta(epoch: number): Promise<void> {
    const { buckets, deployment, view } = this.#parts
    const meta: Meta = {
      deployment_id: deployment.id,
      key_fingerprint: deployment.keyFingerprint,
      epoch,
      accounts: view.latest.accounts.size,
    }
    await buckets.config.put(metaKey, JSON.stringify(meta))
  }
}

/** Few accounts are read by name; for many, all accounts are read. */
const namedAccountsMax = 100

/** Why a configuration does not belong to this deployment. */
function foreignMeta(meta: Meta | undefined, deployment: Deployment): string | undefined {
  if (meta === undefined) return undefined
  if (meta.deployment_id !== deployment.id) {
    return 'The configuration in NATS belongs to another ClickHouse database: set the right one, or run "weir store adopt" to use the contents of this one.'
  }
  if (meta.key_fingerprint === deployment.keyFingerprint) return undefined
  return 'The configuration in NATS was sealed with another secret key: run "weir store adopt" to rebuild it from ClickHouse.'
}
