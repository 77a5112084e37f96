/**
 * Components of the OpenAPI document. Schemas are written where they are used; one with a title moves to the components
 * under that name and is replaced by a reference.
 */
import { isObject } from '../../../ground/core/json-object.js'
import { documentedKey } from '../../../ground/core/schema.js'

type Json = Readonly<Record<string, unknown>>

/** Keys whose values are data, not schemas. */
const dataKeys = new Set(['example', 'examples', 'default', 'enum', 'const'])

export class Components {
  readonly #schemas = new Map<string, Json>()
  readonly #parameters = new Map<string, Json>()

  /** Additional keywords for components, by name, that only this room knows. */
  readonly #more: Readonly<Record<string, object>>

  constructor(more: Readonly<Record<string, object>>) {
    this.#more = more
  }

  /** Sorted by name. */
  get schemas(): Json {
    return sorted(this.#schemas)
  }

  get parameters(): Json {
    return sorted(this.#parameters)
  }

  /** A part of the document, with every schema that has a title replaced by a reference. */
  moved<T>(part: T): T {
    return this.#moved(part) as T
  }

  #moved(part: unknown): unknown {
    if (Array.isArray(part)) return part.map((each) => this.#moved(each))
    if (!isObject(part)) return part
    const { [documentedKey]: documented, ...own } = part
    const whole = Object.fromEntries(
      Object.entries({ ...own, ...(documented as object | undefined) }).map(([key, value]) => [
        key,
        dataKeys.has(key) ? value : this.#moved(value),
      ]),
    )
    return typeof whole['title'] === 'string' ? this.#reference(whole['title'], whole) : typed(whole)
  }

  #reference(name: string, { title: _, ...schema }: Json): Json {
    const whole = typed({ ...schema, ...this.#more[name] })
    const known = this.#schemas.get(name)
    // The first place with examples provides them; each place may have its own description.
    const kept = known === undefined ? whole : { ...whole, ...known }
    if (known !== undefined && form(known) !== form(whole))
      throw new Error(`Two schemas have the title ${name}.`)
    this.#schemas.set(name, kept)
    const { description } = schema
    const isOwn = description !== undefined && description !== kept['description']
    return { $ref: `#/components/schemas/${name}`, ...(isOwn ? { description } : {}) }
  }

  /** A reference to a shared parameter; one that is not the same everywhere stays where it is. */
  parameter(parameter: Json): Json {
    const { name, in: place } = parameter
    if ((place !== 'query' && place !== 'header') || unshared.has(String(name))) return parameter
    const key = String(name)
      .split(/[_-]/)
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join('')
    const known = this.#parameters.get(key)
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(parameter))
      throw new Error(`Two parameters are called ${key}.`)
    this.#parameters.set(key, parameter)
    return { $ref: `#/components/parameters/${key}` }
  }
}

/**
 * A position in a list of one kind; a version of a resource, which has the name of the header with the API's; a time, which
 * trials also take as a length of time; whose times it is; a limit, which is higher where a list comes in one answer; the
 * format of a body, or of an answer.
 */
const unshared = new Set(['before_id', 'version', 'since', 'time', 'limit', 'format', 'destination_id'])

/** The part of a schema that must be equal under one name. */
const form = ({ description: _description, examples: _examples, ...rest }: Json): string =>
  JSON.stringify(rest)

/** Adds the type to an enum of texts. */
const typed = (schema: Json): Json =>
  Array.isArray(schema['enum']) && schema['type'] === undefined && schema['enum'].every(isText)
    ? { type: 'string', ...schema }
    : schema

const isText = (value: unknown): boolean => typeof value === 'string'

const sorted = (entries: ReadonlyMap<string, Json>): Json =>
  Object.fromEntries([...entries].sort(([one], [other]) => (one < other ? -1 : 1)))
