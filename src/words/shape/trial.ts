/** A trial, as the API shows it: what a draft would have done to recorded traffic. */
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { uriSchema } from '../resource/fields/id-schema.js'
import { exampleId } from '../resource/kind/examples.js'
import { decisionWord, explanationSchema } from './decisions/decision.js'
import { policyTestRunsSchema } from './policy-test-run.js'
import { accessSchema } from './trial/access.js'
import { changeOf, overTimeSchema, timesSchema } from './trial/times.js'

export const trialIdPrefix = 'try_'

const count = Type.Integer({ minimum: 0 })
const time = Type.String({ description: 'RFC 3339 in UTC, with milliseconds.' })
const nullable = orNull(Type.String())

const beforeAndAfter = (description: string) =>
  Type.Object({ before: count, after: count }, { additionalProperties: false, description })

const frequent = (description: string) =>
  Type.Array(objectOf({ value: nullable, records: count }, { title: 'TrialCount' }), {
    description: `${description}; null: unknown. The most frequent first; rare ones may be counted too high.`,
  })

const frequentChanges = (description: string) =>
  Type.Array(objectOf({ value: nullable, ...changeOf }, { title: 'TrialChangeCount' }), {
    description: `${description}, by what changes; null: unknown. The most frequent first; rare ones may be counted too high.`,
  })

export const judged = objectOf(
  { decision: decisionWord, explanation: explanationSchema },
  { title: 'TrialDecision', description: 'Of many rules, those that match are listed first.' },
)

const exampleSchema = objectOf(
  {
    at: time,
    record_id: Type.String(),
    type: Type.String(),
    edge_id: nullable,
    route_id: nullable,
    server_name: nullable,
    server_port: orNull(Type.Integer()),
    client_ip: Type.String(),
    country: nullable,
    asn: orNull(Type.Integer()),
    before: judged,
    after: judged,
  },
  { title: 'TrialExample', description: 'A record that would be decided differently.' },
)

const nameSchema = objectOf(
  {
    name: Type.String(),
    records: Type.Integer({ minimum: 0, description: 'Records for which it was looked at.' }),
    with_value: Type.Integer({ minimum: 0, description: 'Those of them for which it has a value.' }),
    note: orNull(Type.String(), { description: 'Why it has none; null if it has one.' }),
  },
  { title: 'TrialName' },
)

export const decisionsSchema = objectOf(
  {
    records: count,
    concerned: orNull(Type.Integer({ minimum: 0 }), {
      description:
        'Those of the edge or route whose policies are drafted; null if the draft is of anything else.',
    }),
    changed: Type.Integer({ minimum: 0, description: 'Records that would be decided differently.' }),
    matrix: Type.Array(objectOf({ before: decisionWord, after: decisionWord, records: count }), {
      description: 'Every pair of decisions that occurs, also of unchanged ones.',
    }),
    clients: frequent('Addresses of clients among the changed records'),
    countries: frequent('Countries of clients among the changed records'),
    edges: frequent('Edges among the changed records'),
    country_changes: frequentChanges('Countries of clients among the changed records'),
    edge_changes: frequentChanges('Edges among the changed records'),
    over_time: overTimeSchema,
    log_actions: beforeAndAfter('Log actions of traffic policies.'),
    warnings: beforeAndAfter('Records that a restriction would block if it were enforced.'),
    failures: beforeAndAfter('Expressions that had no result.'),
    names: Type.Array(nameSchema, {
      description:
        "The names that the draft's expressions use, over the records of its edge: a condition about one without a value is never met.",
    }),
    access: orNull(accessSchema, {
      description: 'Who loses and who gains access; null unless the draft is of the whole account.',
    }),
    examples: Type.Array(exampleSchema, {
      description:
        'Changed records that differ in client, edge or decision; fewer than ten if they are long.',
    }),
  },
  {
    title: 'TrialDecisions',
    description: 'Decisions by the configuration in force (before), and with the draft (after).',
  },
)

