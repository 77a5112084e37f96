/**
 * What each bouncer gets: everything, or what has changed since its last pull. Its last pull is stored before the answer is sent,
 * so a process that starts, or another one, goes on from there.
 */
import { now } from '../../core/clock.js'
import type { BouncerCaller } from '../../http/caller/bouncer-auth.js'
import type { KeyUses } from '../../http/caller/key-uses.js'
import { type Ban, type Bans, type BansOfAccounts, differenceOf } from '../../insight/bans.js'
import type { ViewState } from '../../view/view-state.js'

interface Decisions {
  readonly added: Iterable<Ban>
  readonly deleted: readonly Ban[]
}

/** What a bouncer got from this process. */
interface Held {
  readonly at: number
  readonly bans: Bans
}

/** Bouncers whose last pull a process remembers; that of another one is read from ClickHouse. */
const heldMax = 10_000

export class BouncerPulls {
  readonly #bans: BansOfAccounts
  readonly #keyUses: Pick<KeyUses, 'lastPull' | 'notePull'>
  readonly #held = new Map<string, Held>()

  constructor(bans: BansOfAccounts, keyUses: Pick<KeyUses, 'lastPull' | 'notePull'>) {
    this.#bans = bans
    this.#keyUses = keyUses
  }

  present(state: ViewState, { bouncer }: BouncerCaller): Promise<Bans> {
    return this.#bans.of(state, bouncer.account_id, bouncer.ip_policy_ids)
  }

  /** `all`: the bouncer starts, and has nothing. */
  async pull(state: ViewState, caller: BouncerCaller, all: boolean): Promise<Decisions> {
    const { bouncer, address } = caller
    // Before the bans: what arrives meanwhile is told again by the next pull.
    const version = state.versionOf(bouncer.account_id)
    const bans = await this.present(state, caller)
    const last = this.#keyUses.lastPull(bouncer.id)
    const held = this.#held.get(bouncer.id)
    const isKnown = last !== undefined && held?.at === last.at
    if (!all && isKnown && held.bans === bans) return { added: [], deleted: [] }
    const before =
      all || last === undefined
        ? undefined
        : isKnown
          ? held.bans
          : await this.#bans.at(bouncer.account_id, last)
    const { added, deleted } =
      before === undefined ? { added: bans.rules.values(), deleted: [] } : await differenceOf(before, bans)
    const at = now()
    await this.#keyUses.notePull(bouncer.id, address, { version, policyIds: bouncer.ip_policy_ids, at })
    this.#held.delete(bouncer.id)
    this.#held.set(bouncer.id, { at, bans })
    if (this.#held.size > heldMax) this.#held.delete(this.#held.keys().next().value!)
    return { added, deleted }
  }
}
