/**
 * The counts of one message. They are added to the totals once, when everything the message caused is stored; a message
 * that is processed again gives the same counts.
 */
import type { SourceTally } from '../../delivery/books/ledger.js'
import { type RecordType, recordTypes, type TrafficRecord } from '../../delivery/record/traffic-record.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Decision } from '../../words/event/define.js'
import { type Endpoint, endpointName } from '../evaluate/edges.js'
import type { Verdict } from '../evaluate/evaluate.js'
import type { Judgement } from '../evaluate/judgement.js'
import type { TrafficPolicy } from '../evaluate/traffic-policy.js'
import type { Production } from '../produce/produce.js'
import type { CompiledSource } from '../produce/source-list.js'

export type CountVector = ReturnType<Counts['vector']>

interface Count {
  times: number
}

/** How often each key came. Most messages hold one record: a map is made for the second key. */
class Tally<K> {
  #counts: Map<K, Count> | undefined
  /** The key that was added last, and its count: most records have the key of the one before. */
  #lastKey: K | undefined
  #last: Count | undefined

  add(key: K): void {
    if (this.#last === undefined || key !== this.#lastKey) {
      this.#last = this.#countOf(key)
      this.#lastKey = key
    }
    this.#last.times += 1
  }

  #countOf(key: K): Count {
    if (this.#last === undefined) return { times: 0 }
    this.#counts ??= new Map([[this.#lastKey as K, this.#last]])
    return getOrMake(this.#counts, key, () => ({ times: 0 }))
  }

  /** Is there at most one key, and the same one as often in the other? */
  isLike(other: Tally<K>): boolean {
    if (this.#counts !== undefined || other.#counts !== undefined) return false
    return this.#lastKey === other.#lastKey && this.#last?.times === other.#last?.times
  }

  each(take: (key: K, times: number) => void): void {
    if (this.#counts !== undefined) for (const [key, { times }] of this.#counts) take(key, times)
    else if (this.#last !== undefined) take(this.#lastKey as K, this.#last.times)
  }

  map<T>(shape: (key: K, times: number) => T): T[] {
    const shaped: T[] = []
    this.each((key, times) => shaped.push(shape(key, times)))
    return shaped
  }
}

/** The last record for which an expression had no result. */
export interface LastFailure {
  readonly accountId: string | undefined
  readonly edgeId: string | undefined
  /** Empty for a filter, of which there is one. */
  readonly expression: string
  readonly msg: string
  readonly recordId: string
}

/** How often each expression had no result, and the last time. */
class FailureTally<K> {
  #counts: Map<K, { times: number; last: LastFailure }> | undefined

  add(key: K, last: LastFailure): void {
    this.#counts ??= new Map()
    const count = getOrMake(this.#counts, key, () => ({ times: 0, last }))
    count.times += 1
    count.last = last
  }

  map<T>(shape: (key: K, times: number, last: LastFailure) => T): T[] {
    return [...(this.#counts ?? [])].map(([key, { times, last }]) => shape(key, times, last))
  }
}

const nothing: readonly never[] = []

/** Those of the message before, and their vector. */
let last: { readonly counts: Counts; readonly vector: CountVector } | undefined

/**
 * The vector of these counts: the same object as that of the message before if they are equal, as they mostly are where a
 * message holds one record. Nothing that is rare may be counted in it, for what is equal then is not compared.
 */
export function vectorOf(counts: Counts): CountVector {
  if (last?.counts.isLike(counts) !== true) last = { counts, vector: counts.vector() }
  return last.vector
}

export class Counts {
  readonly #evaluated: Record<RecordType, number> = { tcp_connection: 0, http_request: 0 }
  readonly #decisions = { allow: 0, block: 0, deny: 0 }
  /** How often the sources of each list were asked. */
  readonly #asked = new Tally<readonly CompiledSource[]>()
  readonly #produced = new Tally<CompiledSource>()
  // Rare: made when they are needed, because most messages have one record, and there may be 20,000 a second.
  #policyFailures: FailureTally<TrafficPolicy> | undefined
  #filterFailures: FailureTally<CompiledSource> | undefined
  #warnings: Tally<string> | undefined
  #shadows: Tally<`${Decision} ${Decision}`> | undefined
  #unserved: Tally<string> | undefined
  #unowned = 0
  #bad = 0
  #history = 0

  addBad(): void {
    this.#bad += 1
  }

  add({ record, endpoint, verdict, shadow }: Judgement, production: Production): void {
    if (endpoint.edgeId === undefined) this.#addUnserved(record, endpoint)
    this.#evaluated[record.type] += 1
    this.#decisions[verdict.decision] += 1
    this.#addProduction(production)
    for (const { source, msg } of production.failed) {
      this.#filterFailures ??= new FailureTally()
      this.#filterFailures.add(source, lastFailure(record, endpoint, '', msg))
    }
    for (const { policy, expression, msg } of verdict.failures) {
      this.#policyFailures ??= new FailureTally()
      this.#policyFailures.add(policy, lastFailure(record, endpoint, expression, msg))
    }
    for (const { restrictionId } of verdict.warnings) {
      this.#warnings ??= new Tally()
      this.#warnings.add(restrictionId)
    }
    if (shadow !== null) {
      this.#shadows ??= new Tally()
      this.#shadows.add(`${verdict.decision} ${shadow.decision}`)
    }
  }

  /** A record of the past: nothing of it is news. */
  addHistory(production: Production): void {
    this.#history += 1
    this.#addProduction(production)
  }

  #addProduction({ lists, events }: Production): void {
    for (const { sources } of lists) this.#asked.add(sources)
    for (const { source } of events) this.#produced.add(source)
  }

  #addUnserved(record: TrafficRecord, { accountId }: Endpoint): void {
    this.#unserved ??= new Tally()
    this.#unserved.add(endpointName(record))
    if (accountId === undefined) this.#unowned += 1
  }

  #tallies(): SourceTally[] {
    const tallies: SourceTally[] = []
    this.#produced.each(({ subscriptionId, kindName, destinationIds }, produced) => {
      for (const id of destinationIds) tallies.push([subscriptionId, kindName, id, produced, 0])
    })
    return tallies
  }

  isLike(other: Counts): boolean {
    return (
      this.#bad === other.#bad &&
      this.#history === other.#history &&
      this.#evaluated.tcp_connection === other.#evaluated.tcp_connection &&
      this.#evaluated.http_request === other.#evaluated.http_request &&
      this.#decisions.allow === other.#decisions.allow &&
      this.#decisions.block === other.#decisions.block &&
      this.#decisions.deny === other.#decisions.deny &&
      this.#asked.isLike(other.#asked) &&
      this.#produced.isLike(other.#produced) &&
      !this.#hasRare &&
      !other.#hasRare
    )
  }

  get #hasRare(): boolean {
    return (
      this.#policyFailures !== undefined ||
      this.#filterFailures !== undefined ||
      this.#warnings !== undefined ||
      this.#shadows !== undefined ||
      this.#unserved !== undefined
    )
  }

  #evaluatedOfAll(): number {
    let sum = 0
    for (const type of recordTypes) sum += this.#evaluated[type]
    return sum
  }

