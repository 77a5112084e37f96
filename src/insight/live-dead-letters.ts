/** Dead letters for those who watch. */
import { isoMillis, now } from '../core/clock.js'
import type { LiveDeadLetter } from '../shape/live-dead-letter.js'
import type { DeadLetterOrigin, DeadLetterType } from '../wire/dead-letter.js'
import { auditInStream, deadLetterHeaders } from '../wire/names.js'
import { lettersIn, type StoredLetter } from '../wire/shared-dead-letters.js'
import type { OwnerOf } from './dead-letter-owner.js'
import type { HeaderOf, OfferedLine } from './live-feed.js'

/** Bytes of a dead letter that a watcher is shown. */
const watchedDeadLetterBytesMax = 1_024

export const deadLettersIn = (ownerOf: OwnerOf) =>
  function* (
    data: Uint8Array,
    isWatched: (accountId: string) => boolean,
    headerOf: HeaderOf,
  ): Generator<OfferedLine<LiveDeadLetter>> {
    const letters = lettersIn(data, headerOf)
    for (let index = 0; index < letters.size; index += 1) {
      const letter = letters.at(index)
      const owner = ownerOf(letter.origin, letter.data)
      if (owner !== undefined && isWatched(owner))
        yield { key: owner, line: lineOf(letter, headerOf), weight: 1 }
    }
  }

const lineOf = ({ origin, data }: StoredLetter, headerOf: HeaderOf): LiveDeadLetter => ({
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
})

/** By its origin: the subject on which a letter arrives is not passed on. */
function typeOf({ destinationId }: DeadLetterOrigin, headerOf: HeaderOf): DeadLetterType {
  if (destinationId !== null) return 'event'
  return headerOf(deadLetterHeaders.stream) === auditInStream ? 'audit' : 'record'
}
