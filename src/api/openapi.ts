/** How the operations of the API are described in its OpenAPI document, and what their schemas are. */

import { idempotencyKeyCharsMax, pageEntriesMax } from '../core/limits.js'
import { pluralOf } from '../core/plural.js'
import { documented, objectOf, orNull, type TSchema, Type } from '../core/schema.js'
import { componentName } from '../resource/component-name.js'
import { type AnyResource, isServed, type Operation } from '../resource/define.js'
import { eventKindSchema } from '../resource/event-subscription.js'
import { expressionSchema } from '../resource/expression-schema.js'
import { bodySchema } from '../resource/fields.js'
import { idSchema, uriSchema } from '../resource/id-schema.js'
import { resources } from '../resource/registry.js'
import { resourceSchema } from '../resource/shown-schema.js'
import { changesExample, createExample, pageExample, shownExample } from './examples.js'
import { article } from './input.js'

/** The schema with an example of it, which stands in the document beside the schema. */
export const shownBy = (schema: TSchema, example: unknown): TSchema =>
  ({ ...schema, ...documented({ examples: [example] }) }) as TSchema

// --- operations ---

export interface Described {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tag: string
  /** As routes have it: `/edges/tcp/:id`. */
  readonly path: string
  /** The one status of success, and what it brings; nothing for 204. */
  readonly success: readonly [status: 200 | 201 | 204, schema?: TSchema]
  readonly query?: TSchema
  readonly headers?: TSchema
  readonly body?: TSchema
}

/** An operation as a route takes it; what any operation may answer instead is added when the document is finished. */
export function describe({ tag, path, success, query, headers, body, ...texts }: Described) {
  const [status, shown = Type.Null({ description: 'Done; there is no body.' })] = success
  return {
    schema: {
      ...texts,
      tags: [tag],
      ...(path.includes(':') ? { params: paramsSchema(path) } : {}),
      ...(query === undefined ? {} : { querystring: query }),
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
      response: { [status]: status === 201 ? ({ ...shown, ...location } as TSchema) : shown },
    },
  }
}

const location = {
  headers: { Location: { type: 'string', format: 'uri', description: 'The `uri` of what was created.' } },
}

/** What a write takes beside its body. */
export const ofWrite = {
  query: Type.Object({
    validate_only: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Answers what the write would be answered at present, one-time tokens null; changes nothing.',
      }),
    ),
  }),
}

export const idempotencyHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: idempotencyKeyCharsMax,
      pattern: '^[ -~]+$',
      description:
        'The same request under the same key is done once within 24 hours, and answered what it was at first, one-time tokens null.',
    }),
  ),
})

export const ofPost = { ...ofWrite, headers: idempotencyHeaders }

/** The parameters of a path: each stands behind the collection that it chooses from. */
const paramsSchema = (path: string): TSchema =>
  Type.Object(
    Object.fromEntries(
      [...path.matchAll(/:(\w+)/g)].map(({ 1: name, index }) => [
        name!,
        parameterOf(path.slice(0, index - 1)),
      ]),
    ),
  )

const byCollection = new Map(
  resources.filter(isServed).map((resource) => [routePath(resource.path), resource]),
)

function parameterOf(collection: string): TSchema {
  const resource = byCollection.get(collection)
  if (resource === undefined) return { ...eventKindSchema, description: 'The kind of the event source.' }
  const { kind, idPrefix, title } = resource
  return { ...idSchema(kind, idPrefix), description: `The id of the ${title}.` }
}

export function routePath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/** The schema of a page of a list. */
export const listSchema = (name: string, item: TSchema, title: string): TSchema =>
  objectOf(
    {
      [name]: Type.Array(item, { maxItems: pageEntriesMax }),
      uri: uriSchema,
      next_page_uri: orNull(uriSchema, { description: 'Where the next page is; null on the last one.' }),
    },
    { title, description: 'A page, newest first.' },
  )

export function describeOperation(resource: AnyResource, operation: Operation) {
  const { kind, title, listName } = resource
  const name = componentName(kind)
  const one = shownBy(resourceSchema(resource), shownExample(resource))
  const plural = pluralOf(title)
  const isOfMany = operation === 'create' || operation === 'list'
  const base = {
    operationId: `${operation}_${operation === 'list' ? pluralOf(kind) : kind}`,
    summary: `${verbs[operation]} ${operation === 'list' ? plural : article(title)}`,
    tag: plural,
    path: routePath(resource.path) + (isOfMany ? '' : '/:id'),
  }
  const details: Record<Operation, () => Pick<Described, 'success' | 'query' | 'headers' | 'body'>> = {
    create: () => ({
      success: [201, one],
      body: shownBy(createSchema(resource, `${name}Create`), createExample(resource)),
      ...ofPost,
    }),
    get: () => ({ success: [200, one] }),
    list: () => ({
      success: [200, shownBy(listSchema(listName, one, `${name}List`), pageExample(resource))],
      query: listQuery(resource),
    }),
    update: () => ({
      success: [200, one],
      body: shownBy(patchSchema(resource, `${name}Update`), changesExample(resource)),
      ...ofWrite,
    }),
    delete: () => ({ success: [204], ...ofWrite }),
  }
  return describe({ ...base, ...details[operation]() })
}

const verbs: Record<Operation, string> = {
  create: 'Create',
  get: 'Get',
  list: 'List',
  update: 'Update',
  delete: 'Delete',
}

/** What a list takes. */
const listQuery = ({ kind, idPrefix }: AnyResource) =>
  Type.Object({
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: pageEntriesMax,
        default: pageEntriesMax,
        description: 'How many entries a page has at most.',
      }),
    ),
    before_id: Type.Optional({
      ...idSchema(kind, idPrefix),
      description: 'Entries older than this id, which need not exist any more.',
    } as TSchema),
    filter: Type.Optional({
      ...expressionSchema,
      description:
        'An expression that entries must be true for. Its names are those of an entry, with dots in between: `backend.enabled`.',
    } as TSchema),
    description: Type.Optional(
      Type.String({ description: 'Entries of exactly this description; empty: those without one.' }),
    ),
  })

/** The names of what every list takes. */
export const listParameters = ['limit', 'before_id', 'filter', 'description'] as const

const createSchema = ({ fields, parent }: AnyResource, title: string): TSchema =>
  bodySchema(Object.fromEntries(Object.entries(fields).filter(([name]) => name !== parent?.field)), { title })

/** Every field that can be changed, all optional; null clears what need not be there. */
const patchSchema = (resource: AnyResource, title: string): TSchema =>
  objectOf(
    Object.fromEntries(
      Object.entries(resource.fields)
        .filter(([, { setBy }]) => setBy === 'client')
        .map(([name, { schema, required, fields }]) => [
          name,
          Type.Optional(required || fields !== undefined ? schema : orNull(schema)),
        ]),
    ),
    {
      title,
      description:
        'What is to be changed. The answer of GET may be sent back whole as well: its other members are accepted as they are, and refused with another value.',
    },
  )
