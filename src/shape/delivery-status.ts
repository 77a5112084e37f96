/** Delivery status of an event destination; not part of the stored resource. */
import { dropReasons } from '../books/dropped.js'
import { lastingAfterMs } from '../core/lasting.js'
import { objectOf, orNull, type Static, Type } from '../core/schema.js'
import { isClockRefusal } from '../deliver/aws/aws-clock.js'
import type { FaultClass } from '../deliver/destination.js'
import { pausedByHand } from '../deliver/health.js'
import { laneSettings } from '../deliver/lane/lane-settings.js'
import { privateNetworkCode } from '../deliver/private-networks.js'
import type { Row } from '../resource/define.js'
import { type DestinationPause, keepsRecords } from '../resource/event-destination.js'
import { exampleId } from '../resource/examples.js'
import { billingExample, billingSchema } from './billing.js'

/** No deliverer says anything about the destination. */
export const unansweredCause = 'no deliverer answers'

/** Has no deliverer answered for so long that it is no restart? */
export const isSilent = ({ cause, since }: Pick<DeliveryStatus, 'cause' | 'since'>, nowMs: number): boolean =>
  cause === unansweredCause && since !== null && nowMs - Date.parse(since) >= lastingAfterMs

export const unheardAdvice = 'No deliverer has answered for this destination yet: one may be starting.'

const { probeMinMs, probeMaxMs } = laneSettings
const triesAgain = `Weir tries again every ${probeMinMs / 1000} to ${probeMaxMs / 1000} s and continues by itself; POST …/resume tries at once.`

/** For the person who reads a status. */
const adviceOf: Readonly<Record<FaultClass | typeof unansweredCause, string>> = {
  throttle:
    'The service accepts fewer events than there are. Weir sends at the rate that it accepts, and loses nothing. If the backlog grows, add shards or raise the quota, or let a filter keep events back.',
  transient:
    'Requests fail or are not answered in time. Weir repeats them. Look at last_error, at the way to the endpoint, and at the status page of the service.',
  credentials: `The service refuses the credentials, or the role can not be assumed. Send new keys with PATCH, or repair the trust policy of the role; if last_error is about the time of a signature, set the clock of this machine. ${triesAgain}`,
  configuration: `The service refuses every request: the target is missing, disabled, or not allowed for these credentials. Look at last_error, at the address of the target and at its permissions. ${triesAgain}`,
  poison:
    'The service refuses the contents of many events in a row. Look at last_error and at the dead letters: the target may expect another format.',
  [unansweredCause]:
    'No process delivers at present. Look whether a deliver process runs and reaches NATS; events wait meanwhile.',
}

/**
 * The meaning of a destination's state and what to do about it, what waits for it if it is behind, and when the first of its
 * events are dropped, if that is near.
 */
export function adviceFor(
  cause: string | null,
  destination: Row,
  behind: BehindStatus | null = null,
  expiresAt: string | null = null,
  error: NamedError | null = null,
): string | null {
  const known = cause === pausedByHand ? pauseAdvice(destination) : adviceOfCause(cause, error)
  const expiry = cause === null ? null : expiresAt && expiryAdvice(expiresAt)
  const about = [known, behind && behindAdvice(behind, cause === null, destination), expiry]
  const advice = about.filter((text) => text)
  return advice.length === 0 ? null : advice.join(' ')
}

export const expiryAdvice = (expiresAt: string): string =>
  `If it stays so, its oldest events are dropped from ${expiresAt} on, because they are older than WEIR_RETENTION. With "on_expiry": "block", they wait at any age.`

/**
 * Packs that vanished are counted as dropped (`operate/vanished-packs.ts`). That is not possible if the ledger lost entries of
 * their deliveries: then no one knows what became of these events.
 */
export const unfoundAdvice = (events: number): string =>
  `The backlog of ${events === 1 ? '1 event' : `${events} events`} is not there: no message holds it. The ledger WEIR_BOOKS has lost entries, so these events were delivered or lost.`

/** The last error of a destination. */
interface NamedError {
  readonly code: string
  readonly msg: string
}

