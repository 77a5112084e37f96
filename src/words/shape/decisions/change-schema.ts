/** The schema of a change in the history. */
import { documented, objectOf, oneOf, orNull, type Static, Type } from '../../../ground/core/schema.js'
import { idSchema } from '../../resource/fields/id-schema.js'
import { exampleId } from '../../resource/kind/examples.js'
import { resources } from '../../resource/registry.js'

const instant = Type.String({
  description: 'RFC 3339 in UTC, with milliseconds.',
  ...documented({ format: 'date-time' }),
})

/** Names of authors without a key. */
const otherAuthors: Readonly<Record<string, string>> = {
  cli: 'the command line of Weir',
  nats: 'a request over NATS',
  expiry: 'the expiry of rules',
  feed: 'the source of the list',
}

/** The author of a change for a person; null if a key has no description. */
export const authorDescription = (by: string, keyDescription: string | null | undefined): string | null =>
  otherAuthors[by] ?? (keyDescription || null)

/** The members of a change that are known without its rows: filters use these. */
export const changeHeadSchema = objectOf(
  {
    version: Type.Integer({
      minimum: 1,
      description: 'Grows with each write of the account; everything that one write changed has the same.',
    }),
    changed_at: instant,
    verb: oneOf(['create', 'update', 'delete']),
    kind: oneOf(resources.map(({ kind }) => kind)),
    id: Type.String({ description: 'The id of the resource.' }),
    source: oneOf(
      ['API', 'CLI', 'NATS', 'EXPIRY', 'FEED'],
      'How the request came. EXPIRY: Weir itself deleted rules that had expired. FEED: the source of an IP list had other entries.',
    ),
    by: Type.String({
      description: 'The id of the API key that made the change, `cli`, `nats`, `expiry` or `feed`.',
    }),
    by_description: orNull(Type.String(), {
      description:
        'What the author is called: the description of the key, or its last one if the key was deleted, or the command line, NATS, the expiry of rules or the source of a list in words; null if the key has none.',
    }),
    api_key_id: orNull(idSchema('api_key', 'ak_'), { description: 'The API key that made the change.' }),
    api_key_description: orNull(Type.String(), {
      description:
        'The description of this key, or its last one if the key was deleted; null if it has none.',
    }),
    client_address: orNull(Type.String(), {
      description: 'The address of the client; null if the change did not come over HTTP.',
    }),
    operation_id: orNull(Type.String(), {
      description:
        'The id of the request, which was in its answer; null if the change did not come over HTTP.',
    }),
    tests_skipped: Type.Boolean({
      description: 'Was it made with `skip_tests`, although policy tests may have failed?',
    }),
  },
  { title: 'ChangeHead' },
)

const changedField = objectOf(
  {
    name: Type.String({ description: 'Members of a module have dotted names, such as `backend.enabled`.' }),
    before: Type.Unknown({ description: 'As the API showed it; null if unset.' }),
    after: Type.Unknown({ description: 'As the API showed it; null if unset.' }),
    secret: Type.Boolean({ description: 'The value is never shown: before and after are null.' }),
  },
  { title: 'ChangedField' },
)

const changedRules = objectOf(
  {
    added: Type.Integer({ minimum: 0 }),
    updated: Type.Integer({ minimum: 0 }),
    removed: Type.Integer({ minimum: 0 }),
  },
  { title: 'ChangedRules', description: 'How many rules of the IP policy were changed together.' },
)

export const changeExample = {
  version: 17,
  changed_at: '2026-11-20T10:00:00.000Z',
  verb: 'update',
  kind: 'tcp_edge',
  id: exampleId('edgtcp_'),
  source: 'API',
  by: exampleId('ak_'),
  by_description: 'deployments',
  api_key_id: exampleId('ak_'),
  api_key_description: 'deployments',
  client_address: '192.0.2.10',
  operation_id: exampleId('op_'),
  tests_skipped: false,
  fields: [{ name: 'ip_restriction.enabled', before: false, after: true, secret: false }],
  rules: null,
  by_promotion_of: null,
}

export const changeSchema = objectOf(
  {
    ...changeHeadSchema.properties,
    fields: Type.Array(changedField, { description: 'The fields that differ from the version before.' }),
    rules: orNull(changedRules, {
      description: 'If one write changed several rules of an IP policy, it is one change of the policy.',
    }),
    by_promotion_of: orNull(Type.String(), {
      description:
        'The challenger whose promotion made the change: it changes all that its draft names, and itself. Null for other changes.',
    }),
  },
  {
    title: 'Change',
    description: 'A resource that a write created, updated or deleted.',
    examples: [changeExample],
  },
)

export type ChangeHead = Static<typeof changeHeadSchema>
export type ChangedField = Static<typeof changedField>
export type Change = Static<typeof changeSchema>

const byDescription = orNull(Type.String(), {
  description:
    'What the author is called: the description of the key, or its last one if the key was deleted, or the command line, NATS or the expiry of rules in words; null if the key has none.',
})

export const additionSchema = objectOf(
  {
    at: Type.String({ format: 'date-time' }),
    by: orNull(Type.String(), {
      description: 'The id of the API key that added it, `cli`, `nats` or `expiry`; null with `earlier`.',
    }),
    by_description: byDescription,
    version: Type.Integer({ minimum: 0, description: 'The version of the account that has it first.' }),
    earlier: Type.Boolean({
      description:
        'It was there at this time already: a policy or module is looked for in the last 100 versions of its edge or route.',
    }),
  },
  { title: 'Addition' },
)

export const lastChange = objectOf(
  {
    at: Type.String({ format: 'date-time' }),
    by: Type.String({
      description: 'The id of the API key that made the change, `cli`, `nats` or `expiry`.',
    }),
    by_description: byDescription,
    version: Type.Integer({ minimum: 0 }),
  },
  { title: 'LastChange' },
)

export type LastChange = Static<typeof lastChange>
export type Addition = Static<typeof additionSchema>
