/** A replay, as the API shows it: recorded traffic that is processed again for one destination. */

import { replayIdPrefix } from '../../delivery/wire/replays.js'
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { pastTimeForms } from '../../ground/core/text/units.js'
import { uriSchema } from '../resource/fields/id-schema.js'
import { exampleId } from '../resource/kind/examples.js'

const time = Type.String({ description: 'RFC 3339 in UTC, with milliseconds.' })
const count = (description: string) => Type.Integer({ minimum: 0, description })

export const replayExample = {
  id: exampleId(replayIdPrefix),
  uri: `https://weir.example.com/replays/${exampleId(replayIdPrefix)}`,
  created_at: '2026-11-20T12:00:00.000Z',
  destination_id: exampleId('ed_'),
  from: '2026-11-20T08:00:00.000Z',
  to: '2026-11-20T10:30:00.000Z',
  filter: "decision != 'allow'",
  types: null,
  types_left_out: ['log.v0'],
  subscription_id: null,
  state: 'running',
  progress: { messages: 1200, of: 48_000 },
  ended_at: null,
  error: null,
}

export const replaySchema = objectOf(
  {
    id: Type.String(),
    uri: uriSchema,
    created_at: time,
    destination_id: Type.String(),
    from: time,
    to: time,
    filter: orNull(Type.String()),
    types: orNull(Type.Array(Type.String()), {
      description: 'The types of events that are sent; null: all that the destination gets.',
    }),
    types_left_out: Type.Array(Type.String(), {
      description: 'Types whose events are not sent, because they lack a name of the filter.',
    }),
    subscription_id: orNull(Type.String(), {
      description:
        'The subscription with `start_from` for which it was begun; null: events of all subscriptions.',
    }),
    state: oneOf(['running', 'done', 'cancelled', 'failed'] as const),
    progress: objectOf(
      { messages: count('Messages of records that are processed.'), of: count('All of them.') },
      { description: 'Messages of all accounts count, because all are read.' },
    ),
    ended_at: orNull(time),
    error: orNull(Type.String()),
  },
  {
    title: 'Replay',
    description: 'Recorded traffic that is processed again for one destination.',
    examples: [replayExample],
  },
)

export type Replay = Static<typeof replaySchema>

const when = `${pastTimeForms.charAt(0).toUpperCase()}${pastTimeForms.slice(1)}. At most the retention of records.`

export const replayRequestSchema = objectOf(
  {
    from: Type.String({ description: when }),
    to: Type.Optional(Type.String({ description: `${when} Default: now.` })),
    filter: Type.Optional(
      orNull(Type.String(), {
        description:
          'An expression over the fields of events: only events for which it is true are sent, and none of a type that lacks one of its names. One that suits no type is refused.',
      }),
    ),
    types: Type.Optional(
      orNull(Type.Array(Type.String(), { minItems: 1 }), {
        description:
          'Types of events, such as `tcp_connection_closed.v0`. Default: all that the destination gets.',
      }),
    ),
  },
  {
    title: 'ReplayRequest',
    examples: [{ from: '4h', to: '90m', filter: "inCidrRange(conn.client_ip, '203.0.113.0/24')" }],
  },
)

export type ReplayRequest = Static<typeof replayRequestSchema>
