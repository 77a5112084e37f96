/**
 * Traces a record: its decision, from the log; the record itself, from its stream; the explanation and the events, made
 * again with the configuration of that time; and the end of each event, from the log of deliveries. Of a question, only the
 * decision and its explanation are known.
 */

import type { TrafficRecord } from '../../delivery/record/traffic-record.js'
import type { DecisionRow } from '../../delivery/wire/decision-rows.js'
import { canonicalAddress } from '../../ground/core/address/ip.js'
import { yieldTurn } from '../../ground/core/clock.js'
import { WeirError } from '../../ground/core/errors.js'
import { StepBudget } from '../../ground/expr/run.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { Challenger, ChallengerRow } from '../../judging/evaluate/challenger.js'
import type { ConfigurationSource } from '../../judging/evaluate/policy-source.js'
import { type Production, produce } from '../../judging/produce/produce.js'
import type { AccountSources } from '../../judging/produce/source-list.js'
import { buildSubscriptionSet } from '../../judging/produce/subscriptions.js'
import type { AnyTrafficEvent } from '../../words/event/define.js'
import type { DeclaredRow, KindName } from '../../words/resource/registry.js'
import type {
  AskedDecision,
  PublishedRecord,
  TracedEvent,
  TracedRecord,
} from '../../words/shape/traced-record.js'
import type { ViewState } from '../../words/view/view-state.js'
import { rowsOf } from '../exchange/rows.js'
import type { PastRows } from '../store/history/past-rows.js'
import type { DeliveryReader } from '../store/logs/delivery-reader.js'
import type { LogReader } from '../store/logs/log-reader.js'
import type { DecidedThen, Decider } from './decider.js'
import { deliveryOf } from './event-delivery.js'
import { shownDecision } from './shown-decision.js'
import { recordGone, storedRecord } from './stored-record.js'

/** How many publications of one record an answer shows in full: each is read and judged again. */
export const publicationsTracedMax = 5

export interface RecordTracerOptions {
  readonly log: Pick<LogReader, 'decisions'>
  readonly deliveries: Pick<DeliveryReader, 'attempts' | 'recordOf' | 'isComplete'>
  readonly pastRows: PastRows
  readonly decider: Decider
  readonly nats: Pick<Nats, 'messageAt'>
  readonly eventKinds: readonly AnyTrafficEvent[]
}

/** The members that a row of the log does not have, or the reason why they are missing. */
type Rest = Omit<PublishedRecord, 'decision'>

const nothing: Rest = { record: null, explained: null, events: null, filtered: [], missing: null }

/** The production of a record of the past that was only logged: none. */
const noEvents: Pick<Production, 'events' | 'filtered'> = { events: [], filtered: [] }

const incomplete =
  'The question had values that the log does not have, such as the port of the client or headers, and with them it was decided otherwise.'

/** A question as the record that it was, as far as the log has it. */
function questionOf(row: DecisionRow): TrafficRecord {
  const { recordId, type, accountId, edgeId, routeId, clientIp, serverName, serverPort, method, path } = row
  return {
    record_id: recordId,
    type,
    account_id: accountId,
    edge_id: edgeId || null,
    ...(routeId === '' ? {} : { route_id: routeId }),
    conn: {
      client_ip: canonicalAddress(clientIp),
      server_name: serverName || null,
      server_port: serverPort || null,
    },
    ...(type === 'http_request'
      ? { http: { request: { method: method || null, url: { path: path || null } } } }
      : {}),
  }
}

export class RecordTracer {
  readonly #options: RecordTracerOptions

  constructor(options: RecordTracerOptions) {
    this.#options = options
  }

