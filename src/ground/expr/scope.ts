import { nearestNames } from '../core/nearest.js'
import type { Domain } from './domain.js'
import type { DescribedFunction } from './functions.js'

/**
 * The type of a name. Only `any` has members: policies should not depend on members of strings or numbers, and the members
 * of an `object` are declared as names of their own. A `map` has texts under keys, in lower case unless it says otherwise,
 * and an expression reads one of them, whose key it spells out: `headers['x-name']`. A `list` has texts.
 */
export type NameType = 'string' | 'number' | 'boolean' | 'object' | 'map' | 'list' | 'any'

/** How the values of a name are spelled; text that an expression compares them with is spelled the same way. */
export interface Spelling {
  /** Spells a whole value. */
  readonly whole: (text: string) => string
  /** Spells text that a value may contain, begin with or end with. */
  readonly part: (text: string) => string
  /** Spells text that a value may end with, if that is not spelled like any part. */
  readonly end?: (text: string) => string
}

export interface ScopeName<C> {
  readonly type: NameType
  /** Set if several spellings mean the same and the values have one of them. */
  readonly spelling?: Spelling
  /** The values that it can have; undefined if its type says all that is known. */
  readonly domain?: Domain | undefined
  /** A map whose keys are read as they are written. */
  readonly hasCase?: boolean
  /** Reads the value from the context, of a map the one under the key; null and undefined mean no value. Never throws. */
  readonly read: (context: C, key?: string) => unknown
}

/** The names that an expression may use, dotted (`conn.client_ip`), and why other known names may not be used. */
export interface Scope<C> {
  /** All names, aliases included. */
  readonly names: ReadonlyMap<string, ScopeName<C>>
  /** Names that exist but can't be used here, each with the reason as the rest of a sentence: `is not filterable`. */
  readonly unavailable: ReadonlyMap<string, string>
  /** The lists that `inList` asks; undefined if expressions know none. */
  readonly lists?: ScopeLists<C> | undefined
}

/** Lists of values, each with a name. */
export interface ScopeLists<C> {
  /** The name whose value may be in a list: the first argument of `inList`. */
  readonly about: string
  /** Is the value of that name in the list? */
  readonly read: (context: C, list?: string) => unknown
}

/** Not a function of its arguments alone: the context knows the lists. The checker makes a read of the context of it. */
export const inList: DescribedFunction = {
  name: 'inList',
  about: 'Whether the client is in the IP list of this name.',
  example: "inList(conn.client_ip, 'partners')",
  parameters: ['conn.client_ip', 'list'],
}

interface ScopeDeclaration<C> {
  readonly names: Readonly<Record<string, ScopeName<C>>>
  /** Alias → name. */
  readonly aliases?: Readonly<Record<string, string>>
  readonly unavailable?: Readonly<Record<string, string>>
  readonly lists?: ScopeLists<C>
}

/** Throws if an alias refers to an undeclared name: the declaration is wrong. */
export function defineScope<C>(declaration: ScopeDeclaration<C>): Scope<C> {
  const names = new Map(Object.entries(declaration.names))
  for (const [alias, name] of Object.entries(declaration.aliases ?? {})) {
    const target = declaration.names[name]
    if (target === undefined)
      throw new Error(`The alias ${alias} refers to ${name}, which the scope does not declare.`)
    names.set(alias, target)
  }
  const { unavailable = {}, lists } = declaration
  return { names, unavailable: new Map(Object.entries(unavailable)), lists }
}

/** A name of the scope at the front of a dotted path, and the members read from it. */
interface ResolvedName<C> {
  readonly name: ScopeName<C>
  readonly members: readonly string[]
}

/** The longest declared name at the front of `path`; undefined if there is none, or if it can't have members. */
export function resolveName<C>(scope: Scope<C>, path: readonly string[]): ResolvedName<C> | undefined {
  for (let length = path.length; length > 0; length--) {
    const name = scope.names.get(path.slice(0, length).join('.'))
    if (name === undefined) continue
    const members = path.slice(length)
    const membersMax = { any: members.length, map: 1 }[name.type as string] ?? 0
    return members.length <= membersMax ? { name, members } : undefined
  }
  return undefined
}

/** Suggestions for an unknown name: declared names that begin with it, or the nearest ones. */
export function namesNear<C>(scope: Scope<C>, name: string): string[] {
  const longer = [...scope.names.keys()].filter((known) => known.startsWith(`${name}.`))
  return longer.length > 0 ? longer.slice(0, 3) : nearestNames(name, scope.names.keys())
}
