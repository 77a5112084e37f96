/**
 * Writes records to the partitions of a topic: acknowledged by all replicas in sync, and once, also if a request is
 * repeated because its answer was lost. For that, brokers know this producer, and it numbers the records of each partition:
 *
 * - One request to a partition at a time, so that the next one continues its numbers.
 * - A batch whose outcome is unknown is **unconfirmed**. Before any other, the same batch is sent to its partition again,
 *   under the same number: if the broker has it, it is not written twice.
 * - A batch that was refused at once uses no number. If it was unconfirmed before, a broker may have it under its number,
 *   and would take the next one for a repetition: the producer asks for another id, and begins anew.
 *
 * A record of an unconfirmed batch that the lane did not send again is **settled** once the batch is confirmed: it is not
 * written when the lane sends it later. If a broker has lost track of the producer, it begins anew, too. What was
 * unconfirmed then may be written twice.
 */
import type { produceV9 } from '@platformatic/kafka'
import type { Fault } from '../../outgoing/fault-class.js'
import { fault } from '../../outgoing/faults.js'
import type { Group } from '../kind/outcomes.js'
import type { HostPort } from '../kind/servers.js'
import type { KafkaCluster, Topic } from './cluster.js'
import { faultOf, faultOfNumber, needsReset } from './kafka-faults.js'
import { answerOf, apisOf, type Protocol, protocol } from './protocol.js'

export interface Message {
  /** Known again when the lane sends the record again. */
  readonly id: string
  readonly key: Buffer
  readonly value: Buffer
  readonly timestampMs: number
}

interface Batch {
  readonly partition: number
  readonly messages: readonly Message[]
  /** The number of its first record. */
  readonly sequence: number
  /** An earlier request with it failed: it may be written nevertheless. */
  mayBeWritten: boolean
}

/** Why a batch is not confirmed. */
interface Refusal {
  readonly fault: Fault
  /** The records that are at fault, by their place in the batch, if the broker names them. */
  readonly culprits: ReadonlySet<number>
}

/** Brokers give up a little earlier than the request. */
const brokerTimeoutPart = 0.8
const acksAll = -1
/** It has no meaning for a producer without transactions. */
const transactionTimeoutMs = 60_000
/** Numbers of records begin anew after it. */
const sequenceMax = 0x7fffffff
const settledMax = 50_000

const unknownOutcome: Refusal = {
  fault: fault('transient', 'NoResult', 'The answer has no result for the partition.'),
  culprits: new Set(),
}
const noLeader: Refusal = {
  fault: fault('transient', 'LEADER_NOT_AVAILABLE', 'The partition has no leader at the moment.'),
  culprits: new Set(),
}

export class KafkaProducer {
  readonly #cluster: KafkaCluster
  readonly #topicName: string
  readonly #requestTimeoutMs: number
  #turn: Promise<unknown> = Promise.resolve()
  #identity: { readonly producerId: bigint; readonly producerEpoch: number } | undefined
  /** By partition, the number of the next record. */
  readonly #sequences = new Map<number, number>()
  readonly #unconfirmed = new Map<number, Batch>()
  readonly #settled = new Set<string>()
  #throttledMs = 0

  constructor(cluster: KafkaCluster, topicName: string, requestTimeoutMs: number) {
    this.#cluster = cluster
    this.#topicName = topicName
    this.#requestTimeoutMs = requestTimeoutMs
  }

  /** How long brokers asked to wait since the last call. */
  takeThrottledMs(): number {
    const throttledMs = this.#throttledMs
    this.#throttledMs = 0
    return throttledMs
  }

  /** The messages that were not accepted, with those that share their fate. Rejects if nothing was sent. */
  send(messages: readonly Message[], topic: Topic, signal: AbortSignal): Promise<readonly Group[]> {
    const sent = this.#turn.then(() => this.#send(messages, topic, signal))
    this.#turn = sent.catch(() => {})
    return sent
  }

