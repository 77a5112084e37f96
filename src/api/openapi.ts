/** The OpenAPI document: its head, the schemas operations share, and how an operation is described. */
import type { FastifyInstance } from 'fastify'
import { idempotencyKeyCharsMax, pageEntriesMax, requestBodyBytesMax } from '../core/limits.js'
import { pluralOf } from '../core/plural.js'
import { objectOf, orNull, type TSchema, Type } from '../core/schema.js'
import { type AnyResource, isServed, type Operation } from '../resource/define.js'
import { bodySchema } from '../resource/fields.js'
import { resources } from '../resource/registry.js'
import { resourceSchema } from '../resource/shown-schema.js'
import { supportedVersion } from './auth.js'
import { changesExample, createExample, pageExample, shownExample } from './examples.js'
import { article } from './input.js'
import { problemSchema } from './problem.js'

export interface OpenapiOptions {
  /** Where clients reach the API; undefined: wherever they got the document from. */
  readonly baseUrl: string | undefined
  readonly versionHeaders: readonly string[]
}

export const openapiHead = ({ baseUrl, versionHeaders }: OpenapiOptions) => ({
  openapi: '3.1.0',
  info: {
    title: 'Weir management API',
    version: '2',
    description:
      'Edges, IP policies, restrictions, event subscriptions and destinations. Geography: IP Geolocation by DB-IP (https://db-ip.com), CC BY 4.0.',
  },
  tags: resources.filter(isServed).map(({ title, about }) => ({ name: pluralOf(title), description: about })),
  servers: [{ url: baseUrl ?? '/' }],
  components: {
    securitySchemes: {
      key: { type: 'http' as const, scheme: 'bearer', description: 'The token of an API key.' },
    },
    parameters: { [versionParameter]: versionHeader(versionHeaders[0] ?? 'Service-Version') },
  },
  security: [{ key: [] }],
})

/** The component that every operation refers to. */
export const versionParameter = 'Version'

/** A parameter, not a security scheme: of those, tools ask for a secret. */
const versionHeader = (name: string) => ({
  name,
  in: 'header' as const,
  required: true,
  description: 'The version of the API.',
  schema: { type: 'string' as const, enum: [supportedVersion], default: supportedVersion },
  example: supportedVersion,
})

// --- schemas that stand in the document once ---

const problemName = 'Problem'

/** `ip_policy` is `IpPolicy`. */
export const schemaName = (kind: string): string =>
  kind.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())

const shared = (name: string, description: string, more: object = {}): TSchema =>
  Type.Unsafe({ $ref: `${name}#`, description, ...more }) as TSchema

/** The schema with an example of it. */
export const shownBy = (schema: TSchema, example: unknown): TSchema =>
  ({ ...schema, examples: [example] }) as TSchema

export function registerSchemas(app: FastifyInstance): void {
  app.addSchema({ $id: problemName, ...problemSchema })
  for (const resource of resources.filter(isServed)) {
    const schema = shownBy(resourceSchema(resource), shownExample(resource))
    app.addSchema({ $id: schemaName(resource.kind), ...schema })
  }
}

/** Fastify numbers shared schemas; here they keep their names. */
export const namedReferences = {
  buildLocalReference: (json: { $id?: unknown }, _base: unknown, _fragment: string, at: number): string =>
    typeof json.$id === 'string' ? json.$id : `schema-${at}`,
}

// --- operations ---

export interface Described {
  readonly operationId: string
  readonly summary: string
  readonly tag: string
  /** As routes have it: `/edges/tcp/:id`. */
  readonly path: string
  /** The one status of success, and what it brings; nothing for 204. */
  readonly success: readonly [status: 200 | 201 | 204, schema?: TSchema]
  readonly query?: TSchema
  readonly headers?: TSchema
  readonly body?: TSchema
}

/** An operation as a route takes it. */
export function describe({ operationId, summary, tag, path, success, query, headers, body }: Described) {
  const [status, shown = Type.Null({ description: 'Done; there is no body.' })] = success
  return {
    schema: {
      operationId,
      summary,
      tags: [tag],
      ...(path.includes(':') ? { params: paramsSchema(path) } : {}),
      ...(query === undefined ? {} : { querystring: query }),
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
      response: {
        [status]: status === 201 ? ({ ...shown, ...location } as TSchema) : shown,
        ...problems,
        ...(body === undefined ? {} : problemsOfBodies),
        '4xx': shared(problemName, 'Something else that the client can correct.'),
        '5xx': shared(problemName, 'Something that is wrong here.'),
      },
    },
  }
}

