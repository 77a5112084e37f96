/**
 * Types of request bodies and responses, computed from the fields of declarations. `bodySchema` and `shownSchemaOf`
 * compute the matching schemas at run time.
 */
import type { Static, TSchema } from '../../../ground/core/schema.js'
import type { Fields } from '../kind/define.js'

/** Turns an intersection into one object type, which editors and error messages show better. */
type Flat<T> = { [Name in keyof T]: T[Name] }

// --- responses ---

export type ShownName<F, Name> = F extends { readonly shown: { readonly name: infer Other extends string } }
  ? Other
  : Name

type IsHidden<F> = F extends { readonly shown: 'hidden' } ? true : false

/** Left out of a response if unset. */
type MayBeOmitted<F> = F extends { readonly unset: 'omitted'; readonly fallback: infer V }
  ? null extends V
    ? true
    : false
  : false

type ShownValue<F> = F extends { readonly shown: { readonly schema: infer S extends TSchema } }
  ? Static<S> | (F extends { readonly unset: 'null'; readonly fallback: null } ? null : never)
  : never

/** Fields as responses have them. */
export type ShownFields<F extends Fields> = Flat<
  {
    [Name in keyof F as IsHidden<F[Name]> extends true
      ? never
      : MayBeOmitted<F[Name]> extends true
        ? never
        : ShownName<F[Name], Name>]: ShownValue<F[Name]>
  } & {
    [Name in keyof F as IsHidden<F[Name]> extends true
      ? never
      : MayBeOmitted<F[Name]> extends true
        ? ShownName<F[Name], Name>
        : never]?: ShownValue<F[Name]>
  }
>

// --- requests ---

/** Request bodies are read-only. */
type DeepReadonly<T> = T extends readonly (infer Entry)[]
  ? readonly DeepReadonly<Entry>[]
  : T extends object
    ? { readonly [Name in keyof T]: DeepReadonly<T[Name]> }
    : T

type SentValue<F> = F extends { readonly fields: infer Module extends Fields }
  ? BodyOf<Module>
  : F extends { readonly schema: infer S extends TSchema }
    ? DeepReadonly<Static<S>>
    : never

type IsSetByClient<F> = F extends { readonly setBy: 'client' | 'client-at-creation' } ? true : false

type IsRequired<F> = F extends { readonly required: true } ? true : false

/** The body that creates a resource or a module: required fields, and optional ones. */
export type BodyOf<F extends Fields> = Flat<
  {
    readonly [Name in keyof F as IsSetByClient<F[Name]> extends true
      ? IsRequired<F[Name]> extends true
        ? Name
        : never
      : never]: SentValue<F[Name]>
  } & {
    readonly [Name in keyof F as IsSetByClient<F[Name]> extends true
      ? IsRequired<F[Name]> extends true
        ? never
        : Name
      : never]?: SentValue<F[Name]> | null | undefined
  }
>

/** The body of a change. Null clears an optional field, except a module, which has its own DELETE. */
export type ChangesOf<F extends Fields> = {
  readonly [Name in keyof F as F[Name] extends { readonly setBy: 'client' } ? Name : never]?:
    | SentValue<F[Name]>
    | (IsRequired<F[Name]> extends true ? never : F[Name] extends { readonly fields: Fields } ? never : null)
    | undefined
}
