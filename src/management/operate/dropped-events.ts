/**
 * Reports events that were dropped: a log line, and an operator event to the account of the destination. The books know how
 * many were; the last event of the destination and the reason says how many were announced. So each dropped event is
 * announced once, whatever restarts, and by whichever process is first.
 */
import {
  type DroppedTotals,
  type DropReason,
  dropReasons,
  type KindCounts,
  sumOf,
} from '../../delivery/books/dropped.js'
import { auditStream, operatorSubject } from '../../delivery/wire/names.js'
import { announce, lastAnnouncement } from '../../delivery/wire/operator-events.js'
import type { PartitionSet } from '../../delivery/wire/partitions.js'
import { announcementsKeptMs } from '../../delivery/wire/streams.js'
import { every, isoMillis, isRecent, now, type Timer } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { StoredMessage } from '../../ground/nats/messages.js'
import type { Nats } from '../../ground/nats/nats.js'
import { operatorAction } from '../../words/event/operator-actions.js'
import { type OperatorObjects, operatorEventJson } from '../../words/event/operator-event.js'
import { eventDestination } from '../../words/resource/event-destination.js'
import type { Links, Row } from '../../words/resource/kind/define.js'

const kind = 'events_dropped.v0'
const lookEveryMs = 2_000
/** A destination is announced at most this often, and more often than announcements get too old. */
const quietMaxMs = 60_000
const quietShare = 1 / 4
/** Clocks differ by less; two episodes are further apart. */
const clocksDifferMs = 15 * 60_000

type DropReport = OperatorObjects[typeof kind]

interface DroppedEventsOptions {
  readonly nats: Pick<Nats, 'streamInfo' | 'lastMessage' | 'publishAfter'>
  readonly partitions: Pick<PartitionSet, 'all'>
  /** Those of which events were dropped; there may be many others. */
  readonly destinations: () => Iterable<Row>
  readonly droppedOf: (id: string, reason: DropReason) => DroppedTotals
  /** Is it an event of records? Others can't be replayed. */
  readonly isTraffic: (kind: string) => boolean
  readonly links: Pick<Links, 'of'>
  readonly retentionMs: number
  readonly occurrences: Pick<Occurrences, 'eventsDropped' | 'eventsVanished' | 'expiryUnwatched'>
}

/** A destination, and a reason for which it loses events. */
interface Loss {
  readonly row: Row
  readonly reason: DropReason
}

/** The last announcement of a loss. */
interface Announced {
  readonly totals: KindCounts
  readonly atMs: number
  readonly position: number
}

export class DroppedEvents {
  readonly #options: DroppedEventsOptions
  readonly #quietMs: number
  readonly #timer: Timer
  /** By topic. */
  readonly #announced = new Map<string, Announced>()

