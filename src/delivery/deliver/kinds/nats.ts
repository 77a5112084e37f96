/**
 * NATS: a message per event, on Weir's own cluster or on another one.
 * https://docs.nats.io/nats-concepts/jetstream and https://docs.nats.io/reference/reference-protocols/nats-protocol
 */
import { monotonicMs } from '../../../ground/core/clock.js'
import { fail, ok, type Problem, type Result, shown } from '../../../ground/core/errors.js'
import { objectOf, ruled, Type } from '../../../ground/core/schema.js'
import type { OutgoingMessage } from '../../../ground/nats/confirmed-publisher.js'
import type { OutsideNats, OutsideOptions } from '../../../ground/nats/outside/outside.js'
import type { Refusal } from '../../../ground/nats/refusals.js'
import { withDeadline } from '../../outgoing/deadline.js'
import type { Fault, FaultClass } from '../../outgoing/fault-class.js'
import { connectionFault, fault } from '../../outgoing/faults.js'
import { eventSubject } from '../../wire/names.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import { natsAdvice } from '../advice/server-advice.js'
import { natsForm, natsWords } from '../forms/server-forms.js'
import type { DestinationConfig } from '../kind/destination.js'
import { defineDestinationKind, type KindLimits } from '../kind/kind.js'
import { loadedOnce } from '../kind/loaded-once.js'
import { outcomeOfEach } from '../kind/outcomes.js'
import type { BatchLimits, Finding, Sender, SenderDeps, SendOutcome } from '../kind/sender.js'
import { type NatsServer, parseNatsServer, serverList, tlsOption } from '../kind/servers.js'
import { type OptionsOf, optional, secretText, targetOptions } from '../kind/target-options.js'

// --- address ---

const subjectCharsMax = 200
const subjectForm = /^[\w:/=@+~-]+(\.[\w:/=@+~-]+)*$/

const checkSubject = (subject: string): Problem | undefined =>
  subjectForm.test(subject) && subject.length <= subjectCharsMax
    ? undefined
    : {
        msg: `is ${shown(subject)}, which is not a subject: words of letters, digits and _:/=@+~- with dots between them, at most ${subjectCharsMax} characters`,
      }

// --- options ---

const oneLogin = 'must have exactly one of token, basic, creds, nkey'

/** https://github.com/nats-io/nkeys: a prefix, 32 bytes and a checksum in base32. */
const seedForm = /\bSU[A-Z2-7]{56}\b/

const brokenSeed = (seed: string): string | undefined =>
  seed.length === 58 && seedForm.test(seed)
    ? undefined
    : 'the seed of a user is needed: SU and 56 more letters and digits'

const brokenCreds = (text: string): string | undefined =>
  /-----BEGIN NATS USER JWT-----\s+\S+/.test(text) && seedForm.test(text)
    ? undefined
    : 'a credentials file is needed, with the JWT and the seed of a user'

const isSet = (value: unknown): boolean => value !== undefined && value !== null

const auth = ruled(
  objectOf({
    token: optional(objectOf({ token: secretText() })),
    basic: optional(
      objectOf({ username: Type.String({ minLength: 1, maxLength: 256 }), password: secretText() }),
    ),
    creds: optional(
      objectOf({
        creds: secretText({
          charsMax: 16_384,
          hasLines: true,
          broken: brokenCreds,
          description: 'A credentials file: JWT and seed.',
        }),
      }),
    ),
    nkey: optional(
      objectOf({ seed: secretText({ broken: brokenSeed, description: 'The seed of a user, SU….' }) }),
    ),
  }),
  (given) => (Object.values(given).filter(isSet).length === 1 ? undefined : oneLogin),
)

