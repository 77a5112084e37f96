/**
 * The store of an API process: ClickHouse, the buckets, and what keeps both in step.
 *
 * Nothing is written while ClickHouse and the configuration bucket contradict each other: another deployment's
 * bucket, another secret key, or a bucket that is ahead of the database (restored from an old backup). Reads go on;
 * `refusal` says why, and `adopt` decides by hand.
 */
import { every, now, sleep, type Timer } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import type { Bucket, Nats } from '../core/nats.js'
import type { Occurrences } from '../core/occurrences.js'
import type { AnyResource } from '../resource/define.js'
import { AuditRelay, type RenderRemovedRules } from './audit-relay.js'
import type { Principal } from './change.js'
import { ChangeRows } from './change-rows.js'
import type { Clickhouse } from './clickhouse.js'
import { bucketNames, type Meta, metaKey } from './keys.js'
import { deploymentId, migrate } from './migrate.js'
import { Projection } from './projection.js'
import { type Buckets, compare, type Differences, fill, readStored } from './reconcile.js'
import { type Plan, ResourceStore } from './resource-store.js'
import { RowWriter } from './row-writer.js'
import { View } from './view.js'
import { ViewState } from './view-state.js'

export interface StoreOptions {
  readonly clickhouse: Clickhouse
  readonly nats: Nats
  readonly resources: readonly AnyResource[]
  readonly occurrences: Occurrences
  /** Of the secret key: a second host with another one must not write. */
  readonly keyFingerprint: string
  readonly bucketBytesMax: number
  /** Renders audit events of rules that went with their policy. */
  readonly removedRules: (rows: ChangeRows) => RenderRemovedRules
}

const healthCheckMs = 1_000
const bucketCheckMs = 10_000
/** Another process may be between its insert and its projection: what differs is looked at again after this. */
const settleMs = 1_500

export class Store {
  readonly #options: StoreOptions
  readonly #resources: ResourceStore
  readonly #timers: Timer[] = []
  readonly view: View
  readonly #buckets: Buckets
  readonly rows: ChangeRows
  #deploymentId = ''
  #mismatch: string | undefined
  #clickhouseDown = false

