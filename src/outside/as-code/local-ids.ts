/** What files call resources, and the ids that stand for it. A resource that is to be made has an id for now. */

import { shown } from '../../ground/core/errors.js'
import { newId } from '../../ground/core/ids.js'
import { getOrMake } from '../../ground/core/maps.js'
import { nearestNames } from '../../ground/core/nearest.js'
import { titleOfKind } from './managed-kinds.js'

export class LocalIds {
  readonly #ids = new Map<string, Map<string, string>>()
  readonly #names = new Map<string, string>()
  readonly #shownAs = new Map<string, string>()
  readonly #provisional = new Set<string>()

  /** `kind`: of a resource. `shownName`: the name, without what placeholders in it stand for. */
  add(kind: string, name: string, id: string, shownName = name): void {
    this.#of(kind).set(name, id)
    this.#names.set(id, shownName)
    if (shownName !== name) this.#shownAs.set(name, shownName)
  }

  /** The last name that was given to it, or the id itself. */
  nameOf(id: string): string {
    return this.#names.get(id) ?? id
  }

  /** The id of something that is to be made: the API replaces it. */
  provisional(idPrefix: string): string {
    const id = newId(idPrefix)
    this.#provisional.add(id)
    return id
  }

  /** The provisional ids in a value. */
  provisionalIn(value: unknown): readonly string[] {
    if (this.#provisional.size === 0) return []
    const found = JSON.stringify(value ?? null).match(/"[a-z]+_[0-9A-Za-z]+"/g) ?? []
    return found.map((quoted) => quoted.slice(1, -1)).filter((id) => this.#provisional.has(id))
  }

  /** The id of the first of these kinds that has it; otherwise, what is wrong. */
  find(kinds: readonly string[], name: string): { readonly id: string } | { readonly msg: string } {
    for (const kind of kinds) {
      const id = this.#of(kind).get(name)
      if (id !== undefined) return { id }
    }
    const known = kinds.flatMap((kind) => [...this.#of(kind).keys()])
    const [nearest] = nearestNames(name, known, 1)
    const hint = nearest === undefined ? '' : ` Did you mean ${shown(this.#shownAs.get(nearest) ?? nearest)}?`
    return { msg: `There is no ${kinds.map(titleOfKind).join(' or ')} called ${shown(name)}.${hint}` }
  }

  #of(kind: string): Map<string, string> {
    return getOrMake(this.#ids, kind, () => new Map<string, string>())
  }
}
