/**
 * Start here: what an operator sees and does: the state of delivery, dead letters, replays, and announcements of what
 * happened. This file: a test event, a check, and the delivery status over all processes.
 */
import type { Books } from '../../delivery/books/books.js'
import { type DropReason, dropReasons, sumOf } from '../../delivery/books/dropped.js'
import type { BooksKeeper } from '../../delivery/books/keeper.js'
import type { DestinationConfig } from '../../delivery/deliver/kind/destination.js'
import type { Finding } from '../../delivery/deliver/kind/sender.js'
import type { LaneStatus } from '../../delivery/deliver/lane/health.js'
import { checkDestination, type DestinationAccess, sendTestEvent } from '../../delivery/deliver/test-event.js'
import type { Fault } from '../../delivery/outgoing/fault-class.js'
import { attemptsMax, type DeliveryAttempt } from '../../delivery/wire/delivery-attempts.js'
import { attemptsSubject } from '../../delivery/wire/names.js'
import type { PartitionSet } from '../../delivery/wire/partitions.js'
import { jsonOf } from '../../ground/core/bytes.js'
import { sleep } from '../../ground/core/clock.js'
import { fail, type Result } from '../../ground/core/errors.js'
import type { Sealer } from '../../ground/core/seal.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { Target } from '../../words/resource/destination-target.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { BacklogHistory } from '../../words/shape/backlog-history.js'
import type { TargetTest } from '../../words/shape/delivery/target-test.js'
import type {
  DeliveryStatus,
  DestinationCheck,
  DestinationStatus,
} from '../../words/shape/delivery-status.js'
import type { SourceCounts } from '../../words/shape/subscription-counts.js'
import { destinationConfig } from '../../words/view/destinations.js'
import type { SecretsView } from '../../words/view/secrets-view.js'
import { actionsFor, adviceFor } from './advice/delivery-advice.js'
import type { BacklogHistory as Backlogs } from './backlog-history.js'
import type { BehindDestinations } from './behind-destinations.js'
import { DeliveryStates, severityOf } from './delivery-states.js'
import { statusesOf, statusOf } from './destination-status.js'
import { testEventFor, testedTarget } from './targets/target-test.js'
import type { UnfoundBacklogs } from './unfound-backlogs.js'

export interface DestinationOperations {
  /** Sends an event of the type `test.v0`; the reason if the destination did not accept it in time. */
  sendTestEvent(row: Row): Promise<{ eventId: string } | { refusal: string }>
  /** Sends one to a target that is not stored. */
  testTarget(accountId: string, target: Target): Promise<TargetTest>
  /** Finds out whether the destination could be delivered to, without writing to it; if so, tries now. */
  check(row: Row): Promise<DestinationCheck>
  /** Tries to deliver now, unless it is paused by hand; the state before, undefined if no deliverer answers. */
  tryNow(row: Row): Promise<LaneStatus | undefined>
  status(row: Row): Promise<DeliveryStatus>
  /** The same for many, in the order of the rows. */
  statuses(rows: readonly Row[]): Promise<DestinationStatus[]>
  /** Those whose state is the worst, with the most events waiting; `undefined` if no deliverer answers. */
  worst(rows: readonly Row[], max: number): Promise<Row[] | undefined>
  /** Totals of the sources of a subscription, by source and destination. */
  sourceCounts(subscriptionId: string): SourceCounts[]
  /** Its last losses, by reason. */
  losses(row: Row): readonly Loss[]
  /** How many events waited over the last day. */
  backlog(row: Row): BacklogHistory
  /** The last requests, the newest first; undefined if no deliverer answers. */
  attempts(row: Row): Promise<readonly DeliveryAttempt[] | undefined>
}

/** Events that a destination never gets, of the last hour in which any were dropped. */
export interface Loss {
  readonly reason: DropReason
  readonly events: number
  /** Milliseconds since the epoch, of the first and the last drop. */
  readonly beganAtMs: number
  readonly endedAtMs: number
}

/** For a test event or a check. */
const answerWithinMs = 10_000

interface DestinationOperationsDeps {
  readonly nats: Nats
  readonly partitions: Pick<PartitionSet, 'all'>
  readonly books: BooksKeeper
  readonly secrets: SecretsView
  readonly sealer: Sealer
  readonly access: DestinationAccess
  readonly behind: Pick<BehindDestinations, 'of'>
  readonly backlogs: Pick<Backlogs, 'of'>
  readonly unfound: Pick<UnfoundBacklogs, 'has'>
  readonly retentionMs: number
}

