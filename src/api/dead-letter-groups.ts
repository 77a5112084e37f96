/** Sums dead letters by type, reason and destination. */
import { isoMillis } from '../core/clock.js'
import type { DeadLetterGroups } from '../resource/dead-letter.js'
import { reasonPattern } from '../wire/reason-pattern.js'
import type { Letter } from './letters-of-message.js'

/** Groups that are listed, and that are counted apart. */
const groupsListed = 100
const groupsMax = 1_000

type Group = DeadLetterGroups['groups'][number]

export class LetterGroups {
  readonly #groups = new Map<string, Group>()

  /** The newest letter first. False if there are too many groups to count this one: it was not counted. */
  add({ id, type, origin, storedAtMs }: Letter): boolean {
    const reason = reasonPattern(origin.reason)
    const { destinationId: destination_id } = origin
    const key = JSON.stringify([type, reason, destination_id])
    const at = isoMillis(storedAtMs)
    const known = this.#groups.get(key)
    if (known === undefined && this.#groups.size === groupsMax) return false
    this.#groups.set(
      key,
      known === undefined
        ? { type, reason, destination_id, count: 1, first_at: at, last_at: at, example_id: id }
        : { ...known, count: known.count + 1, first_at: at },
    )
    return true
  }

  /** The largest first. */
  listed(): Pick<DeadLetterGroups, 'groups' | 'groups_left_out'> {
    const groups = [...this.#groups.values()].sort((one, other) => other.count - one.count)
    return {
      groups: groups.slice(0, groupsListed),
      groups_left_out: Math.max(0, groups.length - groupsListed),
    }
  }
}
