/**
 * Writing resources.
 *
 * A write reads its account's head, plans its change against a view that has seen everything before, and commits the
 * change to the head. What follows is the same for all who find a change there: it is carried out, and the head is
 * marked done.
 */
import { now } from '../core/clock.js'
import { unavailable } from '../core/errors.js'
import { newId } from '../core/ids.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Bucket } from '../nats/bucket.js'
import type { View } from '../view/view.js'
import type { IdleGeneration, ViewState } from '../view/view-state.js'
import { type Answer, Answers, keptAnswer, type Repeatable, type RequestKey } from './answers.js'
import type { AuditRelay } from './audit-relay.js'
import { Carrier } from './carrier.js'
import { type Change, emptyChange, type Principal } from './change.js'
import type { ChangeRows } from './change-rows.js'
import { DraftClaims } from './draft-claims.js'
import { type Committed, type FinishedHead, Heads, versionGap } from './heads.js'
import { checkSize, countsAfter, type Draft, isEmpty, type Plan, type RulesPlan } from './plan.js'
import type { Basis, Projection } from './projection.js'
import { Queues } from './queues.js'
import type { Repair } from './repair.js'
import { RuleReplacer, type Settled } from './replace-rules.js'
import { placeRules } from './rule-chunks.js'
import { readSecrets, withKeptSecrets } from './sealed-values.js'
import type { Stored } from './stored-rows.js'

export interface ResourceStoreParts {
  readonly config: Bucket
  readonly heads: Bucket
  readonly claims: Bucket
  readonly secrets: Bucket
  readonly idempotency: Bucket
  readonly view: View
  readonly projection: Projection
  readonly repair: Repair
  readonly rows: ChangeRows
  readonly audits: AuditRelay
  readonly occurrences: Occurrences
  /** The highest version that ClickHouse has of an account. */
  readonly highestStored: (accountId: string) => Promise<number>
  readonly headBytesMax: () => number
  /** Why nothing may be written now; undefined where it may. */
  readonly refusal: () => string | undefined
  /** Why ClickHouse and the buckets are left as they are; undefined where they may be brought together. */
  readonly contradiction: () => string | undefined
}

export class ResourceStore {
  readonly #parts: ResourceStoreParts
  readonly #claims: DraftClaims
  readonly #answers: Answers
  readonly #replacer: RuleReplacer
  readonly heads: Heads
  /** One write of an account at a time in this process: the others would only lose the race for the head. */
  readonly #queues = new Queues()

  constructor(parts: ResourceStoreParts) {
    this.#parts = parts
    this.heads = new Heads({
      bucket: parts.heads,
      bytesMax: parts.headBytesMax,
      occurrences: parts.occurrences,
      carryOut: (...committed) => carrier.carryOut(...committed),
      maySweep: () => parts.contradiction() === undefined,
      known: (accountId) => this.#known(accountId),
    })
    this.#claims = new DraftClaims({ bucket: parts.claims, view: parts.view, heads: this.heads })
    this.#answers = new Answers(parts.idempotency)
    const carrier = new Carrier({ ...parts, claims: this.#claims, answers: this.#answers })
    this.#replacer = new RuleReplacer({
      ...parts,
      heads: this.heads,
      settled: (accountId) => this.#settled(accountId),
      finish: (...committed) => this.#finish(...committed),
    })
  }

  open(): Promise<void> {
    return this.heads.open()
  }

