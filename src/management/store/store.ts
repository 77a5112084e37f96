/**
 * Start here: the store of an API process, which writes resources.
 *
 * A write reads its account's head, plans its change against a view that has seen every earlier change, and commits
 * the change to the head, together with those of other writes that wait (see `commits.ts`). The rest is the same for
 * every process that finds changes there: they are carried out (see `carrier.ts`), and the head is marked done. The
 * store knows rows, changes and buckets; it must never know HTTP, traffic or delivery.
 */
import { payloadHeadroomBytes } from '../../ground/core/limits.js'
import { expectSameKey, type Sealer } from '../../ground/core/seal.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { AnyResource } from '../../words/resource/kind/define.js'
import { View } from '../../words/view/view.js'
import type { IdleGeneration, ViewState } from '../../words/view/view-state.js'
import { AuditRelay, type RenderBulk } from './audit-relay.js'
import { openBuckets, type StoreBuckets } from './buckets.js'
import { carryOut } from './carrier.js'
import {
  Answers,
  type Repeatable,
  type RequestKey,
  storedAnswer,
  type WriteAnswer,
} from './change/answers.js'
import type { Principal } from './change/change.js'
import { ChangeRows } from './change/change-rows.js'
import { Heads } from './change/heads.js'
import type { Plan, RulesPlan } from './change/plan.js'
import { type SettledAccount, settle } from './change/settled-account.js'
import { Claims } from './claims/claims.js'
import type { Clickhouse } from './clickhouse/clickhouse.js'
import { type Deployment, migrate } from './clickhouse/migrate.js'
import { type BatchedPlans, Commits } from './commits.js'
import { History } from './history/history.js'
import { PastRows } from './history/past-rows.js'
import { KnownKeys } from './known-keys.js'
import { Projection } from './projection.js'
import { Queues } from './queues.js'
import { Rehearsals } from './rehearsals.js'
import { Repair } from './repair.js'
import { RuleReplacer } from './replace-rules.js'
import { Resealing } from './reseal.js'
import { readSecrets } from './sealed-values.js'
import { Stage } from './stage.js'
import { highestVersion, readStored } from './stored-rows.js'
import { Upkeep } from './upkeep.js'
import type { VerifyWrite } from './verify.js'

interface StoreOptions {
  readonly clickhouse: Clickhouse
  readonly nats: Nats
  readonly resources: readonly AnyResource[]
  readonly occurrences: Occurrences
  /** A second host with another key must not write. */
  readonly sealer: Sealer
  readonly bucketBytesMax: number
  readonly tcpDomain: string
  /** Learns what the start waits for, as long as it does. */
  readonly waitsFor?: ((what: () => string) => void) | undefined
  /** Renders the audit events that changes don't hold, because there may be very many. */
  readonly renderBulk: (rows: ChangeRows, stateOf: () => ViewState) => RenderBulk
  /** Checks writes after they are planned. */
  readonly verify: VerifyWrite
}

export async function openStore(options: StoreOptions): Promise<Store> {
  const { clickhouse, resources, sealer } = options
  const deployment = await migrate(clickhouse, resources, sealer.fingerprint)
  expectSameKey(deployment.keyFingerprint, sealer)
  const store = new Store(options, await openBuckets(options.nats, options.bucketBytesMax), deployment)
  await store.open()
  return store
}

export class Store {
  readonly #buckets: StoreBuckets
  readonly #deployment: Deployment
  readonly #heads: Heads
  readonly #claims: Claims
  readonly #answers: Answers
  readonly #replacer: RuleReplacer
  readonly #upkeep: Upkeep
  readonly #commits: Commits
  readonly rehearsals: Rehearsals
  readonly #waitsFor: StoreOptions['waitsFor']
  /** One commit of an account at a time in this process: parallel ones would only lose the race for the head. */
  readonly #queues = new Queues()
  readonly view: View
  readonly rows: ChangeRows
  readonly pastRows: PastRows
  /** The genuine API keys of the view. */
  readonly keys: KnownKeys
  readonly history: History
  readonly resealing: Resealing