const clockAdvice = `The service refuses requests because of the time at which they were signed: the clock of this machine is wrong. Look at last_error, which names the difference if it is known, and set the clock (with NTP). The credentials need no change. ${triesAgain}`

/** Reasons of Weir itself, which the service has not been asked for. */
const ownReasons: ReadonlySet<string> = new Set([
  privateNetworkCode,
  'ExternalIdNotRequired',
  'FilesNotAllowed',
  'FilesTooLarge',
  'MissingColumns',
  'NotADirectory',
  'NotAFile',
  'NoCluster',
])

const ownAdvice = `Weir can't deliver to the target as it is: last_error says what must be changed, in the target or by the operator of Weir. ${triesAgain}`

function adviceOfCause(cause: string | null, error: NamedError | null): string | undefined {
  if (cause === 'configuration' && ownReasons.has(error?.code ?? '')) return ownAdvice
  if (cause === 'credentials' && error !== null && isClockRefusal(error.code, error.msg)) return clockAdvice
  return adviceOf[cause as keyof typeof adviceOf]
}

function behindAdvice(
  { messages, missed, expires_at }: BehindStatus,
  isHealthy: boolean,
  destination: Row,
): string {
  const when = isHealthy ? 'It gets their events now.' : 'It gets their events when it works again.'
  const loss =
    expires_at === null ? '' : ` If it stays so, ${expiryOf(destination)} from about ${expires_at} on.`
  const lost = missed === 0 ? '' : ` It has lost the events of ${messagesText(missed)}.`
  return `It is behind: records wait for it in ${messagesText(messages)}. ${when}${loss}${lost}`
}

const expiryOf = (destination: Row): string =>
  keepsRecords(destination)
    ? 'publishes of records are refused (its on_expiry is block)'
    : 'it loses the oldest ones'

const messagesText = (count: number): string => (count === 1 ? '1 message' : `${count} messages`)

function pauseAdvice({ id, paused }: Row): string {
  const how = `To send again: POST /event_destinations/${id}/resume, or weir destination resume ${id}.`
  const pause = paused as DestinationPause | null | undefined
  // Resumed just now: the deliverer has not heard of it.
  if (!pause) return how
  const { at, source, api_key_id } = pause
  const who = api_key_id === null ? `Someone (${source})` : `The API key ${api_key_id}`
  return `${who} paused it at ${at}. Its events wait as in an outage. ${how}`
}

const count = Type.Integer({ minimum: 0 })

const instant = orNull(Type.String({ format: 'date-time' }))

const behindSchema = objectOf(
  {
    since: Type.String({ format: 'date-time' }),
    messages: Type.Integer({
      minimum: 1,
      description: 'Messages of records whose events it gets when it works again.',
    }),
    missed: Type.Integer({
      minimum: 0,
      description: 'Messages of records that were removed before it got their events.',
    }),
    expires_at: orNull(
      Type.String({
        format: 'date-time',
        description:
          'When the oldest of the messages is removed, or with on_expiry block publishes are refused, if nothing changes: an estimate.',
      }),
    ),
  },
  {
    title: 'BehindStatus',
    description:
      'Its backlog has filled its share of the storage, so later records wait for it; null if none do.',
  },
)

export type BehindStatus = Static<typeof behindSchema>

const deliveryStatusExample = {
  kind: 'kinesis',
  description: 'the audit trail',
  state: 'throttled',
  cause: 'throttle' satisfies FaultClass,
  advice: adviceOf.throttle,
  since: '2026-11-20T10:00:00.000Z',
  as_of: '2026-11-20T10:00:03.000Z',
  rate: 412.5,
  backlog: {
    events: 1200,
    oldest_at: '2026-11-20T09:59:58.000Z',
    expires_at: '2026-11-23T09:59:58.000Z',
  },
  dropped: [],
  behind: null,
  last_success_at: '2026-11-20T10:00:01.000Z',
  last_error: {
    at: '2026-11-20T10:00:02.000Z',
    code: 'ProvisionedThroughputExceededException',
    msg: 'Rate exceeded for shard shardId-000000000000.',
  },
  counts: { produced: 91_200, filtered: 310, delivered: 90_000, dead_lettered: 0, dropped: 0, retried: 2400 },
  billing: billingExample,
}

