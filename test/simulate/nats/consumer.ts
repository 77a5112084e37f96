/**
 * A consumer of the model: which messages of its stream it delivers next, to whom, and which are not acknowledged yet.
 * Pull consumers have requests of clients that wait, push consumers a subject to which they deliver by themselves.
 */
import { withSize, writeHeaders } from './headers.js'
import type { PullRequest } from './pull-request.js'
import { type StoredMessage, type Stream, timeOf } from './stream.js'
import { matchAny } from './subjects.js'
import { againAt, Unacknowledged } from './unacknowledged.js'

export interface ConsumerConfig {
  readonly name: string
  readonly durable_name?: string
  readonly description?: string
  readonly ack_policy: 'none' | 'explicit' | 'all'
  /** Nanoseconds. */
  readonly ack_wait: number
  readonly max_ack_pending: number
  readonly max_deliver: number
  readonly deliver_policy: 'all' | 'last' | 'new' | 'by_start_sequence' | 'last_per_subject'
  readonly opt_start_seq?: number
  readonly filter_subject?: string
  readonly filter_subjects?: readonly string[]
  readonly headers_only?: boolean
  readonly deliver_subject?: string
  readonly flow_control?: boolean
  readonly idle_heartbeat?: number
  readonly inactive_threshold?: number
  readonly mem_storage?: boolean
}

/** What a consumer needs of its server. */
export interface ConsumerHost {
  now(): number
  /** A message to whoever listens to the reply; its subject is what the client sees. */
  send(
    to: string,
    subject: string,
    reply: string | undefined,
    headers: Buffer | undefined,
    data: Buffer,
  ): void
  hasInterest(subject: string): boolean
}

const nanosPerMs = 1e6
const none = Buffer.alloc(0)

export class Consumer {
  readonly stream: Stream
  config: ConsumerConfig
  readonly createdMs: number
  readonly #host: ConsumerHost
  #isMatch: (subject: string) => boolean
  readonly #unacknowledged = new Unacknowledged()
  /** Of `last_per_subject`: what is to be delivered before all that is new. */
  #first: number[] = []
  #next: number
  #consumerSequence = 0
  #deliveredStream = 0
  #ackFloor = { consumer_seq: 0, stream_seq: 0 }
  #requests: PullRequest[] = []
  #sentMs: number

  constructor(stream: Stream, config: ConsumerConfig, host: ConsumerHost) {
    this.stream = stream
    this.config = config
    this.#host = host
    this.createdMs = host.now()
    this.#sentMs = this.createdMs
    this.#isMatch = matchAny(filtersOf(config))
    this.#next = this.#start()
    this.#deliveredStream = this.#next - 1
    this.#ackFloor.stream_seq = this.#next - 1
  }