  constructor(options: StoreOptions, buckets: Buckets & { readonly claims: Bucket }) {
    this.#options = options
    this.#buckets = buckets
    const { clickhouse, nats, occurrences } = options
    this.view = new View(buckets.config, nats, occurrences)
    this.rows = new ChangeRows(clickhouse, new RowWriter(clickhouse))
    this.#resources = new ResourceStore({
      heads: buckets.heads,
      claims: buckets.claims,
      secrets: buckets.secrets,
      view: this.view,
      projection: new Projection(buckets.config, buckets.secrets, this.view),
      rows: this.rows,
      audits: new AuditRelay(nats, options.removedRules(this.rows)),
      occurrences,
      refusal: () => this.refusal,
    })
  }

  get deploymentId(): string {
    return this.#deploymentId
  }

  /** Why nothing may be written now; undefined where it may. */
  get refusal(): string | undefined {
    if (this.#mismatch !== undefined) return this.#mismatch
    if (this.#clickhouseDown) return 'ClickHouse does not answer; nothing was written.'
    return this.view.isUsable ? undefined : 'The configuration is not complete yet; nothing was written.'
  }

  async open(): Promise<void> {
    this.#deploymentId = await deploymentId(this.#options.clickhouse)
    await this.#reconcile()
    await this.view.open()
    await this.#resources.open()
    this.#timers.push(
      every(healthCheckMs, () => this.#checkClickhouse()),
      every(bucketCheckMs, () => this.#checkBuckets()),
    )
    if (this.#mismatch === undefined) await this.view.usable
  }

  async commit<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    try {
      return await this.#resources.commit(accountId, principal, plan)
    } catch (error) {
      if (!(await this.#options.clickhouse.ping().catch(() => false))) this.#clickhouseDown = true
      throw error
    }
  }

  /** The next account's first commit makes one more that the bucket must hold. */
  async countAccount(): Promise<void> {
    for (;;) {
      const entry = await this.#buckets.config.get(metaKey)
      if (entry?.value === undefined) return
      const meta = JSON.parse(Buffer.from(entry.value).toString()) as Meta
      const next = JSON.stringify({ ...meta, accounts: meta.accounts + 1 } satisfies Meta)
      if ((await this.#buckets.config.replace(metaKey, next, entry.revision)) !== undefined) return
    }
  }

  async #reconcile(): Promise<void> {
    let state = await readState(this.#buckets.config)
    const { meta } = state
    if (meta !== undefined && meta.key_fingerprint !== this.#options.keyFingerprint) {
      throw new Error(
        'The secret key is not the one this deployment was made with: set the same WEIR_SECRET_KEY on every host.',
      )
    }
    if (meta !== undefined && meta.deployment_id !== this.#deploymentId) {
      this.#refuse(
        'The configuration in NATS belongs to another ClickHouse database: "weir store adopt" decides which one counts.',
      )
      return
    }
    let differences = await this.#compare(state)
    if (meta !== undefined && isDifferent(differences)) {
      await sleep(settleMs)
      state = await readState(this.#buckets.config)
      differences = await this.#compare(state)
    }
    const [first] = differences.ahead
    if (first !== undefined && !(await this.#hasUnfinished())) {
      this.#refuse(
        `The configuration in NATS is ahead of ClickHouse (${differences.ahead.length} rows, such as ${first.kind} ${first.id}): "weir store adopt" decides which one counts.`,
      )
      return
    }
    const writes = await fill(this.#buckets, state, differences, {
      deployment_id: this.#deploymentId,
      key_fingerprint: this.#options.keyFingerprint,
    })
    if (writes > 0) this.#options.occurrences.projectionRepaired({ writes })
  }

  #refuse(reason: string): void {
    this.#mismatch = reason
    this.#options.occurrences.storeMismatch({ reason })
  }

  async #compare(state: ViewState): Promise<Differences> {
    return compare(await readStored(this.#options.clickhouse, this.#options.resources), state)
  }

  /** Is there a change under way that explains why the bucket and ClickHouse differ? */
  async #hasUnfinished(): Promise<boolean> {
    let unfinished = false
    await readAll(this.#buckets.heads, (value) => {
      unfinished ||= (JSON.parse(value) as { change: unknown }).change !== null
    })
    return unfinished
  }

  async #checkClickhouse(): Promise<void> {
    const answers = await this.#options.clickhouse.ping().catch(() => false)
    if (!answers && !this.#clickhouseDown) this.#options.occurrences.storeUnavailable({ at: now() })
    this.#clickhouseDown = !answers
  }

  /** A bucket that was made anew under a running process is filled again. */
  async #checkBuckets(): Promise<void> {
    if (this.#clickhouseDown || this.#mismatch !== undefined) return
    try {
      await openBuckets(this.#options.nats, this.#options.bucketBytesMax)
      if ((await this.#buckets.config.get(metaKey))?.value === undefined) await this.#reconcile()
    } catch (error) {
      this.#options.occurrences.configurationUnreachable({ reason: messageOf(error) })
    }
  }

  /** Decides by hand that ClickHouse is right: the bucket is emptied and filled from it. */
  async adoptClickhouse(): Promise<void> {
    await this.#buckets.config.empty()
    await this.#buckets.secrets.empty()
    await this.#buckets.heads.empty()
    this.#mismatch = undefined
    await this.#reconcile()
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) timer.stop()
    await this.#resources.close()
    this.view.close()
  }
}

const isDifferent = ({ missing, deleted, ahead }: Differences): boolean =>
  missing.length + deleted.length + ahead.length > 0

export async function openStore(options: StoreOptions): Promise<Store> {
  await migrate(options.clickhouse, options.resources)
  const store = new Store(options, await openBuckets(options.nats, options.bucketBytesMax))
  await store.open()
  return store
}

async function openBuckets(nats: Nats, bytesMax: number): Promise<Buckets & { claims: Bucket }> {
  return {
    config: await nats.openBucket(bucketNames.config, bytesMax),
    secrets: await nats.openBucket(bucketNames.secrets, bytesMax),
    heads: await nats.openBucket(bucketNames.heads, bytesMax),
    claims: await nats.openBucket(bucketNames.claims, bytesMax),
  }
}

/** What the bucket holds at this moment, complete or not. */
async function readState(bucket: Bucket): Promise<ViewState> {
  const state = new ViewState()
  await readEntries(bucket, (entry) => state.apply(entry))
  return state
}

const readAll = (bucket: Bucket, take: (value: string) => void): Promise<void> =>
  readEntries(bucket, ({ value }) => {
    if (value !== undefined) take(Buffer.from(value).toString())
  })

function readEntries(bucket: Bucket, take: Parameters<Bucket['watch']>[0]): Promise<void> {
  return new Promise((resolve, reject) => {
    let watch: { close(): void } | undefined
    let isCurrent = false
    const done = (): void => {
      isCurrent = true
      watch?.close()
      resolve()
    }
    bucket.watch(take, done).then((opened) => {
      watch = opened
      if (isCurrent) opened.close()
    }, reject)
  })
}
