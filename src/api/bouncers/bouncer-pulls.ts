/**
 * What each bouncer gets: everything, or what has changed since its last pull.
 *
 * No one knows whether an answer has arrived: a connection may end before it, and the protocol has no acknowledgement. So an
 * answer is noted twice: before it is sent, as one that the bouncer may have got, and when it was handed to the socket as a
 * whole, as the one that it has. The next pull is told what differs from any answer that the bouncer may have got. That tells
 * some of it twice, which bouncers take, and never too little: also if a bouncer repeats a pull at once, sends two at the same
 * time, or asks another API process, which learns of the pulls from NATS.
 */
import { now } from '../../core/clock.js'
import type { BouncerCaller } from '../../http/caller/bouncer-auth.js'
import type { KeyUses, Pull } from '../../http/caller/key-uses.js'
import { type Ban, type Bans, type BansOfAccounts, differenceOf } from '../../insight/bans.js'
import type { ViewState } from '../../view/view-state.js'

interface Decisions {
  readonly added: Iterable<Ban>
  readonly deleted: readonly Ban[]
  /** Call it when the answer was handed to the socket as a whole. */
  readonly sent: () => void
}

/** Answers whose bans a process remembers; those of others are read from ClickHouse. */
const heldMax = 10_000
/** Answers that a bouncer may have got. More of them in a row have to fail for one to be forgotten. */
const lastMax = 8

/** What a bouncer has before its first pull. */
const nothing: Pull = { at: 0, version: 0, policyIds: [] }

const isSame = (one: Pull, other: Pull): boolean => one.at === other.at && one.version === other.version

export class BouncerPulls {
  readonly #bans: BansOfAccounts
  readonly #keyUses: Pick<KeyUses, 'lastPulls' | 'notePulls'>
  /** By bouncer and pull. */
  readonly #held = new Map<string, Bans>()

  constructor(bans: BansOfAccounts, keyUses: Pick<KeyUses, 'lastPulls' | 'notePulls'>) {
    this.#bans = bans
    this.#keyUses = keyUses
  }

  present(state: ViewState, { bouncer }: BouncerCaller): Promise<Bans> {
    return this.#bans.of(state, bouncer.account_id, bouncer.ip_policy_ids)
  }

  /** `all`: the bouncer starts. It has nothing, or perhaps what it had when it lost the connection. */
  async pull(state: ViewState, caller: BouncerCaller, all: boolean): Promise<Decisions> {
    const { bouncer } = caller
    // Before the bans: what arrives meanwhile is told again by the next pull.
    const version = state.versionOf(bouncer.account_id)
    const bans = await this.present(state, caller)
    const noted = this.#keyUses.lastPulls(bouncer.id)
    const last = noted.length === 0 || all ? [nothing, ...noted.filter(({ at }) => at > 0)] : noted
    const held = await Promise.all(last.map((pull) => this.#bansOf(bouncer, pull)))
    if (last.length === 1 && held[0] === bans) return { added: [], deleted: [], sent: () => {} }
    const { added, deleted } = await differenceOf(held, bans)
    // No other pull has this time.
    const at = Math.max(now(), ...this.#keyUses.lastPulls(bouncer.id).map(({ at }) => at + 1))
    const pull: Pull = { at, version, policyIds: bouncer.ip_policy_ids }
    this.#hold(bouncer.id, pull, bans)
    await this.#note(caller, (before) => [...before, pull])
    const isOutdated = (each: Pull) => isSame(each, pull) || last.some((other) => isSame(each, other))
    const sent = (): void => {
      // If NATS does not take it now, it is written later: until then, others tell the bouncer some of it again.
      this.#note(caller, (before) => [pull, ...before.filter((each) => !isOutdated(each))]).catch(() => {})
    }
    return { added, deleted, sent }
  }

  #note({ bouncer, address }: BouncerCaller, change: (last: Pull[]) => Pull[]): Promise<void> {
    const before = this.#keyUses.lastPulls(bouncer.id)
    const [first, ...others] = change(before.length === 0 ? [nothing] : [...before])
    // The first one arrived for sure.
    const last = [first!, ...others.slice(1 - lastMax)]
    return this.#keyUses.notePulls(bouncer.id, address, last)
  }

  async #bansOf({ id, account_id }: BouncerCaller['bouncer'], pull: Pull): Promise<Bans> {
    const held = this.#held.get(keyOf(id, pull))
    return held ?? this.#bans.at(account_id, pull)
  }

  #hold(bouncerId: string, pull: Pull, bans: Bans): void {
    this.#held.set(keyOf(bouncerId, pull), bans)
    if (this.#held.size > heldMax) this.#held.delete(this.#held.keys().next().value!)
  }
}

const keyOf = (bouncerId: string, { at, version }: Pull): string => `${bouncerId} ${at} ${version}`
