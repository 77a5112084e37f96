/** Dead letters for those who watch. */
import { isoMillis, now } from '../core/clock.js'
import { watchedDeadLetterBytesMax } from '../core/limits.js'
import type { LiveDeadLetter } from '../resource/live-dead-letter.js'
import { type DeadLetterOrigin, type DeadLetterType, originIn } from '../wire/dead-letter.js'
import { auditInStream, deadLetterHeaders } from '../wire/names.js'
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
      kind: typeOf(origin, headerOf),
      reason: origin.reason,
      sequence: origin.sequence,
      line: origin.line,
      subject: origin.subject,
      destination_id: origin.destinationId,
      event_id: origin.eventId,
      text: Buffer.from(data.subarray(0, watchedDeadLetterBytesMax)).toString(),
      size: origin.originalSize ?? data.length,
    }
    yield { key: account, line, weight: 1 }
  }

/** By its origin: the subject on which a letter arrives is not passed on. */
function typeOf({ destinationId }: DeadLetterOrigin, headerOf: HeaderOf): DeadLetterType {
  if (destinationId !== null) return 'event'
  return headerOf(deadLetterHeaders.stream) === auditInStream ? 'audit' : 'record'
}