export function destinationOperations(deps: DestinationOperationsDeps): DestinationOperations {
  const states = new DeliveryStates((subject, data, waitMs) => deps.nats.gather(subject, data, waitMs))
  return {
    async sendTestEvent(row) {
      const config = await configWhenAvailable(row, deps)
      if (config === undefined) return { refusal: `${notYet.msg} Try again.` }
      const event = testEventFor(row)
      const sent = await sendTestEvent(config, event, answerWithinMs, deps.access)
      if (sent.ok) {
        await states.tryNow(row.id)
        return { eventId: event.partitionKey }
      }
      return {
        refusal: `The destination did not accept the test event: ${sent.problem.code}: ${sent.problem.msg}`,
      }
    },

    testTarget: (accountId, target) =>
      testedTarget(accountId, target, { access: deps.access, timeoutMs: answerWithinMs }),

    async check(row) {
      const config = await configWhenAvailable(row, deps)
      const found =
        config === undefined
          ? fail(notYet)
          : await checkDestination(config, testEventFor(row), answerWithinMs, deps.access)
      if (found.ok) await states.tryNow(row.id)
      return shownCheck(found, row)
    },

    tryNow: (row) => states.tryNow(row.id),

    attempts: (row) => attemptsOf(deps.nats, row.id),

    backlog: ({ id }) => deps.backlogs.of(id, deps.books.books.destination(id).backlog),

    status: (row) => statusOf({ ...deps, states }, row),

    statuses: (rows) => statusesOf({ ...deps, states }, rows),

    async worst(rows, max) {
      if (rows.length <= max) return [...rows]
      const troubled = await states.troubled()
      if (troubled === undefined) return undefined
      const counts = deps.books.books.destinations(rows.map(({ id }) => id))
      const badness = ({ id }: Row): number => severityOf(troubled.get(id) ?? 'healthy')
      const waiting = ({ id }: Row): number => counts.get(id)?.backlog ?? 0
      return rows
        .toSorted((one, other) => badness(other) - badness(one) || waiting(other) - waiting(one))
        .slice(0, max)
    },

    sourceCounts: (id) => sourceCountsOf(deps.books.books, id),

    losses: (row) => lossesOf(deps.books.books, row.id),
  }
}

export function sourceCountsOf({ sources }: Pick<Books, 'sources'>, subscriptionId: string): SourceCounts[] {
  const found: SourceCounts[] = []
  for (const { subscription, kind, destination, asked, produced, filtered } of sources)
    if (subscription === subscriptionId)
      found.push({
        type: kind,
        destination_id: destination,
        looked_at: asked,
        produced,
        kept_back: filtered,
      })
  return found
}

const lossesOf = (books: Books, id: string): Loss[] =>
  dropReasons.flatMap((reason) => {
    const { episode } = books.dropped(id, reason)
    if (episode === null) return []
    const { beganAt: beganAtMs, endedAt: endedAtMs, kinds } = episode
    return [{ reason, events: sumOf(kinds), beganAtMs, endedAtMs }]
  })

function shownCheck(found: Result<Finding, Fault>, row: Row): DestinationCheck {
  if (found.ok) {
    const { mayWrite, proved, notProved } = found.value
    const result = mayWrite ? 'passed' : 'unproved'
    return { result, proved: [...proved], not_proved: [...notProved], error: null, advice: null, actions: [] }
  }
  const { class: cause, code, msg } = found.problem
  const error = { code, msg }
  return {
    result: 'failed',
    proved: [],
    not_proved: [],
    error,
    advice: adviceFor(cause, row, null, null, error),
    actions: actionsFor(cause, row.id),
  }
}

/** The secret comes from another bucket than the row. */
const notYet: Fault = {
  class: 'transient',
  code: 'NotAvailable',
  msg: 'The credentials of the destination are not available yet.',
}

const secretLooks = 40
const secretLookMs = 50

/** Waits for the row's secret, which comes from another bucket and can arrive later than the row. */
async function configWhenAvailable(
  row: Row,
  { secrets, sealer }: Pick<DestinationOperationsDeps, 'secrets' | 'sealer'>,
): Promise<DestinationConfig | undefined> {
  for (let look = 1; ; look += 1) {
    const config = destinationConfig(row, secrets, sealer)
    if (config !== undefined || look === secretLooks) return config
    await sleep(secretLookMs)
  }
}

/** How long the deliverers have to answer; the client waits, too. */
const answerWaitMs = 500

/** Asks all deliverers. */
async function attemptsOf(nats: Pick<Nats, 'gather'>, id: string) {
  const answers = await nats.gather(attemptsSubject, id, answerWaitMs)
  if (answers === undefined || answers.length === 0) return undefined
  return answers
    .flatMap((answer) => jsonOf<DeliveryAttempt[] | null>(answer) ?? [])
    .toSorted((a, b) => (a.at < b.at ? 1 : -1))
    .slice(0, attemptsMax)
}
