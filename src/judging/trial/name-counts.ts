/** Counts how often each name of a draft's expressions had a value: a draft about a name without one changes nothing. */

import { missingNote } from '../../delivery/record/geo-entry.js'
import type { UsedName } from '../../ground/expr/names.js'
import type { TrialName } from '../../words/shape/trial.js'

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
