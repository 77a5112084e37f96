/** Renders resources as clients see them. */
import { isoSeconds } from '../../ground/core/clock.js'
import { getOrMake } from '../../ground/core/maps.js'
import { hasObserved, renderFields, storedFields } from '../../words/resource/fields/fields.js'
import type { AnyResource, Links, Row } from '../../words/resource/kind/define.js'
import { resourceOf } from '../../words/resource/registry.js'
import { childKindsOf } from '../../words/resource/shown-schema.js'
import type { ViewState } from '../../words/view/view-state.js'
import { pathOf, rowsOf } from './rows.js'

/** Absolute addresses under the base URL. */
export class BaseLinks implements Links {
  readonly #base: () => string

  /** `base`: without a trailing slash; final once the API listens. */
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

/** The members of a response without the resources below its path. */
const ownMembers = (resource: AnyResource, row: Row, links: Links): Record<string, unknown> => ({
  id: row.id,
  uri: links.uri(pathOf(resource, row)),
  created_at: isoSeconds(row.created_at),
  ...renderFields(resource.fields, row, links),
  ...resource.embed?.(row, links),
})

/** The members of a response; `shownChildren` returns those of a kind below the resource. */
export const shownMembers = (
  resource: AnyResource,
  row: Row,
  links: Links,
  shownChildren: (child: AnyResource) => object[],
): Record<string, unknown> => ({
  ...ownMembers(resource, row, links),
  ...Object.fromEntries(childKindsOf(resource).map((child) => [child.listName, shownChildren(child)])),
})

/** The row with what was observed of it, which is kept apart from rows. */
type Observe = (resource: AnyResource, row: Row) => Row

export class Presenter {
  readonly links: Links
  readonly #observe: Observe
  /** Rows are immutable, so their JSON is cached, except for kinds that embed others or show what is observed. */
  readonly #json = new WeakMap<Row, string>()
  readonly #fixed = new WeakMap<AnyResource, boolean>()
  /** Without what is observed. */
  readonly #stored = new WeakMap<AnyResource, AnyResource>()

  constructor(links: Links, observe: Observe) {
    this.links = links
    this.#observe = observe
  }

  show(resource: AnyResource, row: Row, state: ViewState): Record<string, unknown> {
    return shownMembers(resource, this.#observe(resource, row), this.links, (child) =>
      [...rowsOf(state, row.id, child.kind)].map((each) => this.show(child, each, state)),
    )
  }

  /** For audit events: resources below its path have events of their own. */
  showAlone(resource: AnyResource, row: Row): Record<string, unknown> {
    const stored = getOrMake(this.#stored, resource, () => ({
      ...resource,
      fields: storedFields(resource.fields),
    }))
    return ownMembers(stored, row, this.links)
  }

  showJson(resource: AnyResource, row: Row, state: ViewState): string {
    const make = (): string => JSON.stringify(this.show(resource, row, state))
    return this.isFixed(resource) ? getOrMake(this.#json, row, make) : make()
  }

  /** Does the JSON of such a row depend on the row alone? */
  isFixed(resource: AnyResource): boolean {
    return getOrMake(
      this.#fixed,
      resource,
      () => childKindsOf(resource).length === 0 && !hasObserved(resource.fields),
    )
  }
}