  /** Has brokers know this producer. */
  async identify(signal: AbortSignal): Promise<void> {
    if (this.#identity !== undefined) return
    const { initProducerId } = apisOf(await protocol())
    const connection = await this.#cluster.any(signal)
    const asked = connection.call(initProducerId, signal, null, transactionTimeoutMs, -1n, -1)
    const { producerId, producerEpoch } = await asked
    this.#identity = { producerId, producerEpoch }
  }

  async #send(messages: readonly Message[], topic: Topic, signal: AbortSignal): Promise<readonly Group[]> {
    const groups: Group[] = []
    const confirmed = messages.flatMap(({ id }) => (this.#settled.has(id) ? [id] : []))
    let isHeard = false
    let mayBeginAgain = true
    try {
      let waiting = await this.#byPartition(messages, topic)
      while (waiting.size > 0) {
        signal.throwIfAborted()
        await this.identify(signal)
        const batches = [...waiting].map(([partition, indices]) =>
          this.#batchOf(partition, indices, messages),
        )
        const refusals = await this.#write(batches, topic, signal)
        const next = new Map<number, readonly number[]>()
        for (const batch of batches) {
          const indices = waiting.get(batch.partition)!
          const refusal = refusals.get(batch)
          if (refusal === undefined) confirmed.push(...batch.messages.map(({ id }) => id))
          const { failed, rest } = this.#ended(batch, refusal, indices, messages, mayBeginAgain)
          groups.push(...failed)
          if (rest.length > 0) next.set(batch.partition, rest)
        }
        // A broker that refuses a producer which has just begun again will refuse the next one, too.
        if ([...refusals.values()].some(({ fault }) => needsReset(fault))) mayBeginAgain = false
        waiting = next
      }
      isHeard = !signal.aborted
      return groups
    } finally {
      // The lane sends again whatever it got no answer about, or did not wait for.
      if (isHeard) for (const { id } of messages) this.#settled.delete(id)
      const heard = new Set(isHeard ? messages.map(({ id }) => id) : [])
      this.#settle(confirmed.filter((id) => !heard.has(id)))
    }
  }

  /** The indices of the messages for each partition; those that are written already are left out. */
  async #byPartition(messages: readonly Message[], { leaders }: Topic) {
    const { murmur2 } = await protocol()
    const repeated = new Map<string, number>()
    for (const { partition, messages } of this.#unconfirmed.values()) {
      // A topic that is recreated may have fewer partitions.
      if (partition < leaders.length) for (const { id } of messages) repeated.set(id, partition)
    }
    const found = new Map<number, number[]>()
    for (const [index, { id, key }] of messages.entries()) {
      if (this.#settled.has(id)) continue
      // As Kafka's own clients do, so that a key has the same partition whoever writes it.
      const partition = repeated.get(id) ?? (murmur2(key) & sequenceMax) % leaders.length
      const indices = found.get(partition)
      if (indices === undefined) found.set(partition, [index])
      else indices.push(index)
    }
    return found as ReadonlyMap<number, readonly number[]>
  }

  #batchOf(partition: number, indices: readonly number[], messages: readonly Message[]): Batch {
    const unconfirmed = this.#unconfirmed.get(partition)
    if (unconfirmed !== undefined) return unconfirmed
    const sequence = this.#sequences.get(partition) ?? 0
    const own = indices.map((index) => messages[index]!)
    const batch = { partition, messages: own, sequence, mayBeWritten: false }
    this.#unconfirmed.set(partition, batch)
    return batch
  }

  /** `indices`: the messages that wait for the partition. `rest`: not in the batch, or of a producer that begins again. */
  #ended(
    batch: Batch,
    refusal: Refusal | undefined,
    indices: readonly number[],
    messages: readonly Message[],
    mayBeginAgain: boolean,
  ): { readonly failed: readonly Group[]; readonly rest: readonly number[] } {
    const { partition, sequence } = batch
    // The producer began anew while this batch was under way.
    const isKnown = this.#unconfirmed.get(partition) === batch
    if (refusal !== undefined && refusal.fault.class !== 'poison') {
      batch.mayBeWritten = true
      if (needsReset(refusal.fault)) {
        this.#reset()
        if (mayBeginAgain) return { failed: [], rest: indices }
      }
      return { failed: [{ indices, fault: refusal.fault }], rest: [] }
    }
    this.#unconfirmed.delete(partition)
    if (refusal !== undefined && batch.mayBeWritten) this.#reset()
    const places = new Map(batch.messages.map(({ id }, place) => [id, place]))
    const placeOf = (index: number): number | undefined => places.get(messages[index]!.id)
    const rest = indices.filter((index) => placeOf(index) === undefined)
    if (refusal === undefined) {
      if (isKnown) this.#sequences.set(partition, (sequence + batch.messages.length) & sequenceMax)
      return { failed: [], rest }
    }
    const { fault, culprits } = refusal
    const inBatch = indices.filter((index) => placeOf(index) !== undefined)
    const isCulprit = (index: number): boolean => culprits.has(placeOf(index) ?? -1)
    if (!inBatch.some(isCulprit))
      return { failed: inBatch.length > 0 ? [{ indices: inBatch, fault }] : [], rest }
    const failed = inBatch.filter(isCulprit).map((index) => ({ indices: [index], fault }))
    return { failed, rest: indices.filter((index) => !isCulprit(index)) }
  }