const options = targetOptions(
  {
    servers: optional(serverList(parseNatsServer, 'nats://nats.example.com:4222', '^(nats|tls)://[^/@?#]+$')),
    auth: optional(auth),
    tls: tlsOption,
    inbox_prefix: optional(
      ruled(
        Type.String({
          maxLength: subjectCharsMax,
          description: 'Answers come to subjects below it. Default: _INBOX.',
        }),
        (prefix) => checkSubject(prefix)?.msg,
      ),
    ),
    jetstream: optional(
      Type.Boolean({
        description:
          'true, the default: an event is delivered when a stream has stored it. false: when the server has it for those who subscribe at this moment; if there is no one, it is lost.',
      }),
    ),
  },
  {
    broken: (_, { servers, auth, tls, inbox_prefix }) =>
      !isSet(servers) && [auth, tls, inbox_prefix].some(isSet)
        ? 'has "auth", "tls" or "inbox_prefix", but no "servers": the NATS of Weir needs none of them'
        : undefined,
    recipient: (_, { servers, tls }) => JSON.stringify([servers, tls]),
  },
)

type NatsOptions = OptionsOf<typeof options>

// --- limits ---

const mebibyte = 1024 * 1024
/** `NATS/1.0`, `Nats-Msg-Id: ed_….ev_…` and the line breaks around them. */
const headerBytesMax = 128

const limits: KindLimits = {
  eventsMax: 500,
  // The limit of a new server; it can be changed.
  eventBytesMax: mebibyte,
  sizeOf: ({ dataBytes }) => dataBytes + headerBytesMax,
}

// --- client ---

const room = loadedOnce(() => import('../../../ground/nats/outside/outside.js'))

const outsideOf = (
  { id, options }: DestinationConfig<NatsOptions>,
  { networks }: SenderDeps,
): OutsideOptions => {
  const { servers = [], auth, tls, inbox_prefix: inboxPrefix } = options
  return {
    servers: servers.map((server) => secured(parseNatsServer(server)!, tls)),
    // Its secret is there: a target that lacks one is refused.
    login: (auth?.token ?? auth?.basic ?? auth?.creds ?? auth?.nkey) as OutsideOptions['login'],
    inboxPrefix,
    name: `weir ${id}`,
    addressesOf: (host) => networks.addressesOf(host),
  }
}

const secured = ({ host, port, hasTls }: NatsServer, tls: NatsOptions['tls']) => ({
  host,
  port,
  tls: tls ?? (hasTls ? {} : undefined),
})

/** A stream may take the subjects of several destinations: of each, it stores the event. */
const messageOf = (event: PackedEvent, destinationId: string): OutgoingMessage => ({
  id: `${destinationId}.${event.id}`,
  data: event.data.subarray(0, -1),
})

const classes: Readonly<Record<Refusal['code'], FaultClass>> = {
  Unauthorized: 'credentials',
  PermissionDenied: 'configuration',
  NoStream: 'configuration',
  JetStreamRefused: 'configuration',
  StreamFull: 'throttle',
  TooManyRequests: 'throttle',
  NotNats: 'configuration',
  TooLarge: 'poison',
  JetStreamUnavailable: 'transient',
  Timeout: 'transient',
  ConnectionLost: 'transient',
}

const faultOf = ({ code, message }: Refusal): Fault => fault(classes[code], code, message)

// --- sender ---

/** Streams must answer within this part of the time for a request, so that their answers still count. */
const answersPart = 0.9

const noCluster = fault('configuration', 'NoCluster', 'This process has no NATS of its own: name "servers".')

class NatsSender implements Sender {
  readonly #config: DestinationConfig
  readonly #deps: SenderDeps
  readonly #isOutside: boolean
  readonly #hasStream: boolean
  readonly #subject: string
  #client: OutsideNats | undefined
  #payloadBytesMax: number | undefined

  constructor(config: DestinationConfig<NatsOptions>, deps: SenderDeps) {
    const { servers, jetstream = true } = config.options
    this.#config = config
    this.#deps = deps
    this.#isOutside = servers !== undefined
    this.#hasStream = jetstream
    this.#subject = this.#isOutside ? config.address : eventSubject(config.accountId, config.address)
  }

