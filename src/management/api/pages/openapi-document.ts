/** The OpenAPI document: its head, and corrections of what @fastify/swagger generates for operations. */
import type { SwaggerTransformObject } from '@fastify/swagger'
import { destinationKinds } from '../../../delivery/deliver/kinds.js'
import { listed, pluralOf } from '../../../ground/core/text/plural.js'
import { eventFieldNames, subscribableKinds } from '../../../words/event/check-source.js'
import type { AnyTrafficEvent } from '../../../words/event/define.js'
import { type EventSchema, eventSchemas } from '../../../words/event/event-schemas.js'
import type { KeyRight } from '../../../words/resource/api-key.js'
import { isServed } from '../../../words/resource/kind/define.js'
import { resources } from '../../../words/resource/registry.js'
import { rightFor } from '../../access/key-rights.js'
import { problemSchema } from '../../exchange/problem.js'
import { supportedVersion } from '../../http/caller/auth.js'
import { Components } from '../../http/openapi/openapi-components.js'
import { problemReferences, problemResponses } from '../../http/openapi/openapi-problems.js'
import {
  changesTag,
  consoleTag,
  deadLettersTag,
  decisionsTag,
  findingsTag,
  ingestTag,
  overviewTag,
  sessionScheme,
  trialsTag,
} from '../parts/tags.js'
import { introduction } from './openapi-introduction.js'

export interface OpenapiOptions {
  /** Where clients reach the API; undefined: the address that the document was fetched from. */
  readonly baseUrl: string | undefined
  readonly versionHeaders: readonly string[]
  readonly eventKinds: readonly AnyTrafficEvent[]
}

const withLineBreak = destinationKinds.filter((kind) => kind.keepsLineBreak).map(({ title }) => title)

const webhooksTag = {
  name: 'events',
  description: `The events that are sent to event destinations: one JSON object per record, followed by a line break if the target is a ${listed(withLineBreak)}. With the packing "ndjson", a record holds several such lines. They are listed as webhooks so that tools know their schemas; a web server gets them in the body that its target chooses.`,
}

/** Events as webhooks: that is where tools look for messages, whatever carries them. */
const webhooks = (events: readonly EventSchema[]): Record<string, object> =>
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

export const openapiHead = ({ baseUrl }: OpenapiOptions) => ({
  openapi: '3.1.0',
  info: {
    title: 'Weir management API',
    version: supportedVersion,
    description: introduction,
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  tags: [
    ...resources.filter(isServed).map(({ title, about }) => ({ name: pluralOf(title), description: about })),
    overviewTag,
    findingsTag,
    decisionsTag,
    ingestTag,
    deadLettersTag,
    changesTag,
    trialsTag,
    consoleTag,
    webhooksTag,
  ],
  servers: [{ url: baseUrl ?? '/' }],
  components: {
    securitySchemes: {
      key: { type: 'http' as const, scheme: 'bearer', description: 'The token of an API key.' },
      ...sessionScheme,
    },
  },
  security: [{ key: [] }],
})

/** A parameter and not a security scheme, because tools ask for a secret for those. */
const versionParameter = (name: string) => ({
  name,
  in: 'header',
  required: true,
  description: 'The version of the API.',
  schema: { type: 'string', enum: [supportedVersion], default: supportedVersion },
  example: supportedVersion,
})

type Operations = Readonly<Record<string, Operation>>

interface Operation {
  readonly description?: string
  readonly parameters?: readonly Readonly<Record<string, unknown>>[]
  readonly requestBody?: Body
  readonly responses: object
  /** Set if the operation needs no API key, and so no version header. */
  readonly security?: readonly object[]
}

interface Body {
  readonly content: Readonly<Record<string, { readonly schema: BodySchema }>>
}

interface BodySchema {
  readonly required?: readonly string[]
  readonly minProperties?: number
}

/** Values that declarations of resources can't list, because event kinds are in a room after theirs. */
const listedValues = (kinds: readonly AnyTrafficEvent[]) => ({
  EventKind: { enum: subscribableKinds(kinds), description: 'A kind of event.' },
  EventField: { enum: eventFieldNames(kinds), description: 'A field of a traffic event.' },
})

export const finishDocument =
  ({ versionHeaders: [header = 'Service-Version'], eventKinds }: OpenapiOptions): SwaggerTransformObject =>
  (document) => {
    if (!('openapiObject' in document)) throw new Error('The document is one of OpenAPI 3.')
    const { openapiObject } = document
    const components = new Components(listedValues(eventKinds))
    const version = { $ref: '#/components/parameters/Version' }
    const finished = (path: string, method: string, operation: Operation): Operation => ({
      ...operation,
      ...(operation.security === undefined && rightNeeded(rightFor(method.toUpperCase(), path), operation)),
      ...(operation.requestBody && { requestBody: withRequired(method, operation.requestBody) }),
      parameters: [
        ...(operation.parameters ?? []).map((each) => components.parameter(each)),
        ...(operation.security === undefined ? [version] : []),
      ],
      responses: { ...problemReferences(operation.requestBody !== undefined), ...operation.responses },
    })
    const paths = mapped((openapiObject.paths ?? {}) as Record<string, Operations>, (path, operations) =>
      mapped(operations, (method, operation) => components.moved(finished(path, method, operation))),
    )
    const events = components.moved(webhooks(eventSchemas(eventKinds)))
    const responses = components.moved(problemResponses(problemSchema))
    const parameters = { ...components.moved(components.parameters), Version: versionParameter(header) }
    return {
      ...openapiObject,
      paths,
      webhooks: events,
      components: { ...openapiObject.components, schemas: components.schemas, parameters, responses },
    } as typeof openapiObject
  }

/** The right of the key, in words and as the role that OpenAPI 3.1 allows for any security scheme. */
const rightNeeded = (right: KeyRight, { description = '' }: Operation) => ({
  description: `${description} The key needs the right \`${right}\`.`.trimStart(),
  security: [{ key: [right] }],
})

const mapped = <T, R>(
  values: Readonly<Record<string, T>>,
  work: (key: string, value: T) => R,
): Record<string, R> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, work(key, value)]))

/** Corrects `required`: @fastify/swagger marks every body as required. */
const withRequired = (method: string, body: Body): Body & { readonly required: boolean } => ({
  ...body,
  required: isRequired(method, body),
})

/** POST and PATCH without a body mean an empty object, which is enough if no field is required, nor one of several. */
const isRequired = (method: string, { content }: Body): boolean =>
  method === 'put' ||
  Object.values(content).some(
    ({ schema: { required = [], minProperties = 0 } }) => required.length > 0 || minProperties > 0,
  )