  /** `records` = `bad` + `history` + all of `evaluated`. */
  vector() {
    return {
      history: this.#history,
      records: this.#bad + this.#history + this.#evaluatedOfAll(),
      bad: this.#bad,
      evaluated: this.#evaluated as Readonly<Record<RecordType, number>>,
      decisions: this.#decisions as Readonly<Record<Verdict['decision'], number>>,
      /** Evaluated records that no edge serves, by the endpoint they name. */
      unserved: this.#unserved?.map((endpoint, count) => ({ endpoint, count })) ?? nothing,
      /** Those of them that belong to no account. */
      unowned: this.#unowned,
      /** Sources that produced events, and how many of them. */
      sources: this.#tallies(),
      /** Each source of a list produced an event or filtered one as often. There may be thousands. */
      asked: this.#asked.map((sources, times) => ({ sources, times })),
      /** Expressions of traffic policies without a result. */
      policyFailures:
        this.#policyFailures?.map(({ ownerId, distinctLabel }, count, last) => ({
          edge_id: ownerId,
          policy: distinctLabel,
          count,
          last,
        })) ?? nothing,
      /** Filters without a result; their sources count as asked. */
      filterFailures:
        this.#filterFailures?.map(({ subscriptionId, kindName }, count, last) => ({
          subscription_id: subscriptionId,
          kind: kindName,
          count,
          last,
        })) ?? nothing,
      /** Records that an unenforced restriction would have blocked. */
      warnings: this.#warnings?.map((restriction_id, count) => ({ restriction_id, count })) ?? nothing,
      /** Records with a shadow decision: what was decided, and what would have been. */
      shadows:
        this.#shadows?.map((pair, count) => {
          const [decision, shadow] = pair.split(' ') as [Decision, Decision]
          return { decision, shadow, count }
        }) ?? nothing,
    }
  }
}

/** `record`: a question about a connection may have no id. */
export const lastFailure = (
  { record_id }: { readonly record_id?: string | undefined },
  { accountId, edgeId }: Pick<Endpoint, 'accountId' | 'edgeId'>,
  expression: string,
  msg: string,
): LastFailure => ({ accountId, edgeId, expression, msg, recordId: record_id ?? '' })
