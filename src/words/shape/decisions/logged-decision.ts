/** A decision of the log, as the API shows it. */

import {
  deciderNumbers,
  decisionNumbers,
  loggedPathCharsMax,
  sourceNumbers,
  typeNumbers,
} from '../../../delivery/wire/decision-rows.js'
import { ownTimeAheadMinutes, ownTimeYears } from '../../../ground/core/limits.js'
import { objectOf, oneOf, orNull, type Static, Type } from '../../../ground/core/schema.js'
import { exampleId } from '../../resource/kind/examples.js'

const wordsOf = <Word extends string>(numbers: Readonly<Record<Word, number>>) =>
  Object.keys(numbers) as Word[]

export const decisionWords = wordsOf(decisionNumbers)
export const deciderWords = wordsOf(deciderNumbers)
export const sourceWords = wordsOf(sourceNumbers)

const bytes = (description: string) => Type.Integer({ minimum: 0, description })

export const loggedDecisionExample = {
  id: '1795168800250-77-3',
  at: '2026-11-20T10:00:00.250Z',
  record_id: '01KAFZR7DA0T4CH30SW7DJ5M3B',
  type: 'tcp_connection',
  edge_id: exampleId('edgtcp_'),
  route_id: null,
  server_name: 'ssh.example.com',
  server_port: 22,
  client_ip: '203.0.113.66',
  country: 'DE',
  asn: 64_500,
  decision: 'block',
  decided_by: {
    type: 'ip_restriction',
    id: exampleId('edgtcp_'),
    policy: null,
    rule_id: exampleId('ipr_'),
  },
  shadow: {
    decision: 'allow' as const,
    decided_by: { type: 'none' as const, id: null, policy: null, rule_id: null },
  },
  challenger: {
    id: exampleId('chl_'),
    decision: 'allow' as const,
    decided_by: { type: 'none' as const, id: null, policy: null, rule_id: null },
  },
  revision: 42,
  bytes_in: 3437,
  bytes_out: 0,
  sequence: 77,
  line: 3,
  source: 'record',
  weight: 1,
  method: null,
  path: null,
  status_code: null,
  // Columns of CSV are in this order: later ones come last.
  own_at: '2026-11-20T09:59:58.000Z',
  own_at_refused: null,
}

const decidedBy = objectOf({
  type: oneOf(deciderWords, 'What said no; none: nothing did.'),
  id: orNull(Type.String(), {
    description: 'The restriction, or the edge or route that has the module or the policy.',
  }),
  policy: orNull(Type.String(), { description: 'The traffic policy.' }),
  rule_id: orNull(Type.String(), { description: 'The deny rule of an IP policy.' }),
})

const decision = oneOf(
  decisionWords,
  'block: an IP policy or restriction said no. deny: a traffic policy said no, or a proxy asked about a name that no edge serves.',
)

export const loggedDecisionSchema = objectOf(
  {
    id: Type.String({ description: 'The place in the list, for `before_id`.' }),
    at: Type.String({
      description:
        'When the record was stored, or the question answered: RFC 3339 in UTC, with milliseconds.',
    }),
    own_at: orNull(Type.String(), {
      description:
        'When the connection or request began, as the record says (`conn.start_ts`, else `conn.end_ts`); null if it says none, or one that does not count.',
    }),
    own_at_refused: orNull(oneOf(['ahead', 'past']), {
      description: `Why a time that the record says does not count: it is more than ${ownTimeAheadMinutes} minutes after the record was stored, or more than ${ownTimeYears} years before. By own times, the decision is then found at \`at\`.`,
    }),
    record_id: Type.String({
      description: 'Of a question that came without one, an id that the log gave it: `dq_…`.',
    }),
    type: oneOf(wordsOf(typeNumbers), 'Of the record.'),
    edge_id: orNull(Type.String(), { description: 'Null if no edge serves the endpoint.' }),
    route_id: orNull(Type.String(), { description: 'Null if the edge has no route for it.' }),
    server_name: orNull(Type.String(), { description: 'The host name that the client asked for.' }),
    server_port: orNull(Type.Integer(), { description: 'The port that the client connected to.' }),
    client_ip: Type.String({ description: 'The address of the client.' }),
    country: orNull(Type.String(), { description: 'ISO 3166-1 alpha-2.' }),
    asn: orNull(Type.Integer(), { description: 'Number of the autonomous system of the client.' }),
    decision,
    decided_by: decidedBy,
    shadow: orNull(objectOf({ decision, decided_by: decidedBy }, { title: 'LoggedShadow' }), {
      description:
        'What would have been decided if every rule, traffic policy and restriction that is not enforced were; null if all that applied is.',
    }),
    challenger: orNull(
      objectOf(
        { id: Type.String({ description: 'The challenger.' }), decision, decided_by: decidedBy },
        { title: 'LoggedChallenger' },
      ),
      { description: 'What the draft of a challenger decides; null if none was compared.' },
    ),
    revision: Type.Integer({
      minimum: 0,
      description: 'Of the configuration that was used: `POST /decide?revision=` explains with it.',
    }),
    bytes_in: bytes('Of the connection, or of the body of the request.'),
    bytes_out: bytes('Of the connection, or of the body of the response.'),
    sequence: orNull(Type.Integer({ minimum: 0 }), {
      description: 'The message of the record in `WEIR_RECORDS`; null for a question.',
    }),
    line: orNull(Type.Integer({ minimum: 0 }), { description: 'Its line in the message, from 1.' }),
    source: oneOf(
      sourceWords,
      'record: about a record, after the fact. asked: an ingress node or a proxy asked before it let the client in. history: about a record of the past that was loaded, by the configuration in force when it was.',
    ),
    weight: Type.Integer({
      minimum: 1,
      description:
        'How many decisions this one stands for: 1, and more if so many questions were asked that only a share of them, 1/weight, is in the log.',
    }),
    method: orNull(Type.String(), { description: 'Of an HTTP request, in lower case.' }),
    path: orNull(Type.String(), {
      description: `Of an HTTP request, without the query; at most ${loggedPathCharsMax} characters.`,
    }),
    status_code: orNull(Type.Integer(), { description: 'Of the response to an HTTP request.' }),
  },
  {
    title: 'LoggedDecision',
    description: 'What was decided about a record, or a question.',
    examples: [loggedDecisionExample],
  },
)

export type LoggedDecision = Static<typeof loggedDecisionSchema>

/** A name that filters of decisions may use, as `GET /fields` lists it. */
export interface DecisionName {
  readonly name: string
  readonly type: 'text' | 'number'
  readonly about: string
  /** Every value that it may have, if these are few. */
  readonly values?: readonly string[]
  /** Why it never has a value in this deployment. */
  readonly missing?: string
}
