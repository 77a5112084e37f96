/** Advice: the meaning of a destination's state, and what to do about it, for the person who reads a status. */

import { isClockRefusal } from '../../../delivery/deliver/aws/aws-clock.js'
import { adviceOfFault } from '../../../delivery/deliver/kind/advice.js'
import { kindNamed } from '../../../delivery/deliver/kinds.js'
import { pausedByHand } from '../../../delivery/deliver/lane/health.js'
import { laneSettings } from '../../../delivery/deliver/lane/lane-settings.js'
import type { FaultClass } from '../../../delivery/outgoing/fault-class.js'
import { privateNetworkCode } from '../../../delivery/outgoing/private-networks.js'
import { lastingAfterMs } from '../../../ground/core/lasting.js'
import {
  type ActionName,
  type OperatorAction,
  operatorAction,
} from '../../../words/event/operator-actions.js'
import { chosenTarget } from '../../../words/resource/destination-target.js'
import { type DestinationPause, keepsRecords } from '../../../words/resource/event-destination.js'
import type { Row } from '../../../words/resource/kind/define.js'
import type { BehindStatus, DeliveryStatus } from '../../../words/shape/delivery-status.js'

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
const triesAgain = `Weir tries again every ${probeMinMs / 1000} to ${probeMaxMs / 1000} s and continues by itself.`

/** Weir's own work meanwhile. */
const meanwhile: Partial<Readonly<Record<string, string>>> = {
  throttle: 'Weir sends as much as is accepted, and loses nothing.',
  transient: 'Weir repeats the requests, and loses nothing.',
  credentials: triesAgain,
  configuration: triesAgain,
}

const noDeliverer =
  'No process delivers at present. Look whether a deliver process runs and reaches NATS; events wait meanwhile.'

/** Actions for a state, by its cause. */
const actionsOf: Readonly<Record<string, readonly ActionName[]>> = {
  [pausedByHand]: ['resume'],
  transient: ['try_now'],
  credentials: ['edit_credentials', 'try_now'],
  configuration: ['edit_target', 'try_now'],
  poison: ['see_dead_letters', 'try_now'],
}

/** Actions of an operator for the state of a destination. */
export const actionsFor = (cause: string | null, id: string): OperatorAction[] =>
  (actionsOf[cause ?? ''] ?? []).map((name) => operatorAction(name, id))

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
 * Packs that vanished are counted as dropped (`operate/vanished-packs.ts`). That is not possible if the ledger lost entries
 * of their deliveries: then no one knows what became of these events.
 */
export const unfoundAdvice = (events: number): string =>
  `The backlog of ${events === 1 ? '1 event' : `${events} events`} is not there: no message holds it. The ledger WEIR_BOOKS has lost entries, so these events were delivered or lost.`

/** The last error of a destination. */
interface NamedError {
  readonly code: string
  readonly msg: string
}

const clockAdvice =
  'The service refuses requests because of the time at which they were signed: the clock of the machine that delivers is wrong. Set it (with NTP); the error names the difference if it is known. The credentials need no change.'

/** Reasons of Weir itself, which the service has not been asked for: their messages say what must be changed. */
const ownReasons: ReadonlySet<string> = new Set([
  privateNetworkCode,
  'ExternalIdNotRequired',
  'FilesNotAllowed',
  'FilesTooLarge',
  'NoCluster',
])

const ownAdvice =
  "Weir can't deliver to the target as it is: the error says what must be changed, in the target or by the operator of Weir."

/** The meaning of a fault in the words of the kind; undefined if Weir itself is the reason, whose message says all. */
export function faultAdvice(
  kindName: string,
  cause: FaultClass,
  error: NamedError | null,
): string | undefined {
  if (ownReasons.has(error?.code ?? '')) return undefined
  const { aws, advice } = kindNamed(kindName)
  const isClock =
    aws !== undefined && cause === 'credentials' && error !== null && isClockRefusal(error.code, error.msg)
  return isClock ? clockAdvice : adviceOfFault(advice, cause, error?.code)
}

function adviceOfCause(cause: string | null, error: NamedError | null, { target }: Row): string | undefined {
  if (cause === null) return undefined
  if (cause === unansweredCause) return noDeliverer
  const { kind } = chosenTarget(target as never)
  const about = faultAdvice(kind, cause as FaultClass, error) ?? ownAdvice
  return [about, meanwhile[cause]].filter(Boolean).join(' ')
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

function pauseAdvice({ paused }: Row): string {
  const pause = paused as DestinationPause | null | undefined
  const waits = 'Its events wait as in an outage.'
  // Resumed just now: the deliverer has not heard of it.
  if (!pause) return waits
  const { at, source, api_key_id } = pause
  const who = api_key_id === null ? `Someone (${source})` : `The API key ${api_key_id}`
  return `${who} paused it at ${at}. ${waits}`
}