const eventsSchema = objectOf(
  {
    records: count,
    events: count,
    bytes: count,
    per_hour: objectOf(
      { events: count, bytes: count },
      { description: 'Over the time from the first record that was read.' },
    ),
    billing: objectOf(
      {
        kinesis_payload_units: Type.Integer({
          minimum: 0,
          description: 'Of 25 KiB each, begun ones included.',
        }),
        firehose_bytes: Type.Integer({ minimum: 0, description: 'Each event rounded up to 5 KiB.' }),
        cloudwatch_logs_bytes: Type.Integer({ minimum: 0, description: 'With 26 bytes for each event.' }),
      },
      { description: 'What AWS would charge for, by the kind of the destination; for one destination each.' },
    ),
    sources: Type.Array(
      objectOf({
        type: Type.String(),
        events: count,
        bytes: count,
        filtered: Type.Integer({ minimum: 0, description: 'Events that the filter keeps back.' }),
        failed: Type.Integer({ minimum: 0, description: 'Those of them whose filter had no result.' }),
        names: Type.Array(nameSchema, { description: 'The names that the filter uses.' }),
      }),
    ),
    sources_not_tried: Type.Array(Type.String(), {
      description: 'Kinds that are not made from records, such as audit events.',
    }),
    examples: Type.Array(Type.Unknown(), { description: 'Some of the events.' }),
  },
  { title: 'TrialEvents', description: 'The events that a subscription would have made.' },
)

const trialStates = ['running', 'done', 'failed', 'cancelled'] as const

const edge = exampleId('edgtcp_')
const explained = (reason: string) => ({
  hostport: 'ssh.example.com:22',
  ip_policies: [],
  policies: [],
  policies_not_reached: [],
  decided_by: {
    type: reason === '' ? 'none' : 'traffic_policy',
    id: reason === '' ? null : edge,
    name: reason === '' ? null : reason,
    ip_policy_id: null,
    rule_id: null,
    cidr: null,
  },
  shadow: null,
})

export const trialExample = {
  id: exampleId(trialIdPrefix),
  uri: `https://weir.example.com/tries/${exampleId(trialIdPrefix)}`,
  created_at: '2026-11-20T10:00:00.000Z',
  state: 'done',
  draft_of: { kind: 'tcp_edge', id: edge, part: 'policies' },
  removes: ['inbound[1] "office hours"'],
  removes_left_out: 0,
  tests: { passed: 12, failed: 0, tests: [] },
  since: '2026-11-20T09:00:00.000Z',
  until: '2026-11-20T10:00:00.000Z',
  time: 'stored',
  times: {
    first: '2026-11-20T09:00:00.125Z',
    last: '2026-11-20T09:59:59.750Z',
    no_time: 0,
    past: 0,
    ahead: 0,
    left_out: 0,
  },
  progress: { records: 7514, bytes: 4_300_000, at: '2026-11-20T09:59:59.750Z', share: 1 },
  kept_from: '2026-11-13T10:00:02.125Z',
  stopped_by: null,
  ended_at: '2026-11-20T10:00:01.250Z',
  error: null,
  decisions: {
    records: 7514,
    concerned: 7514,
    changed: 310,
    matrix: [
      { before: 'allow', after: 'allow', records: 7204 },
      { before: 'allow', after: 'deny', records: 310 },
    ],
    clients: [{ value: '203.0.113.66', records: 308 }],
    countries: [{ value: 'DE', records: 310 }],
    edges: [{ value: edge, records: 310 }],
    country_changes: [{ value: 'DE', before: 'allow', after: 'deny', records: 310 }],
    edge_changes: [{ value: edge, before: 'allow', after: 'deny', records: 310 }],
    over_time: {
      interval_seconds: 300,
      points: [
        {
          at: '2026-11-20T09:00:00Z',
          before: { allow: 7514, block: 0, deny: 0 },
          after: { allow: 7204, block: 0, deny: 310 },
          changed: [{ before: 'allow', after: 'deny', records: 310 }],
        },
      ],
    },
    log_actions: { before: 12, after: 12 },
    warnings: { before: 0, after: 0 },
    failures: { before: 0, after: 0 },
    names: [{ name: 'conn.geo.country_code', records: 7514, with_value: 7490, note: null }],
    access: null,
    examples: [
      {
        at: '2026-11-20T09:00:12.250Z',
        record_id: '01KAFZR7DA0T4CH30SW7DJ5M3B',
        type: 'tcp_connection',
        edge_id: edge,
        route_id: null,
        server_name: 'ssh.example.com',
        server_port: 22,
        client_ip: '203.0.113.66',
        country: 'DE',
        asn: 64_500,
        before: { decision: 'allow', explanation: explained('') },
        after: { decision: 'deny', explanation: explained('No scanners') },
      },
    ],
  },
  events: null,
}

