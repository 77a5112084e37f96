/**
 * The OpenAPI document of this deployment, as the page reads it: operations, events and schemas, in the order of the
 * document.
 */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly example?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly propertyNames?: Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly [keyword: string]: unknown
}

export interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  readonly required?: boolean
  readonly description?: string
  readonly schema?: Schema
  readonly example?: unknown
}

export type Contents = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>

export interface Answer {
  readonly $ref?: string
  readonly description?: string
  readonly headers?: Readonly<Record<string, { readonly description?: string; readonly schema?: Schema }>>
  readonly content?: Contents
}

type Security = readonly Readonly<Record<string, readonly string[]>>[]

interface GivenOperation {
  readonly operationId?: string
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: {
    readonly required?: boolean
    readonly description?: string
    readonly content: Contents
  }
  readonly responses: Readonly<Record<string, Answer>>
  readonly security?: Security
}

interface SecurityScheme {
  readonly type: string
  readonly description?: string
}

export interface OpenapiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly tags?: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, GivenOperation>>>>
  readonly webhooks?: Readonly<Record<string, Readonly<Record<string, GivenOperation>>>>
  readonly security?: Security
  readonly components: {
    readonly schemas?: Readonly<Record<string, Schema>>
    readonly parameters?: Readonly<Record<string, Parameter>>
    readonly responses?: Readonly<Record<string, Answer>>
    readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  }
}

export interface Operation extends GivenOperation {
  /** The operation's name in the URL: `tag/ip-policies/GET/ip_policies`. */
  readonly anchor: string
  /** In capital letters. */
  readonly method: string
  /** The kind of an event, or the path of a request. */
  readonly path: string
  readonly title: string
  readonly tag: string
  /** It is what Weir sends, and no request to it. */
  readonly isEvent: boolean
  readonly parameters: readonly Parameter[]
  readonly responses: Readonly<Record<string, Answer>>
  readonly security: Security
}

export interface Tag {
  readonly anchor: string
  readonly name: string
  readonly description: string
  readonly operations: readonly Operation[]
}

const slugOf = (name: string): string => name.toLowerCase().replaceAll(' ', '-')

export const schemaAnchor = (name: string): string => `schema/${name}`

/** The name in a reference to a part of the document. */
export const nameIn = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1)

export class Reference {
  readonly document: OpenapiDocument
  readonly tags: readonly Tag[]
  readonly schemas: Readonly<Record<string, Schema>>
  readonly #operations: ReadonlyMap<string, Operation>

  constructor(document: OpenapiDocument) {
    this.document = document
    this.schemas = document.components.schemas ?? {}
    const operations = [...this.#operationsIn('paths'), ...this.#operationsIn('webhooks')]
    this.#operations = new Map(operations.map((each) => [each.anchor, each]))
    this.tags = (document.tags ?? []).map(({ name, description = '' }) => ({
      anchor: `tag/${slugOf(name)}`,
      name,
      description,
      operations: operations.filter(({ tag }) => tag === name),
    }))
  }

  get operations(): Iterable<Operation> {
    return this.#operations.values()
  }

  operationAt(anchor: string): Operation | undefined {
    return this.#operations.get(anchor)
  }

  tagAt(anchor: string): Tag | undefined {
    return this.tags.find((tag) => tag.anchor === anchor)
  }

  /** The same of a value that may also be null: what it is if it is not. */
  essentialOf(schema: Schema): Schema {
    const found = this.schemaOf(schema)
    const [form, ...others] = (found.anyOf ?? found.oneOf ?? []).filter(({ type }) => type !== 'null')
    return form === undefined || others.length > 0
      ? found
      : { ...this.schemaOf(form), ...descriptionOf(found) }
  }

  /** The schema that a reference leads to. */
  schemaOf(schema: Schema): Schema {
    let found = schema
    for (let steps = 0; found.$ref !== undefined && steps < referencesMax; steps += 1)
      found = this.schemas[nameIn(found.$ref)] ?? {}
    return found
  }

  /** An example of a value: the one that the document has, or one that is put together from its parts. */
  exampleOf(schema: Schema, depth = 0): unknown {
    const found = this.schemaOf(schema)
    const [first] = found.examples ?? []
    if (first !== undefined) return first
    if (found.example !== undefined) return found.example
    if (found.const !== undefined) return found.const
    if (found.default !== undefined) return found.default
    if (found.enum !== undefined) return found.enum[0]
    const choice = found.anyOf?.[0] ?? found.oneOf?.[0]
    if (choice !== undefined) return this.exampleOf(choice, depth)
    const [type] = typesOf(found)
    if (type === 'array')
      return depth > exampleDepthMax || found.items === undefined
        ? []
        : [this.exampleOf(found.items, depth + 1)]
    if (type === 'object' || found.properties !== undefined) return this.#exampleObject(found, depth)
    if (type === 'integer' || type === 'number') return found['minimum'] ?? 0
    if (type === 'boolean') return false
    return type === 'null' ? null : (exampleFormats[found.format ?? ''] ?? '')
  }

  #exampleObject({ properties = {}, required = [] }: Schema, depth: number): object {
    if (depth > exampleDepthMax) return {}
    return Object.fromEntries(
      required.map((name) => [name, this.exampleOf(properties[name] ?? {}, depth + 1)] as const),
    )
  }

  /** Operations of requests, or of events. */
  #operationsIn(part: 'paths' | 'webhooks'): Operation[] {
    const { components, security = [] } = this.document
    return Object.entries(this.document[part] ?? {}).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, given]): Operation => {
        const [tag = ''] = given.tags ?? []
        const upper = method.toUpperCase()
        const below = part === 'paths' ? `${upper}${path}` : `EVENT/${path}`
        return {
          ...given,
          anchor: `tag/${slugOf(tag)}/${below}`,
          method: upper,
          path,
          tag,
          title: given.summary ?? path,
          isEvent: part === 'webhooks',
          parameters: (given.parameters ?? []).map((each) => followed(each, components.parameters)),
          responses: Object.fromEntries(
            Object.entries(given.responses).map(([status, each]) => [
              status,
              followed(each, components.responses),
            ]),
          ),
          security: given.security ?? security,
        }
      }),
    )
  }
}

/** More than any document has, so that a circle ends. */
const referencesMax = 20
/** Parts of parts of an example. */
const exampleDepthMax = 4

const exampleFormats: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  uri: 'https://www.example.com/',
}

const descriptionOf = ({ description }: Schema): Schema => (description === undefined ? {} : { description })

/** The types that a schema names. */
export const typesOf = ({ type }: Schema): readonly string[] =>
  type === undefined ? [] : typeof type === 'string' ? [type] : type

const followed = <Part extends { readonly $ref?: string }>(
  part: Part,
  parts: Readonly<Record<string, Part>> | undefined,
): Part => (part.$ref === undefined ? part : (parts?.[nameIn(part.$ref)] ?? part))