  /** Commits what `plan` makes of the account's present state and carries it out; resolves when it is durable. */
  commit<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    return this.#queues.inTurn(accountId, () => this.#commit(accountId, principal, plan))
  }

  /** Like `commit`, but once for each key: a request that comes again is answered what it was before. */
  async commitOnce(
    accountId: string,
    principal: Principal,
    plan: Plan<Answer>,
    key: RequestKey,
  ): Promise<Answer> {
    const repeatable = {
      before: () => this.#answers.find(key),
      kept: (answer: Answer) => keptAnswer(key, answer),
    }
    return this.#queues.inTurn(accountId, () => this.#commit(accountId, principal, plan, repeatable))
  }

  /** What the request was answered before; undefined where it was not, or its change is not carried out yet. */
  answered(key: RequestKey): Promise<Answer | undefined> {
    return this.#answers.find(key)
  }

  /** What `commit` would resolve or reject with at present; nothing is changed. */
  rehearse<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    return this.#queues.inTurn(accountId, () => this.#rehearse(accountId, principal, plan))
  }

  /** Replaces all rules of an IP policy as one change; resolves when it is durable. */
  replaceRules<T>(accountId: string, principal: Principal, policyId: string, plan: RulesPlan<T>): Promise<T> {
    return this.#queues.inTurn(accountId, () => this.#replacer.replace(accountId, principal, policyId, plan))
  }

  /** Takes out rules that were staged, once it is certain that they were not committed and never will be. */
  dropStaging(idle: IdleGeneration): Promise<void> {
    return this.#replacer.drop(idle)
  }

  /** A sealed value of a resource as it is stored now, not as a view has it; undefined where it has none. */
  async sealedValue(kind: string, id: string, field: string): Promise<string | undefined> {
    return (await readSecrets(this.#parts.secrets, kind, id))?.sealed[field]
  }

  async #commit<T>(
    accountId: string,
    principal: Principal,
    plan: Plan<T>,
    repeatable?: Repeatable<T>,
  ): Promise<T> {
    const { view, projection } = this.#parts
    for (;;) {
      const { known, state } = await this.#settled(accountId)
      const before = await repeatable?.before()
      if (before !== undefined) return before
      const version = known.version + 1
      const at = now()
      const draft = plan(state, version, at)
      if (isEmpty(draft) && repeatable === undefined) return draft.result
      const planned = await this.#changeOf(accountId, version, at, principal, draft, state)
      const change =
        repeatable === undefined ? planned : { ...planned, answer: repeatable.kept(draft.result) }
      if (!(await this.#claims.acquire(accountId, version, draft))) continue
      const basis = projection.basis()
      const committed = await this.heads.commit(accountId, known, version, change)
      if (committed === undefined) continue
      await this.#finish(accountId, known, committed, change, basis)
      await view.reached(accountId, version)
      return draft.result
    }
  }

  async #rehearse<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    for (;;) {
      const { known, state } = await this.#settled(accountId)
      const version = known.version + 1
      const at = now()
      const draft = plan(state, version, at)
      if (isEmpty(draft)) return draft.result
      this.heads.checkSize(
        known,
        version,
        await this.#changeOf(accountId, version, at, principal, draft, state),
      )
      if (await this.#claims.rehearse(accountId, version, draft)) return draft.result
    }
  }

  /** The state that every change committed so far, by whichever process, is in. */
  async settled(accountId: string): Promise<ViewState> {
    return (await this.#settled(accountId)).state
  }

  async #settled(accountId: string): Promise<Settled> {
    const { view, refusal } = this.#parts
    for (;;) {
      const refused = refusal()
      if (refused !== undefined) throw unavailable(refused)
      const known = await this.heads.finished(accountId)
      await view.reached(accountId, known.seen)
      const { state } = view
      if (state.versionOf(accountId) <= known.version) return { known, state }
      // Somebody else was faster, or the heads were put back to an earlier state: the next look tells.
      await this.#notPutBack(accountId, known)
    }
  }

  async #notPutBack(accountId: string, known: FinishedHead): Promise<void> {
    const again = await this.heads.finished(accountId)
    if (again.version <= known.version && this.#parts.view.state.versionOf(accountId) > again.version) {
      throw unavailable('What NATS holds is older than it was; it is brought up to what ClickHouse holds.')
    }
  }

  async #changeOf<T>(
    accountId: string,
    version: number,
    at: number,
    principal: Principal,
    draft: Draft<T>,
    state: ViewState,
  ): Promise<Change> {
    const puts = await withKeptSecrets(this.#parts.secrets, draft.puts, state)
    for (const put of puts) checkSize(put)
    return {
      id: newId('chg_'),
      at,
      principal,
      puts,
      removals: draft.removals.map(({ kind, row }) => ({ kind, id: row.id, row })),
      chunks: placeRules(state, puts, draft.removals),
      emptiedPolicies: draft.emptiedPolicies ?? [],
      replacements: [],
      counts: countsAfter(state, accountId, draft),
      stored: isEmpty(draft) ? (state.accounts.get(accountId)?.stored ?? 0) : version,
      audits: draft.audits,
      releases: draft.releases ?? [],
    }
  }

  /** What follows the own commit, unless somebody else was faster. */
  async #finish(
    accountId: string,
    known: FinishedHead,
    { version, revision }: Committed,
    change: Change,
    basis?: Basis,
  ): Promise<void> {
    if (revision === undefined) return
    const recent = [...known.recent, change.id]
    await this.heads.carryOut(accountId, { version, change, recent }, revision, basis)
  }

  async #known(accountId: string): Promise<{ highest: number; seen: number }> {
    const seen = this.#parts.view.latest.versionOf(accountId)
    return { highest: Math.max(seen, await this.#parts.highestStored(accountId)), seen }
  }

  /** Commits a repair of an account, above everything that is known of it; resolves with how to carry it out. */
  async commitRepair(
    accountId: string,
    floor: number,
  ): Promise<(stored: readonly Stored[]) => Promise<void>> {
    for (;;) {
      const known = await this.heads.finished(accountId)
      const version = known.version >= floor ? known.version + 1 : floor + versionGap
      const change: Change = {
        ...emptyChange,
        id: newId('chg_'),
        at: now(),
        counts: {},
        stored: 0,
        isRepair: true,
      }
      const basis = this.#parts.projection.basis()
      const committed = await this.heads.commit(accountId, known, version, change)
      if (committed === undefined) continue
      const { revision } = committed
      return async (stored) => {
        if (revision === undefined) return
        await this.#parts.repair.apply(accountId, version, { stored, basis })
        await this.heads.done(accountId, version, [...known.recent, change.id], revision)
      }
    }
  }

  /** Waits for the writes that are under way. */
  async close(): Promise<void> {
    this.heads.close()
    await this.#queues.idle()
  }
}
