/**
 * Faults of many entries of one list, named at once: who imports a thousand lines would otherwise mend one at a time. The
 * message is the first one and how many more there are; `details` has them all by their place.
 */
import { WeirError } from '../core/errors.js'
import { entryFaultsMax } from '../core/limits.js'

/** Sentences by place: `rules[17].cidr`. */
export type Faults = Record<string, string>

/** Adds the sentence about an entry, under the member that it begins with. */
export function addFault(faults: Faults, entry: string, sentence: string): void {
  const [, place = entry] = /^"([^"]+)"/.exec(sentence) ?? []
  faults[place.startsWith(entry) ? place : entry] = sentence
}

/** The error about a list. `first`: the message if its entries are not the fault. */
export function refusalOf(
  first: string,
  faults: Faults,
  code: WeirError['code'] = 'ERR_INVALID_REQUEST',
): WeirError {
  const sentences = Object.values(faults)
  if (sentences.length < 2) return new WeirError(code, first)
  const more = sentences.length - 1
  const count = sentences.length === entryFaultsMax ? `at least ${more}` : String(more)
  return new WeirError(
    code,
    `${sentences[0]} ${count} more ${more === 1 ? 'entry is' : 'entries are'} wrong: see "details".`,
    { details: faults },
  )
}
