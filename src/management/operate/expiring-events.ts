/**
 * Warns of events that will be dropped for their age (`deliver/expiry.ts`), some hours before: a metric, a log line, and an
 * operator event to the account of the destination.
 *
 * A destination is warned of when its oldest pack is that old and is still the oldest at the next look: one that works
 * through an old backlog needs no warning. Time is cut into windows of the length of the warning, as for dead letters: a
 * long outage is announced once for the packs of each window, by whichever process is first.
 *
 * The status of the destination says what to do: it knows why its events wait.
 */

import { oldestPack, warningMs } from '../../delivery/deliver/expiry.js'
import { announce } from '../../delivery/wire/operator-events.js'
import { type Partition, type PartitionSet, sharedConsumer } from '../../delivery/wire/partitions.js'
import { waitingPacks } from '../../delivery/wire/waiting-packs.js'
import type { AgeClock } from '../../ground/core/age-clock.js'
import { every, isoMillis, type Timer } from '../../ground/core/clock.js'
import { eachOf } from '../../ground/core/concurrency.js'
import { messageOf } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Level } from '../../ground/core/telemetry/metrics.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import { operatorEventJson } from '../../words/event/operator-event.js'
import { eventDestination, keepsRecords } from '../../words/resource/event-destination.js'
import type { Links, Row } from '../../words/resource/kind/define.js'
import type { DeliveryStatus } from '../../words/shape/delivery-status.js'
import { adviceFor, expiryAdvice } from './advice/delivery-advice.js'
import { others, targetOf } from './behind-destinations.js'
import type { DestinationOperations } from './destination-operations.js'

const lookEveryMs = { min: 1_000, max: 60_000 }
const readsAtOnce = 8

interface ExpiringEventsOptions {
  readonly nats: Pick<
    Nats,
    'streamInfo' | 'subjectCounts' | 'consumerInfo' | 'nextMessage' | 'lastMessage' | 'publishAfter'
  >
  readonly partitions: Pick<PartitionSet, 'all'>
  readonly destinationOf: (id: string) => Row | undefined
  readonly destinations: Pick<DestinationOperations, 'statuses'>
  /** Events that wait for a destination. */
  readonly backlogOf: (id: string) => number
  readonly links: Pick<Links, 'of'>
  readonly retentionMs: number
  /** By which deliverers judge ages, too. */
  readonly ages: Pick<AgeClock, 'now'>
  /** How many destinations the metrics name. */
  readonly namedMax: number
  readonly occurrences: Pick<Occurrences, 'backlogExpiry' | 'eventsExpiring' | 'expiryUnwatched'>
}

/** A destination whose oldest pack is nearly too old. */
interface Expiring {
  readonly row: Row
  readonly sequence: number
  readonly storedAtMs: number
}

export class ExpiringEvents {
  readonly #options: ExpiringEventsOptions
  readonly #warningMs: number
  readonly #timer: Timer
  /** At the last look, by destination. */
  #seen: ReadonlyMap<string, Expiring> = new Map()
  /** Destinations that were seen twice, sorted by when their events are dropped. */
  #stuck: readonly Expiring[] = []
  /** The windows of theirs that are announced. */
  #announced: ReadonlyMap<string, number> = new Map()

