/** Event subscriptions: which event kinds go to which destinations, with which fields and filter. */

import { replayIdPrefix } from '../../delivery/wire/replays.js'
import { EntryFaults } from '../../ground/core/entry-faults.js'
import { badRequest, WeirError } from '../../ground/core/errors.js'
import { newId } from '../../ground/core/ids.js'
import { destinationsPerSubscriptionMax, sourcesPerSubscriptionMax } from '../../ground/core/limits.js'
import {
  boundedChars,
  documented,
  objectOf,
  orNull,
  ruled,
  type Static,
  Type,
} from '../../ground/core/schema.js'
import { expressionSchema } from './fields/expression-schema.js'
import { asIs, defaulted, derived, repeatedEntry, writable } from './fields/fields.js'
import { uriSchema } from './fields/id-schema.js'
import { references } from './fields/reference-fields.js'
import { canonicalPastTime, pastTimestamp } from './fields/timestamp-field.js'
import { defineResource, type Links } from './kind/define.js'
import { exampleId } from './kind/examples.js'

/** The OpenAPI document lists the values; this room does not know them. */
export const eventKindSchema = Type.String({ title: 'EventKind', maxLength: 100 })
const fieldNames = Type.Array(Type.String({ title: 'EventField', maxLength: 100 }), {
  maxItems: 100,
  ...documented({ uniqueItems: true }),
})

/** A source as clients send it; the event catalog checks its parts. */
export const sourceSchema = objectOf(
  {
    type: eventKindSchema,
    fields: Type.Optional(
      orNull(ruled(fieldNames, repeatedEntry), {
        description: 'Traffic kinds only: the fields to capture; the default ones if omitted.',
      }),
    ),
    filter: Type.Optional(
      orNull(expressionSchema, {
        description: 'Traffic kinds only: an expression over the filterable fields.',
      }),
    ),
    uri: Type.Optional(Type.String({ description: 'As in responses; may be sent back, and has no effect.' })),
  },
  { title: 'EventSourceCreate' },
)

/** The problem with the `uri` of a source. */
export const wrongSourceUri = ({ type, uri }: Static<typeof sourceSchema>): string | undefined =>
  uri === undefined || uri.endsWith(`/sources/${type}`)
    ? undefined
    : `the "uri" must be the one of the source ${JSON.stringify(type)}`

export type Source = Omit<Static<typeof sourceSchema>, 'uri'>

/** The body that changes a source; its type is part of its path. */
export const sourceChangesSchema = objectOf(
  {
    fields: sourceSchema.properties.fields,
    filter: sourceSchema.properties.filter,
    uri: sourceSchema.properties.uri,
  },
  { title: 'EventSourceUpdate' },
)

export const shownSourceSchema = objectOf(
  {
    type: eventKindSchema,
    uri: uriSchema,
    fields: Type.Optional(fieldNames),
    filter: Type.Optional(expressionSchema),
  },
  { title: 'EventSource', description: 'An event source of a subscription.' },
)

const sourcesSchema = ruled(
  Type.Array(ruled(sourceSchema, wrongSourceUri), {
    maxItems: sourcesPerSubscriptionMax,
    ...documented({ uniqueItems: true }),
  }),
  (sources) => repeatedEntry((sources as Source[]).map(({ type }) => type)),
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
  about: 'Which kinds of events go to which destinations, with which fields and filter.',
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
    start_from: {
      ...writable(pastTimestamp, { atCreation: true }),
      complete: canonicalPastTime,
      shown: asIs(
        Type.String({
          description:
            'The subscription also gets the events of records that were stored since then, at most as long ago as records are kept. They are sent by the replays that `replay_ids` names.',
          ...documented({ format: 'date-time' }),
        }),
      ),
    },
    replay_ids: derived(
      Type.Array(Type.String(), {
        description: 'The replays of a subscription with `start_from`, one for each destination.',
      }),
    ),
    destination_ids: {
      ...references('event_destination', 'ed_', {
        shownAs: 'destinations',
        min: 0,
        max: destinationsPerSubscriptionMax,
      }),
      fallback: [] as string[],
    },
  },
  derive: (draft, previous) =>
    previous === undefined && draft.start_from !== null
      ? { ...draft, replay_ids: [...new Set(draft.destination_ids)].map(() => newId(replayIdPrefix)) }
      : draft,
  check(subscription, _previous, lookups) {
    const sources = subscription.sources as Source[]
    if (sources.length > sourcesPerSubscriptionMax) {
      throw badRequest(
        `"sources" would have ${sources.length} entries: at most ${sourcesPerSubscriptionMax} are allowed.`,
      )
    }
    const faults = new EntryFaults()
    for (const [index, source] of sources.entries()) {
      for (const { member, msg, mark } of lookups.sourceProblems(source)) {
        const place = lookups.nameInBody(`sources[${index}].${member}`)
        const code = member === 'filter' ? 'ERR_INVALID_EXPRESSION' : 'ERR_INVALID_REQUEST'
        const places = mark === undefined ? [] : [{ place, ...mark, msg }]
        faults.add(place, new WeirError(code, `"${place}" is refused: ${msg}`, { places }))
      }
    }
    faults.throwIfAny()
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
