/**
 * Fields about the decision on a record, the part that decided, and the place of its client. Sources select them; none is
 * sent by default.
 */

import { policyNames } from '../../delivery/record/policy-names.js'
import type { ConnectionRecord } from '../../delivery/record/traffic-record.js'
import { oneOf } from '../../ground/expr/domain.js'
import {
  address,
  type DeclaredField,
  double,
  int32,
  int64,
  type ShadowDecision,
  type ShownDecision,
  serverName,
  text,
  texts,
  timestamp,
} from './define.js'

/** The field is filterable. */
const selected = (about: string) => ({ about, filterable: true, optIn: true })

/** Described like the name that traffic policies use. */
const named = (name: string) => {
  const { about, unit } = policyNames.find((each) => each.name === name) ?? {}
  if (about === undefined) throw new Error(`Traffic policies have no name ${name}.`)
  return { ...selected(about), ...(unit === undefined ? {} : { unit }) }
}

type Fields<S = unknown> = Readonly<Record<string, DeclaredField<S>>>

const decisions = oneOf('allow', 'block', 'deny')

const clientFields: Fields = {
  'conn.as_org': text((_, { geo }) => geo.as_org, named('conn.as_org')),
  'conn.asn': int64((_, { geo }) => geo.asn, named('conn.asn')),
  'conn.geo.city': text((_, { geo }) => geo.city, named('conn.geo.city')),
  'conn.geo.continent_code': text((_, { geo }) => geo.continent_code, named('conn.geo.continent_code')),
  'conn.geo.country': text((_, { geo }) => geo.country, named('conn.geo.country')),
  'conn.geo.country_code': text((_, { geo }) => geo.country_code, named('conn.geo.country_code')),
  'conn.geo.latitude': double((_, { geo }) => geo.latitude, named('conn.geo.latitude')),
  'conn.geo.longitude': double((_, { geo }) => geo.longitude, named('conn.geo.longitude')),
  'conn.geo.radius': double((_, { geo }) => geo.radius, named('conn.geo.radius')),
  'conn.geo.subdivision': text((_, { geo }) => geo.subdivision, named('conn.geo.subdivision')),
}

const placeFields: Fields = {
  'edge.id': text((_, { edgeId }) => edgeId, named('edge.id')),
  record_id: text(
    (_, { record }) => record.record_id,
    selected('The id of the record, as it was published.'),
  ),
  'route.id': text((_, { routeId }) => routeId, selected('Id of the route of an HTTPS edge.')),
}

const ifAllWere = 'if everything that is not enforced were; null if all that applied is.'

/** Another verdict on the same record: its fields begin with this name. */
export const verdictFields = <S>(
  name: string,
  verdictIn: (subject: S, decided: ShownDecision) => ShadowDecision | null,
  condition: string,
): Fields<S> => ({
  [`${name}.decided_by.cidr`]: text(
    (subject: S, decided) => verdictIn(subject, decided)?.decidedBy.cidr,
    selected(`The range of the rule that would decide ${condition}`),
  ),
  [`${name}.decided_by.id`]: text(
    (subject: S, decided) => verdictIn(subject, decided)?.decidedBy.id,
    selected(
      `Id of the restriction, or of the edge or route whose module or policy would decide ${condition}`,
    ),
  ),
  [`${name}.decided_by.ip_policy_id`]: text(
    (subject: S, decided) => verdictIn(subject, decided)?.decidedBy.ipPolicyId,
    selected(`Id of the IP policy with the rule that would decide ${condition}`),
  ),
  [`${name}.decided_by.name`]: text(
    (subject: S, decided) => verdictIn(subject, decided)?.decidedBy.name,
    selected(`Name of the traffic policy, or description of the restriction, that would decide ${condition}`),
  ),
  [`${name}.decided_by.rule_id`]: text(
    (subject: S, decided) => verdictIn(subject, decided)?.decidedBy.ruleId,
    selected(`Id of the deny rule that would decide ${condition}`),
  ),
  [`${name}.decided_by.type`]: text(
    (subject: S, decided) => verdictIn(subject, decided)?.decidedBy.type,
    selected(`What would stop the connection or request, as in \`decided_by.type\`, ${condition}`),
  ),
  [`${name}.decision`]: text((subject: S, decided) => verdictIn(subject, decided)?.decision, {
    ...selected(`What would be decided, as in \`decision\`, ${condition}`),
    domain: decisions,
  }),
})

/** Every kind that is made from a record has these. */
export const decisionFields: Fields = {
  ...clientFields,
  configuration_revision: int64(
    (_, { revision }) => revision,
    selected('The revision of the configuration that decided.'),
  ),
  'decided_by.cidr': text((_, { decidedBy }) => decidedBy.cidr, selected('The range of the rule.')),
  'decided_by.id': text(
    (_, { decidedBy }) => decidedBy.id,
    selected('Id of the restriction, or of the edge or route whose module or policy decided.'),
  ),
  'decided_by.ip_policy_id': text(
    (_, { decidedBy }) => decidedBy.ipPolicyId,
    selected('Id of the IP policy that has the rule.'),
  ),
  'decided_by.name': text(
    (_, { decidedBy }) => decidedBy.name,
    selected('Name of the traffic policy, else its place; description of the restriction.'),
  ),
  'decided_by.rule_id': text(
    (_, { decidedBy }) => decidedBy.ruleId,
    selected('Id of the deny rule; null if the address was blocked because no rule allows it.'),
  ),
  'decided_by.type': text(
    (_, { decidedBy }) => decidedBy.type,
    selected(
      'What stopped the connection or request: a `restriction` of the account, an `ip_restriction` module, a `traffic_policy`, or `none`.',
    ),
  ),
  decision: text((_, { decision }) => decision, {
    ...selected('`allow`; `block` by IP policies; `deny` by a traffic policy.'),
    domain: decisions,
  }),
  ...placeFields,
  ...verdictFields('shadow', (_, { shadow }) => shadow, ifAllWere),
  warnings: texts(
    (_, { warnings }) => warnings,
    selected('Restrictions that only warn and would have blocked, and expressions that had no result.'),
  ),
}

const connection = ({ record }: ShownDecision): Partial<ConnectionRecord['conn']> => record.conn

/** Fields about the record, for log actions. */
export const logFields: Fields = {
  'conn.bytes_in': int64((_, decided) => connection(decided).bytes_in, named('conn.bytes_in')),
  'conn.bytes_out': int64((_, decided) => connection(decided).bytes_out, named('conn.bytes_out')),
  'conn.client_ip': text((_, decided) => connection(decided).client_ip, {
    ...named('conn.client_ip'),
    ...address,
  }),
  'conn.client_port': int32((_, decided) => connection(decided).client_port, named('conn.client_port')),
  'conn.end_ts': timestamp((_, decided) => connection(decided).end_ts, named('conn.end_ts')),
  'conn.server_ip': text((_, decided) => connection(decided).server_ip, {
    ...named('conn.server_ip'),
    ...address,
  }),
  'conn.server_name': text((_, decided) => connection(decided).server_name, {
    ...named('conn.server_name'),
    ...serverName,
  }),
  'conn.server_port': int32((_, decided) => connection(decided).server_port, named('conn.server_port')),
  'conn.start_ts': timestamp((_, decided) => connection(decided).start_ts, named('conn.start_ts')),
  ...clientFields,
  ...placeFields,
}
