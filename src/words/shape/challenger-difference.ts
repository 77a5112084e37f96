/**
 * The difference of a challenger: decisions that its draft would have made otherwise, as the API shows it. Its members are
 * those of trials.
 */
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { challengerStates } from '../resource/challenger.js'
import { exampleId } from '../resource/kind/examples.js'
import { loggedDecisionExample, loggedDecisionSchema } from './decisions/logged-decision.js'
import { decisionsSchema, judged, trialExample } from './trial.js'

const { records, changed, matrix, clients, countries, edges, country_changes, edge_changes, over_time } =
  decisionsSchema.properties

const { decision, decided_by } = loggedDecisionSchema.properties

const time = Type.String({ description: 'RFC 3339 in UTC, with milliseconds.' })

const { changed: _none, ...tried } = trialExample.decisions

const challengerDifferenceExample = {
  challenger_id: exampleId('chl_'),
  since: '2026-11-20T09:00:00.000Z',
  until: '2026-11-20T10:00:00.000Z',
  first_at: '2026-11-20T09:00:00.250Z',
  last_at: '2026-11-20T09:59:59.750Z',
  records: tried.records,
  changed: 310,
  missing: [],
  matrix: tried.matrix,
  clients: tried.clients,
  countries: tried.countries,
  edges: tried.edges,
  country_changes: tried.country_changes,
  edge_changes: tried.edge_changes,
  over_time: tried.over_time,
  deciders: [
    {
      before: 'allow',
      before_decided_by: { type: 'none', id: null, policy: null, rule_id: null },
      after: 'deny',
      after_decided_by: {
        type: 'traffic_policy',
        id: exampleId('edgtcp_'),
        policy: 'No scanners',
        rule_id: null,
      },
      records: 310,
    },
  ],
  examples: [loggedDecisionExample],
}

export const challengerDifferenceSchema = objectOf(
  {
    challenger_id: Type.String(),
    since: Type.String({ description: 'Records stored from this time …' }),
    until: Type.String({ description: '… to this one are counted.' }),
    first_at: orNull(time, { description: 'When the first of them was stored.' }),
    last_at: orNull(time, { description: 'When the last of them was stored.' }),
    records,
    changed,
    missing: Type.Array(
      oneOf([
        'deciders',
        'examples',
        'over_time',
        'clients',
        'edges',
        'edge_changes',
        'countries',
        'country_changes',
      ]),
      {
        description:
          'Members that were not read, because reading took longer than one request may: they are empty. Ask for a shorter time, or again when the machine is less busy.',
      },
    ),
    matrix,
    clients,
    countries,
    edges,
    country_changes,
    edge_changes,
    over_time,
    deciders: Type.Array(
      objectOf(
        {
          before: decision,
          before_decided_by: decided_by,
          after: decision,
          after_decided_by: decided_by,
          records,
        },
        { title: 'ChallengerDeciders' },
      ),
      {
        description:
          'What decided about the changed records, live and by the draft; the most frequent first.',
      },
    ),
    examples: Type.Array(loggedDecisionSchema, {
      description:
        'Changed records that differ in client, edge or decision, at most ten. `GET /challengers/{id}/examples` explains them.',
    }),
  },
  {
    title: 'ChallengerDifference',
    description: 'Decisions by the configuration in force (before), and by the draft (after).',
    examples: [challengerDifferenceExample],
  },
)

export type ChallengerDifference = Static<typeof challengerDifferenceSchema>

const exampleSchema = objectOf(
  {
    decision: loggedDecisionSchema,
    before: orNull(judged, { description: 'By the configuration in force then.' }),
    after: orNull(judged, { description: 'By the draft over it.' }),
    missing: orNull(Type.String(), {
      description: 'Why explanations are missing, or differ from what was decided; null if they are whole.',
    }),
  },
  { title: 'ChallengerExample' },
)

export type ChallengerExample = Static<typeof exampleSchema>

const [triedExample] = trialExample.decisions.examples

export const challengerExamplesSchema = objectOf(
  { examples: Type.Array(exampleSchema) },
  {
    title: 'ChallengerExamples',
    description: 'Records that the draft decides differently, with both explanations.',
    examples: [
      {
        examples: [
          {
            decision: loggedDecisionExample,
            before: triedExample?.before ?? null,
            after: triedExample?.after ?? null,
            missing: null,
          },
        ],
      },
    ],
  },
)

export const challengerProgressSchema = objectOf(
  {
    challenger_id: Type.String(),
    state: oneOf(challengerStates),
    since: Type.String({ description: 'Records stored from this time …' }),
    until: Type.String({ description: '… to this one are compared.' }),
    seconds_left: Type.Integer({ minimum: 0, description: 'How long it still runs; 0 if it does not run.' }),
    records: Type.Integer({ minimum: 0, description: 'Records that were compared so far.' }),
    changed: Type.Integer({ minimum: 0, description: 'Those that would be decided differently.' }),
    last_at: orNull(time, { description: 'When the last of them was stored.' }),
    behind_seconds: orNull(Type.Number({ minimum: 0 }), {
      description:
        'How long the oldest record of the deployment waits to be processed; null if NATS does not answer. The log is a few seconds behind in any case.',
    }),
  },
  {
    title: 'ChallengerProgress',
    description: 'How far the comparison is.',
    examples: [
      {
        challenger_id: exampleId('chl_'),
        state: 'running',
        since: '2026-11-20T09:00:00.000Z',
        until: '2026-11-21T09:00:00.000Z',
        seconds_left: 82_800,
        records: tried.records,
        changed: 310,
        last_at: '2026-11-20T09:59:59.750Z',
        behind_seconds: 0,
      },
    ],
  },
)

export type ChallengerProgress = Static<typeof challengerProgressSchema>
