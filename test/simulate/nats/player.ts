/** Does what a history says, and notes what its client sees. */
import {
  AckPolicy,
  DeliverPolicy,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
} from '@nats-io/jetstream'
import { createInbox, headers, type Msg, type NatsConnection } from '@nats-io/nats-core'
import type { Action, History } from './histories.js'

/** What a client saw of each action. */
export async function play(
  connection: NatsConnection,
  { stream, discard, messagesMax, actions }: History,
  run: string,
) {
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: 5_000 })
  const player = new Player(connection, manager, run)
  const config = {
    name: player.stream,
    subjects: [`${run}.>`],
    retention: stream === 'workqueue' ? RetentionPolicy.Workqueue : RetentionPolicy.Limits,
    discard,
    max_msgs: messagesMax,
    allow_direct: true,
    ...(stream === 'bucket' && { max_msgs_per_subject: 1, allow_rollup_hdrs: true }),
  }
  // A server that removes the directory of another stream at that moment fails now and then: "error creating store for stream".
  await manager.streams.add(config).catch(() => manager.streams.add(config))
  const seen: unknown[] = []
  for (const each of actions) seen.push([each, await player.seen(each)])
  await manager.streams.delete(player.stream)
  return seen
}

class Player {
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager
  readonly #run: string
  #last = 0
  readonly #held: Msg[] = []

  constructor(connection: NatsConnection, manager: JetStreamManager, run: string) {
    this.#connection = connection
    this.#manager = manager
    this.#run = run
  }

  get stream(): string {
    return `S_${this.#run}`
  }

  async seen(each: Action): Promise<unknown> {
    try {
      return await this.#do(each)
    } catch (error) {
      const { code, message } = error as { code?: unknown; message: string }
      return { refused: code ?? message }
    }
  }

  #do(each: Action): unknown {
    const streams = this.#manager.streams
    switch (each.does) {
      case 'publish':
      case 'publish after':
        return this.#publish(each)
      case 'get':
        return streams.getMessage(this.stream, { seq: this.#at(each.back) }).then(shown)
      case 'direct':
        return this.#manager.direct.getMessage(this.stream, { seq: this.#at(each.back) }).then(shown)
      case 'next':
        return this.#manager.direct
          .getMessage(this.stream, { seq: this.#at(each.back), next_by_subj: `${this.#run}.${each.subject}` })
          .then(shown)
      case 'last':
        return streams.getMessage(this.stream, { last_by_subj: `${this.#run}.${each.subject}` }).then(shown)
      case 'delete':
        return streams.deleteMessage(this.stream, this.#at(each.back), false)
      case 'purge':
        return streams.purge(this.stream, { filter: `${this.#run}.${each.subject}` })
      case 'purge up to':
        return streams.purge(this.stream, { seq: this.#at(each.back) })
      case 'keep':
        return streams.purge(this.stream, { keep: each.back + 1 })
      case 'count':
      case 'state':
        return this.#state(each.does === 'count' ? each.subject : undefined)
      case 'pull':
        return this.#pull(each.name, each.count)
      case 'done':
      case 'again':
      case 'working':
        return this.#say(each.does, each.held)
      default:
        return this.#consumer(each)
    }
  }

  #at(back: number): number {
    return Math.max(1, this.#last - back)
  }

  async #publish(each: Action & { readonly does: 'publish' | 'publish after' }): Promise<unknown> {
    const named = headers()
    if (each.does === 'publish after')
      named.set('Nats-Expected-Last-Subject-Sequence', String(this.#at(each.back)))
    else {
      if (each.id !== '') named.set('Nats-Msg-Id', each.id)
      if (each.after !== undefined)
        named.set('Nats-Expected-Last-Sequence', String(Math.max(0, this.#last - each.after)))
    }
    const subject = `${this.#run}.${each.subject}`
    const answer = await this.#connection.request(subject, 'data', { headers: named, timeout: 5_000 })
    const said = answer.json<{ seq: number; duplicate?: boolean; error?: { err_code: number } }>()
    if (said.error !== undefined) return { refused: said.error.err_code }
    this.#last = Math.max(this.#last, said.seq)
    return { sequence: said.seq, isDuplicate: said.duplicate ?? false }
  }

  async #state(filter: string | undefined): Promise<unknown> {
    const options = filter === undefined ? {} : { subjects_filter: `${this.#run}.${filter}` }
    const { state } = await this.#manager.streams.info(this.stream, options)
    const { messages, bytes, first_seq, last_seq, num_subjects = 0, consumer_count, subjects = {} } = state
    const counts = Object.entries(subjects).sort(([a], [b]) => (a < b ? -1 : 1))
    return { messages, bytes, first_seq, last_seq, num_subjects, consumer_count, counts }
  }

  async #consumer(each: Extract<Action, { does: 'consume' | 'drop' | 'look' }>): Promise<unknown> {
    const { consumers } = this.#manager
    if (each.does === 'drop') return consumers.delete(this.stream, each.name)
    if (each.does === 'look') return standing(await consumers.info(this.stream, each.name))
    const start =
      each.from === undefined
        ? {}
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: this.#at(each.from) }
    const info = await consumers.add(this.stream, {
      durable_name: each.name,
      ack_policy: AckPolicy.Explicit,
      max_ack_pending: 3,
      ...(each.filter !== '' && { filter_subject: `${this.#run}.${each.filter}` }),
      ...start,
    })
    return standing(info)
  }

  /** All that the consumer gives at once. */
  async #pull(name: string, batch: number): Promise<unknown> {
    await this.#manager.consumers.info(this.stream, name)
    const inbox = createInbox()
    const subscription = this.#connection.subscribe(inbox, { timeout: 2_000 })
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${this.stream}.${name}`
    this.#connection.publish(subject, JSON.stringify({ batch, no_wait: true }), { reply: inbox })
    const seen: unknown[] = []
    for await (const message of subscription) {
      if (message.headers?.code) break
      this.#held.push(message)
      const [, , , , deliveries, sequence, , , pending] = message.reply!.split('.')
      seen.push({ subject: message.subject.split('.').slice(1).join('.'), deliveries, sequence, pending })
      if (seen.length === batch) break
    }
    subscription.unsubscribe()
    return seen
  }

  async #say(word: 'done' | 'again' | 'working', index: number): Promise<unknown> {
    const message = this.#held[this.#held.length - 1 - index]
    if (message === undefined) return undefined
    const words = { done: '', again: '-NAK', working: '+WPI' }
    this.#connection.publish(message.reply!, words[word])
    await this.#connection.flush()
    // An acknowledgement is processed after it was read: the next question could be answered before.
    const [, , , name = ''] = message.reply!.split('.')
    await this.#manager.consumers.info(this.stream, name).catch(() => {})
    return undefined
  }
}

const shown = (message: { seq: number; subject: string; data: Uint8Array } | null): unknown =>
  message && [message.seq, message.subject.split('.').slice(1).join('.'), message.data.length]

/** What a consumer's state is, besides times. */
function standing(info: {
  delivered: { consumer_seq: number; stream_seq: number }
  ack_floor: { consumer_seq: number; stream_seq: number }
  num_ack_pending: number
  num_pending: number
}): unknown {
  const { delivered, ack_floor, num_ack_pending, num_pending } = info
  return {
    delivered: delivered.stream_seq,
    ackFloor: ack_floor.stream_seq,
    unacknowledged: num_ack_pending,
    waiting: num_pending,
  }
}