const location = {
  headers: { Location: { type: 'string', format: 'uri', description: 'The `uri` of what was created.' } },
}

const retryAfter = {
  headers: { 'Retry-After': { type: 'integer', description: 'Seconds after which to come again.' } },
}

/** What any operation may answer instead. */
const problems = {
  400: shared(
    problemName,
    'Something in the request is wrong: the message names it and says what is allowed.',
  ),
  401: shared(problemName, 'The token is missing, or not known.'),
  403: shared(
    problemName,
    "A restriction of the account keeps the caller's address out, or the account lacks the right.",
  ),
  404: shared(problemName, 'The account has no such resource, in the path or where the body names one.'),
  429: shared(problemName, 'Too many requests of the account, or failed logins of the address.', retryAfter),
  503: shared(problemName, 'The store is away, or too busy: nothing is wrong with the request.', retryAfter),
}

const problemsOfBodies = {
  413: shared(problemName, `The body is too large: ${requestBodyBytesMax} bytes where nothing else is said.`),
  415: shared(problemName, 'The content type of the body is not application/json.'),
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

/** A JSON schema of path parameters. */
const paramsSchema = (path: string): TSchema =>
  Type.Object(Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name]) => [name!, Type.String()])))

export const routePath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

export const listSchema = (name: string, item: TSchema): TSchema =>
  objectOf(
    { [name]: Type.Array(item), uri: Type.String(), next_page_uri: orNull(Type.String()) },
    { description: 'A page, newest first.' },
  )

export function describeOperation(resource: AnyResource, operation: Operation) {
  const { kind, title, listName } = resource
  const ofOne = shared(schemaName(kind), `The ${title}.`)
  const plural = pluralOf(title)
  const isOfMany = operation === 'create' || operation === 'list'
  const base = {
    operationId: `${operation}_${kind}`,
    summary: `${verbs[operation]} ${operation === 'list' ? plural : article(title)}`,
    tag: plural,
    path: routePath(resource.path) + (isOfMany ? '' : '/:id'),
  }
  const details: Record<Operation, Pick<Described, 'success' | 'query' | 'headers' | 'body'>> = {
    create: {
      success: [201, ofOne],
      body: shownBy(createSchema(resource), createExample(resource)),
      ...ofPost,
    },
    get: { success: [200, ofOne] },
    list: {
      success: [200, shownBy(listSchema(listName, ofOne), pageExample(resource))],
      query: listQuery,
    },
    update: {
      success: [200, ofOne],
      body: shownBy(patchSchema(resource), changesExample(resource)),
      ...ofWrite,
    },
    delete: { success: [204], ...ofWrite },
  }
  return describe({ ...base, ...details[operation] })
}

const verbs: Record<Operation, string> = {
  create: 'Create',
  get: 'Get',
  list: 'List',
  update: 'Update',
  delete: 'Delete',
}

/** What a list takes. */
export const listQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: pageEntriesMax, default: pageEntriesMax })),
  before_id: Type.Optional(Type.String({ description: 'Entries older than this id.' })),
  filter: Type.Optional(
    Type.String({
      description:
        'An expression that entries must be true for. Its names are those of an entry, with dots in between: `backend.enabled`.',
    }),
  ),
  description: Type.Optional(
    Type.String({ description: 'Entries of exactly this description; empty: those without one.' }),
  ),
})

const createSchema = ({ fields, parent }: AnyResource): TSchema =>
  bodySchema(Object.fromEntries(Object.entries(fields).filter(([name]) => name !== parent?.field)))

/** Every field that can be changed, all optional; null clears what need not be there. */
const patchSchema = (resource: AnyResource): TSchema =>
  objectOf(
    Object.fromEntries(
      Object.entries(resource.fields)
        .filter(([, { setBy }]) => setBy === 'client')
        .map(([name, { schema, required, fields }]) => [
          name,
          Type.Optional(required || fields !== undefined ? schema : orNull(schema)),
        ]),
    ),
  )
