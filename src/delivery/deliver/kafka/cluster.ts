/** The brokers of a cluster: which one leads each partition of a topic, and the connections to them. */
import { monotonicMs } from '../../../ground/core/clock.js'
import { fail, ok, type Result } from '../../../ground/core/errors.js'
import type { Fault } from '../../outgoing/fault-class.js'
import type { HostPort } from '../kind/servers.js'
import { type ConnectionOptions, KafkaConnection, NotKafkaError } from './connection.js'
import { faultOfNumber } from './kafka-faults.js'
import { answerOf, apisOf, protocol } from './protocol.js'

/** A topic can get more partitions. */
const topicAgeMaxMs = 300_000

/** Kafka's number of the operation Write, in the bits of those that are allowed. */
const writeBit = 1 << 4
/** The broker does not say what is allowed. */
const unknownOperations = -(2 ** 31)

/** Numbers of errors. */
const unknownTopic = 3
const leaderNotAvailable = 5

/** Each may take a connection. */
const leadersMax = 128

const keyOf = ({ host, port }: HostPort): string => `${host}:${port}`

export interface Topic {
  /** By partition; undefined: it has no leader now. */
  readonly leaders: readonly (HostPort | undefined)[]
  /** Undefined if it is not known. */
  readonly mayWrite: boolean | undefined
}

export class KafkaCluster {
  readonly #servers: readonly HostPort[]
  readonly #topicName: string
  readonly #options: ConnectionOptions
  /** The server that is asked first. */
  #next = 0
  readonly #connections = new Map<string, Promise<KafkaConnection>>()
  #topic: Topic | undefined
  #topicAtMs = 0

  constructor(servers: readonly HostPort[], topicName: string, options: ConnectionOptions) {
    this.#servers = servers
    this.#topicName = topicName
    this.#options = options
  }

  /** A connection to this broker. If it can't be opened, the next call tries again. */
  async connection(place: HostPort, signal: AbortSignal): Promise<KafkaConnection> {
    const key = keyOf(place)
    const known = this.#connections.get(key)
    if (known !== undefined) {
      const connection = await known
      if (!connection.isClosed) return connection
    }
    const opening = KafkaConnection.open(place, this.#options, signal)
    this.#connections.set(key, opening)
    opening.catch(() => {
      if (this.#connections.get(key) === opening) this.#connections.delete(key)
    })
    return opening
  }

  /** A connection to any of the servers. */
  async any(signal: AbortSignal): Promise<KafkaConnection> {
    let failure: unknown
    for (const _ of this.#servers) {
      try {
        return await this.connection(this.#servers[this.#next]!, signal)
      } catch (error) {
        failure = error
        this.#next = (this.#next + 1) % this.#servers.length
        if (signal.aborted) break
      }
    }
    throw failure
  }

  /** Asks again if what is known is old. */
  async topic(signal: AbortSignal): Promise<Result<Topic, Fault>> {
    if (this.#topic !== undefined && monotonicMs() - this.#topicAtMs < topicAgeMaxMs) return ok(this.#topic)
    const connection = await this.any(signal)
    const { metadata } = apisOf(await protocol())
    const { brokers, topics } = await answerOf(
      connection.call(metadata, signal, [this.#topicName], false, true),
    )
    const found = topics[0]
    if (found === undefined || found.errorCode !== 0)
      return fail(await faultOfNumber(found?.errorCode ?? unknownTopic))
    const places = new Map(brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]))
    const leaders = new Array<HostPort | undefined>(found.partitions.length).fill(undefined)
    for (const { partitionIndex, leaderId } of found.partitions) {
      if (leaders[partitionIndex] !== undefined || !(partitionIndex in leaders))
        throw new NotKafkaError('The server names a partition twice, or one that cannot be.')
      leaders[partitionIndex] = places.get(leaderId)
    }
    this.#keepOnly(leaders)
    if (leaders.length === 0) return fail(await faultOfNumber(leaderNotAvailable))
    const operations = found.topicAuthorizedOperations
    const mayWrite = operations === unknownOperations ? undefined : (operations & writeBit) !== 0
    this.#topic = { leaders, mayWrite }
    this.#topicAtMs = monotonicMs()
    return ok(this.#topic)
  }

  /** The server names brokers as it likes: connections to those that lead no partition any more would pile up. */
  #keepOnly(leaders: readonly (HostPort | undefined)[]): void {
    const led = new Set(leaders.flatMap((leader) => (leader === undefined ? [] : keyOf(leader))))
    if (led.size > leadersMax) throw new NotKafkaError(`More than ${leadersMax} brokers lead the partitions.`)
    for (const server of this.#servers) led.add(keyOf(server))
    for (const key of this.#connections.keys()) if (!led.has(key)) this.#drop(key)
  }

  #drop(key: string): void {
    this.#connections.get(key)?.then(
      (connection) => connection.close(),
      () => {},
    )
    this.#connections.delete(key)
  }

  /** A leader may have moved. */
  forgetTopic(): void {
    this.#topic = undefined
  }

  close(): void {
    for (const key of this.#connections.keys()) this.#drop(key)
    this.#topic = undefined
  }
}
