/**
 * Announces to each account when the state of one of its destinations changes, as an operator event.
 *
 * Deliverers are asked every few seconds for all destinations that are in trouble, and for those that were when their state
 * was announced last. That announcement is the last message of the destination's topic, so every API process finds the
 * same one, also after a restart, and a change is announced once.
 *
 * - A change counts when two answers in a row agree: one deliverer of several may be late with its answer.
 * - After a restart, a deliverer calls a destination healthy until it has tried it. That is no recovery.
 * - A destination is announced at most once a minute: what happens in between is left out, the last state is not.
 * - The advice is that of the status at this time, which knows the last error and what waits.
 */

import { type LaneState, pausedByHand, type StateReport } from '../../delivery/deliver/lane/health.js'
import { auditStream, operatorSubject, operatorSubjects, statesSubject } from '../../delivery/wire/names.js'
import { announce, lastAnnouncement } from '../../delivery/wire/operator-events.js'
import { jsonOf } from '../../ground/core/bytes.js'
import { every, isRecent, now, type Timer } from '../../ground/core/clock.js'
import { eachOf } from '../../ground/core/concurrency.js'
import { messageOf } from '../../ground/core/errors.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { StoredMessage } from '../../ground/nats/messages.js'
import type { Nats } from '../../ground/nats/nats.js'
import { type OperatorObjects, operatorEventJson } from '../../words/event/operator-event.js'
import { eventDestination } from '../../words/resource/event-destination.js'
import type { Links, Row } from '../../words/resource/kind/define.js'
import type { DeliveryStatus } from '../../words/shape/delivery-status.js'
import type { ViewState } from '../../words/view/view-state.js'
import { actionsFor, adviceFor } from './advice/delivery-advice.js'
import { worstOf } from './delivery-states.js'
import type { DestinationOperations } from './destination-operations.js'

interface StateChangesOptions {
  readonly nats: Pick<Nats, 'gather' | 'lastMessage' | 'publishAfter' | 'subjectCounts'>
  readonly view: { readonly isComplete: boolean; readonly state: Pick<ViewState, 'rows'> }
  readonly destinations: Pick<DestinationOperations, 'statuses'>
  readonly links: Pick<Links, 'of'>
  readonly occurrences: Pick<Occurrences, 'stateChangesUnannounced'>
}

const kind = 'event_destination_state_changed.v0'
const lookEveryMs = 3_000
const answerWaitMs = 500
const quietMs = 60_000
const readsAtOnce = 8
const readAgainMs = 5 * 60_000

/** A state as it was announced. */
interface Announced {
  readonly state: LaneState
  readonly cause: string | null
  readonly atMs: number
  readonly position: number
}

/** A state to announce. */
interface News {
  readonly row: Row
  readonly report: StateReport
  readonly last: Announced
}

/** Before the first announcement. */
const nothing: Announced = { state: 'healthy', cause: null, atMs: 0, position: 0 }

export class StateChanges {
  readonly #options: StateChangesOptions
  readonly #timer: Timer
  /** By destination. */
  #announced = new Map<string, Announced>()
  #readAtMs = 0
  /** The states in the previous answers, by destination. */
  #before = new Map<string, string>()
  #looking = Promise.resolve()

  constructor(options: StateChangesOptions) {
    this.#options = options
    this.#timer = every(lookEveryMs, () => this.#look())
  }

