/**
 * Dead letters for those who watch. An event is of the account of its destination. A record says itself whose it is, by
 * its account or its edge; if it is too broken for that, no account sees it, only the operator, in the stream.
 */
import { isoMillis, now } from '../core/clock.js'
import { watchedDeadLetterBytesMax } from '../core/limits.js'
import type { LiveDeadLetter } from '../resource/live-dead-letter.js'
import type { ViewState } from '../view/view-state.js'
import { deadLetterHeaders } from '../wire/names.js'
import type { HeaderOf, OfferedLine } from './live-feed.js'

/** The account of a destination or an edge, by its id. */
export type AccountOf = (id: string) => string | undefined

export const accountsIn =
  (stateOf: () => ViewState): AccountOf =>
  (id) => {
    const kinds = ['event_destination', 'tcp_edge', 'https_edge']
    const rows = kinds.map((kind) => stateOf().rows.get(kind)?.get(id))
    return rows.find((row) => row !== undefined)?.account_id
  }

export const deadLettersIn = (accountOf: AccountOf) =>
  function* (
    data: Uint8Array,
    isWatched: (accountId: string) => boolean,
    headerOf: HeaderOf,
  ): Generator<OfferedLine<LiveDeadLetter>> {
    const destination = headerOf(deadLetterHeaders.destination)
    const account = destination === '' ? accountOfRecord(data, accountOf) : accountOf(destination)
    if (account === undefined || !isWatched(account)) return
    const line = {
      at: isoMillis(now()),
      kind: destination === '' ? ('record' as const) : ('event' as const),
      reason: headerOf(deadLetterHeaders.reason),
      sequence: numberIn(headerOf(deadLetterHeaders.sequence)),
      line: numberIn(headerOf(deadLetterHeaders.line)),
      destination_id: destination || null,
      event_id: headerOf(deadLetterHeaders.eventId) || null,
      text: Buffer.from(data.subarray(0, watchedDeadLetterBytesMax)).toString(),
      size: numberIn(headerOf(deadLetterHeaders.originalSize)) ?? data.length,
    }
    yield { key: account, line, weight: 1 }
  }

const numberIn = (text: string): number | null => (text === '' ? null : Number(text))

function accountOfRecord(data: Uint8Array, accountOf: AccountOf): string | undefined {
  const record = parsed(data)
  if (typeof record?.account_id === 'string') return record.account_id
  return typeof record?.edge_id === 'string' ? accountOf(record.edge_id) : undefined
}

function parsed(data: Uint8Array): { account_id?: unknown; edge_id?: unknown } | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(data).toString())
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}
