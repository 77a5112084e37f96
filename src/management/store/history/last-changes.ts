/**
 * Where the newest change of each kind can be, as far as this process knows. Each table makes a statement dearer, and most
 * kinds were not changed for a long time, so their tables need not be read for the newest changes.
 *
 * A bound comes from what was read. It ends when the configuration gets or loses a row of the kind, of any account: rows are
 * in ClickHouse before that, and the account's version comes after it. If the configuration in use is not the present one,
 * there are no bounds.
 */
import { getOrMake } from '../../../ground/core/maps.js'
import { policyKind, ruleKind } from '../../../words/view/keys.js'
import type { View } from '../../../words/view/view.js'
import type { HistoryPosition } from './history-query.js'

/** A kind whose changes are found together: rules are found as changes of their policy. */
export const familyOf = (kind: string): string => (kind === ruleKind ? policyKind : kind)

/** All changes of a family come after this position in the list, or were made before the time. */
interface Bound extends HistoryPosition {
  readonly sinceMs: number
}

interface Bounds {
  /** The family's touches when these bounds were read. */
  readonly touches: number
  readonly always: Bound
  /** The bound for a query with a first time. */
  readonly limited: Bound
}

/** The touches of families before something is read. */
export type Mark = (family: string) => number

/** Accounts whose changes are read again and again: those with an open page. */
const accountsMax = 1_000

const always = Number.NEGATIVE_INFINITY
const unknown: Bound = { version: Number.POSITIVE_INFINITY, id: '', sinceMs: always }

export class LastChanges {
  readonly #view: Pick<View, 'state' | 'latest'>
  readonly #accounts = new Map<string, Map<string, Bounds>>()
  readonly #touches = new Map<string, number>()
  #touchesOfAll = 0

  constructor(view: Pick<View, 'state' | 'latest' | 'onChange'>) {
    this.#view = view
    view.onChange((kind) => {
      if (kind === '*') this.#touchesOfAll += 1
      else this.#touches.set(familyOf(kind), (this.#touches.get(familyOf(kind)) ?? 0) + 1)
    })
  }

  #touchesOf(family: string): number {
    return this.#touchesOfAll + (this.#touches.get(family) ?? 0)
  }

  /** The first position after which all changes since a time are known to come. */
  boundOf(accountId: string, family: string, sinceMs = always): HistoryPosition {
    const bounds = this.#valid(accountId, family)
    if (sinceMs < bounds.limited.sinceMs) return bounds.always
    return comesAfter(bounds.always, bounds.limited) ? bounds.always : bounds.limited
  }

  #valid(accountId: string, family: string): Bounds {
    const touches = this.#touchesOf(family)
    const bounds = this.#accounts.get(accountId)?.get(family)
    const isValid = bounds?.touches === touches && this.#view.state === this.#view.latest
    return isValid ? bounds : { touches, always: unknown, limited: unknown }
  }

  /** To be taken before changes are read that are noted afterwards. */
  mark(families: Iterable<string>): Mark {
    const touches = new Map([...families].map((family) => [family, this.#touchesOf(family)]))
    return (family) => touches.get(family) ?? -1
  }

  /** Notes that all changes of a family since a time come after a position. */
  note(
    accountId: string,
    family: string,
    position: HistoryPosition,
    sinceMs: number | undefined,
    mark: Mark,
  ): void {
    if (mark(family) !== this.#touchesOf(family)) return
    const known = this.#valid(accountId, family)
    const bound = { ...position, sinceMs: sinceMs ?? always }
    const noted = sinceMs === undefined ? { ...known, always: bound } : { ...known, limited: bound }
    getOrMake(this.#accounts, accountId, () => new Map<string, Bounds>()).set(family, noted)
    const [oldest] = this.#accounts.keys()
    if (oldest !== undefined && this.#accounts.size > accountsMax) this.#accounts.delete(oldest)
  }
}

/** Is the one further down in the list, which has the newest first? */
export const comesAfter = (one: HistoryPosition, other: HistoryPosition): boolean =>
  one.version === other.version ? one.id < other.id : one.version < other.version