  #start(): number {
    const { deliver_policy, opt_start_seq = 1 } = this.config
    const { first, last } = this.stream
    switch (deliver_policy) {
      case 'by_start_sequence':
        return Math.min(Math.max(opt_start_seq, first), last + 1)
      case 'new':
        return last + 1
      case 'last_per_subject':
        this.#first = this.stream.lastPerSubject(this.#isMatch)
        return this.#first.length === 0 ? last + 1 : this.#first[0]!
      default:
        return first
    }
  }

  get #acknowledges(): boolean {
    return this.config.ack_policy !== 'none'
  }

  request(request: PullRequest): void {
    this.#requests.push(request)
    this.deliver()
    if (request.noWait && request.left > 0) this.#end(request, '404 No Messages')
  }

  #end(request: PullRequest, status: string): void {
    this.#requests = this.#requests.filter((each) => each !== request)
    const left = { 'Nats-Pending-Messages': request.left, 'Nats-Pending-Bytes': 0 }
    this.#host.send(request.reply, request.reply, undefined, writeHeaders(status, left), none)
  }

  /** Its server starts again: those who asked are gone, and it can't be ahead of its stream. */
  restart(): void {
    this.#requests = []
    const { last, messages } = this.stream
    if (this.#deliveredStream <= last) return
    this.#unacknowledged.keepOnly((sequence) => messages.has(sequence))
    this.#next = Math.min(this.#next, last + 1)
    this.#deliveredStream = last
    this.#ackFloor = { ...this.#ackFloor, stream_seq: Math.min(this.#ackFloor.stream_seq, last) }
  }

  /** Ends what clients wait for. */
  endAll(status: string): void {
    for (const request of this.#requests) this.#end(request, status)
  }

  /** Delivers as long as there is something, and somebody who waits for it. */
  deliver(): void {
    this.stream.expire(this.#host.now())
    for (;;) {
      const taker = this.#taker()
      if (taker === undefined) return
      if (this.#acknowledges && this.#unacknowledged.size >= this.config.max_ack_pending) return
      const found = this.#take()
      if (found === undefined) return
      this.#send(taker, found)
    }
  }

  /** The subject that gets the next message. */
  #taker(): PullRequest | string | undefined {
    const { deliver_subject } = this.config
    if (deliver_subject !== undefined)
      return this.#host.hasInterest(deliver_subject) ? deliver_subject : undefined
    const nowMs = this.#host.now()
    this.#requests = this.#requests.filter(({ reply, left }) => left > 0 && this.#host.hasInterest(reply))
    return this.#requests.find(({ endsMs }) => endsMs > nowMs)
  }

  #take(): StoredMessage | undefined {
    const { messages } = this.stream
    const again = this.#unacknowledged.takeAgain((each) => messages.has(each))
    if (again !== undefined) return messages.get(again)
    for (;;) {
      const sequence = this.#first.shift()
      if (sequence === undefined) break
      this.#next = Math.max(this.#next, sequence + 1)
      const message = messages.get(sequence)
      if (message !== undefined) return message
    }
    const message = this.stream.next(this.#next, this.#isMatch)
    if (message !== undefined) this.#next = message.sequence + 1
    return message
  }

  #send(taker: PullRequest | string, message: StoredMessage): void {
    const nowMs = this.#host.now()
    const { sequence } = message
    this.#consumerSequence += 1
    const consumerSequence = this.#consumerSequence
    this.#deliveredStream = Math.max(this.#deliveredStream, sequence)
    let deliveries = 1
    if (this.#acknowledges) deliveries = this.#unacknowledged.delivered(sequence, consumerSequence, nowMs)
    else this.#ackFloor = { consumer_seq: consumerSequence, stream_seq: sequence }
    const { headers_only } = this.config
    const headers = headers_only ? withSize(message.headers, message.data.length) : message.headers
    const to = typeof taker === 'string' ? taker : taker.reply
    const reply = this.#replyOf(message, deliveries, consumerSequence)
    this.#host.send(to, message.subject, reply, headers, headers_only ? none : message.data)
    this.#sentMs = nowMs
    if (typeof taker === 'string') return
    taker.left -= 1
    taker.heardMs = nowMs
    if (taker.left === 0) this.#requests = this.#requests.filter((each) => each !== taker)
  }

  #replyOf({ sequence, atMs }: StoredMessage, deliveries: number, consumerSequence: number): string {
    const { name } = this.config
    const waiting = this.waiting
    return `$JS.ACK.${this.stream.config.name}.${name}.${deliveries}.${sequence}.${consumerSequence}.${atMs}000000.${waiting}`
  }

  /** How many messages were never delivered. */
  get waiting(): number {
    const first = this.#first.length
    return first > 0 ? first + this.#newBehind() : this.stream.countFrom(this.#next, this.#isMatch)
  }

  #newBehind(): number {
    return this.stream.countFrom(this.#first.at(-1)! + 1, this.#isMatch)
  }

  /** What a client says of a message that it got. */
  acknowledge(sequence: number, consumerSequence: number, word: string): void {
    const nowMs = this.#host.now()
    if (word.startsWith('+WPI')) this.#unacknowledged.working(sequence, consumerSequence, nowMs)
    else if (word.startsWith('-NAK'))
      this.#unacknowledged.giveBack(sequence, consumerSequence, againAt(word, nowMs))
    else this.#done(sequence)
    this.deliver()
  }

  #done(sequence: number): void {
    const consumerSequence = this.#unacknowledged.done(sequence)
    if (consumerSequence === undefined) return
    if (this.stream.config.retention === 'workqueue') this.stream.remove(sequence)
    this.#moveFloor(consumerSequence)
  }

  /** Behind all that is done. */
  #moveFloor(consumerSequence: number): void {
    const { lowest } = this.#unacknowledged
    if (lowest === undefined)
      this.#ackFloor = { consumer_seq: this.#consumerSequence, stream_seq: this.#deliveredStream }
    else if (lowest - 1 > this.#ackFloor.stream_seq)
      this.#ackFloor = { consumer_seq: consumerSequence, stream_seq: lowest - 1 }
  }

  get #ackWaitMs(): number {
    return this.config.ack_wait / nanosPerMs
  }

  /** What happens by time alone: acknowledgements that did not come, requests that end, heartbeats. */
  tick(): void {
    const nowMs = this.#host.now()
    this.#unacknowledged.expire(nowMs, this.#ackWaitMs)
    this.deliver()
    for (const request of this.#requests) {
      if (request.endsMs <= nowMs) this.#end(request, '408 Request Timeout')
      else if (request.heartbeatMs > 0 && nowMs - request.heardMs >= request.heartbeatMs) this.#beat(request)
    }
    this.#beatPushed(nowMs)
  }

  #beat(request: PullRequest): void {
    request.heardMs = this.#host.now()
    this.#host.send(request.reply, request.reply, undefined, this.#heartbeat(), none)
  }

  #beatPushed(nowMs: number): void {
    const { deliver_subject, idle_heartbeat = 0 } = this.config
    if (deliver_subject === undefined || idle_heartbeat === 0) return
    if (nowMs - this.#sentMs < idle_heartbeat / nanosPerMs) return
    this.#sentMs = nowMs
    this.#host.send(deliver_subject, deliver_subject, undefined, this.#heartbeat(), none)
  }

  #heartbeat(): Buffer {
    return writeHeaders('100 Idle Heartbeat', {
      'Nats-Last-Consumer': this.#consumerSequence,
      'Nats-Last-Stream': this.#deliveredStream,
    })
  }

  /** When `tick` has something to do next. */
  get nextMs(): number {
    let next = this.#unacknowledged.nextMs(this.#ackWaitMs)
    for (const { endsMs, heartbeatMs, heardMs } of this.#requests)
      next = Math.min(next, endsMs, heartbeatMs > 0 ? heardMs + heartbeatMs : endsMs)
    const { deliver_subject, idle_heartbeat = 0 } = this.config
    if (deliver_subject !== undefined && idle_heartbeat > 0)
      next = Math.min(next, this.#sentMs + idle_heartbeat / nanosPerMs)
    return next
  }

  update(config: ConsumerConfig): void {
    this.config = config
    this.#isMatch = matchAny(filtersOf(config))
    this.deliver()
  }

  /** A purge: what is gone is not waited for. */
  purged(): void {
    this.#unacknowledged.keepOnly((sequence) => this.stream.messages.has(sequence))
    if (this.stream.messages.size === 0) this.#next = Math.max(this.#next, this.stream.last + 1)
  }

  info(nowMs: number) {
    return {
      stream_name: this.stream.config.name,
      name: this.config.name,
      created: timeOf(this.createdMs),
      config: this.config,
      delivered: { consumer_seq: this.#consumerSequence, stream_seq: this.#deliveredStream },
      ack_floor: this.#ackFloor,
      num_ack_pending: this.#unacknowledged.size,
      num_redelivered: this.#unacknowledged.redelivered,
      num_waiting: this.#requests.length,
      num_pending: this.waiting,
      ts: timeOf(nowMs),
    }
  }
}

/** None: all subjects. */
export const filtersOf = ({ filter_subject, filter_subjects }: ConsumerConfig): readonly string[] =>
  filter_subjects ?? (filter_subject ? [filter_subject] : [])
