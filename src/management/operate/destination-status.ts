/** The delivery status of destinations, over all processes. */
import type { Books } from '../../delivery/books/books.js'
import type { DestinationCounts } from '../../delivery/books/destination-totals.js'
import { dropReasons } from '../../delivery/books/dropped.js'
import type { BooksKeeper } from '../../delivery/books/keeper.js'
import { oldestPack, warningMs } from '../../delivery/deliver/expiry.js'
import { kindNamed } from '../../delivery/deliver/kinds.js'
import type { PartitionSet } from '../../delivery/wire/partitions.js'
import { isoMillis, now } from '../../ground/core/clock.js'
import { eachOf } from '../../ground/core/concurrency.js'
import type { StoredMessage } from '../../ground/nats/messages.js'
import type { Nats } from '../../ground/nats/nats.js'
import { chosenTarget } from '../../words/resource/destination-target.js'
import { keepsRecords } from '../../words/resource/event-destination.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { DeliveryStatus, DestinationStatus } from '../../words/shape/delivery-status.js'
import { billingOf } from './advice/billed-units.js'
import { actionsFor, adviceFor, isUnheard, unfoundAdvice, unheardAdvice } from './advice/delivery-advice.js'
import type { BehindDestinations } from './behind-destinations.js'
import type { DeliveryStates } from './delivery-states.js'
import type { UnfoundBacklogs } from './unfound-backlogs.js'

interface StatusDeps {
  readonly nats: Nats
  readonly partitions: Pick<PartitionSet, 'all'>
  readonly books: BooksKeeper
  readonly behind: Pick<BehindDestinations, 'of'>
  readonly unfound: Pick<UnfoundBacklogs, 'has'>
  readonly states: DeliveryStates
  readonly retentionMs: number
}

/** Reads of the oldest packs at the same time. */
const statusesAtOnce = 8

/** Deliverers are asked about so many at once: their answer must fit a message. */
const askedAtOnce = 100

/** In the order of the rows. */
export async function statusesOf(deps: StatusDeps, rows: readonly Row[]): Promise<DestinationStatus[]> {
  const found: DestinationStatus[] = []
  for (let from = 0; from < rows.length; from += askedAtOnce)
    found.push(...(await statusesAskedOnce(deps, rows.slice(from, from + askedAtOnce))))
  return found
}

async function statusesAskedOnce(deps: StatusDeps, rows: readonly Row[]): Promise<DestinationStatus[]> {
  const heardSinceMs = await deps.states.hear(rows.map(({ id }) => id))
  const seen = new Map<Row, Seen>()
  await eachOf(rows, statusesAtOnce, async (row) => {
    seen.set(row, await seenOf(deps, row, heardSinceMs))
  })
  const counts = deps.books.books.destinations(rows.map(({ id }) => id))
  return rows.map((row) => {
    const status = statusIn(deps, row, seen.get(row)!, counts.get(row.id)!)
    return { destination_id: row.id, description: status.description, status }
  })
}

export async function statusOf(deps: StatusDeps, row: Row): Promise<DeliveryStatus> {
  const seen = await seenOf(deps, row)
  return statusIn(deps, row, seen, deps.books.books.destination(row.id))
}

/** Everything that must be waited for. */
type Seen = Awaited<ReturnType<typeof seenOf>>

/** `heardSinceMs`: reports from then on need no question. */
async function seenOf(
  { nats, partitions, books, behind, states }: StatusDeps,
  { id }: Row,
  heardSinceMs?: number,
) {
  const [state, oldest, isBehind] = await Promise.all([
    states.of(id, books.books.lastOutcomes(id), heardSinceMs),
    oldestPack(nats, partitions, id),
    behind.of(id),
  ])
  return { state, oldest, behind: isBehind }
}

/**
 * The counts are read last, all at the same time: events that were delivered while the stream was read are no backlog any
 * more.
 */
function statusIn(
  { books: { books }, unfound, retentionMs }: StatusDeps,
  row: Row,
  { state: { usages, ...state }, oldest, behind }: Seen,
  destinationCounts: DestinationCounts,
): DeliveryStatus {
  const { backlog: events, ...counts } = destinationCounts
  const { kind, packing } = chosenTarget(row['target'] as never)
  const backlog = { events, ...timesOf(events === 0 ? undefined : oldest, row, retentionMs) }
  const isUnfound = oldest === undefined && unfound.has(row.id, destinationCounts)
  return {
    kind,
    description: (row['description'] as string | undefined) ?? null,
    ...state,
    advice: joined(
      isUnheard(state, now())
        ? unheardAdvice
        : adviceFor(state.cause, row, behind, ifNear(backlog.expires_at, retentionMs), state.last_error),
      isUnfound ? unfoundAdvice(events) : null,
    ),
    actions: actionsFor(state.cause, row.id),
    backlog,
    dropped: droppedOf(books, row.id),
    behind,
    counts,
    billing: billingOf(kindNamed(kind), packing, usages),
  }
}

const droppedOf = (books: Books, id: string): DeliveryStatus['dropped'] =>
  dropReasons.flatMap((reason) =>
    Object.entries(books.dropped(id, reason).kinds).map(([type, events]) => ({ type, reason, events })),
  )

const joined = (...texts: readonly (string | null)[]): string | null =>
  texts.filter((text) => text !== null).join(' ') || null

/** The times at which the oldest pack was stored and will be dropped. */
function timesOf(oldest: StoredMessage | undefined, row: Row, retentionMs: number) {
  if (oldest === undefined) return { oldest_at: null, expires_at: null }
  const expires_at = keepsRecords(row) ? null : isoMillis(oldest.storedAtMs + retentionMs)
  return { oldest_at: isoMillis(oldest.storedAtMs), expires_at }
}

/** A time that is not further away than that of the warning. */
const ifNear = (expiresAt: string | null, retentionMs: number): string | null =>
  expiresAt !== null && Date.parse(expiresAt) - now() < warningMs(retentionMs) ? expiresAt : null
