/** Types of the requests and responses of every resource kind, derived from the declarations. */

import type { BodyOf, ChangesOf, ShownFields, ShownName } from '../resource/fields/client-types.js'
import type { Fields } from '../resource/kind/define.js'
import type { declarations } from '../resource/registry.js'
import type { Collection, Module } from './collection.js'

type Declarations = typeof declarations

/** The client's name of a kind. */
export type Name = keyof Declarations

type FieldsOf<N extends Name> = Declarations[N]['fields']

/** Names of the kinds that live under this one's path. */
type ChildrenOf<N extends Name> = {
  [Child in Name]: ParentOf<Child>['kind'] extends never
    ? never
    : ParentOf<Child>['kind'] extends Declarations[N]['kind']
      ? Child
      : never
}[Name]

type ParentOf<N extends Name> = NonNullable<Declarations[N]['parent']>

/** A resource as the API shows it. */
export type Resource<N extends Name> = {
  readonly id: string
  readonly uri: string
  /** RFC 3339, UTC, whole seconds. */
  readonly created_at: string
} & ShownFields<FieldsOf<N>> & {
    readonly [Child in ChildrenOf<N> as Declarations[Child]['listName']]: readonly Resource<Child>[]
  }

/** The body that creates a resource. If it has a parent, the path names that. */
export type NewResource<N extends Name> = Omit<BodyOf<FieldsOf<N>>, ParentOf<N>['field']>

/** The body that updates a resource. */
export type Changes<N extends Name> = ChangesOf<FieldsOf<N>>

type OperationOf<N extends Name> = NonNullable<Declarations[N]['operations']>[number]

type ModuleName<N extends Name> = {
  [Field in keyof FieldsOf<N>]: FieldsOf<N>[Field] extends { readonly fields: Fields } ? Field : never
}[keyof FieldsOf<N>]

/** Modules of which a draft can be tried. */
type DecidingModule = 'ip_restriction' | 'policies'

type ModulesOf<N extends Name> = {
  readonly [Field in ModuleName<N>]: FieldsOf<N>[Field] extends { readonly fields: infer F extends Fields }
    ? Field extends DecidingModule
      ? Module<BodyOf<F>, ShownFields<F>>
      : Omit<Module<BodyOf<F>, ShownFields<F>>, 'try'>
    : never
}

/** Fields that can be detached on their own, by the names they are shown under. */
type DetachmentsOf<N extends Name> = {
  readonly [Field in keyof FieldsOf<N> as FieldsOf<N>[Field] extends { readonly isDetachable: true }
    ? ShownName<FieldsOf<N>[Field], Field>
    : never]: Pick<Module<never, never>, 'delete'>
}

/** The operations of a kind, and its modules by their names. */
export type Operations<N extends Name> = Pick<
  Collection<NewResource<N>, Changes<N>, Resource<N>>,
  | OperationOf<N>
  | 'changes'
  | ('update' extends OperationOf<N> ? 'restore' : never)
  | ('list' extends OperationOf<N> ? 'pages' : never)
> &
  ModulesOf<N> &
  DetachmentsOf<N>

/** A kind: its operations, or its operations below a parent. */
export type Kind<N extends Name> = [ParentOf<N>['kind']] extends [never]
  ? Operations<N>
  : { under(parentId: string): Operations<N> }

export type Kinds = { readonly [N in Name as OperationOf<N> extends never ? never : N]: Kind<N> }
