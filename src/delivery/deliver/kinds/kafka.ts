/**
 * Kafka: a record per event, acknowledged by all replicas in sync.
 * https://kafka.apache.org/protocol
 */
import { jsonOf } from '../../../ground/core/bytes.js'
import { monotonicMs } from '../../../ground/core/clock.js'
import { fail, ok, type Problem, type Result, shown } from '../../../ground/core/errors.js'
import { objectOf, oneOf, Type } from '../../../ground/core/schema.js'
import { withDeadline } from '../../outgoing/deadline.js'
import type { Fault } from '../../outgoing/fault-class.js'
import { fault } from '../../outgoing/faults.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import { kafkaAdvice } from '../advice/server-advice.js'
import { kafkaForm, kafkaWords } from '../forms/server-forms.js'
import { KafkaCluster } from '../kafka/cluster.js'
import { faultOf } from '../kafka/kafka-faults.js'
import { KafkaProducer, type Message } from '../kafka/producer.js'
import { saslMechanisms } from '../kafka/sasl.js'
import type { DestinationConfig } from '../kind/destination.js'
import { defineDestinationKind, type KindLimits } from '../kind/kind.js'
import { outcomeOfGroups } from '../kind/outcomes.js'
import type { BatchLimits, Finding, Sender, SenderDeps, SendOutcome } from '../kind/sender.js'
import { parseHostPort, serverList, tlsOption } from '../kind/servers.js'
import { type OptionsOf, optional, secretText, targetOptions } from '../kind/target-options.js'

// --- address ---

/** As Kafka allows; `.` and `..` would be directories of a broker. */
const topicForm = /^(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}$/

const checkTopic = (topic: string): Problem | undefined =>
  topicForm.test(topic)
    ? undefined
    : { msg: `is ${shown(topic)}, which is not a topic: up to 249 letters, digits and ._- are allowed` }

// --- options ---

const keys = ['event', 'edge', 'client'] as const

const options = targetOptions(
  {
    brokers: serverList(parseHostPort, 'kafka-1.example.com:9092', '^[^:/@]+:[0-9]+$|^\\[[^\\]]+\\]:[0-9]+$'),
    key: optional(
      oneOf(
        keys,
        'What becomes the key of a record, and so chooses its partition. event, the default: the id of the event. edge: edge.id, client: conn.client_ip, each if the event has it, else its id.',
      ),
    ),
    tls: tlsOption,
    sasl: optional(
      objectOf({
        mechanism: oneOf(saslMechanisms),
        username: Type.String({ minLength: 1, maxLength: 256 }),
        password: secretText(),
      }),
    ),
  },
  { recipient: (_, { brokers, tls }) => JSON.stringify([brokers, tls]) },
)

type KafkaOptions = OptionsOf<typeof options>

// --- limits ---

const mebibyte = 1024 * 1024
/** At most: lengths, attributes and differences of time and offset. */
const recordOverheadBytes = 32
const keyBytesMax = 64

const limits: KindLimits = {
  eventsMax: 2_000,
  // A broker has a limit of its own, 1 MiB by default, and refuses larger records.
  eventBytesMax: 8 * mebibyte,
  sizeOf: ({ dataBytes }) => dataBytes + keyBytesMax + recordOverheadBytes,
}

// --- client ---

interface KeyedEvent {
  readonly object?: {
    readonly edge?: { readonly id?: unknown } | null
    readonly conn?: { readonly client_ip?: unknown } | null
  }
}

function keyOf(event: PackedEvent, value: Buffer, key: KafkaOptions['key']): string {
  if (key === undefined || key === 'event') return event.id
  const { edge, conn } = jsonOf<KeyedEvent>(value)?.object ?? {}
  const chosen = key === 'edge' ? edge?.id : conn?.client_ip
  return typeof chosen === 'string' && chosen !== '' ? chosen.slice(0, keyBytesMax) : event.id
}

/** A copy: it may be sent again after the lane has given the event back. */
function messageOf(event: PackedEvent, key: KafkaOptions['key']): Message {
  const value = Buffer.from(event.data.subarray(0, -1))
  return {
    id: event.id,
    key: Buffer.from(keyOf(event, value, key)),
    value,
    timestampMs: event.timestampMs,
  }
}

