/**
 * IP policies and lists of a view, compiled once for all who need them in the API: `lockout.ts`, for those that restrictions
 * name, and `account-policies.ts`, for those of an account. Each says which it holds, and takes over what another one holds.
 */
import { getOrMake } from '../../ground/core/maps.js'
import type { CompiledParts } from '../../judging/evaluate/policy-set.js'
import type { ViewState } from '../../words/view/view-state.js'

class SharedParts implements CompiledParts {
  readonly #holders: (() => Iterable<CompiledParts>)[] = []

  /** `held`: the parts that a holder has at the time. */
  addHolder(held: () => Iterable<CompiledParts>): void {
    this.#holders.push(held)
  }

  ipPolicy(id: string, version: number, nowMs: number) {
    return this.#first((parts) => parts.ipPolicy(id, version, nowMs))
  }

  ipList(id: string, chunks: readonly string[], nowMs: number) {
    return this.#first((parts) => parts.ipList(id, chunks, nowMs))
  }

  #first<T>(find: (parts: CompiledParts) => T | undefined): T | undefined {
    for (const held of this.#holders) {
      for (const parts of held()) {
        const found = find(parts)
        if (found !== undefined) return found
      }
    }
    return undefined
  }
}

const sharedParts = new WeakMap<ViewState, SharedParts>()

export const sharedPartsOf = (state: ViewState): SharedParts =>
  getOrMake(sharedParts, state, () => new SharedParts())
