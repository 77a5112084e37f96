/** Runs policy tests against a configuration. Pure: the same tests and configuration give the same outcomes. */

import type { GeoLookup } from '../../delivery/record/geo.js'
import type { Geo } from '../../delivery/record/geo-entry.js'
import { type DecisionRequest, parseDecisionRequest } from '../../delivery/record/record.js'
import type { Decision } from '../../words/event/define.js'
import type { Expectation, ExpectedDecision } from '../../words/resource/fields/expectation.js'
import type { GivenRecord } from '../../words/resource/fields/given-record.js'
import type { Explanation } from '../../words/shape/decisions/decision.js'
import { decideRecord } from './decide.js'
import { shownPart } from './explain.js'
import type { Judgement } from './judgement.js'
import type { PolicySet } from './policy-set.js'

type DecidingPart = Explanation['decided_by']

export interface TestOutcome {
  readonly passed: boolean
  /** Null if the question can't be answered: `problem` says why. */
  readonly decision: Decision | null
  readonly decidedBy: DecidingPart | null
  /** The decision if everything were enforced; null if the test says nothing about it. */
  readonly shadow: { readonly decision: Decision; readonly decided_by: DecidingPart } | null
  readonly problem: string | null
}

/** The question, parsed; the database says the rest about the client. */
interface Question {
  readonly record: DecisionRequest['record'] | undefined
  readonly problem: string
  /** The databases, with what the test says about the client. */
  readonly geoOf: (geo: GeoLookup) => GeoLookup
}

/** Values of rows are immutable: each is parsed once. */
const questions = new WeakMap<GivenRecord, Question>()

export function questionOf(given: GivenRecord): Question {
  const known = questions.get(given)
  if (known !== undefined) return known
  const parsed = parseDecisionRequest(given)
  const question = {
    record: parsed.ok ? parsed.value.record : undefined,
    problem: parsed.ok ? '' : parsed.problem.msg,
    geoOf: withAssumed(assumedOf(given)),
  }
  questions.set(given, question)
  return question
}

/** The facts of a question about its client. */
export function assumedOf({ country, asn }: GivenRecord): Geo | undefined {
  if (country == null && asn == null) return undefined
  return { ...(country == null ? {} : { country_code: country }), ...(asn == null ? {} : { asn }) }
}

/**
 * A database that says this about the client. What it knows of another country or system is left out: a city of one country
 * would contradict the other.
 */
export const withAssumed =
  (assumed: Geo | undefined) =>
  (geo: GeoLookup): GeoLookup =>
    assumed === undefined ? geo : { lookup: (ip) => ({ ...consistent(geo.lookup(ip), assumed), ...assumed }) }

function consistent(known: Geo, { country_code = known.country_code, asn = known.asn }: Geo): Geo {
  const { asn: system, as_org, ...place } = known
  return {
    ...(country_code === known.country_code ? place : {}),
    ...(system === undefined ? {} : { asn: system }),
    ...(as_org === undefined || asn !== system ? {} : { as_org }),
  }
}

/** The decision about what a test gives, as `POST /decide` makes it for the account. */
function decided(
  policySet: PolicySet,
  geo: GeoLookup,
  accountId: string,
  given: GivenRecord,
  explain: boolean,
) {
  const { record, problem, geoOf } = questionOf(given)
  if (record === undefined) return problem
  const result = decideRecord(policySet, geoOf(geo), { record, explain }, accountId)
  return result.ok ? result.value : result.problem.msg
}

export function runPolicyTest(
  policySet: PolicySet,
  geo: GeoLookup,
  accountId: string,
  given: GivenRecord,
  expect: Expectation,
): TestOutcome {
  const found = decided(policySet, geo, accountId, given, false)
  if (typeof found === 'string')
    return { passed: false, decision: null, decidedBy: null, shadow: null, problem: found }
  const { judgement } = found
  const { decision } = judgement
  const shadow = expect.shadow ? shadowOf(judgement) : null
  const isShadowRight = shadow === null || matches(shadow, expect.shadow!)
  if (isShadowRight && decision === expect.decision && expect.decided_by === undefined)
    return { passed: true, decision, decidedBy: null, shadow, problem: null }
  const decidedBy = shownPart(judgement.decidedBy)
  const passed = isShadowRight && matches({ decision, decided_by: decidedBy }, expect)
  return { passed, decision, decidedBy, shadow, problem: null }
}

/** If all that applies is enforced, it is the decision itself. */
function shadowOf(judgement: Judgement): NonNullable<TestOutcome['shadow']> {
  const { decision, decidedBy } = judgement.shadow ?? judgement
  return { decision, decided_by: shownPart(decidedBy) }
}

const matches = (found: NonNullable<TestOutcome['shadow']>, expected: ExpectedDecision): boolean =>
  found.decision === expected.decision &&
  Object.entries(expected.decided_by ?? {}).every(
    ([name, value]) => found.decided_by[name as keyof DecidingPart] === value,
  )

/** Why what a test gives is decided like this; undefined if it can't be decided. */
export function explainPolicyTest(
  policySet: PolicySet,
  geo: GeoLookup,
  accountId: string,
  given: GivenRecord,
): Explanation | undefined {
  const found = decided(policySet, geo, accountId, given, true)
  return typeof found === 'string' ? undefined : found.answer.explanation
}
