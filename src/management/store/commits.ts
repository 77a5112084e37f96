/**
 * The writes of accounts. Writes of one account that wait are planned one after the other and committed together
 * (`write-group.ts`), and each gets its own answer. An answer may depend on earlier writes of the group, so none is given
 * before the group is carried out.
 */
import { getOrMake } from '../../ground/core/maps.js'
import { beginTogether, inSpan, type Span, spanning, tracing } from '../../ground/core/telemetry/tracing.js'
import type { Bucket } from '../../ground/nats/bucket.js'
import type { Repeatable } from './change/answers.js'
import type { Principal } from './change/change.js'
import type { FinishedHead } from './change/heads.js'
import { beforeCommit, committed, notWritten } from './change/outcome.js'
import { isEmpty, type Plan } from './change/plan.js'
import type { AccountParts, SettledAccount } from './change/settled-account.js'
import type { Claims } from './claims/claims.js'
import type { Queues } from './queues.js'
import { planChange, Stage } from './stage.js'
import type { VerifyWrite } from './verify.js'
import { WriteGroup } from './write-group.js'

interface CommitsParts extends AccountParts {
  readonly queues: Queues
  readonly claims: Claims
  readonly secrets: Bucket
  readonly settled: (accountId: string) => Promise<SettledAccount>
  readonly verify: VerifyWrite
}

/** A request, and where its answer goes. */
interface Asked<R> {
  readonly principal: Principal
  readonly repeatable: Repeatable<R> | undefined
  /** That of its request, if it is traced. */
  readonly span: Span | undefined
  resolve(result: R): void
  reject(error: unknown): void
}

interface Write<T> extends Asked<T> {
  readonly plan: Plan<T>
}

/** Writes that are committed together or not at all. */
export interface BatchedPlans<T, R> {
  /** Each is planned with the state that those before it leave. */
  readonly plans: readonly Plan<T>[]
  resultOf(results: readonly T[]): R
}

interface BatchWrite<T, R> extends Asked<R> {
  readonly batch: BatchedPlans<T, R>
}

/** A write that was planned as a part of its group. */
interface Joined {
  /** Answers it once the group is carried out. */
  answer(): void
  /** Answers it if the group fails. */
  fail(error: unknown): void
}

/** A write that waits for its group. */
interface WaitingWrite {
  readonly span: Span | undefined
  /** Plans it as the group's next write; undefined if it must wait for the next group. */
  join(known: FinishedHead, group: WriteGroup): Promise<Joined | undefined>
  /** Answers it if there is no group it could be a part of. */
  refuse(error: unknown): Promise<void>
}

export class Commits {
  readonly #parts: CommitsParts
  /** By account. */
  readonly #waiting = new Map<string, WaitingWrite[]>()

  constructor(parts: CommitsParts) {
    this.#parts = parts
  }

