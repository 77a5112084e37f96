/** JetStream's API of the model, `$JS.API.>`: https://docs.nats.io/reference/reference-protocols/nats_api_reference. */
import { checkOnWorkQueue, consumerConfigOf, streamConfigOf } from './configs.js'
import { Consumer, type ConsumerHost } from './consumer.js'
import {
  consumerExists,
  consumerNotFound,
  nameInUse,
  Refusal,
  streamNotFound,
  subjectsOverlap,
} from './errors.js'
import { pullRequestOf } from './pull-request.js'
import { readDirectly, readMessage } from './reads.js'
import { Stream, timeOf } from './stream.js'
import { overlap } from './subjects.js'

interface Host extends ConsumerHost {
  /** A name that nothing else has. */
  uniqueName(): string
}

/** What a request is answered with: an object as JSON, nothing for requests of messages. */
type Answer = object | undefined

export class JetStream {
  readonly #host: Host
  readonly streams = new Map<string, Stream>()
  /** By stream, then by name. */
  readonly #consumers = new Map<string, Map<string, Consumer>>()

  constructor(host: Host) {
    this.#host = host
  }

  consumersOf(stream: string): ReadonlyMap<string, Consumer> {
    return this.#consumers.get(stream) ?? new Map()
  }

  *allConsumers(): Generator<Consumer> {
    for (const consumers of this.#consumers.values()) yield* consumers.values()
  }

  streamFor(subject: string): Stream | undefined {
    for (const stream of this.streams.values()) if (stream.takes(subject)) return stream
    return undefined
  }

  /** Stores a message of a subject that a stream takes; the answer for its publisher. */
  store(stream: Stream, message: { subject: string; headers: Buffer | undefined; data: Buffer }): object {
    const { name } = stream.config
    try {
      const { sequence, isDuplicate } = stream.publish(message, this.#host.now())
      if (!isDuplicate) for (const consumer of this.consumersOf(name).values()) consumer.deliver()
      return { stream: name, seq: sequence, ...(isDuplicate && { duplicate: true }) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { error: error.error, stream: name, seq: 0 }
    }
  }

  /** `$JS.ACK.` stream `.` consumer `.` deliveries `.` sequence `.` its own `.` time `.` pending: what was said of it. */
  acknowledge(subject: string, word: string): boolean {
    const [, , stream = '', name = '', , sequence, consumerSequence] = subject.split('.')
    const consumer = this.consumersOf(stream).get(name)
    consumer?.acknowledge(Number(sequence), Number(consumerSequence), word)
    return consumer !== undefined
  }

  /** `subject` without `$JS.API.`. */
  answer(
    subject: string,
    data: Buffer,
    reply: string,
  ): { readonly headers?: Buffer; readonly data: Buffer } | undefined {
    if (subject.startsWith('DIRECT.GET.')) return this.#direct(subject, data)
    const type = typeOf(subject)
    try {
      const answer = this.#call(subject, data, reply)
      return answer && { data: Buffer.from(JSON.stringify({ type, ...answer })) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { data: Buffer.from(JSON.stringify({ type, error: error.error })) }
    }
  }

  #call(subject: string, data: Buffer, reply: string): Answer {
    const body = data.length === 0 ? {} : JSON.parse(data.toString('utf8'))
    const [group, call, ...names] = subject.split('.')
    if (group === 'INFO') return this.#account()
    if (group === 'STREAM') return this.#streamCall(call!, names, body)
    if (group !== 'CONSUMER') throw new Error(`The model does not know $JS.API.${subject}.`)
    if (call === 'MSG') return this.#pull(names[1]!, names[2]!, body, reply)
    return this.#consumerCall(call!, names, body)
  }

  #account(): object {
    const streams = [...this.streams.values()]
    const storage = streams.reduce((sum, stream) => sum + stream.state(0).bytes, 0)
    const limits = { max_memory: -1, max_storage: -1, max_streams: -1, max_consumers: -1 }
    const consumers = [...this.allConsumers()].length
    return { memory: 0, storage, streams: streams.length, consumers, limits, api: { total: 0, errors: 0 } }
  }

  #streamCall(call: string, names: readonly string[], body: Record<string, unknown>): object {
    const name = names.at(-1)!
    switch (call) {
      case 'CREATE':
        return this.#createStream(body)
      case 'UPDATE':
        return this.#updateStream(name, body)
      case 'INFO':
        return this.#streamInfo(this.#stream(name), body)
      case 'DELETE':
        return this.#deleteStream(name)
      case 'PURGE':
        return this.#purge(name, body)
      case 'MSG':
        return names[0] === 'GET' ? readMessage(this.#current(name), body) : this.#deleteMessage(name, body)
      case 'NAMES':
        return { total: this.streams.size, offset: 0, limit: 1024, streams: this.#names(body) }
      case 'LIST': {
        const streams = [...this.streams.values()].map((stream) => this.#streamInfo(stream, {}))
        return { total: streams.length, offset: 0, limit: 256, streams }
      }
      default:
        throw new Error(`The model does not know $JS.API.STREAM.${call}.`)
    }
  }

  #names({ subject }: { subject?: string }): string[] {
    const found = [...this.streams.values()].filter(
      (stream) => subject === undefined || stream.takes(subject),
    )
    return found.map(({ config }) => config.name)
  }

  #stream(name: string): Stream {
    const stream = this.streams.get(name)
    if (stream === undefined) throw streamNotFound()
    return stream
  }

  #createStream(body: Record<string, unknown>): object {
    const config = streamConfigOf(body)
    const present = this.streams.get(config.name)
    if (present !== undefined) {
      if (JSON.stringify(present.config) !== JSON.stringify(config)) throw nameInUse()
      return this.#streamInfo(present, {})
    }
    for (const other of this.streams.values())
      if (other.config.subjects.some((subject) => config.subjects.some((own) => overlap(subject, own))))
        throw subjectsOverlap()
    const stream = new Stream(config, this.#host.now())
    this.streams.set(config.name, stream)
    this.#consumers.set(config.name, new Map())
    return { ...this.#streamInfo(stream, {}), did_create: true }
  }

  #updateStream(name: string, body: Record<string, unknown>): object {
    const stream = this.#stream(name)
    stream.config = streamConfigOf(body)
    stream.expire(this.#host.now())
    return this.#streamInfo(stream, {})
  }

  #streamInfo(stream: Stream, { subjects_filter }: { subjects_filter?: string }): object {
    stream.expire(this.#host.now())
    const state = stream.state(this.consumersOf(stream.config.name).size)
    const counts = subjects_filter === undefined ? {} : stream.subjectCounts(subjects_filter)
    const subjects = Object.keys(counts).length === 0 ? {} : { subjects: counts }
    const created = timeOf(stream.createdMs)
    return { config: stream.config, created, state: { ...state, ...subjects }, ts: timeOf(this.#host.now()) }
  }

  #deleteStream(name: string): object {
    this.#stream(name)
    this.forgetStream(name)
    return { success: true }
  }

  /** The stream is gone with its consumers. */
  forgetStream(name: string): void {
    for (const consumer of this.consumersOf(name).values()) consumer.endAll('409 Consumer Deleted')
    this.streams.delete(name)
    this.#consumers.delete(name)
  }

  /** The server starts again: consumers in memory are gone, as are requests that waited. */
  restart(): void {
    for (const consumers of this.#consumers.values())
      for (const [name, { config }] of consumers)
        if (config.durable_name === undefined || config.mem_storage) consumers.delete(name)
        else consumers.get(name)!.restart()
  }

  /** The stream is as it was; it has no consumers but those of then, which are none. */
  putBack(stream: Stream): void {
    this.streams.set(stream.config.name, stream)
    this.#consumers.set(stream.config.name, new Map())
  }

  #purge(name: string, body: object): object {
    const purged = this.#stream(name).purge(body)
    for (const consumer of this.consumersOf(name).values()) consumer.purged()
    return { success: true, purged }
  }

  #deleteMessage(name: string, { seq }: { seq?: number }): object {
    this.#stream(name).delete(seq ?? 0)
    return { success: true }
  }

  /** Undefined if there is no such stream: nobody answers. */
  #direct(subject: string, data: Buffer) {
    const [, , name = '', ...last] = subject.split('.')
    if (!this.streams.has(name)) return undefined
    const body = data.length === 0 ? { last_by_subj: last.join('.') } : JSON.parse(data.toString('utf8'))
    return readDirectly(this.#current(name), body)
  }

  /** Without what has become too old. */
  #current(name: string): Stream {
    const stream = this.#stream(name)
    stream.expire(this.#host.now())
    return stream
  }

  #consumerCall(call: string, names: readonly string[], body: Record<string, unknown>): object {
    switch (call) {
      case 'CREATE':
        return this.#createConsumer(names[0]!, body)
      case 'DURABLE':
        return this.#createConsumer(names[1]!, body)
      case 'INFO':
        return this.#consumer(names[0]!, names[1]!).info(this.#host.now())
      case 'DELETE':
        return this.#deleteConsumer(names[0]!, names[1]!)
      case 'NAMES': {
        const found = [...this.#consumersIn(names[0]!).keys()]
        return { total: found.length, offset: 0, limit: 1024, consumers: found }
      }
      case 'LIST': {
        const found = [...this.#consumersIn(names[0]!).values()].map((each) => each.info(this.#host.now()))
        return { total: found.length, offset: 0, limit: 256, consumers: found }
      }
      default:
        throw new Error(`The model does not know $JS.API.CONSUMER.${call}.`)
    }
  }

  #consumersIn(stream: string): Map<string, Consumer> {
    this.#stream(stream)
    return this.#consumers.get(stream)!
  }

  #consumer(stream: string, name: string): Consumer {
    const consumer = this.#consumersIn(stream).get(name)
    if (consumer === undefined) throw consumerNotFound()
    return consumer
  }

  #createConsumer(streamName: string, body: Record<string, unknown>): object {
    const { config: given = {}, action = '' } = body as { config?: Record<string, unknown>; action?: string }
    const stream = this.#stream(streamName)
    const consumers = this.#consumersIn(streamName)
    const config = consumerConfigOf(given, this.#host.uniqueName)
    const present = consumers.get(config.name)
    if (present !== undefined) {
      if (action === 'create' && JSON.stringify(present.config) !== JSON.stringify(config))
        throw consumerExists()
      present.update({ ...present.config, ...config })
      return present.info(this.#host.now())
    }
    if (action === 'update') throw consumerNotFound()
    if (stream.config.retention === 'workqueue') checkOnWorkQueue(config, consumers)
    const consumer = new Consumer(stream, config, this.#host)
    consumers.set(config.name, consumer)
    const info = consumer.info(this.#host.now())
    consumer.deliver()
    return info
  }

  #deleteConsumer(stream: string, name: string): object {
    this.#consumer(stream, name).endAll('409 Consumer Deleted')
    this.#consumers.get(stream)!.delete(name)
    return { success: true }
  }

  #pull(stream: string, name: string, body: object, reply: string): undefined {
    const request = pullRequestOf(body, reply, this.#host.now())
    this.#consumers.get(stream)?.get(name)?.request(request)
    return undefined
  }
}

/** The `type` of an answer. */
function typeOf(subject: string): string {
  const [group = '', call = '', third = ''] = subject.split('.')
  if (group === 'INFO') return 'io.nats.jetstream.api.v1.account_info_response'
  const verb = call === 'MSG' ? `msg_${third}` : call === 'DURABLE' ? 'create' : call
  return `io.nats.jetstream.api.v1.${group}_${verb}_response`.toLowerCase()
}
