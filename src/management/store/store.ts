/**
 * Start here: the store of an API process, which writes resources.
 *
 * A write reads its account's head, plans its change against a view that has seen every earlier change, and commits
 * the change to the head, together with those of other writes that wait (see `commits.ts`). The rest is the same for
 * every process that finds changes there: they are carried out (see `carrier.ts`), and the head is marked done. The
 * store knows rows, changes and buckets; it must never know HTTP, traffic or delivery.
 */
import { now } from '../../ground/core/clock.js'
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
import { Answers, type RequestKey, storedAnswer, type WriteAnswer } from './change/answers.js'
import type { Principal } from './change/change.js'
import { ChangeRows } from './change/change-rows.js'
import { Heads } from './change/heads.js'
import { type Draft, isEmpty, type Plan, type RulesPlan } from './change/plan.js'
import { type SettledAccount, settle } from './change/settled-account.js'
import { Claims } from './claims/claims.js'
import type { Clickhouse } from './clickhouse/clickhouse.js'
import { type Deployment, migrate } from './clickhouse/migrate.js'
import { Commits, planChange } from './commits.js'
import { History } from './history/history.js'
import { PastRows } from './history/past-rows.js'
import { KnownKeys } from './known-keys.js'
import { Projection } from './projection.js'
import { Queues } from './queues.js'
import { Repair } from './repair.js'
import { RuleReplacer } from './replace-rules.js'
import { Resealing } from './reseal.js'
import { readSecrets } from './sealed-values.js'
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
  readonly #waitsFor: StoreOptions['waitsFor']
  readonly #verify: VerifyWrite
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
    this.#verify = options.verify
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
    const repeatable = {
      request: key,
      before: () => this.#answers.find(key),
      kept: (answer: WriteAnswer) => storedAnswer(key, answer),
    }
    return this.#checked(this.#commits.add(accountId, principal, plan, repeatable))
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

  /** Resolves or rejects as `commit` would at present; nothing is changed. */
  rehearse<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    return this.#queues.inTurn(accountId, () => this.#rehearse(accountId, principal, plan))
  }

  /** Resolves with the result of a plan, or rejects if its write would be refused. Changes nothing; checks no size. */
  async verifyPlan<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    const { known, state } = await this.#settle(accountId)
    const draft = plan(state, known.version + 1, now())
    if (!isEmpty(draft)) await this.#verifyDraft(accountId, principal, state, draft)
    return draft.result
  }

  /** The same for `replaceRules`. */
  async rehearseRules<T>(
    accountId: string,
    principal: Principal,
    policyId: string,
    plan: RulesPlan<T>,
  ): Promise<T> {
    const { state } = await this.#settle(accountId)
    const { rules, isChange, result } = await plan(state, 0)
    if (!isChange) return result
    const changes = { puts: [], removals: [], rules: { policyId, rules } }
    await this.#verify({ accountId, principal, base: state, state, ...changes })
    return result
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

  async #verifyDraft<T>(
    accountId: string,
    principal: Principal,
    state: ViewState,
    draft: Draft<T>,
  ): Promise<void> {
    const { puts, removals } = draft
    await draft.check?.({ state, puts, removals })
    await this.#verify({ accountId, principal, base: state, state, puts, removals })
  }

  async #rehearse<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    const { secrets } = this.#buckets
    for (;;) {
      const { known, state } = await this.#settle(accountId)
      const version = known.version + 1
      const { draft, change } = await planChange(accountId, version, principal, plan, state, secrets)
      if (isEmpty(draft)) return draft.result
      this.#heads.checkSize(known, version, change)
      await this.#verifyDraft(accountId, principal, state, draft)
      if (await this.#claims.rehearse(accountId, version, draft)) return draft.result
    }
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
