/** Checks answers against the OpenAPI document of the API that gave them. */
import { type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import type { HttpAnswer } from './raw-client.js'

interface Operation {
  readonly operationId?: string
  readonly responses: Readonly<Record<string, { content?: Record<string, { schema?: object }> }>>
}

export interface Document {
  readonly openapi: string
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: { readonly requestBody: Content } }>>
}

interface Content {
  readonly content: Readonly<Record<string, { readonly schema: object }>>
}

interface Template {
  readonly pattern: RegExp
  readonly methods: Readonly<Record<string, Operation>>
}

type Validator = ReturnType<typeof Compile<TSchema>>

/** Checks events against the schemas of the document. */
export class EventCheck {
  readonly #validators = new Map<string, Validator>()
  readonly #webhooks: Document['webhooks']

  constructor(document: object) {
    this.#webhooks = (resolved(document) as Document).webhooks
  }

  /** All kinds of events. */
  get kinds(): readonly string[] {
    return Object.keys(this.#webhooks)
  }

  /** Throws if the document does not allow the event. */
  check(event: { readonly event_type: string }): void {
    const { event_type: kind } = event
    const schema = this.#webhooks[kind]?.post.requestBody.content['application/json']?.schema
    if (schema === undefined) throw new Error(`The document has no events ${kind}.`)
    const validator = this.#validators.get(kind) ?? Compile(schema as TSchema)
    this.#validators.set(kind, validator)
    if (validator.Check(event)) return
    throw new Error(`${JSON.stringify(event)}\n${JSON.stringify(validator.Errors(event)[1], null, 1)}`)
  }
}

/** The form of every error. */
const problem = Compile(
  Type.Object(
    {
      error_code: Type.String({ pattern: '^ERR_[A-Z_]+$' }),
      status_code: Type.Integer(),
      msg: Type.String({ minLength: 10, pattern: '^[^\\n]+[.?]$' }),
      details: Type.Record(Type.String(), Type.String()),
    },
    { additionalProperties: false },
  ),
)

/** The document with its references resolved; what is referred to often is there once. */
export function resolved<D extends object>(document: D): D {
  const at = (reference: string): unknown =>
    reference
      .split('/')
      .slice(1)
      .reduce<unknown>((part, key) => (part as Record<string, unknown>)[key], document)
  const known = new Map<string, object>()
  const referredBy = (reference: unknown): object => {
    if (typeof reference !== 'string') return {}
    const found = known.get(reference) ?? (whole(at(reference)) as object)
    known.set(reference, found)
    return found
  }
  const whole = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part
    if (Array.isArray(part)) return part.map(whole)
    const { $ref, ...own } = part as Readonly<Record<string, unknown>>
    const members = Object.entries(own).map(([key, value]) => [key, whole(value)])
    return { ...referredBy($ref), ...Object.fromEntries(members) }
  }
  return whole(document) as D
}

/** Does a protocol define its errors? */
const hasOwnProblems = (operation: Operation | undefined): boolean =>
  operation?.responses[400]?.content?.['application/x-protobuf'] !== undefined

export class AnswerCheck {
  readonly #templates: readonly Template[]
  readonly #validators = new Map<object, Validator>()

  constructor(document: object) {
    const { paths } = resolved(document) as Document
    // A path without parameters is meant before one with them.
    const ordered = Object.entries(paths).sort(
      ([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')),
    )
    this.#templates = ordered.map(([path, methods]) => ({
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      methods,
    }))
  }

  /** Throws if the document or the protocol does not allow the answer. */
  check(method: string, url: string, answer: HttpAnswer): void {
    const say = (what: string): never => {
      throw new Error(`${method} ${url} → ${answer.status} ${answer.text.slice(0, 400)}\n${what}`)
    }
    const id = answer.headers['operation-id']
    if (!/^op_\w+$/.test(id ?? '')) say(`The header Operation-Id is ${id}.`)
    if (answer.status === 201 && answer.headers['location'] !== answer.body.uri)
      say(`The header Location is ${answer.headers['location']}.`)
    const operation = this.#operation(method, url)
    if (answer.status >= 400 && !hasOwnProblems(operation)) {
      if (method === 'HEAD') return
      if (!problem.Check(answer.body)) say('This is no error body.')
      if (answer.body.status_code !== answer.status) say('The status in the body is another one.')
      if (answer.body.details.operation_id !== id) say('The operation id in the body is another one.')
      if (!answer.headers['content-type']?.startsWith('application/json')) say('An error is JSON.')
    }
    if (operation === undefined) return
    const { responses } = operation
    const response = responses[answer.status]
    // Operations without a body also refuse one, and do not declare these answers.
    if (response === undefined && [413, 415].includes(answer.status)) return
    if (response === undefined) throw say('The document has no such response.')
    const type = answer.headers['content-type']?.split(';')[0] ?? ''
    const schema = response.content?.[type]?.schema
    if (schema === undefined) {
      if (answer.text !== '') say('The document says: no body.')
      return
    }
    const validator = this.#validators.get(schema) ?? Compile(schema as TSchema)
    this.#validators.set(schema, validator)
    const body = type === 'application/json' ? answer.body : answer.text
    if (!validator.Check(body)) say(JSON.stringify(validator.Errors(body)[1], null, 1))
  }

  #operation(method: string, url: string): Operation | undefined {
    const path = url.replace(/^https?:\/\/[^/]+/, '').split('?')[0]!
    return this.#templates.find(({ pattern }) => pattern.test(path))?.methods[method.toLowerCase()]
  }
}
