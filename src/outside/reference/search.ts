/** Finds operations, events and schemas by words in their paths, titles, descriptions, and the names of their fields. */
import { nameIn, type Operation, type Reference, type Schema, schemaAnchor } from './document.js'

interface Found {
  readonly anchor: string
  /** Empty for a schema. */
  readonly method: string
  readonly title: string
  readonly path: string
}

interface Entry extends Found {
  /** In small letters; the earlier one has a word, the better it is found. */
  readonly texts: readonly [name: string, fields: string, about: string]
}

export const foundMax = 50

export class SearchIndex {
  readonly #reference: Reference
  readonly #fields = new Map<string, string>()
  #made: readonly Entry[] | undefined

  constructor(reference: Reference) {
    this.#reference = reference
  }

  /** The best first; each has all of the words. */
  find(text: string): readonly Found[] {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean)
    if (words.length === 0) return []
    // Made by the first search: no one waits for it who reads.
    this.#made ??= this.#make()
    return this.#made
      .map((entry) => ({ entry, rank: rankOf(entry, words) }))
      .filter(({ rank }) => rank < Infinity)
      .sort((one, other) => one.rank - other.rank)
      .slice(0, foundMax)
      .map(({ entry }) => entry)
  }

  #make(): Entry[] {
    const operations = [...this.#reference.operations].map((each) => this.#entryOf(each))
    const schemas = Object.entries(this.#reference.schemas).map(
      ([name, schema]): Entry => ({
        anchor: schemaAnchor(name),
        method: '',
        title: name,
        path: '',
        texts: [name.toLowerCase(), this.#fieldsOf(schema), (schema.description ?? '').toLowerCase()],
      }),
    )
    return [...operations, ...schemas]
  }

  #entryOf(operation: Operation): Entry {
    const { anchor, method, title, path, tag, operationId = '', description = '' } = operation
    const bodies = [
      operation.requestBody?.content,
      ...Object.values(operation.responses).map(({ content }) => content),
    ]
    const fields = [
      ...operation.parameters.map(({ name, description: about = '' }) => `${name} ${about}`.toLowerCase()),
      ...bodies
        .flatMap((content) => Object.values(content ?? {}))
        .map(({ schema = {} }) => this.#fieldsOf(schema)),
    ]
    return {
      anchor,
      method: operation.isEvent ? 'EVENT' : method,
      title,
      path,
      texts: [
        `${method} ${path} ${title} ${tag} ${operationId}`.toLowerCase(),
        fields.join(' '),
        description.toLowerCase(),
      ],
    }
  }

  /** Names of all members, however deep, with what is said about them. */
  #fieldsOf(schema: Schema): string {
    if (schema.$ref === undefined) return this.#fieldsIn(schema)
    const name = nameIn(schema.$ref)
    const known = this.#fields.get(name)
    if (known !== undefined) return known
    // A schema that has itself as a part.
    this.#fields.set(name, '')
    const made = this.#fieldsIn(this.#reference.schemas[name] ?? {})
    this.#fields.set(name, made)
    return made
  }

  #fieldsIn(schema: Schema): string {
    const { properties = {}, items, additionalProperties, anyOf = [], oneOf = [], allOf = [] } = schema
    const parts = [...anyOf, ...oneOf, ...allOf]
    if (items !== undefined) parts.push(items)
    if (typeof additionalProperties === 'object') parts.push(additionalProperties)
    const own = Object.entries(properties).map(
      ([name, each]) => `${`${name} ${each.description ?? ''}`.toLowerCase()} ${this.#fieldsOf(each)}`,
    )
    return [...own, ...parts.map((part) => this.#fieldsOf(part))].join(' ')
  }
}

/** Infinity: a word is missing. */
function rankOf({ texts }: Entry, words: readonly string[]): number {
  let rank = 0
  for (const word of words) {
    const parts = word.split('.').filter(Boolean)
    // `conn.server_name` also stands for one member in another.
    const place = texts.findIndex(
      (text) => text.includes(word) || (parts.length > 0 && parts.every((part) => text.includes(part))),
    )
    if (place === -1) return Infinity
    rank += place
  }
  return rank
}
