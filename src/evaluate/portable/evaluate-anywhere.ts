/**
 * The entry point `weir/evaluate`: decisions about records, for a service, a worker or a browser. It knows no NATS, no ClickHouse
 * and nothing of Node.
 *
 *     const compiled = await compile({ tcp_edges: [{ hostports: ['ssh.example.com:22'], … }], ip_policies: […] })
 *     decide(compiled, { type: 'tcp_connection', conn: { client_ip, server_name, server_port } }).decision
 */
import { badRequest, WeirError } from '../../core/errors.js'
import type { GeoLookup } from '../../record/geo.js'
import type { Geo } from '../../record/geo-entry.js'
import { parseDecisionRequest } from '../../record/record.js'
import { type GivenRecord, wrongAssumed } from '../../resource/fields/given-record.js'
import type { Decision, Explanation } from '../../shape/decision.js'
import { decideRecord } from '../decide.js'
import type { PolicySet } from '../policy-set.js'
import { assumedOf, withAssumed } from '../policy-test.js'
import { accountId, compileRead } from './given-configuration.js'
import { readConfiguration } from './relations.js'

/** What `compile` makes: for `decide` and `explain`, as often as needed. */
class Compiled {
  readonly policySet: PolicySet

  constructor(policySet: PolicySet) {
    this.policySet = policySet
  }
}

/** What is known about the client's address; what a record itself says (`country`, `asn`) comes first. */
interface DecideOptions {
  /** `{ country_code, asn, … }`, or a function that finds it for an address. */
  readonly geo?: Geo | ((ip: string) => Geo)
}

/** As `POST /decide` answers. */
type Answer = Omit<Decision, 'revision' | 'explanation'>

interface ExplainedAnswer extends Answer {
  readonly explanation: Explanation
}

/**
 * Compiles a configuration: edges with hostports and modules, IP policies with rules, restrictions, as the API shows them. Throws
 * a `WeirError` if something is wrong with it; its `message` and `details` name the places, its `places` the characters of
 * expressions. Large ones are compiled in slices of 5 ms, so that others get their turns.
 */
export const compile = async (configuration: unknown): Promise<Compiled> =>
  new Compiled(await compileRead(readConfiguration(configuration)))

/** Decides about a connection or request. Throws a `WeirError` if it is no record, or names an edge that there is not. */
export function decide(compiled: Compiled, record: object, options: DecideOptions = {}): Answer {
  const { revision: _, explanation: __, ...answer } = answerTo(compiled, record, options, false)
  return answer
}

/** The same decision, with every rule and expression that was looked at. */
export function explain(compiled: Compiled, record: object, options: DecideOptions = {}): ExplainedAnswer {
  const { revision: _, explanation, ...answer } = answerTo(compiled, record, options, true)
  return { ...answer, explanation: explanation! }
}

function answerTo(
  { policySet }: Compiled,
  given: object,
  { geo }: DecideOptions,
  explain: boolean,
): Decision {
  const parsed = parseDecisionRequest(given)
  if (!parsed.ok) throw badRequest(parsed.problem.msg)
  const complaint = wrongAssumed(given as GivenRecord)
  if (complaint !== undefined) throw badRequest(`The record is refused: ${complaint}.`)
  const { record } = parsed.value
  const lookup = withAssumed(assumedOf(given as GivenRecord))(geoLookup(geo))
  const decided = decideRecord(policySet, lookup, { record, explain }, accountId)
  if (!decided.ok) throw new WeirError(decided.problem.code, decided.problem.msg)
  return decided.value.answer
}

const geoLookup = (geo: DecideOptions['geo'] = {}): GeoLookup => ({
  lookup: typeof geo === 'function' ? geo : () => geo,
})
