/** Resources as clients see them. */
import { isoSeconds } from '../core/clock.js'
import { type TSchema, Type } from '../core/schema.js'
import type { AnyResource, Links, Row } from '../resource/define.js'
import { renderFields, shownSchemaOf } from '../resource/fields.js'
import { resourceOf } from '../resource/registry.js'
import type { ViewState } from '../store/view-state.js'

/** Absolute addresses under the base URL. */
export class BaseLinks implements Links {
  readonly #base: () => string

  /** `base`: without a slash at its end; known for good once the API listens. */
  constructor(base: () => string) {
    this.#base = base
  }

  uri(path: string): string {
    return `${this.#base()}${path}`
  }

  of(kind: string, id: string): string {
    return this.uri(`${resourceOf(kind).path}/${id}`)
  }
}

/** The path of a resource, its parent's id filled in. */
export function pathOf(resource: AnyResource, row: Row): string {
  const { parent } = resource
  const path =
    parent === undefined
      ? resource.path
      : resource.path.replace(`{${parent.field}}`, String(row[parent.field]))
  return `${path}/${row.id}`
}

/** All rows of a kind in an account, as a declaration may look at them. */
export function* rowsOf(state: ViewState, accountId: string, kind: string): Generator<Row> {
  for (const id of state.ids(accountId, kind).below()) {
    const row = state.rows.get(kind)?.get(id)
    if (row !== undefined) yield row
  }
}

export class Presenter {
  readonly links: Links
  /** Rows never change, so what they look like doesn't either, but for kinds that embed others. */
  readonly #json = new WeakMap<Row, string>()

  constructor(links: Links) {
    this.links = links
  }

  show(resource: AnyResource, row: Row, state: ViewState): Record<string, unknown> {
    return {
      id: row.id,
      uri: this.links.uri(pathOf(resource, row)),
      created_at: isoSeconds(row.created_at),
      ...renderFields(resource.fields, row, this.links),
      ...resource.embed?.(row, this.links, { all: (kind) => rowsOf(state, row.account_id, kind) }),
    }
  }

  showJson(resource: AnyResource, row: Row, state: ViewState): string {
    if (resource.embed !== undefined) return JSON.stringify(this.show(resource, row, state))
    let json = this.#json.get(row)
    if (json === undefined) this.#json.set(row, (json = JSON.stringify(this.show(resource, row, state))))
    return json
  }
}

/** The schema of a shown resource. */
export const resourceSchema = (resource: AnyResource): TSchema => {
  const fields = (shownSchemaOf(resource.fields) as unknown as { properties: Record<string, TSchema> })
    .properties
  const required = (shownSchemaOf(resource.fields) as unknown as { required?: string[] }).required ?? []
  const optional = (name: string, schema: TSchema): TSchema =>
    required.includes(name) ? schema : Type.Optional(schema)
  return Type.Object(
    {
      id: Type.String({ description: `Begins with "${resource.idPrefix}".` }),
      uri: Type.String(),
      created_at: Type.String({ format: 'date-time' }),
      ...Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, optional(name, schema)])),
      ...resource.embedSchemas,
    },
    { additionalProperties: false },
  )
}
