/** Events in the OpenAPI document. They are no requests to anybody, but webhooks are where tools look for messages. */
import type { EventSchema } from '../event/event-schemas.js'

export const webhooksTag = {
  name: 'events',
  description:
    'What event destinations are sent: one JSON object per record, which ends with a line break in Kinesis and Firehose. Nobody is sent an HTTP request; events stand here as webhooks so that tools know their schemas.',
}

export const webhooks = (events: readonly EventSchema[]): Record<string, object> =>
  Object.fromEntries(
    events.map(({ kind, about, schema }) => [
      kind,
      {
        post: {
          operationId: kind.replace('.', '_'),
          summary: kind,
          description: about,
          tags: [webhooksTag.name],
          security: [],
          requestBody: { required: true, content: { 'application/json': { schema } } },
          responses: { 200: { description: 'The destination has accepted the event.' } },
        },
      },
    ]),
  )
