/** A record, the decision about it and where it belongs, as events and their filters read them. */
import type { Address } from '../core/address/ip.js'
import { shown } from '../core/errors.js'
import type { DecidedBy, Decision, ShownDecision } from '../event/define.js'
import type { Geo } from '../record/geo-entry.js'
import type { PolicyContext } from '../record/policy-scope.js'
import type { TrafficRecord } from '../record/traffic-record.js'
import type { Endpoint } from './edges.js'
import type { Verdict } from './evaluate.js'
import { decideAddress, denyRuleFor } from './ip-policy.js'
import type { Restrictions } from './ip-restriction.js'
import type { PolicySet } from './policy-set.js'

export class Judgement implements ShownDecision {
  readonly record: TrafficRecord
  readonly endpoint: Endpoint
  readonly verdict: Verdict
  readonly #context: PolicyContext
  readonly #policySet: PolicySet
  #decidedBy: DecidedBy | undefined

  constructor(
    record: TrafficRecord,
    endpoint: Endpoint,
    context: PolicyContext,
    verdict: Verdict,
    policySet: PolicySet,
  ) {
    this.record = record
    this.endpoint = endpoint
    this.verdict = verdict
    this.#context = context
    this.#policySet = policySet
  }

  get decision(): Decision {
    return this.verdict.decision
  }

  get decidedBy(): DecidedBy {
    this.#decidedBy ??= decidedBy(this.#policySet, this.endpoint, this.verdict, this.client)
    return this.#decidedBy
  }

  get ipPolicy(): Verdict['ipPolicy'] {
    return this.verdict.ipPolicy
  }

  /** The hostport by which the edge was found; undefined if the record names it. */
  get hostport(): string | undefined {
    return this.endpoint.edgeId === undefined ? undefined : this.#policySet.hostportOf(this.record)
  }

  get edgeId(): string | undefined {
    return this.endpoint.edgeId
  }

  get routeId(): string | undefined {
    return this.endpoint.route?.id
  }

  /** The address of the client. */
  get client(): Address {
    return this.#context.client
  }

  get geo(): Geo {
    return this.#context.geo
  }

  get warnings(): readonly string[] {
    return warningsOf(this.verdict)
  }

  get revision(): number {
    return this.#policySet.revision
  }
}

/** Restrictions that only warn and would have blocked, and expressions without a result: each as a sentence. */
const warningsOf = ({ warnings, failures }: Verdict): string[] => [
  ...warnings.map(({ msg }) => msg),
  ...failures.map(
    ({ policy, expression, msg }) =>
      `The expression ${shown(expression)} of ${policy.label} has no result: ${msg}`,
  ),
]

const nothing: DecidedBy = {
  type: 'none',
  id: null,
  name: null,
  ipPolicyId: null,
  ruleId: null,
  cidr: null,
}

/**
 * Finds the part of the configuration that stopped a connection, after the decision: few events and explanations need it.
 * If both the account's restriction and the module block, it is the restriction.
 */
function decidedBy(
  policySet: Restrictions,
  endpoint: Endpoint,
  { decision, policy }: Pick<Verdict, 'decision' | 'policy'>,
  client: Address,
): DecidedBy {
  const { accountId, edgeId = null, route, ipPolicyIds = [] } = endpoint
  if (decision === 'allow') return nothing
  if (policy !== null) return { ...nothing, type: 'traffic_policy', id: policy.ownerId, name: policy.label }
  const restriction = accountId === undefined ? undefined : policySet.restriction(accountId, 'endpoints')
  const isRestricted =
    restriction?.enforced && decideAddress(policySet, restriction.ip_policy_ids, client) === 'block'
  if (isRestricted) {
    const { id, description, ip_policy_ids } = restriction
    const name = description || null
    return { type: 'restriction', id, name, ...ruleOf(policySet, ip_policy_ids, client) }
  }
  return {
    type: 'ip_restriction',
    id: route?.id ?? edgeId,
    name: null,
    ...ruleOf(policySet, ipPolicyIds, client),
  }
}

function ruleOf(
  policySet: Restrictions,
  policyIds: readonly string[],
  client: Address,
): Pick<DecidedBy, 'ipPolicyId' | 'ruleId' | 'cidr'> {
  const found = denyRuleFor(policySet, policyIds, client)
  if (found === undefined) return { ipPolicyId: null, ruleId: null, cidr: null }
  return { ipPolicyId: found.policyId, ruleId: found.rule.id, cidr: found.rule.cidr }
}
