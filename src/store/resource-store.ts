/**
 * Writing resources.
 *
 * An account's **head** is its write-ahead record. A write reads it, plans its change against a view that has seen
 * everything before, and commits the change by replacing the head, which fails where somebody else committed first.
 * From then on the change can't be lost: it is carried out (rows into ClickHouse, synced ▸ the configuration bucket ▸
 * audit events ▸ claims given up ▸ the head marked done), by its writer, or by the next one, or by a sweep. Every
 * step can be repeated. There are no leases and no clocks: a writer that stalls is refused, not hidden.
 */
import { every, now, type Timer } from '../core/clock.js'
import { messageOf, unavailable, WeirError } from '../core/errors.js'
import { newId } from '../core/ids.js'
import { resourceBytesMax } from '../core/limits.js'
import { type Bucket, type BucketEntry, retried } from '../core/nats.js'
import type { Occurrences } from '../core/occurrences.js'
import { resourceOf } from '../resource/registry.js'
import type { AuditRelay } from './audit-relay.js'
import type { Change, Head, Principal, Put, Removal } from './change.js'
import type { ChangeRows } from './change-rows.js'
import { type ClaimHolder, Claims } from './claims.js'
import { checkProjectedSize, type Projection } from './projection.js'
import { withKeptSecrets } from './sealed-values.js'
import type { View } from './view.js'
import type { ViewState } from './view-state.js'

/** What a plan wants to change; nothing at all is a plan, too. */
export interface Draft<T> {
  readonly puts: readonly Put[]
  readonly removals: readonly Removal[]
  readonly emptiedPolicies?: readonly string[]
  readonly audits: Change['audits']
  readonly claims?: readonly Claim[]
  readonly releases?: readonly string[]
  readonly result: T
}

export interface Claim {
  readonly claim: string
  /** The resource that holds it. */
  readonly id: string
  /** Thrown where somebody else holds it. */
  readonly taken: () => Error
}

/** A plan sees the state before it and the version its change will have; it may run several times. */
export type Plan<T> = (state: ViewState, version: number, at: number) => Draft<T>

export interface ResourceStoreParts {
  readonly heads: Bucket
  readonly claims: Bucket
  readonly secrets: Bucket
  readonly view: View
  readonly projection: Projection
  readonly rows: ChangeRows
  readonly audits: AuditRelay
  readonly occurrences: Occurrences
  /** Why nothing may be written now; undefined where it may. */
  readonly refusal: () => string | undefined
}

const sweepMs = 1_000

/** Moves an account's version on and does nothing else. */
const emptyChange: Omit<Change, 'id' | 'at' | 'counts'> = {
  principal: { source: 'API', credentialId: null },
  puts: [],
  removals: [],
  emptiedPolicies: [],
  audits: [],
  releases: [],
}

interface KnownHead {
  readonly head: Head
  readonly revision: number
}

export class ResourceStore {
  readonly #parts: ResourceStoreParts
  readonly #claims: Claims
  /** One write of an account at a time in this process: the others would only lose the race for the head. */
  readonly #queues = new Map<string, Promise<unknown>>()
  readonly #unfinished = new Map<string, number>()
  readonly #sweep: Timer
  #watch: { close(): void } | undefined

  constructor(parts: ResourceStoreParts) {
    this.#parts = parts
    this.#claims = new Claims(parts.claims, { isHeld: (claim, holder) => this.#isHeld(claim, holder) })
    this.#sweep = every(sweepMs, () => this.#finishLeftBehind())
  }

