/** Dead letters that are stored, as the API shows them. */

import { deadLetterTypes } from '../../delivery/wire/dead-letter.js'
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { uriSchema } from '../resource/fields/id-schema.js'
import { exampleId } from '../resource/kind/examples.js'

const time = (description: string) =>
  Type.String({ description: `${description}: RFC 3339 in UTC, with milliseconds.` })

const type = oneOf(deadLetterTypes)
const destinationId = orNull(Type.String(), { description: 'Of an event.' })

/** The id of a dead letter as its stream makes it. */
const exampleLetter = 'dl_4be1ab40f7c212'

export const deadLetterExample = {
  id: exampleLetter,
  uri: `https://weir.example.com/dead_letters/${exampleLetter}`,
  at: '2026-11-20T10:00:00.911Z',
  expires_at: '2026-11-23T10:00:00.911Z',
  type: 'record' as const,
  reason: '"conn.client_ip" is "203.0.113.256"; it must be an IPv4 or IPv6 address.',
  sequence: 77,
  line: 3,
  subject: null,
  destination_id: null,
  event_id: null,
  size: 104,
  is_truncated: false,
}

const members = {
  id: Type.String(),
  uri: uriSchema,
  at: time('When it was set aside'),
  expires_at: orNull(Type.String(), {
    description:
      'When it is removed for its age, if it is still there: RFC 3339 in UTC, with milliseconds; null if none is.',
  }),
  type,
  reason: Type.String(),
  sequence: orNull(Type.Integer(), { description: 'Of a record or an audit event: its message …' }),
  line: orNull(Type.Integer(), { description: '… and the line of a record, from 1.' }),
  subject: orNull(Type.String(), { description: 'Of an audit event: where it was published.' }),
  destination_id: destinationId,
  event_id: orNull(Type.String(), { description: 'Of an event.' }),
  size: Type.Integer({ minimum: 0, description: 'In bytes, of the whole.' }),
  is_truncated: Type.Boolean({ description: 'Is only a part stored, because the whole is too large?' }),
}

export const deadLetterSchema = objectOf(members, {
  title: 'DeadLetter',
  description: 'A record, an event or an audit event that was set aside, and why.',
  examples: [deadLetterExample],
})

export type DeadLetter = Static<typeof deadLetterSchema>

const text =
  '{"record_id":"01KAFZR7DA0T4CH30SW7DJ5M3B","type":"tcp_connection","conn":{"client_ip":"203.0.113.256"}}'

const place = objectOf(
  {
    offset: Type.Integer({ minimum: 0, description: 'In bytes.' }),
    line: Type.Integer({ minimum: 1 }),
    column: Type.Integer({ minimum: 1, description: 'In characters.' }),
    member: orNull(Type.String(), {
      description: 'The member whose value begins there, such as `conn.client_ip`.',
    }),
    excerpt: Type.String({ description: 'The text around it, in one line.' }),
    mark: Type.Integer({ minimum: 0, description: 'How many characters of the excerpt come before it.' }),
  },
  { title: 'DeadLetterPlace', description: 'The place that the reason names.' },
)

export const wholeDeadLetterSchema = objectOf(
  {
    ...members,
    text: orNull(Type.String(), { description: 'Its bytes; null if they are not UTF-8.' }),
    base64: orNull(Type.String(), { description: 'Its bytes, if they are not UTF-8.' }),
    place: orNull(place),
  },
  {
    title: 'WholeDeadLetter',
    description: 'A dead letter with its bytes and the place that the reason names.',
    examples: [
      {
        ...deadLetterExample,
        text,
        base64: null,
        place: {
          offset: text.indexOf('"203'),
          line: 1,
          column: text.indexOf('"203') + 1,
          member: 'conn.client_ip',
          excerpt: text.slice(text.indexOf('"203') - 40),
          mark: 40,
        },
      },
    ],
  },
)

export type WholeDeadLetter = Static<typeof wholeDeadLetterSchema>
export type DeadLetterPlace = Static<typeof place>

const group = objectOf(
  {
    type,
    reason: Type.String({
      description: 'What the reasons have in common; `…` stands for the rest. As a filter it finds them.',
    }),
    destination_id: destinationId,
    count: Type.Integer({ minimum: 1 }),
    first_at: time('When the oldest was set aside'),
    last_at: time('When the newest was set aside'),
    expires_at: orNull(Type.String(), {
      description: 'When the oldest is removed for its age; null if none is.',
    }),
    example_id: Type.String({ description: 'The newest.' }),
  },
  { title: 'DeadLetterGroup' },
)

export const deadLetterGroupsSchema = objectOf(
  {
    groups: Type.Array(group, { description: 'The largest first.' }),
    groups_left_out: Type.Integer({ minimum: 0, description: 'How many smaller groups are not listed.' }),
    complete_since: orNull(Type.String(), {
      description:
        'Letters before this time were not counted, because there are too many; null if all were. As `until` it counts those.',
    }),
  },
  {
    title: 'DeadLetterGroups',
    description: 'Dead letters by type, reason and destination.',
    examples: [
      {
        groups: [
          {
            type: 'record',
            reason: '"conn.client_ip" is …; it must be an IPv4 or IPv6 address.',
            destination_id: null,
            count: 12,
            first_at: '2026-11-20T09:58:00.000Z',
            last_at: deadLetterExample.at,
            expires_at: '2026-11-23T09:58:00.000Z',
            example_id: exampleLetter,
          },
          {
            type: 'event',
            reason: 'ValidationException: The record is too large.',
            destination_id: exampleId('ed_'),
            count: 1,
            first_at: '2026-11-20T09:00:00.000Z',
            last_at: '2026-11-20T09:00:00.000Z',
            expires_at: '2026-11-23T09:00:00.000Z',
            example_id: 'dl_07a2b6c99d1012',
          },
        ],
        groups_left_out: 0,
        complete_since: null,
      },
    ],
  },
)

export type DeadLetterGroups = Static<typeof deadLetterGroupsSchema>

export const deadLetterBatchSchema = objectOf(
  {
    done: Type.Integer({ minimum: 0, description: 'Letters that were sent again, or dropped.' }),
    refused: Type.Integer({ minimum: 0, description: "Letters that can't be sent again, and stay." }),
    refusals: Type.Array(objectOf({ id: Type.String(), reason: Type.String() }), {
      description: 'The first of them.',
    }),
    next_before_id: orNull(Type.String(), {
      description: 'The `before_id` with which the request continues; null if no letter is left.',
    }),
  },
  {
    title: 'DeadLetterBatch',
    description: 'What became of dead letters.',
    examples: [{ done: 1_000, refused: 0, refusals: [], next_before_id: 'dl_0000000000003012' }],
  },
)

export type DeadLetterBatch = Static<typeof deadLetterBatchSchema>

export const editedRecordSchema = objectOf(
  {
    record: Type.Optional(
      orNull(Type.Record(Type.String(), Type.Unknown()), {
        description: 'The whole corrected record. Without `record_id`, it keeps that of the letter.',
      }),
    ),
  },
  {
    title: 'DeadLetterResend',
    description: 'Without a body, the letter is sent as it is.',
    examples: [{ record: { type: 'tcp_connection', conn: { client_ip: '203.0.113.25' } } }],
  },
)
