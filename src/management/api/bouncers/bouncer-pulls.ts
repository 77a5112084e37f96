/**
 * The answers to pulls of bouncers: everything, or what has changed since its last pull.
 *
 * No one knows whether an answer has arrived: a connection may end before it, a proxy may keep it, and the protocol has no
 * acknowledgement. So an answer is noted before it is sent, as one that the bouncer may have got, and the next pull gets
 * what differs from any answer noted. An answer is forgotten when two later ones, with what has changed since, were handed
 * to the socket as a whole. So each change is in two such answers, which bouncers take: also if a bouncer repeats a pull at
 * once, sends two at the same time, or asks another API process, which learns of the pulls from NATS.
 */
import { now } from '../../../ground/core/clock.js'
import type { View } from '../../../words/view/view.js'
import type { KeyUses, Pull } from '../../access/key-uses.js'
import type { BouncerCaller } from '../../http/caller/bouncer-auth.js'
import type { AccountBans } from '../../insight/bans/account-bans.js'
import { type BansAt, differenceOf } from '../../insight/bans/ban-difference.js'
import { type Ban, Bans, type IsWanted } from '../../insight/bans/bans.js'

interface Decisions {
  /** Undefined is nothing: see `Bans.all`. */
  readonly added: Iterable<Ban | undefined>
  readonly deleted: readonly Ban[]
  /** Call it when the answer was handed to the socket as a whole. */
  readonly sent: () => void
}

/** The bans of a pull, as long as they are in memory. */
interface HeldBans {
  readonly recall: () => Bans | undefined
  /** Some 100 bytes each. */
  readonly sources: number
}

type PresentView = Pick<View, 'state' | 'reached'>

/** Sources of bans that a process remembers; those of other pulls are read from ClickHouse. */
const heldSourcesMax = 200_000
/** Answers that a bouncer may have got. More of them in a row have to fail for one to be forgotten: the second oldest. */
const lastMax = 4
/** Answers that have a change. */
const repeatsMax = 2

/** The bans of a bouncer before its first pull. */
const nothing: Pull = { at: 0, version: 0, repeats: 0 }

const isSame = (one: Pull, other: Pull): boolean => one.at === other.at && one.version === other.version

export class BouncerPulls {
  readonly #bans: AccountBans
  readonly #keyUses: Pick<KeyUses, 'lastPulls' | 'notePulls'>
  /** By bouncer, the one that pulled changes last is last; then by pull. */
  readonly #held = new Map<string, Map<string, HeldBans>>()
  #heldSources = 0

  constructor(bans: AccountBans, keyUses: Pick<KeyUses, 'lastPulls' | 'notePulls'>) {
    this.#bans = bans
    this.#keyUses = keyUses
  }

  async present(view: PresentView, { bouncer }: BouncerCaller): Promise<Bans> {
    return (await this.#bans.of(view, bouncer)).bans
  }

  /** `all`: the bouncer starts. It has nothing, or perhaps what it had when it lost the connection. */
  async pull(
    view: PresentView,
    caller: BouncerCaller,
    { all, isWanted }: { readonly all: boolean; readonly isWanted: IsWanted },
  ): Promise<Decisions> {
    const { bouncer } = caller
    const { bans, version } = await this.#bans.of(view, bouncer)
    const noted = this.#keyUses.lastPulls(bouncer.id)
    const last = noted.length === 0 || all ? [nothing, ...noted.filter(({ at }) => at > 0)] : noted
    const before: (BansAt & { readonly pull: Pull })[] = []
    for (const pull of last) before.push({ pull, bans: await this.#bansOf(bouncer, pull), atMs: pull.at })
    // No other pull has this time.
    const at = Math.max(now(), ...this.#keyUses.lastPulls(bouncer.id).map((pull) => pull.at + 1))
    const after = { bans, atMs: at }
    const alike = before.filter((each) => isUnchanged(each, after))
    if (alike.length === before.length) return { added: [], deleted: [], sent: () => {} }
    const difference = await differenceOf(before, after, isWanted)
    const pull = alike.at(-1)?.pull ?? { at, version, repeats: 0 }
    if (alike.length === 0) {
      this.#hold(bouncer.id, pull, bans)
      await this.#note(caller, (others) => [...others, pull])
    }
    const sent = (): void => {
      // If NATS does not take it now, it is written later: until then, others repeat some of it once more.
      this.#note(caller, (others) => afterAnswer(others, pull, last, all)).catch(() => {})
    }
    return { ...difference, sent }
  }

  #note({ bouncer, address }: BouncerCaller, change: (last: Pull[]) => Pull[]): Promise<void> {
    const before = this.#keyUses.lastPulls(bouncer.id)
    const [first, ...others] = change(before.length === 0 ? [nothing] : [...before])
    const last = [first!, ...others.slice(1 - lastMax)]
    this.#release(bouncer.id, last)
    return this.#keyUses.notePulls(bouncer.id, address, last)
  }

  async #bansOf(bouncer: BouncerCaller['bouncer'], pull: Pull): Promise<Bans> {
    if (isSame(pull, nothing)) return new Bans([])
    const held = this.#held.get(bouncer.id)?.get(keyOf(pull))?.recall()
    if (held !== undefined) return held
    const bans = await this.#bans.at(bouncer, pull.version)
    this.#hold(bouncer.id, pull, bans)
    return bans
  }

  #hold(bouncerId: string, pull: Pull, bans: Bans): void {
    const held = this.#held.get(bouncerId) ?? new Map<string, HeldBans>()
    this.#held.delete(bouncerId)
    this.#held.set(bouncerId, held)
    this.#heldSources -= held.get(keyOf(pull))?.sources ?? 0
    held.set(keyOf(pull), { recall: this.#bans.recaller(bans), sources: bans.sources.length })
    this.#heldSources += bans.sources.length
    for (const [id, pulls] of this.#held) {
      if (this.#heldSources <= heldSourcesMax || id === bouncerId) break
      this.#held.delete(id)
      for (const { sources } of pulls.values()) this.#heldSources -= sources
    }
  }

  /** Forgets the bans of pulls that no bouncer can have any more. */
  #release(bouncerId: string, last: readonly Pull[]): void {
    const held = this.#held.get(bouncerId)
    const kept = new Set(last.map(keyOf))
    for (const [key, { sources }] of held ?? []) {
      if (kept.has(key)) continue
      held!.delete(key)
      this.#heldSources -= sources
    }
  }
}

/**
 * The pulls that a bouncer may have after an answer was handed to the socket. `before`: those that the answer differed from.
 */
function afterAnswer(noted: readonly Pull[], pull: Pull, before: readonly Pull[], all: boolean): Pull[] {
  const left = noted.flatMap((each) => {
    if (isSame(each, pull)) return []
    if (!before.some((other) => isSame(other, each))) return each
    const repeats = each.repeats + 1
    // A bouncer that did not get everything asks for everything again.
    const isOver = repeats >= repeatsMax || (all && isSame(each, nothing))
    return isOver ? [] : { ...each, repeats }
  })
  return [...left, noted.find((each) => isSame(each, pull)) ?? pull]
}

const isUnchanged = (before: BansAt, { bans, atMs }: BansAt): boolean =>
  bans.isSame(before.bans) && !bans.hasEnding(before.atMs, atMs)

const keyOf = ({ at, version }: Pull): string => `${at} ${version}`
