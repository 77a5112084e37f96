/** Counts how often each name of a draft's expressions had a value: a draft about a name without one changes nothing. */

import { missingNote } from '../../delivery/record/geo-entry.js'
import type { PolicyContext } from '../../delivery/record/policy-context.js'
import type { UsedName } from '../../ground/expr/names.js'
import type { TrialName } from '../../words/shape/trial.js'
import type { Endpoint } from '../evaluate/edges.js'

/** A list of nothing is no value either: no condition about what it holds is met. */
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0)

export class NameCounts<C> {
  readonly #missing: ReadonlySet<string>
  readonly #names: readonly { readonly used: UsedName<C>; withValue: number }[]
  #records = 0

  /** `missing`: names that never have a value in this deployment. */
  constructor(used: readonly UsedName<C>[], missing: ReadonlySet<string>) {
    const once = new Map(used.map((name) => [name.name, name]))
    this.#names = [...once.values()].map((name) => ({ used: name, withValue: 0 }))
    this.#missing = missing
  }

  add(context: C): void {
    this.#records += 1
    for (const name of this.#names) {
      const value = name.used.read(context)
      if (!isEmpty(value)) name.withValue += 1
    }
  }

  listed(): TrialName[] {
    return this.#names.map(({ used: { name }, withValue }) => ({
      name,
      records: this.#records,
      with_value: withValue,
      note: this.#noteOf(name, withValue),
    }))
  }

  #noteOf(name: string, withValue: number): string | null {
    if (this.#missing.has(name)) return missingNote
    if (withValue > 0 || this.#records === 0) return null
    return 'None of these records has a value of it.'
  }
}

/** The names that drafted policies use: each is looked for in the records of the edge or route that has them. */
export class NamesOfDraft {
  readonly #byOwner: ReadonlyMap<string, NameCounts<PolicyContext>>
  /** Is the draft of one edge or route? */
  readonly isOfOne: boolean

  constructor(byOwner: ReadonlyMap<string, NameCounts<PolicyContext>>, isOfOne: boolean) {
    this.#byOwner = byOwner
    this.isOfOne = isOfOne
  }

  /** Returns whether the record is one of them. */
  add({ edgeId, route }: Endpoint, context: PolicyContext): boolean {
    if (this.#byOwner.size === 0) return false
    const owners = [edgeId, route?.id].flatMap((id) => this.#byOwner.get(id ?? '') ?? [])
    for (const counts of owners) counts.add(context)
    return owners.length > 0
  }

  /** Edges for which a name has values, and those for which it has none, are apart. */
  listed(): TrialName[] {
    const sums = new Map<string, TrialName>()
    for (const each of [...this.#byOwner.values()].flatMap((counts) => counts.listed())) {
      const key = JSON.stringify([each.name, each.note])
      const { records, with_value } = sums.get(key) ?? { records: 0, with_value: 0 }
      sums.set(key, { ...each, records: records + each.records, with_value: with_value + each.with_value })
    }
    return [...sums.values()]
  }
}