export const deliveryStatusSchema = objectOf(
  {
    kind: Type.String({ description: 'The kind of its target, such as `kinesis` or `http`.' }),
    description: orNull(Type.String()),
    state: Type.Enum(['healthy', 'throttled', 'failing', 'paused']),
    cause: orNull(Type.String()),
    advice: orNull(Type.String(), { description: 'What the cause means and what to do, for a person.' }),
    since: instant,
    as_of: orNull(
      Type.String({
        format: 'date-time',
        description:
          'When a deliverer last reported the state: now, or earlier while deliverers are slow to answer; null if none ever did.',
      }),
    ),
    rate: orNull(Type.Number({ minimum: 0 }), {
      description:
        'Events that the service accepted per second over about the last minute, or since deliverers know the destination; null if no deliverer answers.',
    }),
    backlog: objectOf({
      events: count,
      oldest_at: instant,
      expires_at: orNull(
        Type.String({
          format: 'date-time',
          description:
            'When the oldest events are dropped for their age, unless the destination accepts them before; null if nothing waits, or with on_expiry block.',
        }),
      ),
    }),
    dropped: Type.Array(
      objectOf({
        type: Type.String({ description: 'The kind of these events.' }),
        reason: Type.Enum([...dropReasons], {
          description: 'age: older than the retention. vanished: their messages left WEIR_DELIVERIES.',
        }),
        events: count,
      }),
      { description: 'Events that were dropped, by type and reason.' },
    ),
    behind: orNull(behindSchema),
    last_success_at: instant,
    last_error: orNull(
      objectOf({ at: Type.String({ format: 'date-time' }), code: Type.String(), msg: Type.String() }),
    ),
    counts: objectOf({
      produced: count,
      filtered: count,
      delivered: count,
      dead_lettered: count,
      dropped: count,
      retried: count,
    }),
    billing: billingSchema,
  },
  {
    title: 'DeliveryStatus',
    description: 'State and counters of delivery.',
    examples: [deliveryStatusExample],
  },
)

export type DeliveryStatus = Static<typeof deliveryStatusSchema>

export const destinationStatusExample = {
  destination_id: exampleId('ed_'),
  description: 'the audit trail',
  status: deliveryStatusExample,
}

export const destinationStatusSchema = objectOf(
  {
    destination_id: Type.String(),
    description: orNull(Type.String()),
    status: deliveryStatusSchema,
  },
  { title: 'DestinationStatus' },
)

export type DestinationStatus = Static<typeof destinationStatusSchema>

export const destinationCheckSchema = objectOf(
  {
    result: Type.Enum(['passed', 'unproved', 'failed'], {
      description:
        'passed: the service would accept an event now. unproved: nothing is wrong, but the service proves the right to write only by a write, such as a test event. failed: events can not be delivered.',
    }),
    proved: Type.Array(Type.String(), { description: 'Sentences about what works.' }),
    not_proved: Type.Array(Type.String(), { description: 'Sentences about what was not looked at.' }),
    error: orNull(objectOf({ code: Type.String(), msg: Type.String() })),
    advice: orNull(Type.String(), { description: 'What the error means and what to do, for a person.' }),
  },
  {
    title: 'DestinationCheck',
    description: 'What the check proved.',
    examples: [
      {
        result: 'failed',
        proved: [],
        not_proved: [],
        error: {
          code: 'ResourceNotFoundException',
          msg: 'Stream events under account 123456789012 not found.',
        },
        advice: adviceOf.configuration,
      },
    ],
  },
)

export type DestinationCheck = Static<typeof destinationCheckSchema>

export const testEventSchema = objectOf(
  { event_id: Type.String() },
  {
    title: 'TestEventAnswer',
    description: 'The destination accepted the event.',
    examples: [{ event_id: 'ev_01K0A1B2C3D4E5F6G7H8J9K0M1' }],
  },
)