  async open(): Promise<void> {
    this.#watch = await this.#parts.heads.watch(
      (entry) => this.#noticeHead(entry),
      () => {},
    )
  }

  /** Commits what `plan` makes of the account's present state and carries it out; resolves when it is durable. */
  commit<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    return this.#inTurn(accountId, () => this.#commit(accountId, principal, plan))
  }

  #inTurn<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(accountId) ?? Promise.resolve()
    const turn = before.then(work, work)
    const settled = turn.then(
      () => {},
      () => {},
    )
    this.#queues.set(accountId, settled)
    void settled.then(() => {
      if (this.#queues.get(accountId) === settled) this.#queues.delete(accountId)
    })
    return turn
  }

  async #commit<T>(accountId: string, principal: Principal, plan: Plan<T>): Promise<T> {
    for (;;) {
      const refusal = this.#parts.refusal()
      if (refusal !== undefined) throw unavailable(refusal)
      const known = await this.#finishedHead(accountId)
      await this.#parts.view.reached(accountId, known.head.version)
      const version = known.head.version + 1
      const at = now()
      const { state } = this.#parts.view
      const draft = plan(state, version, at)
      if (draft.puts.length + draft.removals.length === 0) return draft.result
      const puts = await withKeptSecrets(this.#parts.secrets, draft.puts, state)
      for (const put of puts) checkProjectedSize(put, resourceBytesMax)
      const change: Change = {
        id: newId('chg_'),
        at,
        principal,
        puts,
        removals: draft.removals,
        emptiedPolicies: draft.emptiedPolicies ?? [],
        counts: countsAfter(state, accountId, draft),
        audits: draft.audits,
        releases: draft.releases ?? [],
      }
      await this.#acquire(accountId, version, draft)
      const revision = await this.#put(accountId, { version, change }, known.revision)
      if (revision === undefined) continue
      await this.#carryOut(accountId, { version, change }, revision)
      await this.#parts.view.reached(accountId, version)
      return draft.result
    }
  }

  /** Replaces the head; undefined where somebody else did. An answer that was lost is looked up. */
  async #put(accountId: string, head: Head, revision: number): Promise<number | undefined> {
    const stored = await retried(() => this.#parts.heads.replace(accountId, JSON.stringify(head), revision))
    if (stored !== undefined) return stored
    const there = await this.#parts.heads.get(accountId)
    const mine = there?.value !== undefined && decodeHead(there.value).change?.id === head.change?.id
    return mine && head.change !== null ? there.revision : undefined
  }

  async #acquire<T>(accountId: string, version: number, draft: Draft<T>): Promise<void> {
    const taken: Claim[] = []
    for (const claim of draft.claims ?? []) {
      if (await this.#claims.acquire(claim.claim, { account_id: accountId, id: claim.id, version })) {
        taken.push(claim)
        continue
      }
      for (const { claim: text, id } of taken) {
        if (!holds(this.#parts.view.state, text, id))
          await this.#claims.release(text, { account_id: accountId, id })
      }
      throw claim.taken()
    }
  }

  /** The account's head with no change left to carry out. */
  async #finishedHead(accountId: string): Promise<KnownHead> {
    const entry = await this.#parts.heads.get(accountId)
    if (entry?.value === undefined) {
      const version = this.#parts.view.state.accounts.get(accountId)?.version ?? 0
      return { head: { version, change: null }, revision: entry?.revision ?? 0 }
    }
    const head = decodeHead(entry.value)
    if (head.change === null) return { head, revision: entry.revision }
    await this.#carryOut(accountId, head, entry.revision)
    return this.#finishedHead(accountId)
  }

  /** All that follows a commit. Every step can be repeated, and the head says when none is left. */
  async #carryOut(accountId: string, head: Head, revision: number): Promise<void> {
    const { version, change } = head
    if (change === null) return
    const { rows, projection, audits, heads, occurrences } = this.#parts
    try {
      await rows.insert(accountId, version, change)
      await projection.apply(accountId, version, change)
      await audits.publish(accountId, version, change)
      for (const claim of change.releases) {
        const [id = '', text = ''] = splitRelease(claim)
        await this.#claims.release(text, { account_id: accountId, id })
      }
      await retried(() =>
        heads.replace(accountId, JSON.stringify({ version, change: null } satisfies Head), revision),
      )
    } catch (error) {
      occurrences.changeUnfinished({ account_id: accountId, version, reason: messageOf(error) })
      if (error instanceof WeirError) throw error
      throw unavailable(
        'The change is committed and will take effect, but the store is away at the moment.',
        error,
      )
    }
  }

  /** Is the claim its holder's? Makes sure that a change which is not committed yet can't be any more. */
  async #isHeld(claim: string, holder: ClaimHolder): Promise<boolean> {
    const known = await this.#finishedHead(holder.account_id)
    await this.#parts.view.reached(holder.account_id, known.head.version)
    if (holds(this.#parts.view.state, claim, holder.id)) return true
    if (known.head.version >= holder.version) return false
    const counts = this.#parts.view.state.countsOf(holder.account_id)
    const moved: Head = {
      version: holder.version,
      change: { ...emptyChange, id: newId('chg_'), at: now(), counts },
    }
    await this.#parts.heads.replace(holder.account_id, JSON.stringify(moved), known.revision)
    return this.#isHeld(claim, holder)
  }

  #noticeHead(entry: BucketEntry): void {
    const open = entry.value !== undefined && decodeHead(entry.value).change !== null
    if (open) this.#unfinished.set(entry.key, now())
    else this.#unfinished.delete(entry.key)
  }

  /** Finishes changes whose writers did not get to it. */
  async #finishLeftBehind(): Promise<void> {
    for (const [accountId, since] of this.#unfinished) {
      if (now() - since < sweepMs || this.#queues.has(accountId)) continue
      try {
        await this.#inTurn(accountId, () => this.#finishedHead(accountId))
        this.#parts.occurrences.changeFinished({ account_id: accountId })
      } catch (error) {
        this.#parts.occurrences.changeUnfinished({ account_id: accountId, reason: messageOf(error) })
      }
    }
  }

  /** Waits for the writes that are under way. */
  async close(): Promise<void> {
    this.#sweep.stop()
    this.#watch?.close()
    await Promise.allSettled(this.#queues.values())
  }
}

const decodeHead = (value: Uint8Array): Head => JSON.parse(Buffer.from(value).toString()) as Head

/** A release names the resource that gives the claim up. */
export const releaseOf = (id: string, claim: string): string => `${id} ${claim}`
const splitRelease = (release: string): [string, string] => {
  const cut = release.indexOf(' ')
  return [release.slice(0, cut), release.slice(cut + 1)]
}

/** Does the resource hold the claim in this state? */
function holds(state: ViewState, claim: string, id: string): boolean {
  for (const [kind, rows] of state.rows) {
    const row = rows.get(id)
    if (row !== undefined)
      return (
        resourceOf(kind)
          .claims?.(row as never)
          .includes(claim) ?? false
      )
  }
  return false
}

function countsAfter<T>(state: ViewState, accountId: string, draft: Draft<T>): Record<string, number> {
  const counts = state.countsOf(accountId)
  const add = (kind: string, by: number): void => {
    counts[kind] = (counts[kind] ?? 0) + by
  }
  for (const { kind, isNew } of draft.puts) if (isNew) add(kind, 1)
  for (const { kind } of draft.removals) add(kind, -1)
  for (const policyId of draft.emptiedPolicies ?? []) add('ip_policy_rule', -countRules(state, policyId))
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}

export function countRules(state: ViewState, policyId: string): number {
  let count = 0
  for (const { rules } of state.chunks(policyId).values()) count += rules.length
  return count
}
