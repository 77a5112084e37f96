/** Schemas of all kinds of events, derived from the declarations of kinds and resources. */
import { dropReasons } from '../../delivery/books/dropped.js'
import { unitKey } from '../../delivery/record/record-schemas.js'
import { isoMillis } from '../../ground/core/clock.js'
import { accountNameBytesMax } from '../../ground/core/limits.js'
import {
  boundedBytes,
  documented,
  mapOf,
  objectOf,
  oneOf,
  orNull,
  type TSchema,
  Type,
} from '../../ground/core/schema.js'
import { type DottedTree, treeOfDotted } from '../../ground/core/text/dotted.js'
import { accountIdSchema, componentName, idSchema, refSchema } from '../resource/fields/id-schema.js'
import { resources } from '../resource/registry.js'
import { auditedSchema } from '../resource/shown-schema.js'
import { auditKindOf, auditVerbs } from './audit.js'
import { trafficEvents } from './catalog.js'
import type { AnyTrafficEvent, Field, FieldType } from './define.js'
import { operatorActionsSchema } from './operator-actions.js'
import { destinationStates, type OperatorKind } from './operator-event.js'

export interface EventSchema {
  /** `tcp_connection_closed.v0` */
  readonly kind: string
  /** The occurrence, in a sentence. */
  readonly about: string
  readonly schema: TSchema
}

const eventId = Type.String({
  title: 'EventId',
  description: 'The same event has the same id however often it is delivered: drop repeats by it.',
  ...documented({ pattern: '^ev_[0-9A-Za-z_-]{1,64}$' }),
})

/** The author of a change. */
export const principalSchema = objectOf(
  {
    id: accountIdSchema,
    subject: boundedBytes(accountNameBytesMax, 'The name of the account.'),
    source: oneOf(['API', 'CLI', 'EXPIRY', 'FEED']),
    credential: orNull(refSchema, { description: 'The API key; null on the command line.' }),
  },
  { title: 'EventPrincipal', description: 'Who made the change.' },
)

const instant = Type.String({
  description: 'RFC 3339 in UTC, with milliseconds.',
  ...documented({ format: 'date-time' }),
})

const envelope = (kind: string, about: string, own: Record<string, TSchema>): EventSchema => ({
  kind,
  about,
  schema: objectOf(
    {
      event_id: eventId,
      event_type: Type.Literal(kind),
      event_timestamp: instant,
      account_id: accountIdSchema,
      ...own,
    },
    { title: componentName(kind), description: about },
  ),
})

// --- traffic ---

const int32Max = 2 ** 31 - 1

const valueSchemas: Readonly<Record<FieldType, TSchema>> = {
  text: Type.String(),
  int32: Type.Integer({ minimum: -int32Max - 1, maximum: int32Max, format: 'int32' }),
  int64: Type.Integer({
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    format: 'int64',
  }),
  double: Type.Number(),
  bool: Type.Boolean(),
  timestamp: Type.String(documented({ format: 'date-time' })),
  texts: Type.Array(Type.String()),
  headers: mapOf(Type.Array(Type.String()), { description: 'Values by the names of headers.' }),
  map: mapOf(Type.Unknown()),
}

const fieldSchema = ({ type, about, unit }: Field<never>): TSchema =>
  orNull(valueSchemas[type], { description: about, ...(unit === undefined ? {} : { [unitKey]: unit }) })

/** The members of an event's `object`; each may be missing, as sources select fields. */
const objectSchema = (members: DottedTree<Field<never>>): TSchema =>
  objectOf(
    Object.fromEntries(
      [...members].map(([name, member]) => [
        name,
        Type.Optional(member instanceof Map ? objectSchema(member) : fieldSchema(member)),
      ]),
    ),
  )

const trafficEventSchema = (kind: AnyTrafficEvent): EventSchema =>
  envelope(kind.name, kind.about, { object: objectSchema(treeOfDotted(kind.fields)) })

// --- audit events ---

/** One for each verb of each object; the object is the resource as the API shows it, secrets null. */
const auditEventSchemas: readonly EventSchema[] = resources.flatMap((resource) => {
  const { audit, title } = resource
  if (audit === undefined) return []
  return auditVerbs.map((verb) =>
    envelope(auditKindOf(audit, verb), `A change: ${title}, ${verb}.`, {
      principal: principalSchema,
      object: auditedSchema(resource),
    }),
  )
})