  #look(): void {
    this.#looking = this.#looking
      .then(() => this.lookAt(now()))
      .catch((error: unknown) =>
        this.#options.occurrences.stateChangesUnannounced({ reason: messageOf(error) }),
      )
  }

  /** Announces what has changed. */
  async lookAt(nowMs: number): Promise<void> {
    const { nats, view } = this.#options
    if (!view.isComplete) return
    const known = await this.#knownAt(nowMs)
    if (known.size === 0 && this.#rows.size === 0) return
    const troubled = [...known].flatMap(([id, { state }]) => (state === 'healthy' ? [] : [id]))
    const answers = await nats.gather(statesSubject, JSON.stringify(troubled), answerWaitMs)
    // Without an answer, nothing is known.
    if (answers === undefined || answers.length === 0) return
    const seen = new Map<string, string>()
    const news: News[] = []
    for (const [id, reports] of reportsIn(answers)) {
      const report = worstOf(reports)
      const isProved = reports.some(({ has_succeeded }) => has_succeeded)
      const text = textOf(report)
      seen.set(id, text)
      if (this.#before.get(id) === text) news.push(...(await this.#newsOf(id, report, isProved, nowMs)))
    }
    await this.#announceAll(news, nowMs)
    this.#before = seen
  }

  async #newsOf(id: string, report: StateReport, isProved: boolean, nowMs: number): Promise<News[]> {
    const announced = this.#announced
    const row = this.#rowOf(id)
    if (row === undefined) announced.delete(id)
    if (row === undefined || !isNews(report, isProved, announced.get(id) ?? nothing, nowMs)) return []
    // Another process may have announced it.
    const last = announcedIn(await this.#lastMessage(row.account_id, id)) ?? nothing
    announced.set(id, last)
    return isNews(report, isProved, last, nowMs) ? [{ row, report, last }] : []
  }

  async #announceAll(news: readonly News[], nowMs: number): Promise<void> {
    if (news.length === 0) return
    const statuses = await this.#options.destinations.statuses(news.map(({ row }) => row))
    for (const [index, each] of news.entries()) {
      const announced = await this.#announce(each, statuses[index]!.status, nowMs)
      this.#announced.set(each.row.id, announced)
    }
  }

  async #announce({ row, report, last }: News, status: DeliveryStatus, nowMs: number): Promise<Announced> {
    const { nats, links } = this.#options
    const { id, account_id: accountId } = row
    const { state, cause, since } = report
    const position = Math.max(Date.parse(since), last.position + 1)
    const object: OperatorObjects[typeof kind] = {
      event_destination: { id, uri: links.of(eventDestination.kind, id) },
      description: (row['description'] as string | null | undefined) ?? null,
      old_state: last.state,
      new_state: state,
      cause,
      advice: adviceAt(report, row, status),
      actions: actionsFor(cause, id),
      since,
    }
    const json = operatorEventJson({ kind, accountId, identity: [id, String(position)], at: nowMs, object })
    await announce(nats, { accountId, topic: id, position, at: nowMs, json })
    return announcedIn(await this.#lastMessage(accountId, id)) ?? nothing
  }

  // --- what was announced ---

  /** Read again from time to time, because other processes announce, too. */
  async #knownAt(nowMs: number): Promise<ReadonlyMap<string, Announced>> {
    if (!isRecent(this.#readAtMs, readAgainMs, nowMs)) {
      this.#announced = await this.#readAnnounced()
      this.#readAtMs = nowMs
    }
    return this.#announced
  }

  async #readAnnounced(): Promise<Map<string, Announced>> {
    const announced = new Map<string, Announced>()
    const subjects = Object.keys(await this.#options.nats.subjectCounts(auditStream, operatorSubjects))
    await eachOf(subjects, readsAtOnce, async (subject) => {
      const [accountId = '', id = ''] = subject.split('.').slice(-2)
      if (this.#rowOf(id)?.account_id !== accountId) return
      const last = announcedIn(await this.#lastMessage(accountId, id))
      if (last !== undefined) announced.set(id, last)
    })
    return announced
  }

  #lastMessage(accountId: string, id: string): Promise<StoredMessage | undefined> {
    return this.#options.nats.lastMessage(auditStream, operatorSubject(accountId, id))
  }

  #rowOf(id: string): Row | undefined {
    return this.#rows.get(id)
  }

  get #rows(): ReadonlyMap<string, Row> {
    return this.#options.view.state.rows.get(eventDestination.kind) ?? new Map()
  }

  async close(): Promise<void> {
    this.#timer.stop()
    await this.#looking
  }
}

const textOf = ({ state, cause }: Pick<DeliveryStatus, 'state' | 'cause'>): string => `${state} ${cause}`

/** The advice of the status, unless the state is another one by now: then that of the state. */
const adviceAt = (report: StateReport, row: Row, status: DeliveryStatus): string | null =>
  textOf(report) === textOf(status) ? status.advice : adviceFor(report.cause, row)

function isNews(report: StateReport, isProved: boolean, last: Announced, nowMs: number): boolean {
  if (textOf(report) === `${last.state} ${last.cause}` || isRecent(last.atMs, quietMs, nowMs)) return false
  return report.state !== 'healthy' || isProved || last.cause === pausedByHand
}

/** By destination: a report of each lane. */
function reportsIn(answers: readonly Uint8Array[]): Map<string, StateReport[]> {
  const byId = new Map<string, StateReport[]>()
  for (const answer of answers)
    for (const report of jsonOf<StateReport[]>(answer))
      getOrMake(byId, report.destination_id, () => []).push(report)
  return byId
}

function announcedIn(message: StoredMessage | undefined): Announced | undefined {
  const last = lastAnnouncement<OperatorObjects[typeof kind]>(message)
  if (last === undefined) return undefined
  const { object, ...announced } = last
  return { state: object.new_state, cause: object.cause, ...announced }
}
