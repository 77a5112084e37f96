/** The outcome of a test event to a target that is not stored. */
import { objectOf, oneOf, orNull, type Static, Type } from '../../../ground/core/schema.js'

const text = (description: string) => orNull(Type.String(), { description })

export const targetTestSchema = objectOf(
  {
    result: oneOf(
      ['accepted', 'refused'],
      'accepted: the other side has the event. refused: it was not accepted in time.',
    ),
    event: Type.Unsafe<Record<string, unknown>>(
      Type.Object({}, { additionalProperties: true, description: 'The test event.' }),
    ),
    took_ms: Type.Integer({ description: 'Milliseconds until the answer.' }),
    request_id: text('How the service names the request, if it does.'),
    receipt: text('How the service names the event, if it does.'),
    error: orNull(objectOf({ code: Type.String(), msg: Type.String() })),
    advice: text('What the error means and what to do, for a person.'),
  },
  {
    title: 'TargetTest',
    description: 'What came of a test event to a target that is not stored.',
    examples: [
      {
        result: 'refused',
        event: {
          event_id: 'ev_01K0A1B2C3D4E5F6G7H8J9K0M1',
          event_type: 'test.v0',
          event_timestamp: '2026-11-26T12:00:00.000Z',
          account_id: 'ac_01M80GQ50VKQ2V1YAN3EVRGJ06',
          object: { event_destination: { id: 'ed_01K0A1B2C3D4E5F6G7H8J9K0M1' } },
        },
        took_ms: 12,
        request_id: null,
        receipt: null,
        error: { code: '401', msg: 'The server answered 401 Unauthorized.' },
        advice: 'The server refuses the credentials (401). Set a valid token, password or header.',
      },
    ],
  },
)

export type TargetTest = Static<typeof targetTestSchema>
