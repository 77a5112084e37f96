/**
 * The counts of one message. They are added to the totals once, when everything the message caused is stored; a message
 * that is processed again gives the same counts.
 */
import type { InputCounts, SourceTally } from '../books/ledger.js'
import { endpointName } from '../evaluate/edges.js'
import type { Verdict } from '../evaluate/evaluate.js'
import type { TrafficPolicy } from '../evaluate/traffic-policy.js'
import type { Production } from '../produce/produce.js'
import type { CompiledSource } from '../produce/source-list.js'
import { type RecordType, recordTypes, type TrafficRecord } from '../record/traffic-record.js'

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

  /** A source that was asked made an event or was filtered. */
  #tallies(): SourceTally[] {
    const tallies: SourceTally[] = []
    for (const [sources, asked] of this.#asked) {
      for (const source of sources) {
        const { subscriptionId, kindName, destinationIds } = source
        const produced = this.#produced.get(source) ?? 0
        for (const id of destinationIds)
          tallies.push([subscriptionId, kindName, id, produced, asked - produced])
      }
    }
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
      sources: this.#tallies(),
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

/** The counts that are entered in the ledger. */
export const inputCounts = ({
  records,
  bad,
  evaluated,
  decisions,
  unserved,
  sources,
}: CountVector): InputCounts => ({
  records,
  bad,
  ...evaluated,
  ...decisions,
  unserved: unserved.reduce((sum, { count }) => sum + count, 0),
  sources,
})