  constructor(options: ExpiringEventsOptions) {
    this.#options = options
    this.#warningMs = warningMs(options.retentionMs)
    const everyMs = Math.max(lookEveryMs.min, Math.min(lookEveryMs.max, this.#warningMs / 10))
    this.#timer = every(everyMs, () =>
      this.lookAt(options.ages.now()).catch((error: unknown) =>
        options.occurrences.expiryUnwatched({ reason: messageOf(error) }),
      ),
    )
    options.occurrences.backlogExpiry(() => this.#levels())
  }

  async lookAt(nowMs: number): Promise<void> {
    const before = this.#seen
    const seen = await this.#expiring(nowMs)
    this.#seen = seen
    this.#stuck = [...seen]
      .filter(([id, oldest]) => isSamePack(oldest, before.get(id)))
      .map(([, expiring]) => expiring)
      .sort((a, b) => a.storedAtMs - b.storedAtMs)
    await this.#announceAll(nowMs)
  }

  async #announceAll(nowMs: number): Promise<void> {
    const stuck = this.#stuck
    const news = stuck.filter((each) => this.#announced.get(each.row.id) !== this.#windowOf(each))
    const statuses = await this.#options.destinations.statuses(news.map(({ row }) => row))
    for (const [index, each] of news.entries()) await this.#announce(each, statuses[index]!.status, nowMs)
    this.#announced = new Map(stuck.map((each) => [each.row.id, this.#windowOf(each)]))
  }

  /** When the window of the pack begins. */
  #windowOf({ storedAtMs }: Expiring): number {
    return Math.floor(storedAtMs / this.#warningMs) * this.#warningMs
  }

  async #expiring(nowMs: number): Promise<ReadonlyMap<string, Expiring>> {
    const { nats, partitions, destinationOf, retentionMs } = this.#options
    const beforeMs = nowMs - retentionMs + this.#warningMs
    const found = new Map<string, Expiring>()
    const places = new Map<string, Set<Partition>>()
    for (const partition of partitions.all)
      for (const id of await this.#destinationsIn(partition, beforeMs))
        getOrMake(places, id, () => new Set()).add(partition)
    await eachOf([...places], readsAtOnce, async ([id, all]) => {
      const row = destinationOf(id)
      if (row === undefined || keepsRecords(row)) return
      const oldest = await oldestPack(nats, { all: [...all] }, id)
      if (oldest === undefined || oldest.storedAtMs > beforeMs) return
      found.set(id, { row, sequence: oldest.sequence, storedAtMs: oldest.storedAtMs })
    })
    return found
  }

  /**
   * Those that may have packs in this stream that are so old. One that was moved can be older than all messages of the
   * stream.
   */
  async #destinationsIn(partition: Partition, beforeMs: number): Promise<string[]> {
    const { nats } = this.#options
    const state = (await nats.streamInfo(partition.deliveriesStream))?.state
    if (state === undefined || state.messages === 0) return []
    const isOld = Date.parse(state.first_ts) <= beforeMs
    return (await waitingPacks(nats, partition))
      .filter(({ consumer }) => isOld || consumer !== sharedConsumer)
      .map(({ destination }) => destination)
  }

  async #announce(expiring: Expiring, status: DeliveryStatus, nowMs: number): Promise<void> {
    const { nats, backlogOf, links, retentionMs, occurrences } = this.#options
    const { row, storedAtMs } = expiring
    const { id, account_id: accountId } = row
    const position = this.#windowOf(expiring)
    const expires_at = isoMillis(storedAtMs + retentionMs)
    const backlog = backlogOf(id)
    const { cause, last_error, actions } = status
    const json = operatorEventJson({
      kind: 'events_expiring.v0',
      accountId,
      identity: [id, String(position)],
      at: nowMs,
      object: {
        event_destination: { id, uri: links.of(eventDestination.kind, id) },
        description: (row['description'] as string | null | undefined) ?? null,
        backlog,
        first_dropped_at: expires_at,
        advice: adviceFor(cause, row, null, expires_at, last_error) ?? expiryAdvice(expires_at),
        actions,
      },
    })
    const isNew = await announce(nats, { accountId, topic: `expiring-${id}`, position, at: nowMs, json })
    if (isNew) occurrences.eventsExpiring({ destination_id: id, backlog, first_dropped_at: expires_at })
  }

  /** Names the destinations whose events are dropped first. */
  #levels(): Level<'destination' | 'target'>[] {
    const { namedMax, retentionMs, ages } = this.#options
    const secondsOf = ({ storedAtMs }: Expiring): number =>
      Math.max(0, storedAtMs + retentionMs - ages.now()) / 1000
    const named = this.#stuck
      .slice(0, namedMax)
      .map(
        (each): Level<'destination' | 'target'> => [
          { destination: each.row.id, target: targetOf(each.row) },
          secondsOf(each),
        ],
      )
    const next = this.#stuck[namedMax]
    return next === undefined ? named : [...named, [{ destination: others, target: others }, secondsOf(next)]]
  }

  close(): void {
    this.#timer.stop()
  }
}

/** Packs of different partitions may have the same sequence. */
const isSamePack = (a: Expiring, b: Expiring | undefined): boolean =>
  a.sequence === b?.sequence && a.storedAtMs === b.storedAtMs
