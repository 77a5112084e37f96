/** The attention that dead letters need: one finding for each type. */

import type { DeadLetterType } from '../../delivery/wire/dead-letter.js'
import { isoMillis } from '../../ground/core/clock.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Links } from '../../words/resource/kind/define.js'
import type { Attention } from '../../words/shape/overview.js'
import { queryText } from '../exchange/query-values.js'
import { deadLettersPath } from './dead-letter-queries.js'
import { type DeadLetters, sightOf } from './dead-letters.js'
import { attention, counted, timeText } from './destination-attention.js'

/** For letters of all accounts, which the search looks at. */
const bounds = { bytesMax: 16 * 1024 * 1024, msMax: 1_000 }

interface Sources {
  readonly letters: Pick<DeadLetters, 'search'>
  readonly links: Pick<Links, 'uri'>
}

/** Counts the letters of an account by their type, as far as the bounds allow. */
export async function lettersAttention({ letters, links }: Sources, accountId: string): Promise<Attention[]> {
  const tallies = new Map<DeadLetterType, LetterTally>()
  const add = ({ type, storedAtMs }: { readonly type: DeadLetterType; readonly storedAtMs: number }) => {
    const tally = getOrMake(tallies, type, () => ({ count: 0, firstMs: 0, lastMs: storedAtMs }))
    tally.count += 1
    tally.firstMs = storedAtMs
    return false
  }
  const end = await letters.search(sightOf(accountId), {}, add, bounds)
  return [...tallies].map(([type, tally]) => {
    const uri = links.uri(`${deadLettersPath}?${queryText({ type })}`)
    return letterFinding(type, tally, { uri, isWhole: end === undefined })
  })
}

/** Dead letters of one type. */
interface LetterTally {
  count: number
  firstMs: number
  readonly lastMs: number
}

const letterNouns: Readonly<Record<DeadLetterType, string>> = {
  record: 'record',
  event: 'event',
  audit: 'audit event',
}

function letterFinding(
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
    sentence: `${number} ${verb} set aside as ${count === 1 && isWhole ? 'a dead letter' : 'dead letters, the last'} at ${timeText(latest)}.`,
    count,
    since: isoMillis(firstMs),
    latest,
    kind: type,
    uri,
  })
}
