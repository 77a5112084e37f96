/**
 * The question of a policy test: a record, and what is assumed about its client. Without schemas: browsers check it, too.
 */

import { parseDecisionRequest } from '../../../delivery/record/record.js'
import { utf8Length } from '../../../ground/core/bytes.js'
import { complaintOf } from '../../../ground/core/errors.js'

/** A question as JSON. */
const givenBytesMax = 16 * 1024

export type GivenRecord = Readonly<Record<string, unknown>> & {
  readonly country?: string | null
  readonly asn?: number | null
}

/** The problem with a question's assumptions about its client, without a full stop. */
export const wrongAssumed = ({ country, asn }: GivenRecord): string | undefined => {
  if (country != null && !(typeof country === 'string' && /^[A-Z]{2}$/.test(country)))
    return 'the member "country" must be two capital letters, as ISO 3166-1 has them'
  if (asn != null && !(Number.isInteger(asn) && asn >= 0 && asn < 2 ** 32))
    return 'the member "asn" must be a whole number from 0 to 4294967295'
  return undefined
}

/** The problem with the question of a policy test, without a full stop. */
export function wrongGiven(given: GivenRecord): string | undefined {
  if (utf8Length(JSON.stringify(given)) > givenBytesMax)
    return `at most ${givenBytesMax} bytes of JSON are allowed`
  return wrongAssumed(given) ?? complaintOf(parseDecisionRequest(given))?.replace(/\.$/, '')
}
