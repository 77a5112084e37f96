/** The state of an account at a glance: whether all is well, its destinations, and what needs a hand. */

import { recordTypes } from '../../delivery/record/traffic-record.js'
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { operatorAction, operatorActionsSchema } from '../event/operator-actions.js'
import { exampleId } from '../resource/kind/examples.js'
import { destinationStatusExample, destinationStatusSchema } from './delivery-status.js'

const instant = (description: string) =>
  orNull(Type.String({ format: 'date-time' }), { description: `${description}; null if that is not known.` })

const attentionTypes = [
  'deliverers_silent',
  'destination_failing',
  'destination_throttled',
  'destination_paused',
  'destination_behind',
  'events_expiring',
  'events_dropped',
  'dead_letters',
  'certificates_expiring',
  'keys_expiring',
  'unserved_names',
  'policies_failing',
  'filters_failing',
  'lists_failing',
  'records_lag',
  'role_versions',
  'decision_log',
] as const

/** From the worst. */
export const severities = ['failing', 'attention', 'notice'] as const

const unservedNameSchema = objectOf({
  name: Type.String({ description: 'As hostports write it.' }),
  count: Type.Integer({ minimum: 0, description: 'Records.' }),
  type: oneOf(recordTypes, 'Which kind of edge would serve it.'),
  server_name: orNull(Type.String(), { description: 'As the records have it; null if they have none.' }),
  server_port: orNull(Type.Integer()),
  nearest: orNull(Type.String(), {
    description:
      'The hostport of an edge of the account that is most like it, such as the same name on another port.',
  }),
  nearest_edge_id: orNull(Type.String(), { description: 'The edge that serves this.' }),
})

const attentionSchema = objectOf(
  {
    type: oneOf(attentionTypes),
    severity: oneOf(
      severities,
      'failing: something does not work or is lost. attention: someone should act. notice: worth knowing; the state stays ok.',
    ),
    sentence: Type.String({ description: 'What it is, for a person. Times in it are in UTC.' }),
    count: orNull(Type.Integer({ minimum: 0 }), {
      description:
        'Of destinations, events, letters, certificates, records, policies, filters, lists, messages or processes; null if nothing is counted.',
    }),
    since: instant('When it began'),
    latest: instant('When it happened last'),
    until: instant('When events are dropped, or a certificate or a key ends'),
    kind: orNull(Type.String(), {
      description: 'The kind of the resources that `ids` names; of dead letters, their type.',
    }),
    ids: Type.Array(Type.String(), { description: 'The resources that it is about: the first ones.' }),
    names: Type.Array(unservedNameSchema, {
      description: 'The names that no edge serves, those with the most records first.',
    }),
    uri: orNull(Type.String({ format: 'uri' }), { description: 'The list behind it, if there is one.' }),
    actions: operatorActionsSchema,
    scope: oneOf(['account', 'deployment'], 'deployment: it is about all accounts together.'),
  },
  { title: 'Attention', description: 'Something that needs a hand.' },
)

export type Attention = Static<typeof attentionSchema>

export const overviewParts = [
  'destinations',
  'dead_letters',
  'certificates',
  'unserved_names',
  'failing_expressions',
  'records_lag',
  'role_versions',
] as const
export type OverviewPart = (typeof overviewParts)[number]

const overviewExample = {
  state: 'failing',
  sentence:
    'Destination "the audit trail" refuses every request since 2026-11-20T10:02:00Z: ResourceNotFoundException: Stream events not found.',
  as_of: '2026-11-20T10:04:00.000Z',
  destinations: [destinationStatusExample],
  destinations_left_out: 0,
  attention: [
    {
      type: 'destination_failing',
      severity: 'failing',
      sentence:
        'Destination "the audit trail" refuses every request since 2026-11-20T10:02:00Z: ResourceNotFoundException: Stream events not found.',
      count: 1200,
      since: '2026-11-20T10:02:00.000Z',
      latest: '2026-11-20T10:03:58.000Z',
      until: null,
      kind: 'event_destination',
      ids: [exampleId('ed_')],
      names: [],
      uri: null,
      actions: [operatorAction('edit_target', exampleId('ed_')), operatorAction('try_now', exampleId('ed_'))],
      scope: 'account',
    },
  ],
  attention_left_out: 0,
  records_lag: { messages: 0, oldest_at: null },
  unknown: [{ part: 'unserved_names', reason: 'The decision log was not read: ClickHouse does not answer.' }],
}

export const overviewSchema = objectOf(
  {
    state: oneOf(
      ['ok', 'attention', 'failing'],
      'The worst of what is listed in `attention`; a part that is not known counts as attention.',
    ),
    sentence: Type.String({ description: 'Whether all is well, or what is not, for a person.' }),
    as_of: Type.String({ format: 'date-time' }),
    destinations: Type.Array(destinationStatusSchema, { description: 'The worst first.' }),
    destinations_left_out: Type.Integer({
      minimum: 0,
      description: 'How many more there are, in a better state.',
    }),
    attention: Type.Array(attentionSchema, { description: 'The worst first.' }),
    attention_left_out: Type.Integer({ minimum: 0, description: 'How many more there are.' }),
    records_lag: orNull(
      objectOf({
        messages: Type.Integer({
          minimum: 0,
          description: 'Messages of records that are not processed yet.',
        }),
        oldest_at: orNull(Type.String({ format: 'date-time' }), {
          description: 'When the oldest of them was stored; null if there is none.',
        }),
      }),
      { description: 'Of the whole deployment, all accounts together; null if NATS does not answer.' },
    ),
    unknown: Type.Array(objectOf({ part: oneOf(overviewParts), reason: Type.String() }), {
      description: 'Parts that were not read, and why: the answer has nothing about them.',
    }),
  },
  {
    title: 'Overview',
    description: 'The state of an account at a glance. It is read at most once a second.',
    examples: [overviewExample],
  },
)

export type OverviewAnswer = Static<typeof overviewSchema>
