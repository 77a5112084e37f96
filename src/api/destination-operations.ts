/** Operations on a destination: a test event, and the delivery status over all processes. */
import type { BooksKeeper } from '../books/keeper.js'
import { isoMillis, now, sleep } from '../core/clock.js'
import { fail, type Result } from '../core/errors.js'
import { newId } from '../core/ids.js'
import type { Sealer } from '../core/seal.js'
import type { DestinationConfig, Fault, Finding } from '../deliver/destination.js'
import { kindNamed } from '../deliver/kinds.js'
import {
  checkDestination,
  type DestinationAccess,
  sendTestEvent,
  type TestEvent,
} from '../deliver/test-event.js'
import { testEventJson } from '../event/event-schemas.js'
import type { StoredMessage } from '../nats/messages.js'
import type { Nats } from '../nats/nats.js'
import { billingOf } from '../resource/billing.js'
import type { Row } from '../resource/define.js'
import { adviceFor, type DestinationCheck } from '../resource/delivery-status.js'
import { chosenTarget } from '../resource/event-destination.js'
import { destinationConfig } from '../view/destinations.js'
import type { SecretsView } from '../view/secrets-view.js'
import { attemptsOf } from './attempt-routes.js'
import type { BehindDestinations } from './behind-destinations.js'
import { DeliveryStates } from './delivery-states.js'
import type { DestinationOperations } from './destination-routes.js'
import { oldestPack } from './oldest-pack.js'

/** For a test event or a check. */
const answerWithinMs = 10_000

interface DestinationOperationsDeps {
  readonly nats: Nats
  readonly books: BooksKeeper
  readonly secrets: SecretsView
  readonly sealer: Sealer
  readonly access: DestinationAccess
  readonly behind: Pick<BehindDestinations, 'of'>
}

export function destinationOperations(deps: DestinationOperationsDeps): DestinationOperations {
  const states = new DeliveryStates((subject, data, waitMs) => deps.nats.gather(subject, data, waitMs))
  return {
    async sendTestEvent(row) {
      const config = await configWhenAvailable(row, deps)
      if (config === undefined) return { refusal: `${notYet.msg} Try again.` }
      const event = testEventFor(row)
      const sent = await sendTestEvent(config, event, answerWithinMs, deps.access)
      if (sent.ok) return { eventId: event.partitionKey }
      return {
        refusal: `The destination did not accept the test event: ${sent.problem.code}: ${sent.problem.msg}`,
      }
    },

    async check(row) {
      const config = await configWhenAvailable(row, deps)
      const found =
        config === undefined
          ? fail(notYet)
          : await checkDestination(config, testEventFor(row), answerWithinMs, deps.access)
      return shownCheck(found, row)
    },

    attempts: (row) => attemptsOf(deps.nats, row.id),

    async status(row) {
      const { books } = deps.books
      const { kind, packing } = chosenTarget(row['target'] as never)
      const [{ usages, ...state }, oldest, behind] = await Promise.all([
        states.of(row.id, books.lastOutcomes(row.id)),
        oldestPack(deps.nats, row.id),
        deps.behind.of(row.id),
      ])
      const { produced, filtered, delivered, dead_lettered, retried, backlog } = books.destination(row.id)
      return {
        ...state,
        advice: adviceFor(state.cause, row, behind),
        backlog: { events: backlog, oldest_at: backlog === 0 ? null : storedAt(oldest) },
        behind,
        counts: { produced, filtered, delivered, dead_lettered, retried },
        billing: billingOf(kindNamed(kind), packing, usages),
      }
    },
  }
}

function shownCheck(found: Result<Finding, Fault>, row: Row): DestinationCheck {
  if (found.ok) {
    const { mayWrite, proved, notProved } = found.value
    const result = mayWrite ? 'passed' : 'unproved'
    return { result, proved: [...proved], not_proved: [...notProved], error: null, advice: null }
  }
  const { class: cause, code, msg } = found.problem
  return { result: 'failed', proved: [], not_proved: [], error: { code, msg }, advice: adviceFor(cause, row) }
}

/** The secret comes from another bucket than the row. */
const notYet: Fault = {
  class: 'transient',
  code: 'NotAvailable',
  msg: 'The credentials of the destination are not available yet.',
}

function testEventFor({ account_id, id }: Row): TestEvent {
  const eventId = newId('ev_')
  const timestampMs = now()
  return { partitionKey: eventId, timestampMs, json: testEventJson(eventId, timestampMs, account_id, id) }
}

const storedAt = (pack: StoredMessage | undefined): string | null =>
  pack === undefined ? null : isoMillis(pack.storedAtMs)

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
