/** What the state of a destination means, and what to do about it, for the person who reads a status. */
import { lastingAfterMs } from '../../core/lasting.js'
import { isClockRefusal } from '../../deliver/aws/aws-clock.js'
import type { FaultClass } from '../../deliver/destination.js'
import { pausedByHand } from '../../deliver/health.js'
import { kindNamed } from '../../deliver/kinds.js'
import { laneSettings } from '../../deliver/lane/lane-settings.js'
import { privateNetworkCode } from '../../deliver/private-networks.js'
import type { Row } from '../../resource/define.js'
import { chosenTarget } from '../../resource/destination-target.js'
import { type DestinationPause, keepsRecords } from '../../resource/event-destination.js'
import type { BehindStatus, DeliveryStatus } from '../delivery-status.js'

/** No deliverer says anything about the destination. */
export const unansweredCause = 'no deliverer answers'

/** Has no deliverer answered for so long that it is no restart? */
export const isSilent = ({ cause, since }: Pick<DeliveryStatus, 'cause' | 'since'>, nowMs: number): boolean =>
  cause === unansweredCause && since !== null && nowMs - Date.parse(since) >= lastingAfterMs

/** Has none answered, but not for long? */
export const isUnheard = (status: Pick<DeliveryStatus, 'cause' | 'since'>, nowMs: number): boolean =>
  status.cause === unansweredCause && !isSilent(status, nowMs)

export const unheardAdvice = 'No deliverer has answered for this destination yet: one may be starting.'

const { probeMinMs, probeMaxMs } = laneSettings
const triesAgain = `Weir tries again every ${probeMinMs / 1000} to ${probeMaxMs / 1000} s and continues by itself; a resume tries at once.`

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
  const known = cause === pausedByHand ? pauseAdvice(destination) : adviceOfCause(cause, error, destination)
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
export const ownReasons: ReadonlySet<string> = new Set([
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

/** Kinds that are not at AWS have no roles, shards or clocks that matter. */
const elsewhere: Partial<Readonly<Record<FaultClass, string>>> = {
  throttle:
    'The service accepts less than there is. Weir sends at the rate that it accepts, and loses nothing. If the backlog grows, raise the limit of the service, or let a filter keep events back.',
  credentials: 'The service refuses the credentials. Look at last_error, and send valid ones with PATCH.',
  configuration:
    'The service refuses every request. Look at last_error, at the address of the target, and at what its credentials may do there.',
}

function adviceOfCause(cause: string | null, error: NamedError | null, { target }: Row): string | undefined {
  if (cause === 'configuration' && ownReasons.has(error?.code ?? '')) return ownAdvice
  if (cause === 'credentials' && error !== null && isClockRefusal(error.code, error.msg)) return clockAdvice
  const fault = cause as FaultClass
  const kind = target === undefined ? undefined : kindNamed(chosenTarget(target as never).kind)
  const ofKind = kind?.advice?.[fault] ?? (kind?.auth === 'none' ? elsewhere[fault] : undefined)
  if (ofKind === undefined) return adviceOf[cause as keyof typeof adviceOf]
  return fault === 'credentials' || fault === 'configuration' ? `${ofKind} ${triesAgain}` : ofKind
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