  /** Resolves with the plan's result when the change is durable; rejects with what the plan throws. */
  add<T>(accountId: string, principal: Principal, plan: Plan<T>, repeatable?: Repeatable<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const span = tracing()?.current()
      const write = { principal, plan, repeatable, span, resolve, reject }
      this.#wait(accountId, {
        span,
        join: (known, group) => this.#join(accountId, known, group, write),
        refuse: (error) => this.#refuse(accountId, write, error),
      })
    })
  }

  /** The same for writes that are committed together or not at all. */
  addBatch<T, R>(
    accountId: string,
    principal: Principal,
    batch: BatchedPlans<T, R>,
    repeatable?: Repeatable<R>,
  ): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const span = tracing()?.current()
      const write = { principal, batch, repeatable, span, resolve, reject }
      this.#wait(accountId, {
        span,
        join: (known, group) => this.#joinBatch(accountId, known, group, write),
        refuse: (error) => this.#refuse(accountId, write, error),
      })
    })
  }

  #wait(accountId: string, write: WaitingWrite): void {
    const waiting = getOrMake(this.#waiting, accountId, () => [])
    waiting.push(write)
    if (waiting.length === 1) this.#enqueue(accountId)
  }

  /** Other work of the account, such as a replacement of rules, gets its turn between two groups. */
  #enqueue(accountId: string): void {
    void this.#parts.queues.inTurn(accountId, async () => {
      const waiting = this.#waiting.get(accountId)!
      await this.#write(accountId, waiting)
      if (waiting.length > 0) this.#enqueue(accountId)
      else this.#waiting.delete(accountId)
    })
  }

  /** Commits the first writes together and answers them; never rejects. */
  async #write(accountId: string, waiting: WaitingWrite[]): Promise<void> {
    const joined: Joined[] = []
    try {
      do {
        joined.length = 0
      } while (!(await this.#commitGroup(accountId, await this.#parts.settled(accountId), waiting, joined)))
      waiting.splice(0, joined.length)
      for (const write of joined) write.answer()
    } catch (error) {
      // Without a state to plan with, no write has a chance now.
      const failed = waiting.splice(0, joined.length || waiting.length)
      if (joined.length > 0) for (const write of joined) write.fail(error)
      else await Promise.all(failed.map((write) => write.refuse(error)))
    }
  }

  /** Commits the first writes, which `joined` takes, and carries them out; false if another writer committed first. */
  async #commitGroup(
    accountId: string,
    { known, state }: SettledAccount,
    waiting: readonly WaitingWrite[],
    joined: Joined[],
  ): Promise<boolean> {
    const { heads } = this.#parts
    const group = new WriteGroup(accountId, known.version + 1, state, heads.bytesMax / 2)
    for (const write of waiting) {
      const one = group.isFull ? undefined : await write.join(known, group)
      if (one === undefined) break
      joined.push(one)
    }
    if (group.changes.length === 0) return true
    const spans = waiting.slice(0, joined.length).flatMap(({ span }) => span ?? [])
    const attributes = { 'weir.changes': group.changes.length }
    const span = beginTogether(spans, 'commit', { kind: 'internal', attributes })
    return spanning(span, () => this.#carryOut(accountId, known, group))
  }

  async #carryOut(accountId: string, known: FinishedHead, { changes }: WriteGroup): Promise<boolean> {
    const { heads, view } = this.#parts
    const committed = await heads.commit(accountId, known, changes)
    if (committed === undefined) return false
    await heads.carryOut(accountId, committed, () => view.reached(accountId, committed.version))
    return true
  }

  /**
   * Answers a write that could not be planned: nothing of it was written. If it repeats a request whose change is committed
   * already, or whose first answer is known, the answer is that of the first.
   */
  async #refuse<T>(
    accountId: string,
    { repeatable, resolve, reject }: Asked<T>,
    error: unknown,
  ): Promise<void> {
    if (repeatable === undefined) return reject(notWritten(error))
    try {
      const isHeld = await this.#parts.heads.holdsRequest(accountId, repeatable.request)
      // Looked for after the head, which holds a change until its answer is stored.
      const before = await repeatable.before()
      if (before !== undefined) resolve(before)
      else reject(isHeld ? committed(error) : notWritten(error))
    } catch (unread) {
      reject(unread)
    }
  }

  async #join<T>(
    accountId: string,
    known: FinishedHead,
    group: WriteGroup,
    write: Write<T>,
  ): Promise<Joined | undefined> {
    const { heads, claims, secrets, verify } = this.#parts
    const { principal, plan, repeatable, span, resolve, reject } = write
    // Also if its answer depends on writes of the group that fail.
    const fail = (error: unknown): void => reject(notWritten(error))
    if (repeatable !== undefined && group.hasRequest(repeatable.request.key)) return undefined
    const before = await answeredBefore(write)
    if (before !== undefined) return before
    try {
      for (;;) {
        const planned = await planChange(accountId, group.nextVersion, principal, plan, group.state, secrets)
        const { draft } = planned
        if (isEmpty(draft) && repeatable === undefined) return { answer: () => resolve(draft.result), fail }
        const answer = repeatable && { answer: repeatable.kept(draft.result) }
        const change = { ...planned.change, ...answer }
        heads.checkSize(known, group.nextVersion, [change])
        if (!group.takes(draft, change)) return undefined
        const { base, state } = group
        const { puts, removals, claims: claimed = [] } = draft
        await draft.check?.({ state, puts, removals })
        await verify({ accountId, principal, base, state, puts, removals })
        const acquire = () => claims.acquire(accountId, group.nextVersion, claimed)
        if (!(await beforeCommit(() => inSpan(span, acquire)))) continue
        group.add(draft, change)
        return { answer: () => resolve(draft.result), fail: reject }
      }
    } catch (error) {
      return { answer: () => reject(notWritten(error)), fail }
    }
  }

  /** A batch is a group of its own. */
  async #joinBatch<T, R>(
    accountId: string,
    known: FinishedHead,
    group: WriteGroup,
    write: BatchWrite<T, R>,
  ): Promise<Joined | undefined> {
    if (group.changes.length > 0) return undefined
    const { heads, claims, secrets, verify } = this.#parts
    const { principal, batch, repeatable, span, resolve, reject: fail } = write
    const before = await answeredBefore(write)
    if (before !== undefined) return before
    try {
      for (;;) {
        const { base, nextVersion } = group
        const stage = new Stage(accountId, nextVersion, base)
        const result = batch.resultOf(await stage.planAll(principal, batch.plans, secrets))
        const answer = (): void => resolve(result)
        const changes = stage.changesWith(principal, repeatable && { answer: repeatable.kept(result) })
        if (changes.length === 0) return { answer, fail }
        const version = nextVersion + changes.length - 1
        heads.checkSize(known, version, changes)
        await stage.check((whole) => verify({ accountId, principal, ...whole }))
        const acquire = () => claims.acquire(accountId, version, stage.claims)
        if (!(await beforeCommit(() => inSpan(span, acquire)))) continue
        group.addBatch(changes)
        return { answer, fail }
      }
    } catch (error) {
      return { answer: () => fail(notWritten(error)), fail }
    }
  }
}

/** The first answer to a request that repeats another one, or why that is not known. */
async function answeredBefore<R>({ repeatable, resolve, reject }: Asked<R>): Promise<Joined | undefined> {
  try {
    const before = await repeatable?.before()
    return before === undefined ? undefined : bothWays(() => resolve(before))
  } catch (unread) {
    return bothWays(() => reject(unread))
  }
}

const bothWays = (answer: () => void): Joined => ({ answer, fail: answer })