  constructor(options: StoreOptions, buckets: StoreBuckets, deployment: Deployment) {
    const { clickhouse, nats, occurrences, resources, tcpDomain } = options
    this.#buckets = buckets
    this.#deployment = deployment
    this.#waitsFor = options.waitsFor
    const view = new View(buckets.config, occurrences)
    const rows = new ChangeRows(clickhouse)
    const projection = new Projection(buckets, view)
    this.resealing = new Resealing({ ...options, buckets, projection, deployment })
    const repair = new Repair(
      projection,
      async (accountId) => (await readStored(clickhouse, resources, [accountId])).get(accountId) ?? [],
    )
    const heads = new Heads({
      bucket: buckets.heads,
      bytesMax: () => nats.payloadBytesMax - payloadHeadroomBytes,
      occurrences,
      carryOut: (...committed) => carryOut(carriers, ...committed),
      maySweep: (accountId) => this.#upkeep.contradiction === undefined && !view.withheld.has(accountId),
      known: async (accountId, highest) => {
        const seen = view.latest.versionOf(accountId)
        const stored = highest ?? (await highestVersion(clickhouse, resources, accountId))
        return { highest: Math.max(seen, stored), seen }
      },
    })
    this.view = view
    this.rows = rows
    this.pastRows = new PastRows(clickhouse, rows)
    this.history = new History(clickhouse, view)
    this.#heads = heads
    this.#claims = new Claims({ bucket: buckets.claims, tcpDomain, view, heads })
    this.#answers = new Answers(buckets.idempotency)
    const render = options.renderBulk(rows, () => view.state)
    const audits = new AuditRelay(nats, render)
    const carriers = { rows, projection, repair, audits, claims: this.#claims, answers: this.#answers }
    const account = { heads, view, settled: (id: string) => this.#settle(id), verify: options.verify }
    const { secrets } = buckets
    this.#commits = new Commits({ ...account, queues: this.#queues, claims: this.#claims, secrets })
    const { claims } = carriers
    this.rehearsals = new Rehearsals({ ...account, heads, queues: this.#queues, claims, secrets })
    this.#replacer = new RuleReplacer({ ...account, config: buckets.config, projection, rows })
    const upheld = { heads, projection, repair, buckets, deployment, view }
    this.#upkeep = new Upkeep({ ...options, ...upheld, dropStaging: (idle) => this.dropStaging(idle) })
    const contradiction = () => this.#upkeep.contradiction
    this.keys = new KnownKeys({ clickhouse, occurrences, view, contradiction })
  }

  get deploymentId(): string {
    return this.#deployment.id
  }

  /** The reason why nothing may be written now; undefined if writes are allowed. */
  get refusal(): string | undefined {
    return this.#upkeep.refusal
  }

  /** Resolves when the accounts that were not served at once are repaired. */
  get repaired(): Promise<void> {
    return this.#upkeep.repaired
  }

  /** Resolves when accounts can be served, all but those that are being repaired. */
  async open(): Promise<void> {
    this.#waitsFor?.(() =>
      this.view.isUsable
        ? 'the comparison of NATS with ClickHouse'
        : `a complete configuration: ${this.view.lack}`,
    )
    await this.view.open()
    await this.view.read
    // Not swept before the comparison: changes must not be carried out in a database that contradicts the buckets.
    await this.#heads.leftBehind.open()
    await this.#claims.open()
    await this.#upkeep.reconcile()
    await this.keys.open()
    this.#upkeep.start()
    if (this.#upkeep.contradiction === undefined) await this.view.usable
  }

  /** Commits the result of `plan` on the account's present state and carries it out; resolves when it is durable. */
  commit<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    return this.#checked(this.#commits.add(accountId, principal, plan))
  }

  /** Like `commit`, but once for each key: a repeated request gets its first answer again. */
  commitOnce(
    accountId: string,
    principal: Principal,
    plan: Plan<WriteAnswer>,
    key: RequestKey,
  ): Promise<WriteAnswer> {
    return this.#checked(this.#commits.add(accountId, principal, plan, this.#repeatable(key)))
  }

  #repeatable(key: RequestKey): Repeatable<WriteAnswer> {
    return {
      request: key,
      before: () => this.#answers.find(key),
      kept: (answer) => storedAnswer(key, answer),
    }
  }

  /**
   * Replaces all rules of an IP policy as one change that is seen whole; resolves when it is durable. `signal`: ends the
   * work if it is not committed yet, and nothing is changed.
   */
  replaceRules<T>(
    accountId: string,
    principal: Principal,
    policyId: string,
    plan: RulesPlan<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const replace = () => this.#replacer.replace(accountId, principal, policyId, plan, signal)
    return this.#checked(this.#queues.inTurn(accountId, replace))
  }

  /** A failed write may mean that ClickHouse is away, which others should learn without trying. */
  async #checked<T>(write: Promise<T>): Promise<T> {
    try {
      return await write
    } catch (error) {
      await this.#upkeep.checkClickhouse()
      throw error
    }
  }

  /** The first answer to the request; undefined if there was none, or its change is not carried out yet. */
  answered(key: RequestKey): Promise<WriteAnswer | undefined> {
    return this.#answers.find(key)
  }

  /** Commits several writes together or not at all. With a key, once for it, as `commitOnce`. */
  commitBatch<T>(
    accountId: string,
    principal: Principal,
    batch: BatchedPlans<T, WriteAnswer>,
    key?: RequestKey,
  ): Promise<WriteAnswer> {
    const repeatable = key && this.#repeatable(key)
    return this.#checked(this.#commits.addBatch(accountId, principal, batch, repeatable))
  }

  /** A place to plan the writes of a batch, with the account's present state. */
  async stage(accountId: string): Promise<Stage> {
    const { known, state } = await this.#settle(accountId)
    return new Stage(accountId, known.version + 1, state)
  }

  /** Deletes staged rules, once it is certain that they were not committed and never will be. */
  dropStaging(idle: IdleGeneration): Promise<void> {
    return this.#replacer.drop(idle)
  }

  /** A state with every change of the account that any process has committed so far. */
  async settled(accountId: string): Promise<ViewState> {
    return (await this.#settle(accountId)).state
  }

  /** A sealed value of a resource as it is stored now, which a view may not have yet; undefined if it has none. */
  async sealedValue(kind: string, id: string, field: string): Promise<string | undefined> {
    return (await readSecrets(this.#buckets.secrets, kind, id))?.sealed[field]
  }

  /** The operator's decision that ClickHouse is right: the buckets are emptied and filled from it. */
  adoptClickhouse(): Promise<void> {
    return this.#upkeep.adoptClickhouse()
  }

  #settle(accountId: string): Promise<SettledAccount> {
    return settle({ heads: this.#heads, view: this.view }, () => this.refusal, accountId)
  }

  /** Waits for the writes that are under way. */
  async close(): Promise<void> {
    this.#upkeep.close()
    this.#heads.leftBehind.close()
    await this.#queues.idle()
    this.#claims.close()
    this.view.close()
  }
}