  constructor(options: DroppedEventsOptions) {
    this.#options = options
    this.#quietMs = Math.min(quietMaxMs, options.retentionMs * quietShare)
    this.#timer = every(lookEveryMs, () =>
      this.lookAt(now()).catch((error: unknown) =>
        options.occurrences.expiryUnwatched({ reason: messageOf(error) }),
      ),
    )
  }

  async lookAt(nowMs: number): Promise<void> {
    const { destinations, droppedOf, retentionMs } = this.#options
    for (const row of destinations())
      for (const reason of dropReasons) {
        const dropped = droppedOf(row.id, reason)
        // An announcement from so long ago can't be looked up any more.
        if (dropped.episode === null || nowMs - dropped.episode.endedAt > announcementsKeptMs(retentionMs))
          continue
        const known = this.#announced.get(topicOf({ row, reason }))
        if (known !== undefined && this.#isSilent(dropped, known, nowMs)) continue
        await this.#consider({ row, reason }, dropped, nowMs)
      }
  }

  /** Is there nothing to announce, or too little time since the last announcement? */
  #isSilent({ kinds }: DroppedTotals, { totals, atMs }: Announced, nowMs: number): boolean {
    return sumOf(totals) === sumOf(kinds) || isRecent(atMs, this.#quietMs, nowMs)
  }

  async #consider(loss: Loss, dropped: DroppedTotals, nowMs: number): Promise<void> {
    // Another process may have announced more than this one knows; the last event may have become too old.
    const last = announcedIn(await this.#lastMessage(loss)) ?? this.#announced.get(topicOf(loss))
    const before = announcedTotals(dropped, last)
    const known = { totals: before, atMs: last?.atMs ?? 0, position: last?.position ?? 0 }
    if (!this.#isSilent(dropped, known, nowMs)) await this.#announce(loss, dropped, known, nowMs)
    else this.#announced.set(topicOf(loss), known)
  }

  async #announce(
    loss: Loss,
    { kinds, episode }: DroppedTotals,
    { totals: before, position: after }: Announced,
    nowMs: number,
  ): Promise<void> {
    const { nats, links, occurrences } = this.#options
    const { row, reason } = loss
    const { id, account_id: accountId } = row
    const { beganAt, endedAt, first, last } = episode!
    // All kinds: the next announcement begins with these totals.
    const types = Object.entries(kinds).map(([type, total]) => ({
      type,
      count: total - (before[type] ?? 0),
      total,
    }))
    const count = sumOf(kinds) - sumOf(before)
    const replay = await this.#replayOf(types, first, last)
    const object: DropReport = {
      event_destination: { id, uri: links.of(eventDestination.kind, id) },
      description: (row['description'] as string | null | undefined) ?? null,
      reason,
      count,
      types,
      first_event_at: isoMillis(first),
      last_event_at: isoMillis(last),
      replay,
      ...adviceFor(id, replay, reason),
    }
    const position = Math.max(endedAt, after + 1)
    const identity = [reason === 'age' ? id : topicOf(loss), String(beganAt), String(sumOf(kinds))]
    const json = operatorEventJson({ kind, accountId, identity, at: nowMs, object })
    const isNew = await announce(nats, { accountId, topic: topicOf(loss), position, at: nowMs, json })
    // If another process was first, the next look finds what it announced.
    if (!isNew) return
    this.#announced.set(topicOf(loss), { totals: kinds, atMs: nowMs, position })
    const { event_destination: _, reason: __, ...shown } = object
    const fields = { destination_id: id, account_id: accountId, ...shown }
    if (reason === 'age') occurrences.eventsDropped(fields, count)
    else occurrences.eventsVanished(fields, count)
  }

  /** The part of this time of which records are still there; null if there is none. */
  async #replayOf(types: DropReport['types'], first: number, last: number): Promise<DropReport['replay']> {
    if (!types.some(({ type }) => this.#options.isTraffic(type))) return null
    const from = Math.max(first, await this.#firstRecordMs())
    return from > last ? null : { from: isoMillis(from), to: isoMillis(last + 1) }
  }

  /** When the oldest record that is still there was stored; infinity if there is none. */
  async #firstRecordMs(): Promise<number> {
    const { nats, partitions } = this.#options
    const infos = await Promise.all(partitions.all.map(({ recordsStream }) => nats.streamInfo(recordsStream)))
    const states = infos.flatMap((info) => (info && info.state.messages > 0 ? [info.state] : []))
    return Math.min(...states.map(({ first_ts }) => Date.parse(first_ts)))
  }

  #lastMessage(loss: Loss): Promise<StoredMessage | undefined> {
    const subject = operatorSubject(loss.row.account_id, topicOf(loss))
    return this.#options.nats.lastMessage(auditStream, subject)
  }

  close(): void {
    this.#timer.stop()
  }
}

const topicOf = ({ row: { id }, reason }: Loss): string =>
  reason === 'age' ? `dropped-${id}` : `${reason}-${id}`

/** The part of these totals that is announced: all events from before the episode, and those announced within it. */
function announcedTotals({ kinds, episode }: DroppedTotals, last: Announced | undefined): KindCounts {
  const isOfEpisode = last !== undefined && last.atMs > episode!.beganAt - clocksDifferMs
  // The books can begin again at zero.
  if (isOfEpisode && sumOf(last.totals) <= sumOf(kinds)) return last.totals
  return Object.fromEntries(
    Object.entries(kinds).map(([type, total]) => [type, total - (episode!.kinds[type] ?? 0)]),
  )
}

function announcedIn(message: StoredMessage | undefined): Announced | undefined {
  const last = lastAnnouncement<DropReport>(message)
  if (last === undefined) return undefined
  const { object, ...announced } = last
  return { totals: Object.fromEntries(object.types.map(({ type, total }) => [type, total])), ...announced }
}

function adviceFor(
  id: string,
  replay: DropReport['replay'],
  reason: DropReason,
): Pick<DropReport, 'advice' | 'actions'> {
  const isOld = reason === 'age'
  const about = isOld ? 'With "on_expiry": "block", events wait at any age.' : vanishedAdvice
  if (replay !== null) {
    const when = isOld ? ' Once the destination works' : ' To send them'
    const action = operatorAction('replay', id, replay)
    const advice = `Records of this time are still there.${when}: ${action.command}. ${about}`
    return { advice, actions: [action] }
  }
  return {
    advice: `No records of this time are there: the events can't be sent again. ${about}`,
    actions: [],
  }
}

const vanishedAdvice =
  'Their messages left the stream WEIR_DELIVERIES, and no deliverer has them: someone purged the stream or deleted messages, or it was recreated or restored to an earlier state. If WEIR_BOOKS was, too, some of them may have been delivered.'
