/**
 * The store of an API process: ClickHouse, the buckets, and what keeps both in step.
 *
 * Nothing is written while ClickHouse and the buckets contradict each other: another deployment's configuration, or
 * one that is ahead of the database (restored from an old backup). Reads go on; `refusal` says why, and `adopt`
 * decides by hand: ClickHouse is right, and the buckets are made anew from it. There is no command for the opposite.
 * The buckets hold present rows alone, without history, so that a database lost or put back is restored from a backup.
 */
import { every, now, type Timer } from '../core/clock.js'
import { messageOf, StartFault } from '../core/errors.js'
import { payloadHeadroomBytes } from '../core/limits.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Nats } from '../nats/nats.js'
import type { AnyResource, Row } from '../resource/define.js'
import { View } from '../view/view.js'
import type { IdleGeneration, ViewState } from '../view/view-state.js'
import type { Answer, RequestKey } from './answers.js'
import { AuditRelay, type RenderRules } from './audit-relay.js'
import { openBuckets, type StoreBuckets } from './buckets.js'
import type { Principal } from './change.js'
import { ChangeRows } from './change-rows.js'
import { type Clickhouse, isTableMissing } from './clickhouse.js'
import { ForeignRows } from './foreign-rows.js'
import { KnownKeys } from './known-keys.js'
import { type Deployment, migrate, readDeployment } from './migrate.js'
import type { Plan, RulesPlan } from './plan.js'
import { Projection } from './projection.js'
import { Reconciler } from './reconciler.js'
import { Repair } from './repair.js'
import { RowWriter } from './row-writer.js'
import { StagingSweep } from './staging-sweep.js'
import { ResourceStore } from './store.js'
import { highestVersion, readStored } from './stored-rows.js'

export interface StoreOptions {
  readonly clickhouse: Clickhouse
  readonly nats: Nats
  readonly resources: readonly AnyResource[]
  readonly occurrences: Occurrences
  /** Of the secret key: a second host with another one must not write. */
  readonly keyFingerprint: string
  readonly bucketBytesMax: number
  /** Renders audit events of rules that went with their policy, or were replaced all at once. */
  readonly renderRules: (rows: ChangeRows, stateOf: () => ViewState) => RenderRules
}

/** ClickHouse is asked so often, so many times and so long: one that hangs is noticed within 4 s. */
const healthCheckMs = 1_000
const healthTriesMax = 2
const healthTimeoutMs = 1_500
const bucketCheckMs = 10_000
const stagingSweepMs = 60_000
const foreignCheckMs = 30_000

export async function openStore(options: StoreOptions): Promise<Store> {
  const { clickhouse, resources, keyFingerprint } = options
  const deployment = await migrate(clickhouse, resources, keyFingerprint)
  if (deployment.keyFingerprint !== keyFingerprint) {
    throw new StartFault(
      'The secret key is not the one this database was made with: set the same WEIR_SECRET_KEY on every host.',
    )
  }
  const store = new Store(options, await openBuckets(options.nats, options.bucketBytesMax), deployment)
  await store.open()
  return store
}

export class Store {
  readonly #options: StoreOptions
  readonly #deployment: Deployment
  readonly #resources: ResourceStore
  readonly #reconciler: Reconciler
  readonly #stagingSweep: StagingSweep
  readonly #keys: KnownKeys
  readonly #foreignRows: ForeignRows
  readonly #timers: Timer[] = []
  readonly view: View
  readonly rows: ChangeRows
  /** Why ClickHouse can't be written to. */
  #clickhouseRefusal: string | undefined
  #stopListening = (): void => {}

