/** Dead letters for those who watch. */
import { isoMillis, now } from '../core/clock.js'
import { watchedDeadLetterBytesMax } from '../core/limits.js'
import type { LiveDeadLetter } from '../resource/live-dead-letter.js'
import { originIn } from '../wire/dead-letter.js'
import { type AccountOf, accountOfLetter } from './dead-letter-owner.js'
import type { HeaderOf, OfferedLine } from './live-feed.js'

export const deadLettersIn = (accountOf: AccountOf) =>
  function* (
    data: Uint8Array,
    isWatched: (accountId: string) => boolean,
    headerOf: HeaderOf,
  ): Generator<OfferedLine<LiveDeadLetter>> {
    const origin = originIn(headerOf)
    const account = accountOfLetter(origin, data, accountOf)
    if (account === undefined || !isWatched(account)) return
    const line = {
      at: isoMillis(now()),
      kind: origin.destinationId === null ? ('record' as const) : ('event' as const),
      reason: origin.reason,
      sequence: origin.sequence,
      line: origin.line,
      destination_id: origin.destinationId,
      event_id: origin.eventId,
      text: Buffer.from(data.subarray(0, watchedDeadLetterBytesMax)).toString(),
      size: origin.originalSize ?? data.length,
    }
    yield { key: account, line, weight: 1 }
  }
