/**
 * Start here: a model of nats-server in memory, by the client's protocol, so that the real client library and all of Weir's code
 * on it run against it. It has no clock and no randomness of its own: the world gives both.
 */

import { JetStream } from './api.js'
import { type Command, CommandReader } from './commands.js'
import { writeHeaders } from './headers.js'
import { matcher } from './subjects.js'

/** What the model takes from its world. */
interface NatsWorld {
  /** Milliseconds since the epoch. */
  now(): number
  /** Calls back after so many milliseconds. */
  after(ms: number, fn: () => void): { stop(): void }
  /** In [0, 1). */
  random(): number
}

/** Where a client's bytes go, and those for it. */
export interface ClientEnd {
  /** Bytes for the client. */
  receive(bytes: Uint8Array): void
  /** The connection broke. */
  lost?(): void
}

interface Routed {
  readonly subject: string
  readonly reply: string | undefined
  readonly headers: Buffer | undefined
  readonly data: Buffer
}

interface ModelSubscription {
  readonly client: ClientConnection
  readonly id: string
  readonly subject: string
  readonly queue: string | undefined
  readonly isMatch: (subject: string) => boolean
  /** It ends after so many messages. */
  left: number
}

const payloadBytesMax = 1024 * 1024
const lineEnd = Buffer.from('\r\n')
const none = Buffer.alloc(0)
const apiHead = '$JS.API.'
const ackHead = '$JS.ACK.'

export class ModelServer {
  readonly #world: NatsWorld
  readonly jetstream: JetStream
  readonly #clients = new Set<ClientConnection>()
  readonly #subscriptions = new Set<ModelSubscription>()
  #names = 0
  #timer: { readonly atMs: number; stop(): void } | undefined

  constructor(world: NatsWorld) {
    this.#world = world
    this.jetstream = new JetStream({
      now: world.now,
      send: (to, subject, reply, headers, data) => this.#route(to, { subject, reply, headers, data }),
      hasInterest: (subject) => this.#hasInterest(subject),
      uniqueName: () => {
        this.#names += 1
        return `model${this.#names}`
      },
    })
  }

  connect(end: ClientEnd): ClientConnection {
    const client = new ClientConnection(this, end)
    this.#clients.add(client)
    const info = {
      server_id: 'model',
      server_name: 'model',
      version: '2.15.1',
      proto: 1,
      host: '127.0.0.1',
      port: 4222,
      headers: true,
      max_payload: payloadBytesMax,
      jetstream: true,
      client_id: this.#clients.size,
    }
    end.receive(Buffer.from(`INFO ${JSON.stringify(info)}\r\n`))
    return client
  }

  /** Ends a connection, with all that it listened to. */
  disconnect(client: ClientConnection): void {
    this.#clients.delete(client)
    for (const each of this.#subscriptions) if (each.client === client) this.#subscriptions.delete(each)
  }

  /** A command of a client. */
  take(client: ClientConnection, command: Command): void {
    switch (command.verb) {
      case 'PING':
        client.send(Buffer.from('PONG\r\n'))
        break
      case 'SUB':
        this.#subscribe(client, command)
        break
      case 'UNSUB':
        this.#unsubscribe(client, command)
        break
      case 'PUB':
        this.#publish(command)
        this.#arm()
        break
      default:
    }
  }

  #subscribe(client: ClientConnection, { id, subject, queue }: Command & { verb: 'SUB' }): void {
    const isMatch = matcher(subject)
    this.#subscriptions.add({ client, id, subject, queue, isMatch, left: Number.POSITIVE_INFINITY })
    for (const consumer of this.jetstream.allConsumers())
      if (consumer.config.deliver_subject !== undefined) consumer.deliver()
    this.#arm()
  }

