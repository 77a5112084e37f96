/** Sums dead letters by type, reason and destination. */
import { isoMillis } from '../core/clock.js'
import type { DeadLetterGroups } from '../shape/dead-letter.js'
import { reasonPattern } from '../wire/reason-pattern.js'
import type { Letter } from './letters-of-message.js'

/** Groups that are listed, and groups that are counted separately. */
const groupsListed = 100
const groupsMax = 1_000

type ListedGroup = DeadLetterGroups['groups'][number]

/** A group; the letters are counted from the newest. */
interface Group extends Pick<ListedGroup, 'type' | 'reason' | 'destination_id' | 'example_id'> {
  count: number
  firstMs: number
  readonly lastMs: number
}

/** Letters whose group is known: the neighbours in a message are mostly alike, and there may be half a million of them. */
interface Alike {
  readonly type: string
  readonly reason: string
  readonly destinationId: string | null
  readonly group: Group
}

export class LetterGroups {
  readonly #groups = new Map<string, Group>()
  #last: Alike | undefined

  /** The newest letter first. False if there are too many groups to count this one: it was not counted. */
  add(letter: Letter): boolean {
    const group = this.#groupOf(letter)
    if (group === undefined) return false
    group.count += 1
    group.firstMs = letter.storedAtMs
    return true
  }

  #groupOf({ id, type, origin, storedAtMs }: Letter): Group | undefined {
    const { reason, destinationId } = origin
    const last = this.#last
    if (last?.reason === reason && last.type === type && last.destinationId === destinationId)
      return last.group
    const pattern = reasonPattern(reason)
    const key = JSON.stringify([type, pattern, destinationId])
    let group = this.#groups.get(key)
    if (group === undefined) {
      if (this.#groups.size === groupsMax) return undefined
      const names = { type, reason: pattern, destination_id: destinationId, example_id: id }
      group = { ...names, count: 0, firstMs: storedAtMs, lastMs: storedAtMs }
      this.#groups.set(key, group)
    }
    this.#last = { type, reason, destinationId, group }
    return group
  }

  /** The largest first. */
  listed(): Pick<DeadLetterGroups, 'groups' | 'groups_left_out'> {
    const groups = [...this.#groups.values()].sort((one, other) => other.count - one.count)
    return {
      groups: groups.slice(0, groupsListed).map(listedGroup),
      groups_left_out: Math.max(0, groups.length - groupsListed),
    }
  }
}

const listedGroup = ({ count, firstMs, lastMs, example_id, ...names }: Group): ListedGroup => ({
  ...names,
  count,
  first_at: isoMillis(firstMs),
  last_at: isoMillis(lastMs),
  example_id,
})