  limits(): BatchLimits {
    const { limits } = this.#deps
    return { ...limits, eventBytesMax: this.#payloadBytesMax ?? limits.eventBytesMax }
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    const messages = events.map((event) => messageOf(event, this.#config.id))
    const sent = await this.#within(signal, async (abort, leftMs) => {
      const publisher = this.#isOutside ? await this.#open(abort) : this.#deps.cluster
      if (publisher === undefined) return fail(noCluster)
      this.#payloadBytesMax = publisher.payloadBytesMax
      const refusals = this.#hasStream
        ? await publisher.store(this.#subject, messages, leftMs())
        : await publisher.tell(this.#subject, messages)
      const failed = ([index, refusal]: [number, Refusal | undefined]) =>
        refusal === undefined ? [] : [{ index, fault: faultOf(refusal) }]
      return ok([...refusals.entries()].flatMap(failed))
    })
    return sent.ok ? outcomeOfEach(events.length, sent.value) : { outcome: 'failed', fault: sent.problem }
  }

  check(_: PackedEvent, signal: AbortSignal): Promise<Result<Finding, Fault>> {
    const right = 'The right to publish on the subject.'
    return this.#within(signal, async (abort, leftMs) => {
      if (!this.#isOutside) {
        const about = `Whether a stream of the NATS of Weir takes the subject ${this.#subject}.`
        return ok({ mayWrite: false, proved: [], notProved: this.#hasStream ? [about] : [right] })
      }
      const opened = await this.#open(abort)
      const proved = ['A server can be reached, and accepts how Weir authenticates.']
      if (!this.#hasStream) return ok({ mayWrite: false, proved, notProved: [right] })
      const stream = await opened.streamOf(this.#subject, leftMs())
      if (stream === undefined)
        return fail(faultOf({ code: 'NoStream', message: 'No stream takes the subject.' }))
      const taken = `The stream ${stream} takes the subject.`
      return ok({ mayWrite: false, proved: [...proved, taken], notProved: [right, 'Room in the stream.'] })
    })
  }

  async #open(abort: AbortSignal) {
    const { OutsideNats } = await room()
    this.#client ??= new OutsideNats(outsideOf(this.#config, this.#deps))
    return this.#client.open(abort)
  }

  /** Runs one request. `leftMs`: how long streams may take to answer. */
  async #within<T>(
    signal: AbortSignal,
    work: (abort: AbortSignal, leftMs: () => number) => Promise<Result<T, Fault>>,
  ): Promise<Result<T, Fault>> {
    const { requestTimeoutMs } = this.#deps
    const endMs = monotonicMs() + requestTimeoutMs * answersPart
    const leftMs = () => Math.max(1, endMs - monotonicMs())
    try {
      return await withDeadline(requestTimeoutMs, signal, (abort) => work(abort, leftMs))
    } catch (error) {
      const refusal = (await room()).refusalOf(error)
      return fail(refusal.code === 'ConnectionLost' ? connectionFault(error) : faultOf(refusal))
    }
  }

  dropCredentials(): void {
    this.#client?.close()
  }

  close(): void {
    this.#client?.close()
  }
}

// --- declaration ---

export const nats = defineDestinationKind({
  name: 'nats',
  title: 'NATS subject',
  about:
    'A message per event, with the ids of the destination and the event as Nats-Msg-Id. Without servers, on the NATS of Weir, below `events.<account id>`.',
  address: { field: 'subject', pattern: subjectForm.source, example: 'traffic.closed', check: checkSubject },
  options,
  setup: { words: natsWords, forms: [natsForm] },
  advice: natsAdvice,
  limits,
  requestBytes: { max: 8 * mebibyte, default: mebibyte },
  keepsLineBreak: false,
  open: (config, deps) => new NatsSender(config, deps),
})
