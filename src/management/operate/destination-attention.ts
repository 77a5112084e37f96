/** The attention that destinations need: those that fail, lag or are paused, and events that are lost or soon will be. */

import { pausedByHand } from '../../delivery/deliver/lane/health.js'
import { isoMillis, isoSeconds } from '../../ground/core/clock.js'
import { operatorAction } from '../../words/event/operator-actions.js'
import { eventDestination } from '../../words/resource/event-destination.js'
import type { DestinationStatus } from '../../words/shape/delivery-status.js'
import { type Attention, severities } from '../../words/shape/overview.js'
import { isSilent, unansweredCause } from './advice/delivery-advice.js'
import type { Loss } from './destination-operations.js'

const dayMs = 24 * 60 * 60_000
const hourMs = 60 * 60_000

/** All members that a finding leaves out. */
const nothing: Omit<Attention, 'type' | 'severity' | 'sentence'> = {
  count: null,
  since: null,
  latest: null,
  until: null,
  kind: null,
  ids: [],
  names: [],
  uri: null,
  actions: [],
  scope: 'account',
}

type Finding = Pick<Attention, 'type' | 'severity' | 'sentence'> & Partial<Attention>

export const attention = (finding: Finding): Attention => ({ ...nothing, ...finding })

const severityOrder = (one: Attention, other: Attention): number =>
  severities.indexOf(one.severity) - severities.indexOf(other.severity)

/** The worst first; those of one severity stay in their order. */
export const worstFirst = (found: readonly Attention[]): Attention[] => found.toSorted(severityOrder)

/** A time in a sentence, as `core/text/times.ts` finds it there. */
export const timeText = (iso: string): string => isoSeconds(Date.parse(iso))

export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`

interface At {
  readonly nowMs: number
  /** Events that are dropped within this time are warned of. */
  readonly warningMs: number
}

/** In the order of the statuses. */
export function destinationAttention(
  statuses: readonly DestinationStatus[],
  lossesOf: (destinationId: string) => readonly Loss[],
  at: At,
): Attention[] {
  const silent = statuses.filter(({ status }) => isSilent(status, at.nowMs))
  const found = statuses.flatMap((shown) => [
    ...stateFinding(shown),
    ...behindFinding(shown),
    ...expiryFinding(shown, at),
    ...lossesOf(shown.destination_id).flatMap((loss) => lossFinding(shown, loss, at)),
  ])
  return [...silentFinding(silent), ...found]
}

function silentFinding(silent: readonly DestinationStatus[]): Attention[] {
  if (silent.length === 0) return []
  return [
    attention({
      type: 'deliverers_silent',
      severity: 'failing',
      sentence: `No process delivers at present, so events wait for ${counted(silent.length, 'destination')}.`,
      count: silent.length,
      since: silent[0]!.status.since,
      kind: eventDestination.kind,
      ids: silent.map(({ destination_id }) => destination_id),
    }),
  ]
}

/** The behaviour of a destination, by the cause of its state. */
const doing: Readonly<Record<string, string>> = {
  throttle: 'accepts fewer events than there are',
  transient: 'fails or does not answer in time',
  credentials: 'refuses the credentials',
  configuration: 'refuses every request',
  poison: 'refuses the contents of its events',
}

function stateFinding(shown: DestinationStatus): Attention[] {
  const { state, cause, since, last_error, backlog } = shown.status
  if (cause === null || cause === unansweredCause) return []
  const began = since === null ? '' : ` since ${timeText(since)}`
  const about = {
    ...ofDestination(shown),
    count: backlog.events,
    since,
    latest: last_error?.at ?? null,
    actions: shown.status.actions,
  }
  if (cause === pausedByHand) {
    const sentence = `${nameOf(shown)} is paused by hand${began}; ${waiting(backlog.events)}.`
    return [
      attention({ type: 'destination_paused', severity: 'attention', sentence, ...about, latest: null }),
    ]
  }
  const why = last_error === null ? '' : `: ${last_error.code}: ${last_error.msg}`
  const sentence = `${nameOf(shown)} ${doing[cause] ?? `is ${state} (${cause})`}${began}${why}`
  const isThrottled = state === 'throttled'
  const type = isThrottled ? 'destination_throttled' : 'destination_failing'
  const severity = isThrottled ? 'attention' : 'failing'
  return [attention({ type, severity, sentence: ended(sentence), ...about })]
}

function behindFinding(shown: DestinationStatus): Attention[] {
  const { behind } = shown.status
  if (behind === null) return []
  const { since, messages, missed, expires_at } = behind
  const lost = missed === 0 ? '' : ` It has lost the events of ${counted(missed, 'message')} of records.`
  const sentence = `${nameOf(shown)} is behind since ${timeText(since)}: ${counted(messages, 'message')} of records wait for it.${lost}`
  const severity = missed === 0 ? 'attention' : 'failing'
  const { actions } = shown.status
  const about = { ...ofDestination(shown), count: messages, since, until: expires_at, actions }
  return [attention({ type: 'destination_behind', severity, sentence, ...about })]
}

function expiryFinding(shown: DestinationStatus, { nowMs, warningMs }: At): Attention[] {
  const { backlog, cause } = shown.status
  const { expires_at, oldest_at, events } = backlog
  // A destination that accepts events works through its backlog.
  if (expires_at === null || cause === null || Date.parse(expires_at) - nowMs > warningMs) return []
  const sentence = `The oldest events of ${nameOf(shown, 'destination')} are dropped from ${timeText(expires_at)} on, because of their age; ${waiting(events)}.`
  const { actions } = shown.status
  const about = { ...ofDestination(shown), count: events, since: oldest_at, until: expires_at, actions }
  return [attention({ type: 'events_expiring', severity: 'failing', sentence, ...about })]
}

function lossFinding(shown: DestinationStatus, loss: Loss, { nowMs }: At): Attention[] {
  const { reason, events, beganAtMs, endedAtMs } = loss
  if (nowMs - endedAtMs > dayMs) return []
  const latest = isoMillis(endedAtMs)
  const why =
    reason === 'age' ? 'were dropped because of their age' : 'vanished from the stream of deliveries'
  const sentence = `${counted(events, 'event')} of ${nameOf(shown, 'destination')} ${why}, the last at ${timeText(latest)}.`
  const severity = nowMs - endedAtMs < hourMs ? 'failing' : 'attention'
  const about = {
    ...ofDestination(shown),
    count: events,
    since: isoMillis(beganAtMs),
    latest,
    actions: [operatorAction('replay', shown.destination_id)],
  }
  return [attention({ type: 'events_dropped', severity, sentence, ...about })]
}

const ofDestination = ({ destination_id }: DestinationStatus) => ({
  kind: eventDestination.kind,
  ids: [destination_id],
})

const nameCharsMax = 80

function nameOf({ destination_id, description }: DestinationStatus, noun = 'Destination'): string {
  if (description === null || description === '') return `${noun} ${destination_id}`
  const cut = description.length > nameCharsMax ? `${description.slice(0, nameCharsMax)}…` : description
  return `${noun} "${cut}"`
}

const waiting = (events: number): string => (events === 1 ? '1 event waits' : `${events} events wait`)

/** Reasons of services may or may not end with a full stop. */
const ended = (sentence: string): string => `${sentence.replaceAll(/\s+/g, ' ').replace(/[.\s]+$/, '')}.`
