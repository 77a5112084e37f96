/** What needs a hand at dead letters: one finding for each type. */
import { isoMillis, now } from '../core/clock.js'
import type { Attention } from '../shape/overview.js'
import type { DeadLetterType } from '../wire/dead-letter.js'
import { attention, clockText, counted } from './destination-attention.js'

/** Dead letters of one type. */
export interface LetterTally {
  count: number
  firstMs: number
  readonly lastMs: number
}

const letterNouns: Readonly<Record<DeadLetterType, string>> = {
  record: 'record',
  event: 'event',
  audit: 'audit event',
}

export function letterFinding(
  type: DeadLetterType,
  { count, firstMs, lastMs }: LetterTally,
  { uri, isWhole }: { readonly uri: string; readonly isWhole: boolean },
): Attention {
  const latest = isoMillis(lastMs)
  const number = `${isWhole ? '' : 'At least '}${counted(count, letterNouns[type])}`
  const verb = count === 1 ? 'was' : 'were'
  return attention({
    type: 'dead_letters',
    severity: 'attention',
    sentence: `${number} ${verb} set aside as ${count === 1 && isWhole ? 'a dead letter' : 'dead letters, the last'} at ${clockText(latest, now())}.`,
    count,
    since: isoMillis(firstMs),
    latest,
    kind: type,
    uri,
  })
}
