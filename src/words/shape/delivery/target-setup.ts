/** The steps of a setup at the other side of a target. */
import { objectOf, orNull, type Static, Type } from '../../../ground/core/schema.js'

const step = objectOf(
  {
    text: Type.String({ description: 'What to do, for a person.' }),
    copy: orNull(objectOf({ what: Type.String(), text: Type.String() }), {
      description: 'To be copied there. `what` names it: “the command”.',
    }),
    link: orNull(objectOf({ text: Type.String(), url: Type.String() }), {
      description: 'The page of the service where it is done.',
    }),
  },
  { title: 'TargetSetupStep' },
)

export const targetSetupSchema = objectOf(
  { steps: Type.Array(step) },
  {
    title: 'TargetSetup',
    description: 'What is to be done at the other side, in order.',
    examples: [
      {
        steps: [
          {
            text: 'Create a stream, unless there is one.',
            copy: {
              what: 'the command',
              text: 'aws kinesis create-stream --stream-name traffic --region eu-west-1',
            },
            link: null,
          },
        ],
      },
    ],
  },
)

export type TargetSetup = Static<typeof targetSetupSchema>
export type TargetSetupStep = TargetSetup['steps'][number]

/** A target may be half filled in, so its members are not checked. */
export const targetSetupRequestSchema = objectOf(
  {
    target: Type.Unsafe<Record<string, unknown>>(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description: 'A target as in event_destinations, of one kind, as far as it is filled in.',
        },
      ),
    ),
    form: Type.Optional(
      Type.String({ maxLength: 64, description: 'One of the kind’s forms. Default: its first.' }),
    ),
    event_kind: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'For kinds that need a table: the kind of events. Default: tcp_connection_closed.v0.',
      }),
    ),
  },
  {
    title: 'TargetSetupRequest',
    examples: [{ target: { clickhouse: { table: 'traffic' } }, event_kind: 'http_request_complete.v0' }],
  },
)

export type TargetSetupRequest = Static<typeof targetSetupRequestSchema>