  #unsubscribe(client: ClientConnection, { id, max }: Command & { verb: 'UNSUB' }): void {
    for (const each of this.#subscriptions) {
      if (each.client !== client || each.id !== id) continue
      if (max === undefined) this.#subscriptions.delete(each)
      else each.left = max
    }
  }

  #publish({ subject, reply, headers, data }: Command & { verb: 'PUB' }): void {
    if (subject.startsWith(ackHead)) this.#acknowledge(subject, reply, data)
    else if (subject.startsWith(apiHead)) this.#callApi(subject.slice(apiHead.length), reply, data)
    else this.#store({ subject, reply, headers, data })
  }

  /** For those who listen, and for the stream that takes it. */
  #store({ subject, reply, headers, data }: Routed): void {
    const heard = this.#route(subject, { subject, reply, headers, data })
    const stream = this.jetstream.streamFor(subject)
    if (stream !== undefined) {
      const answer = this.jetstream.store(stream, { subject, headers, data })
      if (reply !== undefined) this.#answer(reply, undefined, Buffer.from(JSON.stringify(answer)))
    } else if (heard === 0 && reply !== undefined) this.#answer(reply, writeHeaders('503'), none)
  }

  #acknowledge(subject: string, reply: string | undefined, data: Buffer): void {
    const isKnown = this.jetstream.acknowledge(subject, data.toString('utf8'))
    if (reply === undefined) return
    this.#answer(reply, isKnown ? undefined : writeHeaders('503'), none)
  }

  #callApi(call: string, reply: string | undefined, data: Buffer): void {
    const answer = this.jetstream.answer(call, data, reply ?? '')
    if (reply === undefined) return
    if (answer !== undefined) this.#answer(reply, answer.headers, answer.data)
    else if (!call.startsWith('CONSUMER.MSG.NEXT')) this.#answer(reply, writeHeaders('503'), none)
  }

  #answer(to: string, headers: Buffer | undefined, data: Buffer): void {
    this.#route(to, { subject: to, reply: undefined, headers, data })
  }

  #hasInterest(subject: string): boolean {
    for (const { isMatch, left } of this.#subscriptions) if (left > 0 && isMatch(subject)) return true
    return false
  }

  /** To all who listen, and one of each queue; how many that are. */
  #route(to: string, message: Routed): number {
    const queues = new Map<string, ModelSubscription[]>()
    const takers: ModelSubscription[] = []
    for (const each of this.#subscriptions) {
      if (!each.isMatch(to)) continue
      if (each.queue === undefined) takers.push(each)
      else queues.set(each.queue, [...(queues.get(each.queue) ?? []), each])
    }
    for (const members of queues.values())
      takers.push(members[Math.floor(this.#world.random() * members.length)]!)
    for (const taker of takers) this.#deliver(taker, message)
    return takers.length
  }

  #deliver(taker: ModelSubscription, { subject, reply, headers, data }: Routed): void {
    const head = `${subject} ${taker.id}${reply === undefined ? '' : ` ${reply}`}`
    const line =
      headers === undefined
        ? `MSG ${head} ${data.length}\r\n`
        : `HMSG ${head} ${headers.length} ${headers.length + data.length}\r\n`
    taker.client.send(Buffer.concat([Buffer.from(line), headers ?? none, data, lineEnd]))
    taker.left -= 1
    if (taker.left <= 0) this.#subscriptions.delete(taker)
  }

  /** Wakes up when the first consumer has something to do by time alone. */
  #arm(): void {
    let nextMs = Number.POSITIVE_INFINITY
    for (const consumer of this.jetstream.allConsumers()) nextMs = Math.min(nextMs, consumer.nextMs)
    if (this.#timer !== undefined && this.#timer.atMs <= nextMs) return
    this.#timer?.stop()
    this.#timer = undefined
    if (nextMs === Number.POSITIVE_INFINITY) return
    const timer = this.#world.after(Math.max(0, nextMs - this.#world.now()), () => this.#wake())
    this.#timer = { atMs: nextMs, stop: () => timer.stop() }
  }

  #wake(): void {
    this.#timer = undefined
    const nowMs = this.#world.now()
    for (const consumer of [...this.jetstream.allConsumers()]) if (consumer.nextMs <= nowMs) consumer.tick()
    this.#arm()
  }

  /** No timer is left behind. */
  close(): void {
    this.#timer?.stop()
  }
}

/** A client's connection, as the server sees it. */
export class ClientConnection {
  readonly #server: ModelServer
  readonly #end: ClientEnd
  readonly #reader = new CommandReader()
  #isOpen = true

  constructor(server: ModelServer, end: ClientEnd) {
    this.#server = server
    this.#end = end
  }

  /** Bytes of the client. */
  take(bytes: Uint8Array): void {
    if (!this.#isOpen) return
    for (const command of this.#reader.commands(bytes)) this.#server.take(this, command)
  }

  send(bytes: Buffer): void {
    if (this.#isOpen) this.#end.receive(bytes)
  }

  /** The client is gone. */
  gone(): void {
    this.#isOpen = false
    this.#server.disconnect(this)
  }
}
