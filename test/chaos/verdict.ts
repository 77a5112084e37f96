/**
 * What arrived, held against what was issued. It knows nothing of Weir but the form of an event: it is given texts.
 */
import { type Issue, numberIn, partsOf } from './issue.js'

interface Duty {
  readonly destination: string
  /** Must the event of this record be there? Only records that were acknowledged must. */
  isOwed(n: number): boolean
  /** May it be missing, although it was acknowledged? */
  isExcused?(n: number): boolean
  /** May it be there? */
  isAllowed(n: number): boolean
  /** Records that were issued: 0 … issued - 1. */
  readonly issued: number
  /** So many arrivals of an event beyond its first are within the bound of the scenario. */
  readonly repeatsMax: number
}

export interface Arrivals {
  readonly destination: string
  /** Different events of records. */
  readonly unique: number
  readonly lost: readonly number[]
  /** Missing, and the fault of the scenario is one that loses them. */
  readonly excused: number
  /** What no one issued, or this destination may not have. */
  readonly invented: readonly string[]
  /** Of a record that was issued, with other bytes than it must have. */
  readonly altered: readonly string[]
  readonly repeats: number
  readonly repeatsMax: number
}

const testEvent = '"event_type":"test.v0"'

interface Origin {
  readonly issue: Issue
  readonly accountId: string
  /** When each record was stored, as the first event of it says; all others must say the same. */
  readonly storedAt: Map<number, string>
}

/** `arrived`: the events of one destination, in any order, without line breaks. */
export function arrivalsOf(
  { issue, accountId, storedAt }: Origin,
  duty: Duty,
  arrived: Iterable<string>,
): Arrivals {
  const times = new Uint32Array(duty.issued)
  const invented: string[] = []
  const altered: string[] = []
  let purpose: string | undefined
  for (const event of arrived) {
    if (event.includes(testEvent)) continue
    const n = numberIn(event)
    if (n === undefined || n >= duty.issued || !duty.isAllowed(n)) {
      invented.push(event)
      continue
    }
    const parts = partsOf(event)
    // The same in all events of a subscription.
    purpose ??= parts?.purpose ?? ''
    if (parts !== undefined && !storedAt.has(n)) storedAt.set(n, parts.storedAt)
    if (event === issue.event(n, accountId, { purpose, storedAt: storedAt.get(n) ?? '' })) times[n]! += 1
    else altered.push(event)
  }
  const isExcused = (n: number): boolean => duty.isExcused?.(n) === true
  const numbers = Array.from({ length: duty.issued }, (_, n) => n)
  const missing = numbers.filter((n) => times[n] === 0 && duty.isOwed(n))
  return {
    destination: duty.destination,
    unique: times.filter((count) => count > 0).length,
    lost: missing.filter((n) => !isExcused(n)),
    excused: missing.filter(isExcused).length,
    invented,
    altered,
    repeats: times.reduce((sum, count) => sum + Math.max(0, count - 1), 0),
    repeatsMax: duty.repeatsMax,
  }
}

/** The sums of a deployment in which nothing is under way, and those of each destination. */
export interface Books {
  readonly in: number
  readonly evaluated: number
  readonly bad: number
  readonly history: number
  readonly destinations: readonly DestinationBooks[]
}

export interface DestinationBooks {
  readonly destination: string
  readonly produced: number
  readonly filtered: number
  readonly delivered: number
  readonly deadLettered: number
  readonly dropped: number
  readonly backlog: number
}

/** What the books must have, beyond being equal in themselves. */
export interface Owed {
  readonly records: number
  readonly bad: number
  /** Events by destination. */
  readonly events: ReadonlyMap<string, number>
  readonly deadLettered: number
}

type Equal = (what: string, left: number, right: number) => void

/** Collects the equations that do not hold, as sentences. */
function collected(check: (equal: Equal) => void): string[] {
  const broken: string[] = []
  check((what, left, right) => {
    if (left !== right) broken.push(`${what}: ${left} is not ${right}`)
  })
  return broken
}

/** Equations that hold in any books, whatever they know of. */
export const unbalanced = (books: Books): string[] =>
  collected((equal) => {
    equal('records in = evaluated + bad + history', books.in, books.evaluated + books.bad + books.history)
    for (const each of books.destinations) {
      const { destination, produced, delivered, deadLettered, dropped, backlog } = each
      const ends = delivered + deadLettered + dropped + backlog
      equal(`${destination}: produced = delivered + dead-lettered + dropped + backlog`, produced, ends)
      equal(`${destination}: backlog`, backlog, 0)
    }
  })

/** Sentences about equations that do not hold, and about sums that are not those of what was issued. */
export const brokenEquations = (books: Books, owed: Owed): string[] => [
  ...unbalanced(books),
  ...collected((equal) => {
    equal('evaluated records are those that were stored', books.evaluated, owed.records)
    equal('bad records', books.bad, owed.bad)
    for (const { destination, produced, filtered } of books.destinations) {
      equal(`${destination}: evaluated = produced + filtered`, books.evaluated, produced + filtered)
      equal(`${destination}: produced is what it is owed`, produced, owed.events.get(destination) ?? 0)
    }
    const dead = books.destinations.reduce((sum, { deadLettered }) => sum + deadLettered, 0)
    equal('dead letters', dead, owed.deadLettered)
  }),
]

const shownMax = 3
const some = (list: readonly unknown[]): string =>
  `${list.length}, such as ${list.slice(0, shownMax).map(String).join('; ')}`

/** Sentences about what is wrong with what arrived. */
export function brokenDuties(arrivals: readonly Arrivals[]): string[] {
  return arrivals.flatMap(({ destination, lost, invented, altered, repeats, repeatsMax }) => [
    ...(lost.length === 0 ? [] : [`${destination}: lost are the events of ${some(lost)}`]),
    ...(invented.length === 0 ? [] : [`${destination}: nobody issued ${some(invented)}`]),
    ...(altered.length === 0 ? [] : [`${destination}: other bytes have ${some(altered)}`]),
    ...(repeats <= repeatsMax ? [] : [`${destination}: ${repeats} repeats, the bound is ${repeatsMax}`]),
  ])
}
