/**
 * The entry point `weir/evaluate`: decisions about records, for a service, a worker or a browser. It knows no NATS, no
 * ClickHouse and nothing of Node.
 *
 *     const compiled = await compile({ tcp_edges: [{ hostports: ['ssh.example.com:22'], … }], ip_policies: […] })
 *     decide(compiled, { type: 'tcp_connection', conn: { client_ip, server_name, server_port } }).decision
 */

import type { GeoLookup } from '../../../delivery/record/geo.js'
import type { Geo } from '../../../delivery/record/geo-entry.js'
import { forbidCode } from '../../../ground/expr/draft.js'
import type { Decision, Explanation } from '../../../words/shape/decisions/decision.js'
import type { PolicySet } from '../policy-set.js'
import { answerTo } from './answer.js'
import { compileRead } from './given-configuration.js'
import { readConfiguration } from './relations.js'

/** The result of `compile`: for `decide` and `explain`, as often as needed. */
class Compiled {
  /** @internal */
  readonly policySet: PolicySet

  constructor(policySet: PolicySet) {
    this.policySet = policySet
  }
}

/** Facts about the client's address; what a record itself says (`country`, `asn`) comes first. */
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
 * Compiles a configuration: edges with hostports and modules, IP policies with rules, restrictions, as the API shows
 * them. Throws a `WeirError` if something is wrong with it; its `message` and `details` name the places, its `places`
 * the characters of expressions. Rules that have expired are left out: compile again when one expires. Large
 * configurations are compiled in slices of 5 ms, so that others get their turns.
 */
export const compile = async (configuration: unknown): Promise<Compiled> =>
  new Compiled(await compileRead(readConfiguration(configuration)))

/** Decides about a connection or request. Throws a `WeirError` if it is no record, or names an edge that there is not. */
export function decide(compiled: Compiled, record: object, { geo }: DecideOptions = {}): Answer {
  const {
    revision: _,
    explanation: __,
    ...answer
  } = answerTo(compiled.policySet, record, geoLookup(geo), false)
  return answer
}

/** The same decision, with every rule and expression that was looked at. */
export function explain(compiled: Compiled, record: object, { geo }: DecideOptions = {}): ExplainedAnswer {
  const { revision: _, explanation, ...answer } = answerTo(compiled.policySet, record, geoLookup(geo), true)
  return { ...answer, explanation: explanation! }
}

const geoLookup = (geo: DecideOptions['geo'] = {}): GeoLookup => ({
  lookup: typeof geo === 'function' ? geo : () => geo,
})

/**
 * Makes no code from text from now on. Call it first in a page whose content security policy forbids that (no
 * `'unsafe-eval'`): it would report each attempt. Decisions are the same, some take longer.
 */
export const withoutGeneratedCode = (): void => forbidCode()
