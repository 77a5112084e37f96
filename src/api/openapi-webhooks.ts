/** Events in the OpenAPI document, as webhooks: they are not HTTP requests, but that is where tools look for messages. */
import { listed } from '../core/plural.js'
import { destinationKinds } from '../deliver/kinds.js'
import type { EventSchema } from '../event/event-schemas.js'

const withLineBreak = destinationKinds.filter((kind) => kind.keepsLineBreak).map(({ title }) => title)

export const webhooksTag = {
  name: 'events',
  description: `The events that are sent to event destinations: one JSON object per record, followed by a line break if the target is a ${listed(withLineBreak)}. They are listed as webhooks so that tools know their schemas; Weir sends no HTTP requests to clients.`,
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