  /** Undefined if the log has no decision of this account about such a record. */
  async trace(state: ViewState, accountId: string, recordId: string): Promise<TracedRecord | undefined> {
    const published = await this.#rowsOf(accountId, recordId, ['record', 'history'])
    const questions = await this.#rowsOf(accountId, recordId, ['asked'])
    if (published.length + questions.length === 0) return undefined
    const publications: PublishedRecord[] = []
    for (const row of published.slice(0, publicationsTracedMax))
      publications.push({ decision: shownDecision(row), ...(await this.#restOf(state, row)) })
    const asked: AskedDecision[] = []
    for (const row of questions.slice(0, publicationsTracedMax))
      asked.push({ decision: shownDecision(row), ...(await this.#explained(state, row)) })
    return {
      record_id: recordId,
      publications,
      publications_left_out: published.length > publicationsTracedMax,
      asked,
      asked_left_out: questions.length > publicationsTracedMax,
    }
  }

  /** Without repeats; at least one more than are shown if there are more. */
  async #rowsOf(
    accountId: string,
    recordId: string,
    source: readonly DecisionRow['source'][],
  ): Promise<DecisionRow[]> {
    const rows = await this.#options.log.decisions({
      accountId,
      values: { record_id: [recordId], source },
      limit: 2 * publicationsTracedMax + 1,
    })
    return [...new Map(rows.map((row) => [shownDecision(row).id, row])).values()]
  }

  /** The explanation of a question, from what its row has of it. */
  async #explained(state: ViewState, row: DecisionRow): Promise<Omit<AskedDecision, 'decision'>> {
    try {
      const asked = { record: questionOf(row), explain: true }
      const unserved = row.decidedBy === 'unserved' ? 'deny' : 'allow'
      const moment = { revision: row.revision, phase: 'opening', atMs: row.at, unserved } as const
      const { answer } = await this.#options.decider.decide(state, row.accountId, asked, moment)
      const isSame = answer.decision === row.decision
      return { explained: answer as AskedDecision['explained'], missing: isSame ? null : incomplete }
    } catch (error) {
      if (!(error instanceof WeirError) || error.code === 'ERR_UNAVAILABLE') throw error
      return { explained: null, missing: error.message }
    }
  }

  /** The id of the record that made an event. */
  recordOf(accountId: string, eventId: string): Promise<string | undefined> {
    return this.#options.deliveries.recordOf(accountId, eventId)
  }

  async #restOf(state: ViewState, row: DecisionRow): Promise<Rest> {
    const stored = await storedRecord(this.#options.nats, row)
    if (stored === undefined) return { ...nothing, missing: recordGone }
    const record = JSON.parse(stored.line.toString()) as Rest['record']
    try {
      const asked = { record: stored.record, explain: true }
      const moment = { revision: row.revision, phase: 'closed', atMs: row.at, unserved: 'allow' } as const
      const decided = await this.#options.decider.decide(state, row.accountId, asked, moment)
      const { events, filtered } =
        stored.history === 'log' ? noEvents : await this.#production(state, row, decided)
      return {
        record,
        explained: decided.answer as Rest['explained'],
        events: await this.#traced(state, row, events),
        filtered: filtered.map((source) => ({
          type: source.kindName,
          subscription_id: source.subscriptionId,
        })),
        missing: null,
      }
    } catch (error) {
      // The configuration of then may be unknown or too large; the rest of the answer is still of use.
      if (!(error instanceof WeirError) || error.code === 'ERR_UNAVAILABLE') throw error
      return { ...nothing, record, missing: error.message }
    }
  }

  async #production(
    state: ViewState,
    row: DecisionRow,
    { judgement, pastVersion }: DecidedThen,
  ): Promise<Production> {
    const { accountId } = row
    const { pastRows, eventKinds } = this.#options
    const sources = await accountSources(state, accountId, pastVersion, pastRows, eventKinds)
    const challenger = sources?.difference.sources.length
      ? await this.#challengerOf(state, row, judgement)
      : undefined
    return produce(sources, judgement, new StepBudget(), challenger)
  }

  /** The challenger that the record was compared with, if there still is one. */
  async #challengerOf(
    state: ViewState,
    { challengerId, revision, at }: DecisionRow,
    { record }: DecidedThen['judgement'],
  ): Promise<Challenger | undefined> {
    const known = state.rows.get('challenger')?.get(challengerId) as ChallengerRow | undefined
    return known && this.#options.decider.challengerAt(state, known, record, { revision, atMs: at })
  }

  async #traced(
    state: ViewState,
    { accountId, at }: DecisionRow,
    events: Production['events'],
  ): Promise<TracedEvent[]> {
    const { deliveries } = this.#options
    const attempts = await deliveries.attempts({
      accountId,
      at,
      destinationIds: [...new Set(events.flatMap(({ source }) => source.destinationIds))],
      eventIds: events.map(({ id }) => id),
    })
    const isKnown = (id: string): boolean => state.rows.get('event_destination')?.has(id) === true
    return events.map(({ id, source }) => ({
      id,
      type: source.kindName,
      subscription_id: source.subscriptionId,
      deliveries: source.destinationIds.map((destinationId) =>
        deliveryOf(
          destinationId,
          attempts.filter((attempt) => attempt.destinationId === destinationId && attempt.includes(id)),
          { isKnown: isKnown(destinationId), isLogComplete: deliveries.isComplete },
        ),
      ),
    }))
  }
}

type Subscription = DeclaredRow<'event_subscription'>

/**
 * The compiled subscriptions of one account, as they are or as they were. `pastVersion`: a version of the account;
 * undefined for the present configuration.
 */
async function accountSources(
  state: ViewState,
  accountId: string,
  pastVersion: number | undefined,
  pastRows: Pick<PastRows, 'subscriptionIds' | 'at'>,
  eventKinds: readonly AnyTrafficEvent[],
): Promise<AccountSources | undefined> {
  const rows =
    pastVersion === undefined
      ? ([...rowsOf(state, accountId, 'event_subscription')] as unknown[] as Subscription[])
      : await rowsAt(accountId, pastVersion, pastRows)
  const source: ConfigurationSource = {
    revision: 0,
    rowsOf: <Kind extends KindName>() => rows as Iterable<unknown> as Iterable<DeclaredRow<Kind>>,
    rules: () => undefined,
  }
  const { byAccount } = await buildSubscriptionSet(source, undefined, yieldTurn, eventKinds)
  return byAccount.get(accountId)
}

async function rowsAt(
  accountId: string,
  version: number,
  pastRows: Pick<PastRows, 'subscriptionIds' | 'at'>,
): Promise<Subscription[]> {
  const ids = await pastRows.subscriptionIds(accountId, version)
  return pastRows.at(accountId, version, 'event_subscription', 'id', ids)
}
