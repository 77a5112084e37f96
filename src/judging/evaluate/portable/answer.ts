/** One decision about a record that was given as an object, as `POST /decide` answers. */

import type { GeoLookup } from '../../../delivery/record/geo.js'
import { parseDecisionRequest } from '../../../delivery/record/record.js'
import { badRequest, WeirError } from '../../../ground/core/errors.js'
import { type GivenRecord, wrongAssumed } from '../../../words/resource/fields/given-record.js'
import type { Decision } from '../../../words/shape/decisions/decision.js'
import { decideRecord } from '../decide.js'
import type { PolicySet } from '../policy-set.js'
import { assumedOf, withAssumed } from '../policy-test.js'
import { accountId } from './given-configuration.js'

/** Throws a `WeirError` if it is no record, or names an edge that there is not. */
export function answerTo(policySet: PolicySet, given: object, geo: GeoLookup, explain: boolean): Decision {
  const parsed = parseDecisionRequest(given)
  if (!parsed.ok) throw badRequest(parsed.problem.msg)
  const complaint = wrongAssumed(given as GivenRecord)
  if (complaint !== undefined) throw badRequest(`The record is refused: ${complaint}.`)
  const { record } = parsed.value
  const lookup = withAssumed(assumedOf(given as GivenRecord))(geo)
  const decided = decideRecord(policySet, lookup, { record, explain }, accountId)
  if (!decided.ok) throw new WeirError(decided.problem.code, decided.problem.msg)
  return decided.value.answer
}
