import { nearestNames } from '../core/nearest.js'

/**
 * What a name stands for. Only `any` has members: a string's or number's are nothing a policy should depend on, and
 * those of an `object` are names of their own.
 */
export type NameType = 'string' | 'number' | 'boolean' | 'object' | 'any'

/** How values of a name are spelled: texts that an expression compares them with get the same spelling. */
export interface Spelling {
  /** Of a whole value. */
  readonly whole: (text: string) => string
  /** Of a text that a value may contain, begin or end with. */
  readonly part: (text: string) => string
}

export interface ScopeName<C> {
  readonly type: NameType
  /** Values have one spelling of several that mean the same. */
  readonly spelling?: Spelling
  /** Reads the value from the context; null and undefined are no value. Never throws. */
  readonly read: (context: C) => unknown
}

/** The names an expression may use, dotted (`conn.client_ip`), and why other known ones may not be used. */
export interface Scope<C> {
  /** Every spelling, aliases included. */
  readonly names: ReadonlyMap<string, ScopeName<C>>
  /** Names that exist but not here, with the rest of the sentence: `is not filterable`. */
  readonly unavailable: ReadonlyMap<string, string>
}

export interface ScopeDeclaration<C> {
  readonly names: Readonly<Record<string, ScopeName<C>>>
  /** Other spellings of names: alias → name. */
  readonly aliases?: Readonly<Record<string, string>>
  readonly unavailable?: Readonly<Record<string, string>>
}

/** A scope from its declaration; throws where an alias names nothing, which is a defect of the declaration. */
export function defineScope<C>(declaration: ScopeDeclaration<C>): Scope<C> {
  const names = new Map(Object.entries(declaration.names))
  for (const [alias, name] of Object.entries(declaration.aliases ?? {})) {
    const target = declaration.names[name]
    if (target === undefined)
      throw new Error(`The alias ${alias} names ${name}, which the scope does not have.`)
    names.set(alias, target)
  }
  return { names, unavailable: new Map(Object.entries(declaration.unavailable ?? {})) }
}

/** A name of the scope at the front of a dotted path, and the members read from it. */
export interface ResolvedName<C> {
  readonly name: ScopeName<C>
  readonly members: readonly string[]
}

/** The longest declared name at the front of `path`; undefined where none is, or members are read that nothing has. */
export function resolveName<C>(scope: Scope<C>, path: readonly string[]): ResolvedName<C> | undefined {
  for (let length = path.length; length > 0; length--) {
    const name = scope.names.get(path.slice(0, length).join('.'))
    if (name === undefined) continue
    const members = path.slice(length)
    return members.length === 0 || name.type === 'any' ? { name, members } : undefined
  }
  return undefined
}

/** Names that were perhaps meant: those of which `name` is the beginning, or the nearest. */
export function namesNear<C>(scope: Scope<C>, name: string): string[] {
  const longer = [...scope.names.keys()].filter((known) => known.startsWith(`${name}.`))
  return longer.length > 0 ? longer.slice(0, 3) : nearestNames(name, scope.names.keys())
}
