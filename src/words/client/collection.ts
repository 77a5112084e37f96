/** The operations at one path: resources of a kind, and their modules. */
import type { Change } from '../shape/decisions/change-schema.js'
import type { Trial } from '../shape/trial.js'
import { type ChangesOptions, changesAt } from './changes.js'
import type { Http, Request } from './http.js'
import type { KindPaths } from './kind-table.js'

export interface WriteOptions {
  /** Checks everything and returns the answer, but changes nothing. */
  readonly validateOnly?: boolean
  /** Makes the write although policy tests would fail. */
  readonly skipTests?: boolean
}

export interface CreateOptions extends WriteOptions {
  /** A repeated request with the same key is done once and gets the same answer for 24 hours, so the client may retry. */
  readonly idempotencyKey?: string
}

export interface TryOptions {
  /** Which recorded traffic is read: a length of time such as `90s`, `30m` or `24h`, or a time in RFC 3339. Default: 1h. */
  readonly since?: string | undefined
  /** `own`: by the own times of records, those of the past included. Default: as they were `stored`. */
  readonly time?: 'stored' | 'own' | undefined
}

export interface ListOptions {
  /** An expression over the entries' fields, such as `enforced && type == 'api'`. */
  readonly filter?: string
  /** Entries with exactly this description. */
  readonly description?: string
  /** Entries older than this id. */
  readonly beforeId?: string
  /** For rules: an address, or a range in CIDR notation. Lists the rules whose range contains it, the narrowest first. */
  readonly covers?: string
  /** Entries in a page: 1 to 100. */
  readonly limit?: number
}

/** `Body` creates a resource, `Changes` updates it, `Shown` is how the API shows it. */
export class Collection<Body, Changes, Shown> {
  readonly #http: Http
  readonly #path: string
  readonly #listName: string

  constructor(http: Http, path: string, listName: string) {
    this.#http = http
    this.#path = path
    this.#listName = listName
  }

  create(body: Body, options: CreateOptions = {}): Promise<Shown> {
    const { idempotencyKey } = options
    return this.#http.send('POST', this.#path, { body, query: writeQuery(options), idempotencyKey })
  }

  get(id: string): Promise<Shown> {
    return this.#http.send('GET', this.#at(id))
  }

  /** All entries, newest first; pages are fetched as they are needed. */
  async *list(options: ListOptions = {}): AsyncGenerator<Shown, void, undefined> {
    for await (const page of this.pages(options)) yield* page
  }

  async *pages({
    beforeId,
    ...options
  }: ListOptions = {}): AsyncGenerator<readonly Shown[], void, undefined> {
    for (let before_id = beforeId; ; ) {
      const query = { ...options, before_id }
      const page = await this.#http.send<Page<Shown>>('GET', this.#path, { query })
      yield page[this.#listName] as readonly Shown[]
      if (page.next_page_uri === null) return
      // The URI may have a base that this client can't reach, so only its `before_id` is used.
      before_id = new URL(page.next_page_uri).searchParams.get('before_id') ?? undefined
    }
  }

  update(id: string, body: Changes, options: WriteOptions = {}): Promise<Shown> {
    return this.#http.send('PATCH', this.#at(id), { body, query: writeQuery(options) })
  }

  async delete(id: string, options: WriteOptions = {}): Promise<void> {
    await this.#http.send('DELETE', this.#at(id), { query: writeQuery(options) })
  }

  /** Every change of an entry, newest first, also of a deleted one. */
  changes(id: string, options: ChangesOptions = {}): AsyncGenerator<Change, void, undefined> {
    return changesAt(this.#http, `${this.#at(id)}/changes`, options)
  }

  /** Puts an entry back as it was at this version, also a deleted one. */
  restore(id: string, version: number, options: CreateOptions = {}): Promise<Shown> {
    const query = { version, ...writeQuery(options) }
    const { idempotencyKey } = options
    return this.#http.send('POST', `${this.#at(id)}/restore`, { query, idempotencyKey })
  }

  /** A module of the entries, by the name of its field. */
  module<ModuleBody, ShownModule>(name: string): Module<ModuleBody, ShownModule> {
    return new Module(this.#http, (id) => `${this.#at(id)}/${name}`)
  }

  #at(id: string): string {
    return `${this.#path}/${encodeURIComponent(id)}`
  }
}

type Page<Shown> = Record<string, readonly Shown[] | string | null> & {
  readonly next_page_uri: string | null
}

/** A module of edges or routes, which is read, replaced and removed as a whole. */
export class Module<Body, Shown> {
  readonly #http: Http
  readonly #pathOf: (id: string) => string

  constructor(http: Http, pathOf: (id: string) => string) {
    this.#http = http
    this.#pathOf = pathOf
  }

  async get(id: string): Promise<Shown> {
    return this.#http.send('GET', this.#pathOf(id))
  }

  async put(id: string, body: Body, options: WriteOptions = {}): Promise<Shown> {
    return this.#http.send('PUT', this.#pathOf(id), { body, query: writeQuery(options) })
  }

  async delete(id: string, options: WriteOptions = {}): Promise<void> {
    await this.#http.send('DELETE', this.#pathOf(id), { query: writeQuery(options) })
  }

  /** Begins a trial of this draft on recorded traffic. Nothing is changed. */
  async try(id: string, draft: Body, { since, time }: TryOptions = {}): Promise<Trial> {
    return this.#http.send('POST', `${this.#pathOf(id)}/try`, { body: draft, query: { since, time } })
  }
}

/** The query parameters for the options of a write. */
export const writeQuery = ({ validateOnly, skipTests }: WriteOptions): NonNullable<Request['query']> => ({
  validate_only: validateOnly,
  skip_tests: skipTests,
})

/** The operations of a kind; of one that lives below another, given the id of that. */
export function kindOf(http: Http, { path, listName, parentField, parts }: KindPaths): object {
  if (parentField === undefined) return operationsAt(http, path, listName, parts)
  const under = (id: string): object =>
    operationsAt(http, path.replace(`{${parentField}}`, encodeURIComponent(id)), listName, parts)
  return { under }
}

/** A collection, with the modules and detachable fields of its entries by their names. */
function operationsAt(http: Http, path: string, listName: string, parts: readonly string[]): object {
  const collection = new Collection(http, path, listName)
  return Object.assign(collection, Object.fromEntries(parts.map((name) => [name, collection.module(name)])))
}