  /** Remembers what is written, so that it is not written again. */
  #settle(ids: readonly string[]): void {
    for (const id of ids) this.#settled.add(id)
    for (const id of this.#settled) {
      if (this.#settled.size <= settledMax) break
      this.#settled.delete(id)
    }
  }

  #reset(): void {
    this.#identity = undefined
    this.#sequences.clear()
    this.#unconfirmed.clear()
  }

  // --- requests ---

  /** A request to the leader of each partition; why a batch is not confirmed, by the batch. */
  async #write(
    batches: readonly Batch[],
    { leaders }: Topic,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<Batch, Refusal>> {
    const library = await protocol()
    const refusals = new Map<Batch, Refusal>()
    const byLeader = new Map<HostPort, Batch[]>()
    for (const batch of batches) {
      const leader = leaders[batch.partition]
      if (leader === undefined) refusals.set(batch, noLeader)
      else byLeader.set(leader, [...(byLeader.get(leader) ?? []), batch])
    }
    const requests = [...byLeader].map(async ([leader, group]) => {
      try {
        const answer = await this.#request(leader, group, library, signal)
        for (const batch of group) {
          const refusal = await refusalIn(answer.get(batch.partition))
          if (refusal !== undefined) refusals.set(batch, refusal)
        }
      } catch (error) {
        for (const batch of group) refusals.set(batch, { fault: faultOf(error), culprits: new Set() })
      }
    })
    await Promise.all(requests)
    if (refusals.size > 0) this.#cluster.forgetTopic()
    return refusals
  }

  async #request(leader: HostPort, batches: readonly Batch[], library: Protocol, signal: AbortSignal) {
    const topic = this.#topicName
    const sequences = new library.NumericMap()
    for (const { partition, sequence } of batches) sequences.set(`${topic}:${partition}`, sequence)
    const records = batches.flatMap(({ partition, messages }) =>
      messages.map(({ key, value, timestampMs }) => ({
        topic,
        partition,
        key,
        value,
        timestamp: BigInt(timestampMs),
      })),
    )
    const connection = await this.#cluster.connection(leader, signal)
    const timeoutMs = Math.ceil(this.#requestTimeoutMs * brokerTimeoutPart)
    const options = { ...this.#identity!, sequences }
    const answer = await answerOf(
      connection.call(apisOf(library).produce, signal, acksAll, timeoutMs, records, options),
    )
    if (typeof answer === 'boolean') throw new Error('A request for acknowledgement has no answer.')
    this.#throttledMs = Math.max(this.#throttledMs, answer.throttleTimeMs)
    const results = answer.responses.flatMap(({ partitionResponses }) => partitionResponses)
    return new Map(results.map((result) => [result.index, result]))
  }
}

type ProduceResponsePartition = produceV9.ProduceResponsePartition

/** The broker has the batch already. */
const duplicateSequence = 46

async function refusalIn(result: ProduceResponsePartition | undefined): Promise<Refusal | undefined> {
  if (result === undefined) return unknownOutcome
  const { errorCode, recordErrors, errorMessage } = result
  if (errorCode === 0 || errorCode === duplicateSequence) return undefined
  const detail = recordErrors[0]?.batchIndexErrorMessage ?? errorMessage
  return {
    fault: await faultOfNumber(errorCode, detail),
    culprits: new Set(recordErrors.map(({ batchIndex }) => batchIndex)),
  }
}
