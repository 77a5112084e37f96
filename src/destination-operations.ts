/** What the API answers about a destination: a test event, and how delivery stands in all processes together. */
import type { DestinationOperations } from './api/destination-routes.js'
import { isoMillis, now, sleep } from './core/clock.js'
import { newId } from './core/ids.js'
import type { Nats } from './core/nats.js'
import type { KeptMessage } from './core/nats-messages.js'
import type { Sealer } from './core/seal.js'
import type { BooksKeeper } from './deliver/books-keeper.js'
import type { DestinationConfig } from './deliver/destination.js'
import { deliveriesStream, deliverySubject } from './deliver/destination-run.js'
import { type LaneState, type LaneStatus, type LastOutcomes, laterOutcomes } from './deliver/health.js'
import { type Reach, sendTestEvent } from './deliver/test-event.js'
import { testEventJson } from './event/event-schemas.js'
import type { Row } from './resource/define.js'
import { destinationConfig } from './store/destinations.js'
import type { SecretsView } from './store/secrets-view.js'

/** Every deliverer answers with the state of its lane. */
export const statusSubject = 'weir.status.destination'
/** Long enough for every deliverer to answer, short enough for a request to wait. */
const statusWaitMs = 300
const testEventTimeoutMs = 10_000

export interface DestinationOperationsDeps {
  readonly nats: Nats
  readonly books: BooksKeeper
  readonly secrets: SecretsView
  readonly sealer: Sealer
  readonly aws: Reach
}

export const destinationOperations = (deps: DestinationOperationsDeps): DestinationOperations => ({
  async sendTestEvent(row) {
    const config = await configOnceThere(row, deps)
    if (config === undefined)
      return { refusal: 'The credentials of the destination are not there yet: try again.' }
    const eventId = newId('ev_')
    const at = now()
    const json = testEventJson(eventId, at, row.account_id, row.id)
    const event = { partitionKey: eventId, timestampMs: at, json }
    const sent = await sendTestEvent(config, event, testEventTimeoutMs, deps.aws)
    if (sent.ok) return { eventId }
    return {
      refusal: `The destination did not accept the test event: ${sent.problem.code}: ${sent.problem.msg}`,
    }
  },

  async status(row) {
    const [answers, oldest] = await Promise.all([
      deps.nats.gather(statusSubject, row.id, statusWaitMs),
      oldestPack(deps.nats, row.id),
    ])
    const lanes = answers.map((answer) => JSON.parse(Buffer.from(answer).toString()) as LaneStatus)
    const { books } = deps.books
    const { produced, filtered, delivered, dead_lettered, retried, backlog } = books.destination(row.id)
    return {
      ...merged(lanes, books.lastOutcomes(row.id)),
      backlog: { events: backlog, oldest_at: backlog === 0 ? null : storedAt(oldest) },
      counts: { produced, filtered, delivered, dead_lettered, retried },
    }
  },
})

const storedAt = (pack: KeptMessage | undefined): string | null =>
  pack === undefined ? null : isoMillis(pack.storedAtMs)

/** The oldest pack that is not delivered: a killed server leaves some below the floor that were. */
async function oldestPack(nats: Nats, id: string): Promise<KeptMessage | undefined> {
  const consumer = await nats.consumerInfo(deliveriesStream, id)
  return nats.nextMessage(deliveriesStream, deliverySubject(id), (consumer?.ackFloor ?? 0) + 1)
}

const secretLooks = 40
const secretLookMs = 50

/** A row's secret comes by another way than the row, and may be a moment behind it. */
async function configOnceThere(
  row: Row,
  { secrets, sealer }: Pick<DestinationOperationsDeps, 'secrets' | 'sealer'>,
): Promise<DestinationConfig | undefined> {
  for (let look = 1; ; look += 1) {
    const config = destinationConfig(row, secrets, sealer)
    if (config !== undefined || look === secretLooks) return config
    await sleep(secretLookMs)
  }
}

const worst: readonly LaneState[] = ['healthy', 'throttled', 'failing', 'paused']

/** One state of all lanes: the worst of them, the last success and the last error of any that is or ever was. */
function merged(
  lanes: readonly LaneStatus[],
  known: LastOutcomes,
): Omit<LaneStatus, 'cause'> & { cause: string | null } {
  const [lane] = lanes.toSorted((a, b) => worst.indexOf(b.state) - worst.indexOf(a.state))
  if (lane === undefined)
    return { state: 'paused', cause: 'no deliverer answers', since: isoMillis(now()), ...known }
  return { ...lane, ...lanes.reduce(laterOutcomes, known) }
}
