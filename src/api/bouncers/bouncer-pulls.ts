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
import type { AccountBans } from '../../insight/bans/account-bans.js'
import { type BansAt, differenceOf } from '../../insight/bans/ban-difference.js'
import { type Ban, Bans, type IsWanted } from '../../insight/bans/bans.js'
import type { ViewState } from '../../view/view-state.js'

interface Decisions {
  /** Undefined is nothing: see `Bans.all`. */
  readonly added: Iterable<Ban | undefined>
  readonly deleted: readonly Ban[]
  /** Call it when the answer was handed to the socket as a whole. */
  readonly sent: () => void
}

/** Answers whose bans a process remembers; those of others are read from ClickHouse. */
const heldMax = 10_000
/** Answers that a bouncer may have got. More of them in a row have to fail for one to be forgotten. */
const lastMax = 8

/** What a bouncer has before its first pull. */
const nothing: Pull = { at: 0, version: 0, policyIds: [], listIds: [] }

const isSame = (one: Pull, other: Pull): boolean => one.at === other.at && one.version === other.version

export class BouncerPulls {
  readonly #bans: AccountBans
  readonly #keyUses: Pick<KeyUses, 'lastPulls' | 'notePulls'>
  /** By bouncer and pull. */
  readonly #held = new Map<string, () => Bans | undefined>()

  constructor(bans: AccountBans, keyUses: Pick<KeyUses, 'lastPulls' | 'notePulls'>) {
    this.#bans = bans
    this.#keyUses = keyUses
  }

  async present(state: ViewState, { bouncer }: BouncerCaller): Promise<Bans> {
    return (await this.#bans.of(state, bouncer)).bans
  }

  /** `all`: the bouncer starts. It has nothing, or perhaps what it had when it lost the connection. */
  async pull(
    state: ViewState,
    caller: BouncerCaller,
    { all, isWanted }: { readonly all: boolean; readonly isWanted: IsWanted },
  ): Promise<Decisions> {
    const { bouncer } = caller
    const { bans, version } = await this.#bans.of(state, bouncer)
    const noted = this.#keyUses.lastPulls(bouncer.id)
    const last = noted.length === 0 || all ? [nothing, ...noted.filter(({ at }) => at > 0)] : noted
    const before: BansAt[] = []
    for (const pull of last) before.push({ bans: await this.#bansOf(bouncer, pull), atMs: pull.at })
    // No other pull has this time.
    const at = Math.max(now(), ...this.#keyUses.lastPulls(bouncer.id).map((pull) => pull.at + 1))
    if (isUnchanged(before, { bans, atMs: at })) return { added: [], deleted: [], sent: () => {} }
    const difference = await differenceOf(before, { bans, atMs: at }, isWanted)
    const pull: Pull = { at, version, policyIds: bouncer.ip_policy_ids, listIds: bouncer.ip_list_ids ?? [] }
    this.#hold(bouncer.id, pull, bans)
    await this.#note(caller, (others) => [...others, pull])
    const isOutdated = (each: Pull) => isSame(each, pull) || last.some((other) => isSame(each, other))
    const sent = (): void => {
      // If NATS does not take it now, it is written later: until then, others tell the bouncer some of it again.
      this.#note(caller, (others) => [pull, ...others.filter((each) => !isOutdated(each))]).catch(() => {})
    }
    return { ...difference, sent }
  }

  #note({ bouncer, address }: BouncerCaller, change: (last: Pull[]) => Pull[]): Promise<void> {
    const before = this.#keyUses.lastPulls(bouncer.id)
    const [first, ...others] = change(before.length === 0 ? [nothing] : [...before])
    // The first one arrived for sure.
    const last = [first!, ...others.slice(1 - lastMax)]
    return this.#keyUses.notePulls(bouncer.id, address, last)
  }

  async #bansOf({ id, account_id }: BouncerCaller['bouncer'], pull: Pull): Promise<Bans> {
    if (isSame(pull, nothing)) return new Bans([])
    return this.#held.get(keyOf(id, pull))?.() ?? this.#bans.at(account_id, pull)
  }

  #hold(bouncerId: string, pull: Pull, bans: Bans): void {
    this.#held.set(keyOf(bouncerId, pull), this.#bans.recaller(bans))
    if (this.#held.size > heldMax) this.#held.delete(this.#held.keys().next().value!)
  }
}

function isUnchanged([before, ...others]: readonly BansAt[], { bans, atMs }: BansAt): boolean {
  if (before === undefined || others.length > 0 || !bans.isSame(before.bans)) return false
  return !bans.hasEnding(before.atMs, atMs)
}

const keyOf = (bouncerId: string, { at, version }: Pull): string => `${bouncerId} ${at} ${version}`