// --- operator events ---

interface OperatorSchema {
  /** The occurrence, in a sentence. */
  readonly about: string
  readonly object: TSchema
}

const time = (description: string) => Type.String({ description, ...documented({ format: 'date-time' }) })
const count = (description: string) => Type.Integer({ minimum: 0, description })

const operatorSchemas: Readonly<Record<OperatorKind, OperatorSchema>> = {
  'dead_letters_expiring.v0': {
    about: 'Dead letters will be removed, because they are older than the retention.',
    object: objectOf({
      count: count('Dead letters that will be removed.'),
      counts: objectOf({
        record: count('Records among them.'),
        event: count('Events among them.'),
        audit: count('Audit events among them.'),
      }),
      first_removed_at: time('When the first of them is removed.'),
      last_removed_at: time('When the last of them is removed.'),
      uri: Type.String({ description: 'Lists them.', ...documented({ format: 'uri' }) }),
    }),
  },
  'event_destination_state_changed.v0': {
    about: 'Delivery to an event destination works, or does not work, in another way than before.',
    object: objectOf({
      event_destination: refSchema,
      description: orNull(Type.String(), { description: "The destination's." }),
      old_state: oneOf(destinationStates, 'As announced before.'),
      new_state: oneOf(destinationStates),
      cause: orNull(Type.String(), { description: 'As in the status; null when healthy.' }),
      advice: orNull(Type.String(), { description: 'What it means and what to do, for a person.' }),
      actions: operatorActionsSchema,
      since: time('When the new state began.'),
    }),
  },
  'events_expiring.v0': {
    about:
      'Events that wait for an event destination will be dropped, because they are older than the retention.',
    object: objectOf({
      event_destination: refSchema,
      description: orNull(Type.String(), { description: "The destination's." }),
      backlog: count('Events that wait for it, those that are newer included.'),
      first_dropped_at: time('When the first of them are dropped, unless it accepts events before.'),
      advice: Type.String({ description: 'Why they wait and what to do, for a person.' }),
      actions: operatorActionsSchema,
    }),
  },
  'events_dropped.v0': {
    about:
      'Events that waited for an event destination were dropped, because they were older than the retention, or their messages have left the stream of deliveries.',
    object: objectOf({
      event_destination: refSchema,
      description: orNull(Type.String(), { description: "The destination's." }),
      reason: oneOf(dropReasons, 'Why: too old, or no longer in the stream WEIR_DELIVERIES.'),
      count: count('Events that were dropped for this reason and not announced before.'),
      types: Type.Array(
        objectOf({
          type: Type.String({ description: 'The kind of these events.' }),
          count: count('Events among them.'),
          total: count('All events of the kind that the destination has lost for this reason.'),
        }),
      ),
      first_event_at: time('The time of the oldest event that it lost in this outage.'),
      last_event_at: time('The time of the newest event that it lost in this outage.'),
      replay: orNull(objectOf({ from: time('Where a replay begins.'), to: time('Where it ends.') }), {
        description: 'What brings them back, all or in part; null if no records of that time are there.',
      }),
      advice: Type.String({ description: 'What to do, for a person.' }),
      actions: operatorActionsSchema,
    }),
  },
}

const operatorEventSchemas = Object.entries(operatorSchemas).map(([kind, { about, object }]) =>
  envelope(kind, about, { object }),
)

// --- test events ---

const testEventKind = 'test.v0'

/** The event that `send_test_event` sends. */
export const testEventJson = (
  eventId: string,
  at: number,
  accountId: string,
  destinationId: string,
): string =>
  JSON.stringify({
    event_id: eventId,
    event_type: testEventKind,
    event_timestamp: isoMillis(at),
    account_id: accountId,
    object: { event_destination: { id: destinationId } },
  })

const testEventSchema: EventSchema = envelope(testEventKind, 'A test of an event destination.', {
  object: objectOf({ event_destination: objectOf({ id: idSchema('event_destination', 'ed_') }) }),
})

/** Every kind of event that a destination may be sent. */
export const eventSchemas = (kinds: readonly AnyTrafficEvent[] = trafficEvents): readonly EventSchema[] => [
  ...kinds.map(trafficEventSchema),
  ...auditEventSchemas,
  ...operatorEventSchemas,
  testEventSchema,
]
