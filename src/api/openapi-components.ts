/**
 * What stands in the OpenAPI document once. Schemas are written where they are used; one with a title is moved to the
 * components under that name, and a reference takes its place.
 */
import { documentedKey } from '../core/schema.js'

type Json = Readonly<Record<string, unknown>>

/** Values and examples are data: what looks like a schema in them is none. */
const dataKeys = new Set(['example', 'examples', 'default', 'enum', 'const'])

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export class Components {
  readonly #schemas = new Map<string, Json>()
  readonly #parameters = new Map<string, Json>()

  /** Keywords that are known here alone, by the names of components. */
  readonly #more: Readonly<Record<string, object>>

  constructor(more: Readonly<Record<string, object>>) {
    this.#more = more
  }

  /** In alphabetical order, as readers look for them. */
  get schemas(): Json {
    return sorted(this.#schemas)
  }

  get parameters(): Json {
    return sorted(this.#parameters)
  }

  /** A part of the document with references in the place of whatever has a title. */
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
    // Examples are of the first place that has some; a description may be one of the place.
    const kept = known === undefined ? whole : { ...whole, ...known }
    if (known !== undefined && form(known) !== form(whole))
      throw new Error(`Two schemas have the title ${name}.`)
    this.#schemas.set(name, kept)
    const { description } = schema
    const isOwn = description !== undefined && description !== kept['description']
    return { $ref: `#/components/schemas/${name}`, ...(isOwn ? { description } : {}) }
  }

  /** A reference in the place of a parameter that several operations take, unless it is about one kind of resource. */
  parameter(parameter: Json): Json {
    const { name, in: place } = parameter
    if ((place !== 'query' && place !== 'header') || name === 'before_id') return parameter
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

/** What two schemas of one name have in common. */
const form = ({ description: _description, examples: _examples, ...rest }: Json): string =>
  JSON.stringify(rest)

/** Texts among a few say that they are texts. */
const typed = (schema: Json): Json =>
  Array.isArray(schema['enum']) && schema['type'] === undefined && schema['enum'].every(isText)
    ? { type: 'string', ...schema }
    : schema

const isText = (value: unknown): boolean => typeof value === 'string'

const sorted = (entries: ReadonlyMap<string, Json>): Json =>
  Object.fromEntries([...entries].sort(([one], [other]) => (one < other ? -1 : 1)))
