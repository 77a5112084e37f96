/** Which event kinds go to which destinations, and what of them. */
import { badRequest, WeirError } from '../core/errors.js'
import { destinationsPerSubscriptionMax, sourcesPerSubscriptionMax } from '../core/limits.js'
import { boundedChars, objectOf, orNull, ruled, type Static, Type } from '../core/schema.js'
import { defineResource, type Links } from './define.js'
import { exampleId } from './examples.js'
import { asIs, defaulted, repeatedEntry, writable } from './fields.js'
import { references } from './reference-fields.js'

const fieldNames = Type.Array(Type.String({ maxLength: 100 }), { maxItems: 100 })

/** Of the source as clients send it; whether its parts are right is known by the event catalog. */
export const sourceSchema = objectOf({
  type: Type.String({ maxLength: 100, description: 'An event kind, such as "tcp_connection_closed.v0".' }),
  fields: Type.Optional(
    orNull(ruled(fieldNames, repeatedEntry), {
      description: 'Traffic kinds only: the fields to capture; all where left out.',
    }),
  ),
  filter: Type.Optional(
    orNull(Type.String(), {
      description: 'Traffic kinds only: an expression over the filterable fields.',
    }),
  ),
})

export type Source = Static<typeof sourceSchema>

/** What changes a source; its type is part of its path. */
export const sourceChangesSchema = objectOf({
  fields: sourceSchema.properties.fields,
  filter: sourceSchema.properties.filter,
})

export const shownSourceSchema = objectOf(
  {
    type: Type.String(),
    uri: Type.String(),
    fields: Type.Optional(Type.Array(Type.String())),
    filter: Type.Optional(Type.String()),
  },
  { description: 'The source.' },
)

const sourcesSchema = ruled(Type.Array(sourceSchema, { maxItems: sourcesPerSubscriptionMax }), (sources) =>
  repeatedEntry((sources as Source[]).map(({ type }) => type)),
)

/** A source without its empty parts. */
export const completeSource = ({ type, fields, filter }: Source): Source => ({
  type,
  ...(fields ? { fields } : {}),
  ...(filter ? { filter } : {}),
})

const sourcesField = () => ({
  ...defaulted(sourcesSchema, [], { column: 'json' }),
  complete: (sources: readonly Source[]) => sources.map(completeSource),
  shown: asIs(Type.Array(shownSourceSchema)),
})

export const eventSubscription = defineResource({
  kind: 'event_subscription',
  idPrefix: 'esb_',
  path: '/event_subscriptions',
  listName: 'event_subscriptions',
  title: 'event subscription',
  about: 'Which kinds of events go to which destinations, and what of them.',
  example: {
    description: 'connections to ssh',
    sources: [
      {
        type: 'tcp_connection_closed.v0',
        fields: ['conn.client_ip', 'conn.start_ts'],
        filter: 'conn.server_port == 22',
      },
    ],
    destination_ids: [exampleId('ed_')],
  },
  audit: 'event_subscription',
  fields: {
    description: writable(boundedChars(255, 'Human-readable customer data.')),
    metadata: writable(boundedChars(4096, 'Machine-readable customer data.')),
    sources: sourcesField(),
    destination_ids: {
      ...references('event_destination', 'ed_', {
        shownAs: 'destinations',
        min: 0,
        max: destinationsPerSubscriptionMax,
      }),
      fallback: [] as string[],
    },
  },
  check(subscription, _previous, lookups) {
    const sources = subscription.sources as Source[]
    if (sources.length > sourcesPerSubscriptionMax) {
      throw badRequest(
        `"sources" would have ${sources.length} entries: at most ${sourcesPerSubscriptionMax} are allowed.`,
      )
    }
    for (const [index, source] of sources.entries()) {
      const found = lookups.sourceProblem(source)
      if (found === undefined) continue
      const place = lookups.nameInBody(`sources[${index}].${found.member}`)
      const code = found.member === 'filter' ? 'ERR_INVALID_EXPRESSION' : 'ERR_INVALID_REQUEST'
      throw new WeirError(code, `"${place}" is refused: ${found.msg}`)
    }
  },
  embed: (subscription, links) => ({
    sources: (subscription.sources as Source[]).map((source) =>
      shownSourceOf(subscription.id, source, links),
    ),
  }),
})

/** A source as clients see it. */
export const shownSourceOf = (subscriptionId: string, source: Source, links: Links) => ({
  type: source.type,
  uri: `${links.of('event_subscription', subscriptionId)}/sources/${source.type}`,
  ...(source.fields ? { fields: source.fields } : {}),
  ...(source.filter ? { filter: source.filter } : {}),
})
