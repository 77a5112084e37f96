/** Descriptions and schemas of operations for the OpenAPI document. */
import { pageEntriesMax, recordIdCharsMax } from '../../../ground/core/limits.js'
import { documented, inTypes, objectOf, orNull, type TSchema, Type } from '../../../ground/core/schema.js'
import { pluralOf } from '../../../ground/core/text/plural.js'
import { eventKindSchema } from '../../../words/resource/event-subscription.js'
import { queryExpressionSchema } from '../../../words/resource/fields/expression-schema.js'
import { bodySchema } from '../../../words/resource/fields/fields.js'
import { componentName, idSchema, uriSchema } from '../../../words/resource/fields/id-schema.js'
import { type AnyResource, isServed, type Operation } from '../../../words/resource/kind/define.js'
import { resources } from '../../../words/resource/registry.js'
import { resourceSchema } from '../../../words/resource/shown-schema.js'
import { article } from '../../exchange/body/input.js'
import { coversParameter, hasRanges } from '../../exchange/covering.js'
import { problemSchema } from '../../exchange/problem.js'
import { type BoundName, boundSentence } from '../bounds/at-once.js'
import { warningHeader } from '../missing-values.js'
import { changesExample, createExample, pageExample, shownExample } from './examples.js'
import { postParameters, writeParameters } from './write-parameters.js'

/** The schema with an example for the document. */
export const shownBy = (schema: TSchema, example: unknown): TSchema =>
  ({ ...schema, ...documented({ examples: [example] }) }) as TSchema

// --- operations ---

export interface OperationDescription {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tag: string
  /** In the form of routes: `/edges/tcp/:id`. */
  readonly path: string
  /** The status of success and the schema of its body, which 204 does not have. */
  readonly success: readonly [status: 200 | 201 | 202 | 204, schema?: TSchema]
  /** The body of a 202, which the operation may also answer with. */
  readonly accepted?: TSchema
  /** Other forms of the success's body: schemas by media type. */
  readonly otherForms?: Readonly<Record<string, TSchema>>
  readonly query?: TSchema
  readonly headers?: TSchema
  readonly body?: TSchema
  /** The bound on such requests at the same time. */
  readonly atOnce?: BoundName
  /** Does the answer name its missing values? Answers to writes always do. */
  readonly warns?: true
  /** The meaning of 409, if the operation may answer with it. */
  readonly conflict?: string | undefined
}

/** The meaning of 409 for a kind whose names may overlap with those of another account. */
export const conflictOf = ({ overlapMessage }: AnyResource): string | undefined =>
  overlapMessage && 'A name overlaps with names of another account.'

/** The options of a route. Error responses are added when the document is finished. */
export function describe({
  tag,
  path,
  success,
  accepted,
  otherForms,
  query,
  headers,
  body,
  atOnce,
  warns,
  conflict,
  description,
  ...texts
}: OperationDescription) {
  const [status, shown = Type.Null({ description: 'Done; there is no body.' })] = success
  const about = [description, atOnce && boundSentence(atOnce)].filter((text) => text !== undefined)
  return {
    config: atOnce === undefined ? {} : { atOnce },
    schema: {
      ...texts,
      ...(about.length === 0 ? {} : { description: about.join(' ') }),
      tags: [tag],
      ...(path.includes(':') ? { params: paramsSchema(path) } : {}),
      ...(query === undefined ? {} : { querystring: query }),
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
      response: {
        [status]: withHeaders(inForms(shown, otherForms), {
          ...(status === 201 || status === 202 ? location : {}),
          ...(query === writeParameters.query ? warning : {}),
          ...(warns ? gapWarning : {}),
        }),
        ...(accepted === undefined ? {} : { 202: withHeaders(accepted, location) }),
        ...(conflict === undefined ? {} : { 409: { description: conflict, ...problemSchema } }),
      },
    },
  }
}

/** A response with one form is its schema. */
function inForms(schema: TSchema, others: OperationDescription['otherForms']): TSchema {
  if (others === undefined) return schema
  const forms = inTypes({ 'application/json': schema, ...others })
  return { description: 'In the form that `Accept` prefers.', ...forms } as TSchema
}

const location = {
  Location: { type: 'string', format: 'uri', description: 'The `uri` of what was created.' },
}

const warning = {
  [warningHeader]: {
    type: 'string',
    description: 'Names in what was written that never have a value in this deployment, and why.',
  },
}

