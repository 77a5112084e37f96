/**
 * The counts of one message. They are added to the totals once, when everything the message caused is stored; a message
 * that is processed again gives the same counts.
 */
import type { InputCounts, SourcesEntry, SourceTally } from '../books/ledger.js'
import { endpointName } from '../evaluate/edges.js'
import type { Verdict } from '../evaluate/evaluate.js'
import type { TrafficPolicy } from '../evaluate/traffic-policy.js'
import type { Production } from '../produce/produce.js'
import type { CompiledSource } from '../produce/source-list.js'
import { type RecordType, recordTypes, type TrafficRecord } from '../record/traffic-record.js'
import type { SourceNames } from './source-names.js'

export type CountVector = ReturnType<Counts['vector']>

const increment = <K>(counts: Map<K, number>, key: K): void => {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

const noneEvaluated = () =>
  Object.fromEntries(recordTypes.map((type) => [type, 0])) as Record<RecordType, number>

export class Counts {
  readonly #evaluated = noneEvaluated()
  readonly #decisions = { allow: 0, block: 0, deny: 0 }
  /** How often the sources of each list were asked. */
  readonly #asked = new Map<readonly CompiledSource[], number>()
  readonly #produced = new Map<CompiledSource, number>()
  readonly #policyFailures = new Map<TrafficPolicy, number>()
  readonly #filterFailures = new Map<CompiledSource, number>()
  readonly #warnings = new Map<string, number>()
  readonly #unserved = new Map<string, number>()
  #bad = 0

  addBad(): void {
    this.#bad += 1
  }

  add(record: TrafficRecord, edgeId: string | undefined, verdict: Verdict, production: Production): void {
    if (edgeId === undefined) increment(this.#unserved, endpointName(record))
    this.#evaluated[record.type] += 1
    this.#decisions[verdict.decision] += 1
    for (const { sources } of production.lists) increment(this.#asked, sources)
    for (const { source } of production.events) increment(this.#produced, source)
    for (const source of production.failed) increment(this.#filterFailures, source)
    for (const { policy } of verdict.failures) increment(this.#policyFailures, policy)
    for (const { restrictionId } of verdict.warnings) increment(this.#warnings, restrictionId)
  }

  #tallies(): SourceTally[] {
    const tallies: SourceTally[] = []
    for (const [{ subscriptionId, kindName, destinationIds }, produced] of this.#produced)
      for (const id of destinationIds) tallies.push([subscriptionId, kindName, id, produced, 0])
    return tallies
  }

  /** `records` = `bad` + all of `evaluated`. */
  vector() {
    return {
      records: this.#bad + recordTypes.reduce((sum, type) => sum + this.#evaluated[type], 0),
      bad: this.#bad,
      evaluated: { ...this.#evaluated },
      decisions: { ...this.#decisions },
      /** Evaluated records that no edge serves, by the endpoint they name. */
      unserved: [...this.#unserved].map(([endpoint, count]) => ({ endpoint, count })),
      /** Sources that produced events, and how many of them. */
      sources: this.#tallies(),
      /** Each source of a list produced an event or filtered one as often. There may be thousands. */
      asked: [...this.#asked].map(([sources, times]) => ({ sources, times })),
      /** Expressions of traffic policies without a result. */
      policyFailures: [...this.#policyFailures].map(([{ edgeId, label }, count]) => ({
        edge_id: edgeId,
        policy: label,
        count,
      })),
      /** Filters without a result; their events are included in `filtered`. */
      filterFailures: [...this.#filterFailures].map(([{ subscriptionId, kindName }, count]) => ({
        subscription_id: subscriptionId,
        kind: kindName,
        count,
      })),
      /** Records that an unenforced restriction would have blocked. */
      warnings: [...this.#warnings].map(([restriction_id, count]) => ({ restriction_id, count })),
    }
  }
}

/** What is entered in the ledger: counts, and the lists of sources that they refer to. */
export interface EnteredCounts {
  readonly counts: InputCounts
  readonly lists: readonly SourcesEntry[]
}

export function enteredCounts(vector: CountVector, names: SourceNames): EnteredCounts {
  const { records, bad, evaluated, decisions, unserved, sources } = vector
  const lists: SourcesEntry[] = []
  const asked: (readonly [string, number])[] = []
  for (const { sources: of, times } of vector.asked)
    for (const list of names.of(of)) {
      lists.push(list)
      asked.push([list.list, times])
    }
  const all = { records, bad, ...evaluated, ...decisions, unserved: unservedIn(unserved), sources, asked }
  return { counts: all, lists }
}

const unservedIn = (unserved: CountVector['unserved']): number =>
  unserved.reduce((sum, { count }) => sum + count, 0)