  constructor(options: StoreOptions, buckets: StoreBuckets, deployment: Deployment) {
    const { clickhouse, nats, occurrences, resources } = options
    this.#options = options
    this.#deployment = deployment
    this.view = new View(buckets.config, occurrences)
    this.rows = new ChangeRows(clickhouse, new RowWriter(clickhouse))
    const projection = new Projection(buckets, this.view)
    const readAccount = async (accountId: string) =>
      (await readStored(clickhouse, resources, [accountId])).get(accountId) ?? []
    this.#resources = new ResourceStore({
      ...buckets,
      view: this.view,
      projection,
      repair: new Repair(projection, readAccount),
      rows: this.rows,
      audits: new AuditRelay(
        nats,
        options.renderRules(this.rows, () => this.view.state),
      ),
      occurrences,
      highestStored: (accountId) => highestVersion(clickhouse, resources, accountId),
      headBytesMax: () => nats.payloadBytesMax - payloadHeadroomBytes,
      refusal: () => this.refusal,
      contradiction: () => this.#contradiction,
    })
    const contradiction = () => this.#contradiction
    this.#keys = new KnownKeys({ clickhouse, occurrences, view: this.view, contradiction })
    this.#foreignRows = new ForeignRows({ clickhouse, resources, occurrences, view: this.view })
    this.#stagingSweep = new StagingSweep(this.view, this.#resources)
    const reconciled = { clickhouse, resources, buckets, deployment, occurrences, view: this.view }
    this.#reconciler = new Reconciler({ ...reconciled, store: this.#resources })
  }

  get deploymentId(): string {
    return this.#deployment.id
  }

  /** Why ClickHouse and the buckets are left as they are: one is away, or what they hold is in doubt. */
  get #contradiction(): string | undefined {
    return this.#clickhouseRefusal ?? this.#reconciler.refusal
  }

  /** Why nothing may be written now; undefined where it may. */
  get refusal(): string | undefined {
    if (this.#contradiction !== undefined) return this.#contradiction
    return this.view.isUsable ? undefined : 'The configuration is not complete yet; nothing was written.'
  }

  async open(): Promise<void> {
    const { nats } = this.#options
    await this.view.open()
    await this.view.read
    await this.#reconciler.run()
    await this.#keys.open()
    await this.#resources.open()
    this.#stopListening = nats.onReconnect(() => void this.#checkBuckets())
    this.#timers.push(
      every(healthCheckMs, () => this.#checkClickhouse()),
      every(bucketCheckMs, () => this.#checkBuckets()),
      every(stagingSweepMs, () => this.#sweepStagings()),
      every(foreignCheckMs, () => this.#reportForeign()),
    )
    if (this.#reconciler.refusal === undefined) await this.view.usable
  }

  commit<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    return this.#written(this.#resources.commit(accountId, principal, plan))
  }

  /** Like `commit`, but once for each key: a request that comes again is answered what it was before. */
  commitOnce(accountId: string, principal: Principal, plan: Plan<Answer>, key: RequestKey): Promise<Answer> {
    return this.#written(this.#resources.commitOnce(accountId, principal, plan, key))
  }

  async #written<T>(write: Promise<T>): Promise<T> {
    try {
      return await write
    } catch (error) {
      await this.#checkClickhouse()
      throw error
    }
  }

  /** What the request was answered before, where its change is carried out. */
  answered(key: RequestKey): Promise<Answer | undefined> {
    return this.#resources.answered(key)
  }

  /** What `commit` would resolve or reject with at present; nothing is changed. */
  rehearse<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    return this.#resources.rehearse(accountId, principal, plan)
  }

  /** Replaces all rules of an IP policy, as one change that is seen whole. */
  replaceRules<T>(accountId: string, principal: Principal, policyId: string, plan: RulesPlan<T>): Promise<T> {
    return this.#written(this.#resources.replaceRules(accountId, principal, policyId, plan))
  }

  /** Takes out rules that were staged and never committed. */
  dropStaging(idle: IdleGeneration): Promise<void> {
    return this.#resources.dropStaging(idle)
  }

  /** The state that every change of the account committed so far, by whichever process, is in. */
  settled(accountId: string): Promise<ViewState> {
    return this.#resources.settled(accountId)
  }

  /** A sealed value of a resource as it is stored now; undefined where it has none. */
  sealedValue(kind: string, id: string, field: string): Promise<string | undefined> {
    return this.#resources.sealedValue(kind, id, field)
  }

  /** Is ClickHouse there, and the one that was there? After it was away, what it holds is compared again. */
  async #checkClickhouse(): Promise<void> {
    const before = this.#clickhouseRefusal
    const found = await this.#findClickhouse()
    if (found !== undefined) {
      if (before === undefined) this.#options.occurrences.storeUnavailable({ at: now(), reason: found })
      this.#clickhouseRefusal = found
    } else if (before !== undefined) {
      this.#reconciler.doubt('ClickHouse was away; what it holds is being compared.')
      this.#clickhouseRefusal = undefined
      await this.#checkBuckets()
    }
  }

  async #findClickhouse(): Promise<string | undefined> {
    try {
      const { id } = await this.#readDeployment()
      return id === this.#deployment.id
        ? undefined
        : 'ClickHouse holds another deployment than it did; nothing was written.'
    } catch (error) {
      return isTableMissing(error)
        ? 'The tables in ClickHouse are gone; nothing was written.'
        : 'ClickHouse does not answer; nothing was written.'
    }
  }

  /** A machine that is out of breath may answer late, but hardly ever twice. */
  async #readDeployment(): Promise<Deployment> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await readDeployment(this.#options.clickhouse, healthTimeoutMs)
      } catch (error) {
        if (tries === healthTriesMax) throw error
      }
    }
  }

  /** A bucket that was made anew or put back under a running process is filled again. */
  async #checkBuckets(): Promise<void> {
    if (this.#clickhouseRefusal !== undefined) return
    try {
      await openBuckets(this.#options.nats, this.#options.bucketBytesMax)
      await this.#reconciler.check()
    } catch (error) {
      this.#options.occurrences.configurationUnreachable({ reason: messageOf(error) })
    }
  }

  async #sweepStagings(): Promise<void> {
    if (this.refusal !== undefined) return
    await this.#stagingSweep.run().catch((error: unknown) => {
      this.#options.occurrences.configurationUnreachable({ reason: messageOf(error) })
    })
  }

  /** Is this row of the view a key of ours? Throws while ClickHouse is away and it was not compared before. */
  isKeyGenuine(row: Row): Promise<boolean> {
    return this.#keys.isGenuine(row)
  }

  /** Compares keys of the account that are new, so that `isKeyKnown` can tell. */
  compareKeys(accountId: string): Promise<void> {
    return this.#keys.compareAccount(accountId)
  }

  /** Was this row of the view found to be a key of ours? */
  isKeyKnown(row: Row): boolean {
    return this.#keys.isKnown(row)
  }

  async #reportForeign(): Promise<void> {
    if (this.refusal !== undefined) return
    await this.#foreignRows.report().catch((error: unknown) => {
      this.#options.occurrences.configurationUnreachable({ reason: messageOf(error) })
    })
  }

  /** Decides by hand that ClickHouse is right: the buckets are emptied and filled from it. */
  adoptClickhouse(): Promise<void> {
    return this.#reconciler.adoptClickhouse()
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) timer.stop()
    this.#stopListening()
    await this.#resources.close()
    this.view.close()
  }
}