export const trialSchema = objectOf(
  {
    id: Type.String(),
    uri: uriSchema,
    created_at: time,
    state: oneOf(trialStates),
    draft_of: objectOf({
      kind: Type.String({
        description: 'The kind of resource that the draft is of; `account` for a whole one.',
      }),
      id: orNull(Type.String(), { description: 'Null if the draft is of a new one, or of an account.' }),
      part: orNull(Type.String(), {
        description: 'The module, or `rules`; null if the draft is of the whole.',
      }),
    }),
    removes: Type.Array(Type.String(), {
      description:
        'What is there and the draft lacks, because it replaces the whole: traffic policies by place and name, IP policies by id, rules by action and range.',
    }),
    removes_left_out: Type.Integer({ minimum: 0, description: 'How many more it removes.' }),
    tests: orNull(policyTestRunsSchema, {
      description:
        'The policy tests of the account with the draft: how many pass and fail, and the first ten that fail. The write would be refused if one fails; null if the draft can change no decision.',
    }),
    since: Type.String({ description: 'Records from this time …' }),
    until: Type.String({ description: '… to this one are read.' }),
    time: oneOf(
      ['stored', 'own'],
      'The time that the range goes by: when records were `stored`, or their `own`, with loaded records of the past.',
    ),
    times: orNull(timesSchema, { description: 'Which times the records had. Null before the result.' }),
    progress: objectOf(
      {
        records: count,
        bytes: count,
        at: orNull(time, { description: 'Records until here were read.' }),
        share: Type.Number({
          minimum: 0,
          maximum: 1,
          description: 'How much of what there is to read was read, records of other accounts included.',
        }),
      },
      { description: 'Records of the account that were read so far.' },
    ),
    kept_from: orNull(time, {
      description:
        'The oldest record that is kept, of all accounts, as it was stored. If it is later than `since`, the records between them are not kept any more, or there were none. Null if none is kept, or before the result.',
    }),
    stopped_by: orNull(oneOf(['records', 'bytes', 'time']), {
      description:
        'The limit that ended the reading before `until`; it counts records of all accounts. The result is about the records before `progress.at`.',
    }),
    ended_at: orNull(time),
    error: orNull(Type.String(), { description: 'Why it failed.' }),
    decisions: orNull(decisionsSchema, { description: 'The result, unless the draft is of a subscription.' }),
    events: orNull(eventsSchema, { description: 'The result, if the draft is of a subscription.' }),
  },
  {
    title: 'Trial',
    description: 'What a draft would have done to recorded traffic. Nothing is stored but this, for an hour.',
    examples: [trialExample],
  },
)

export type Trial = Static<typeof trialSchema>
export type TrialName = Static<typeof nameSchema>
export type TrialExample = Static<typeof exampleSchema>
export type TrialDecisions = Static<typeof decisionsSchema>
export type TrialEvents = Static<typeof eventsSchema>