// --- sender ---

class KafkaSender implements Sender {
  readonly #deps: SenderDeps
  readonly #key: KafkaOptions['key']
  readonly #cluster: KafkaCluster
  readonly #producer: KafkaProducer
  /** Brokers want no request before. */
  #throttledUntilMs = 0

  constructor({ id, address, options: given }: DestinationConfig<KafkaOptions>, deps: SenderDeps) {
    const { brokers, key, tls, sasl } = given
    this.#deps = deps
    this.#key = key
    const login = sasl && { ...sasl, password: sasl.password ?? '' }
    const connections = { networks: deps.networks, clientId: `weir-${id}`, tls, sasl: login }
    this.#cluster = new KafkaCluster(
      brokers.map((broker) => parseHostPort(broker)!),
      address,
      connections,
    )
    this.#producer = new KafkaProducer(this.#cluster, address, deps.requestTimeoutMs)
  }

  limits(): BatchLimits {
    return this.#deps.limits
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    const retryAfterMs = this.#throttledUntilMs - monotonicMs()
    if (retryAfterMs > 0) {
      const asked = fault('throttle', 'Quota', 'The broker asks to wait: a quota is used up.')
      return { outcome: 'failed', fault: { ...asked, retryAfterMs: Math.ceil(retryAfterMs) } }
    }
    const messages = events.map((event) => messageOf(event, this.#key))
    const sent = await this.#within(signal, async (abort) => {
      const topic = await this.#cluster.topic(abort)
      return topic.ok ? ok(await this.#producer.send(messages, topic.value, abort)) : topic
    })
    this.#throttledUntilMs = monotonicMs() + this.#producer.takeThrottledMs()
    return sent.ok ? outcomeOfGroups(events.length, sent.value) : { outcome: 'failed', fault: sent.problem }
  }

  check(_: PackedEvent, signal: AbortSignal): Promise<Result<Finding, Fault>> {
    return this.#within(signal, async (abort) => {
      const topic = await this.#cluster.topic(abort)
      if (!topic.ok) return topic
      const { leaders, mayWrite } = topic.value
      if (mayWrite === false)
        return fail(
          fault('configuration', 'TOPIC_AUTHORIZATION_FAILED', 'Writing to the topic is not allowed.'),
        )
      await this.#producer.identify(abort)
      await Promise.all(
        [...new Set(leaders)].map((leader) => leader && this.#cluster.connection(leader, abort)),
      )
      const proved = [
        'Every broker that leads a partition can be reached, and accepts how Weir authenticates.',
        `The topic exists, with ${leaders.length} partitions.`,
        'The broker accepts an idempotent producer.',
      ]
      const right = 'The right to write to the topic.'
      const isKnown = mayWrite === true
      const hasLeaders = leaders.every((leader) => leader !== undefined)
      return ok({
        mayWrite: isKnown && hasLeaders,
        proved: isKnown ? [...proved, right] : proved,
        notProved: isKnown ? ['Enough replicas in sync.'] : [right, 'Enough replicas in sync.'],
      })
    })
  }

  async #within<T>(
    signal: AbortSignal,
    work: (abort: AbortSignal) => Promise<Result<T, Fault>>,
  ): Promise<Result<T, Fault>> {
    try {
      return await withDeadline(this.#deps.requestTimeoutMs, signal, work)
    } catch (error) {
      return fail(faultOf(error))
    }
  }

  dropCredentials(): void {
    this.#cluster.close()
  }

  close(): void {
    this.#cluster.close()
  }
}

// --- declaration ---

export const kafka = defineDestinationKind({
  name: 'kafka',
  title: 'Kafka topic',
  about: 'Produce, by an idempotent producer. Acknowledged by all replicas in sync (acks=all).',
  address: { field: 'topic', pattern: topicForm.source, example: 'traffic', check: checkTopic },
  options,
  setup: { words: kafkaWords, forms: [kafkaForm] },
  advice: kafkaAdvice,
  limits,
  requestBytes: { max: 16 * mebibyte, default: 900 * 1024 },
  keepsLineBreak: false,
  open: (config, deps) => new KafkaSender(config, deps),
})
