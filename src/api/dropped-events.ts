/**
 * Reports events that were dropped for their age: a log line, and an operator event to the account of the destination. The
 * books know how many were; the last event of the destination says how many were announced. So each dropped event is
 * announced once, whatever restarts, and by whichever process is first.
 */
import { type DroppedTotals, type KindCounts, sumOf } from '../books/dropped.js'
import { every, isoMillis, now, type Timer } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import type { Occurrences } from '../core/occurrences.js'
import { type OperatorObjects, operatorEventJson } from '../event/operator-event.js'
import type { StoredMessage } from '../nats/messages.js'
import type { Nats } from '../nats/nats.js'
import type { Links, Row } from '../resource/define.js'
import { eventDestination } from '../resource/event-destination.js'
import { auditStream, operatorPositionHeader, operatorSubject, recordsStream } from '../wire/names.js'
import { announce } from '../wire/operator-events.js'
import { readPack } from '../wire/pack.js'

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
  readonly destinations: () => Iterable<Row>
  readonly droppedOf: (id: string) => DroppedTotals
  /** Is it an event of records? Others can't be replayed. */
  readonly isTraffic: (kind: string) => boolean
  readonly links: Pick<Links, 'of'>
  readonly retentionMs: number
  readonly occurrences: Pick<Occurrences, 'eventsDropped' | 'expiryUnwatched'>
}

/** What was announced last of a destination. */
interface Announced {
  readonly totals: KindCounts
  readonly atMs: number
  readonly position: number
}

export class DroppedEvents {
  readonly #options: DroppedEventsOptions
  readonly #quietMs: number
  readonly #timer: Timer
  /** What was announced, by destination. */
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
    for (const row of destinations()) {
      const dropped = droppedOf(row.id)
      // What was announced so long ago can't be looked up any more.
      if (dropped.episode === null || nowMs - dropped.episode.endedAt > retentionMs) continue
      const known = this.#announced.get(row.id)
      if (known !== undefined && this.#isSilent(dropped, known, nowMs)) continue
      await this.#consider(row, dropped, nowMs)
    }
  }

  /** Is there nothing to announce, or too little time since the last announcement? */
  #isSilent({ kinds }: DroppedTotals, { totals, atMs }: Announced, nowMs: number): boolean {
    return sumOf(totals) === sumOf(kinds) || nowMs - atMs < this.#quietMs
  }

  async #consider(row: Row, dropped: DroppedTotals, nowMs: number): Promise<void> {
    // Another process may have announced more than this one knows; the last event may have become too old.
    const last = announcedIn(await this.#lastMessage(row)) ?? this.#announced.get(row.id)
    const before = announcedTotals(dropped, last)
    const known = { totals: before, atMs: last?.atMs ?? 0, position: last?.position ?? 0 }
    if (!this.#isSilent(dropped, known, nowMs)) await this.#announce(row, dropped, known, nowMs)
    else this.#announced.set(row.id, known)
  }

  async #announce(
    row: Row,
    { kinds, episode }: DroppedTotals,
    { totals: before, position: after }: Announced,
    nowMs: number,
  ): Promise<void> {
    const { nats, links, occurrences } = this.#options
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
      count,
      types,
      first_event_at: isoMillis(first),
      last_event_at: isoMillis(last),
      replay,
      advice: adviceFor(id, replay),
    }
    const position = Math.max(endedAt, after + 1)
    const identity = [id, String(beganAt), String(sumOf(kinds))]
    const json = operatorEventJson({ kind, accountId, identity, at: nowMs, object })
    const isNew = await announce(nats, { accountId, topic: topicOf(id), position, at: nowMs, json })
    // If another process was first, the next look finds what it announced.
    if (!isNew) return
    this.#announced.set(id, { totals: kinds, atMs: nowMs, position })
    const { event_destination: _, ...shown } = object
    occurrences.eventsDropped({ destination_id: id, account_id: accountId, ...shown }, count)
  }

  /** The part of this time of which records are still there; null if there is none. */
  async #replayOf(types: DropReport['types'], first: number, last: number): Promise<DropReport['replay']> {
    const { nats, isTraffic } = this.#options
    const state = (await nats.streamInfo(recordsStream))?.state
    if (state === undefined || state.messages === 0 || !types.some(({ type }) => isTraffic(type))) return null
    const from = Math.max(first, Date.parse(state.first_ts))
    return from > last ? null : { from: isoMillis(from), to: isoMillis(last + 1) }
  }

  #lastMessage({ id, account_id }: Row): Promise<StoredMessage | undefined> {
    return this.#options.nats.lastMessage(auditStream, operatorSubject(account_id, topicOf(id)))
  }

  close(): void {
    this.#timer.stop()
  }
}

const topicOf = (id: string): string => `dropped-${id}`

/** What is announced of these: all that was dropped before the episode, and what was announced within it. */
function announcedTotals({ kinds, episode }: DroppedTotals, last: Announced | undefined): KindCounts {
  const isOfEpisode = last !== undefined && last.atMs > episode!.beganAt - clocksDifferMs
  // The books can begin again at zero.
  if (isOfEpisode && sumOf(last.totals) <= sumOf(kinds)) return last.totals
  return Object.fromEntries(
    Object.entries(kinds).map(([type, total]) => [type, total - (episode!.kinds[type] ?? 0)]),
  )
}

function announcedIn(message: StoredMessage | undefined): Announced | undefined {
  const [event] = message === undefined ? [] : readPack(message.data).events
  if (message === undefined || event === undefined) return undefined
  const { object } = JSON.parse(event.data.toString()) as { object: DropReport }
  return {
    totals: Object.fromEntries(object.types.map(({ type, total }) => [type, total])),
    atMs: event.timestampMs,
    position: Number(message.headers.get(operatorPositionHeader)),
  }
}

function adviceFor(id: string, replay: DropReport['replay']): string {
  const prevention = 'With "on_expiry": "block", events wait at any age.'
  if (replay === null) return `Their records were removed, too: they can't be sent again. ${prevention}`
  const command = `weir replay --from ${replay.from} --to ${replay.to} ${id}`
  return `Records of this time are still there. Once the destination works: ${command}. ${prevention}`
}
