/**
 * The writes of accounts. Writes of one account that wait are planned one after the other and committed together
 * (`write-group.ts`), and each gets its own answer. An answer may depend on earlier writes of the group, so none is given
 * before the group is carried out.
 */
import { now } from '../core/clock.js'
import { getOrMake } from '../core/maps.js'
import type { Bucket } from '../nats/bucket.js'
import type { ViewState } from '../view/view-state.js'
import type { Repeatable } from './answers.js'
import type { Principal } from './change.js'
import type { Claims } from './claims.js'
import type { FinishedHead } from './heads.js'
import { changeOf, isEmpty, type Plan } from './plan.js'
import type { Queues } from './queues.js'
import { withKeptSecrets } from './sealed-values.js'
import type { AccountParts, SettledAccount } from './settled-account.js'
import type { VerifyWrite } from './verify.js'
import { WriteGroup } from './write-group.js'

interface CommitsParts extends AccountParts {
  readonly queues: Queues
  readonly claims: Claims
  readonly secrets: Bucket
  readonly settled: (accountId: string) => Promise<SettledAccount>
  readonly verify: VerifyWrite
}

interface Write<T> {
  readonly principal: Principal
  readonly plan: Plan<T>
  readonly repeatable: Repeatable<T> | undefined
  resolve(result: T): void
  reject(error: unknown): void
}

/** Answers a write. */
type Answer = () => void

/** A write that waits for its group. */
interface WaitingWrite {
  /** Plans it as the group's next write; undefined if it must wait for the next group. */
  join(known: FinishedHead, group: WriteGroup): Promise<Answer | undefined>
  reject(error: unknown): void
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
      const waiting = getOrMake(this.#waiting, accountId, () => [])
      const write = { principal, plan, repeatable, resolve, reject }
      waiting.push({ join: (known, group) => this.#join(accountId, known, group, write), reject })
      if (waiting.length === 1) this.#enqueue(accountId)
    })
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
    const tried = new Set<WaitingWrite>()
    try {
      let answers: readonly Answer[] | undefined
      while (answers === undefined) {
        const settled = await this.#parts.settled(accountId)
        answers = await this.#commitGroup(accountId, settled, waiting, tried)
      }
      waiting.splice(0, answers.length)
      for (const answer of answers) answer()
    } catch (error) {
      // Without a state to plan with, no write has a chance now.
      for (const { reject } of waiting.splice(0, tried.size || waiting.length)) reject(error)
    }
  }

  /** The answers to the first writes; undefined if another writer committed first. `tried`: takes the group's writes. */
  async #commitGroup(
    accountId: string,
    { known, state }: SettledAccount,
    waiting: readonly WaitingWrite[],
    tried: Set<WaitingWrite>,
  ): Promise<readonly Answer[] | undefined> {
    const { heads, view } = this.#parts
    const group = new WriteGroup(accountId, known.version + 1, state, heads.bytesMax / 2)
    const answers: Answer[] = []
    tried.clear()
    for (const write of waiting) {
      const answer = group.isFull ? undefined : await write.join(known, group)
      if (answer === undefined) break
      answers.push(answer)
      tried.add(write)
    }
    if (group.changes.length === 0) return answers
    const committed = await heads.commit(accountId, known, group.changes)
    if (committed === undefined) return undefined
    await heads.carryOut(accountId, committed)
    await view.reached(accountId, committed.version)
    return answers
  }

  async #join<T>(
    accountId: string,
    known: FinishedHead,
    group: WriteGroup,
    write: Write<T>,
  ): Promise<Answer | undefined> {
    const { heads, claims, secrets, verify } = this.#parts
    const { principal, plan, repeatable, resolve, reject } = write
    try {
      if (repeatable !== undefined && group.hasRequest(repeatable.key)) return undefined
      const before = await repeatable?.before()
      if (before !== undefined) return () => resolve(before)
      for (;;) {
        const planned = await planChange(accountId, group.nextVersion, principal, plan, group.state, secrets)
        const { draft } = planned
        if (isEmpty(draft) && repeatable === undefined) return () => resolve(draft.result)
        const answer = repeatable && { answer: repeatable.kept(draft.result) }
        const change = { ...planned.change, ...answer }
        heads.checkSize(known, group.nextVersion, change)
        if (!group.takes(draft, change)) return undefined
        const { base, state } = group
        const { puts, removals } = draft
        await draft.check?.({ state, puts, removals })
        await verify({ accountId, principal, base, state, puts, removals })
        if (!(await claims.acquire(accountId, group.nextVersion, draft))) continue
        group.add(draft, change)
        return () => resolve(draft.result)
      }
    } catch (error) {
      return () => reject(error)
    }
  }
}

/** The change that a plan makes of a state. */
export async function planChange<T>(
  accountId: string,
  version: number,
  principal: Principal,
  plan: Plan<T>,
  state: ViewState,
  secrets: Bucket,
) {
  const at = now()
  const draft = plan(state, version, at)
  const puts = await withKeptSecrets(secrets, draft.puts, state)
  const change = changeOf(accountId, version, at, principal, { ...draft, puts }, state)
  return { draft, change }
}
