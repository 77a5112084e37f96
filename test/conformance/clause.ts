/** What a clause of the contract is: one promise of the documents, and how it is checked from outside. */
import type { Visit } from './visit.js'

/** What must be given to the command for a check; without it, the clause is not checked, and the report says so. */
export type Need = 'writes' | 'listen' | 'nats' | 'decide' | 'other-key' | 'limits'

/** Why a check is left out without each of them. */
export const needs: Readonly<Record<Need, string>> = {
  writes: 'it makes and removes resources, and the run is read-only',
  listen: 'events must reach this program: give --listen HOST:PORT',
  nats: 'it is about NATS: give --nats with the login of an ingress node',
  decide: 'it is about the port for proxies: give --decide-url',
  'other-key': 'it needs a key of a second account: give --other-key',
  limits: 'it takes places that other clients share, for a second: give --limits',
}

interface Stated {
  /** Stays the same for ever: a promise that ends leaves a gap. */
  readonly number: number
  /** From `docs/` on, with the anchor of the section that makes the promise. */
  readonly page: string
  readonly says: string
  /** How the bullets and rows of `docs/guarantees.md` begin that this is. */
  readonly rows?: readonly string[]
}

/** A promise that is checked. */
export interface Clause extends Stated {
  readonly needs?: readonly Need[]
  /** Throws `Broken` if the promise does not hold, and `NotChecked` if that can't be seen here. */
  readonly check: (visit: Visit) => Promise<unknown>
}

/** A promise that can't be seen from outside, and why. */
export interface HiddenClause extends Stated {
  readonly why: string
}

/** Clauses of one subject, with numbers of one hundred. */
export interface Chapter {
  readonly title: string
  readonly clauses: readonly Clause[]
}
