/** A decision as it is shown to those who watch: one row of the decision log, with the names that events use. */
import { objectOf, oneOf, orNull, type Static, Type } from '../core/schema.js'
import { exampleId } from './examples.js'

const text = (description: string) => orNull(Type.String(), { description })
const number = (description: string) => Type.Integer({ description })

export const decisionLineSchema = objectOf(
  {
    time: Type.String({ format: 'date-time', description: 'When the record was published.' }),
    record_id: Type.String(),
    type: oneOf(['tcp_connection', 'http_request']),
    decision: oneOf(['allow', 'block', 'deny']),
    decided_by: objectOf({
      type: oneOf(['none', 'restriction', 'ip_restriction', 'traffic_policy']),
      id: text('The restriction, or the edge or route that has the module or the policy.'),
      name: text('The traffic policy.'),
      rule_id: text('The deny rule of an IP policy.'),
    }),
    edge: objectOf({ id: text('The edge; null if none serves the name.') }),
    route: objectOf({ id: text('The route of an HTTPS edge.') }),
    conn: objectOf({
      client_ip: Type.String(),
      server_name: text('The name that the client asked for.'),
      server_port: Type.Integer({ minimum: 0, maximum: 65_535 }),
      bytes_in: number('Bytes from the client; of a request, those of its body.'),
      bytes_out: number('Bytes to the client; of a request, those of the body of its response.'),
      geo: objectOf({ country_code: text('ISO 3166-1 alpha-2.') }),
      asn: orNull(Type.Integer(), { description: 'Number of the autonomous system.' }),
    }),
    configuration_revision: number('The revision of the configuration that decided.'),
  },
  {
    title: 'DecisionLine',
    description: 'What was decided about a record.',
    examples: [
      {
        time: '2026-11-20T10:00:00.250Z',
        record_id: '01KAFZR7DA0T4CH30SW7DJ5M3B',
        type: 'tcp_connection',
        decision: 'block',
        decided_by: {
          type: 'ip_restriction',
          id: exampleId('edgtcp_'),
          name: null,
          rule_id: exampleId('ipr_'),
        },
        edge: { id: exampleId('edgtcp_') },
        route: { id: null },
        conn: {
          client_ip: '203.0.113.66',
          server_name: 'ssh.example.com',
          server_port: 22,
          bytes_in: 3437,
          bytes_out: 0,
          geo: { country_code: 'DE' },
          asn: 64_500,
        },
        configuration_revision: 42,
      },
    ],
  },
)

export type DecisionLine = Static<typeof decisionLineSchema>
