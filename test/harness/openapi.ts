/** Holds answers against the OpenAPI document of the API that gave them. */
import { type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Answer } from './api.js'

interface Operation {
  readonly operationId?: string
  readonly responses: Readonly<Record<string, { content?: Record<string, { schema?: object }> }>>
}

export interface Document {
  readonly openapi: string
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Template {
  readonly pattern: RegExp
  readonly methods: Readonly<Record<string, Operation>>
}

type Validator = ReturnType<typeof Compile<TSchema>>

/** What every error looks like. */
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

export class AnswerCheck {
  readonly #templates: readonly Template[]
  readonly #schemas: Readonly<Record<string, object>>
  readonly #validators = new Map<object, Validator>()

  constructor(document: object) {
    const { paths, components } = document as Document
    this.#schemas = components.schemas
    this.#templates = Object.entries(paths).map(([path, methods]) => ({
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      methods,
    }))
  }

  /** Throws where the answer is none that the document or the protocol allows. */
  check(method: string, url: string, answer: Answer): void {
    const say = (what: string): never => {
      throw new Error(`${method} ${url} → ${answer.status} ${answer.text.slice(0, 400)}\n${what}`)
    }
    const id = answer.headers['operation-id']
    if (!/^op_\w+$/.test(id ?? '')) say(`The header Operation-Id is ${id}.`)
    if (answer.status >= 400) {
      if (method === 'HEAD') return
      if (!problem.Check(answer.body)) say('This is no error body.')
      if (answer.body.status_code !== answer.status) say('The status in the body is another one.')
      if (answer.body.details.operation_id !== id) say('The operation id in the body is another one.')
      if (!answer.headers['content-type']?.startsWith('application/json')) say('An error is JSON.')
    }
    if (answer.status === 201 && answer.headers['location'] !== answer.body.uri)
      say(`The header Location is ${answer.headers['location']}.`)
    const operation = this.#operation(method, url)
    if (operation === undefined) return
    const { responses } = operation
    const response = responses[answer.status] ?? responses[`${String(answer.status)[0]}XX`]
    if (response === undefined) throw say('The document has no such response.')
    const schema = response.content?.['application/json']?.schema
    if (schema === undefined) {
      if (answer.text !== '') say('The document says: no body.')
      return
    }
    const validator = this.#validators.get(schema) ?? Compile(this.#resolved(schema) as TSchema)
    this.#validators.set(schema, validator)
    if (!validator.Check(answer.body)) say(JSON.stringify([...validator.Errors(answer.body)], null, 1))
  }

  /** The schema with what it refers to in its place. */
  #resolved(schema: object): object {
    const text = JSON.stringify(schema, (_, value) => {
      const reference: unknown = value?.$ref
      return typeof reference === 'string' ? this.#schemas[reference.split('/').at(-1) ?? ''] : value
    })
    return JSON.parse(text)
  }

  #operation(method: string, url: string): Operation | undefined {
    const path = url.replace(/^https?:\/\/[^/]+/, '').split('?')[0]!
    return this.#templates.find(({ pattern }) => pattern.test(path))?.methods[method.toLowerCase()]
  }
}