export const gapWarning = {
  [warningHeader]: {
    type: 'string',
    description:
      'Why the answer may be empty or 0: names that never have a value in this deployment, or rows that its log does not have.',
  },
}

const withHeaders = (schema: TSchema, headers: object): TSchema =>
  Object.keys(headers).length === 0 ? schema : ({ ...schema, headers } as TSchema)

/** The parameters of a path: each follows the collection that it selects from. */
export const paramsSchema = (path: string): TSchema =>
  Type.Object(
    Object.fromEntries(
      [...path.matchAll(/:(\w+)/g)].map(({ 1: name, index }) => [
        name!,
        parameterOf(path.slice(0, index - 1)),
      ]),
    ),
  )

export const trialsPath = '/tries'
export const replaysPath = '/replays'

const byCollection = new Map(
  resources.filter(isServed).map((resource) => [routePath(resource.path), resource]),
)

/** Parameters below paths that are no collections of resources. */
const plainParameters: Readonly<Record<string, TSchema>> = {
  [trialsPath]: Type.String({ description: 'The id of the trial.' }),
  [replaysPath]: Type.String({ description: 'The id of the replay.' }),
  '/dead_letters': Type.String({ description: 'The id of the dead letter.' }),
  '/records': Type.String({ maxLength: recordIdCharsMax, description: 'The id of the record.' }),
}

function parameterOf(collection: string): TSchema {
  const plain = plainParameters[collection]
  if (plain !== undefined) return plain
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
      next_page_uri: orNull(uriSchema, {
        description: 'The address of the next page; null on the last page.',
      }),
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
  const details: Record<
    Operation,
    () => Pick<OperationDescription, 'success' | 'query' | 'headers' | 'body' | 'atOnce' | 'conflict'>
  > = {
    create: () => ({
      success: [201, one],
      body: shownBy(createSchema(resource, `${name}Create`), createExample(resource)),
      conflict: conflictOf(resource),
      ...postParameters,
    }),
    get: () => ({ success: [200, one] }),
    list: () => ({
      success: [200, shownBy(listSchema(listName, one, `${name}List`), pageExample(resource))],
      query: listQuery(resource),
      atOnce: 'list_search',
    }),
    update: () => ({
      success: [200, one],
      body: shownBy(patchSchema(resource, `${name}Update`), changesExample(resource)),
      conflict: conflictOf(resource),
      ...writeParameters,
    }),
    delete: () => ({ success: [204], ...writeParameters }),
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

export const limitParameter = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: pageEntriesMax,
    default: pageEntriesMax,
    description: 'The maximum number of entries in a page.',
  }),
)

export const filterParameter = Type.Optional(
  queryExpressionSchema(
    'An expression over the members of an entry, such as `backend.enabled` of an edge; entries for which it is true are listed.',
  ),
)

const pageParameters = ({ kind, idPrefix }: AnyResource) => ({
  limit: limitParameter,
  before_id: Type.Optional({
    ...idSchema(kind, idPrefix),
    description: 'Entries older than this id, which may have been deleted.',
  } as TSchema),
})

/** The query parameters of a list without filters. */
export const pageQuery = (resource: AnyResource) => Type.Object(pageParameters(resource))

/** The query parameters of a list. */
const listQuery = (resource: AnyResource) =>
  Type.Object({
    ...pageParameters(resource),
    filter: filterParameter,
    description: Type.Optional(
      Type.String({ description: 'Entries with exactly this description; empty: entries without one.' }),
    ),
    ...(hasRanges(resource) ? { covers: coversParameter } : {}),
  })

/** The names of these parameters. */
export const listParameters = ['limit', 'before_id', 'filter', 'description'] as const

/** If one of several fields must be set, an empty body is refused. */
export function createSchema({ fields, parent }: AnyResource, title: string): TSchema {
  const own = Object.entries(fields).filter(([name]) => name !== parent?.field)
  const hasChoice = own.some(([, { isChoice }]) => isChoice)
  return bodySchema(Object.fromEntries(own), { title, ...(hasChoice && { minProperties: 1 }) })
}

/** Every field that can be changed; all are optional, and null clears an optional field. */
export const patchSchema = (resource: AnyResource, title: string): TSchema =>
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
        'The fields to change. The complete answer of GET may also be sent: its read-only members are accepted unchanged, and refused with another value.',
    },
  )
