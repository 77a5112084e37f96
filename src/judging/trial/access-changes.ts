/** Counts which clients lose access and which gain it, each at an edge, and by what they are refused. */

import type { Geo } from '../../delivery/record/geo-entry.js'
import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { DecidedBy } from '../../words/event/define.js'
import type { TrialAccess } from '../../words/shape/trial/access.js'
import { shownPart } from '../evaluate/explain.js'
import { denialKey } from './expected-denials.js'

/** Clients at an edge that are told apart, in each direction: some 30 MB. */
const accessCountedMax = 50_000
/** Those that are listed. */
const accessListedMax = 150
const groupsListedMax = 20

interface Refused {
  readonly client_ip: string
  readonly country: string | null
  readonly asn: number | null
  readonly edge_id: string | null
  readonly server_name: string | null
  readonly server_port: number | null
  readonly decidedBy: DecidedBy
  readonly isExpected: boolean
  records: number
}

type Sums = Omit<TrialAccess['gained'], 'listed'>

/** A record whose access changes. */
interface AccessChange {
  readonly record: TrafficRecord
  /** Where it is served now; otherwise where it would be. */
  readonly edgeId: string | undefined
  readonly geo: Geo
  /** What refuses it, before or after. */
  readonly refusedBy: DecidedBy
}

class Direction {
  readonly #refused = new Map<string, Refused>()
  readonly #expected: ReadonlySet<string>
  readonly #max: number
  uncounted = 0

  constructor(expected: ReadonlySet<string>, max: number) {
    this.#expected = expected
    this.#max = max
  }

  add({ record: { conn }, edgeId, geo, refusedBy }: AccessChange): void {
    const key = denialKey(conn.client_ip, edgeId, refusedBy)
    const known = this.#refused.get(key)
    if (known !== undefined) known.records += 1
    else if (this.#refused.size >= this.#max) this.uncounted += 1
    else
      this.#refused.set(key, {
        client_ip: conn.client_ip,
        country: geo.country_code ?? null,
        asn: geo.asn ?? null,
        edge_id: edgeId ?? null,
        server_name: conn.server_name ?? null,
        server_port: conn.server_port ?? null,
        decidedBy: refusedBy,
        isExpected: this.#expected.has(key),
        records: 1,
      })
  }

  /** Unexpected ones first. */
  listed(): Refused[] {
    return [...this.#refused.values()]
      .sort((one, other) => Number(one.isExpected) - Number(other.isExpected) || other.records - one.records)
      .slice(0, accessListedMax)
  }

  get unexpected(): number {
    const unexpected = [...this.#refused.values()].filter(({ isExpected }) => !isExpected)
    return this.uncounted + sumOf(unexpected)
  }

  sums(): Sums {
    const all = [...this.#refused.values()]
    return {
      clients: clientsOf(all),
      records: this.uncounted + sumOf(all),
      countries: groupsOf(all, ({ country }) => country),
      systems: groupsOf(all, ({ asn }) => (asn === null ? null : String(asn))),
      left_out: Math.max(0, all.length - accessListedMax),
      uncounted: this.uncounted,
    }
  }
}

export class AccessChanges {
  readonly #lost: Direction
  readonly #gained: Direction

  /** `expected`: keys of denials that tests expect. */
  constructor(expected: ReadonlySet<string>, countedMax = accessCountedMax) {
    this.#lost = new Direction(expected, countedMax)
    this.#gained = new Direction(new Set(), countedMax)
  }

  lost(change: AccessChange): void {
    this.#lost.add(change)
  }

  gained(change: AccessChange): void {
    this.#gained.add(change)
  }

  result(): TrialAccess {
    const lost = this.#lost
      .listed()
      .map(({ isExpected, ...one }) => ({ ...shownOf(one), expected: isExpected }))
    const gained = this.#gained.listed().map(({ isExpected: _, ...one }) => shownOf(one))
    return {
      lost: { ...this.#lost.sums(), unexpected: this.#lost.unexpected, listed: lost },
      gained: { ...this.#gained.sums(), listed: gained },
    }
  }
}

const shownOf = ({ decidedBy, ...one }: Omit<Refused, 'isExpected'>) => ({
  ...one,
  decided_by: shownPart(decidedBy),
})

const sumOf = (all: readonly Refused[]): number => all.reduce((sum, { records }) => sum + records, 0)
const clientsOf = (all: readonly Refused[]): number => new Set(all.map(({ client_ip }) => client_ip)).size

function groupsOf(all: readonly Refused[], groupOf: (one: Refused) => string | null): Sums['countries'] {
  const groups = new Map<string | null, Refused[]>()
  for (const one of all) getOrMake(groups, groupOf(one), (): Refused[] => []).push(one)
  return [...groups]
    .map(([value, each]) => ({ value, clients: clientsOf(each), records: sumOf(each) }))
    .sort((one, other) => other.clients - one.clients || other.records - one.records)
    .slice(0, groupsListedMax)
}
