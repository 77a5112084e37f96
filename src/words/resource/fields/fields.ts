/** The building blocks of declarations. */

import { shown } from '../../../ground/core/errors.js'
import { labelsMax, metadataBytesMax } from '../../../ground/core/limits.js'
import {
  boundedBytes,
  documented,
  mapOf,
  objectOf,
  orNull,
  ruled,
  type Static,
  type TSchema,
  Type,
} from '../../../ground/core/schema.js'
import type { Column, Fields, FieldTraits, Links, Shown, StoredOf, TypedField } from '../kind/define.js'
import type { ShownFields } from './client-types.js'

const descriptionBytesMax = 255
const labelBytesMax = 255

export interface Options {
  readonly atCreation?: boolean
  readonly unset?: FieldTraits['unset']
  readonly column?: Column
}

export const asIs = <S extends TSchema>(schema: S): Shown<S> => ({
  schema,
  render: (value: unknown) => value,
})

/** The default column type of a schema. */
function columnOf(schema: TSchema): Column {
  const { type, items, enum: values } = schema as { type?: string; items?: TSchema; enum?: unknown[] }
  if (type === 'string' || values !== undefined) return 'text'
  if (type === 'boolean') return 'flag'
  if (type === 'integer') return 'integer'
  if (type === 'array' && items !== undefined && columnOf(items) === 'text') return 'texts'
  return 'json'
}

/** The basis of the functions below. */
export const field = <S extends TSchema, U extends null | never, const K extends Omit<FieldTraits, 'shown'>>(
  schema: S,
  options: Options,
  fallback: Static<S> | U,
  known: K,
): TypedField<S, U, K & { readonly shown: Shown<S> }> => ({
  schema,
  column: options.column ?? columnOf(schema),
  fallback,
  shown: asIs(schema),
  ...known,
})

/** Traits of a field that clients set, from its options. */
type SetBy<O extends Options> = O extends { readonly atCreation: true } ? 'client-at-creation' : 'client'
type Unset<O extends Options> = O extends { readonly unset: infer U extends FieldTraits['unset'] }
  ? U
  : 'omitted'

export interface ByClient<O extends Options, Required extends boolean> {
  readonly setBy: SetBy<O>
  readonly required: Required
  readonly unset: Unset<O>
}

export const byClient = <O extends Options, R extends boolean>(options: O, required: R): ByClient<O, R> => ({
  setBy: (options.atCreation ? 'client-at-creation' : 'client') as SetBy<O>,
  required,
  unset: (options.unset ?? 'omitted') as Unset<O>,
})

/** Optional; null in the row if unset. */
export const writable = <S extends TSchema, const O extends Options = object>(
  schema: S,
  options: O = {} as O,
) => field<S, null, ByClient<O, false>>(schema, options, null, byClient(options, false))

export const required = <S extends TSchema, const O extends Options = object>(
  schema: S,
  options: O = {} as O,
) => field<S, never, ByClient<O, true>>(schema, options, undefined as never, byClient(options, true))

export const defaulted = <S extends TSchema, const O extends Options = object>(
  schema: S,
  fallback: Static<S>,
  options: O = {} as O,
) => field<S, never, ByClient<O, false>>(schema, options, fallback, byClient(options, false))

interface ByWeir<O extends Options, Required extends boolean> {
  readonly setBy: 'weir'
  readonly required: Required
  readonly unset: Unset<O>
}

const byWeir = <O extends Options, R extends boolean>(options: O, required: R): ByWeir<O, R> => ({
  ...byClient(options, required),
  setBy: 'weir',
})

/** Set by Weir and shown. */
export const derived = <S extends TSchema, const O extends Options = object>(
  schema: S,
  options: O = {} as O,
) => field<S, null, ByWeir<O, false>>(schema, options, null, byWeir(options, false))

/** Learned while Weir runs: see `Column`. */
export const observed = <S extends TSchema>(schema: S) =>
  derived(schema, { unset: 'null', column: 'none' } as const)

/** The fields of a row, without those that are only observed. */
export const storedFields = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, { column }]) => column !== 'none'))

export const hasObserved = (fields: Fields): boolean =>
  Object.values(fields).some(({ column }) => column === 'none')

/** Set by Weir at creation; never null. */
export const assigned = <S extends TSchema>(schema: S) =>
  field<S, never, ByWeir<object, true>>(schema, {}, undefined as never, byWeir({}, true))

/** The same field, never shown. */
export const unseen = <F extends FieldTraits>(field: F): Omit<F, 'shown'> & { readonly shown: 'hidden' } => ({
  ...field,
  shown: 'hidden',
})

/** Set by Weir and never shown. */
export const hidden = <S extends TSchema>(schema: S) => unseen(derived(schema))

/** A secret, stored sealed and never shown. */
export const sealed = () => ({ ...hidden(Type.String()), sealed: true })

/** A one-time secret: shown in the response that creates it, null afterwards. */
export const oneTimeToken = () => ({
  ...derived(Type.String(), { unset: 'null' }),
  shown: { schema: orNull(Type.String()), render: () => null },
})

export const described = {
  description: writable(
    boundedBytes(descriptionBytesMax, 'Human-readable purpose.', { title: 'Description' }),
  ),
  metadata: writable(
    boundedBytes(metadataBytesMax, 'User-defined machine-readable data.', { title: 'Metadata' }),
  ),
}

// --- modules ---

const enabled = defaulted(Type.Boolean({ description: 'Whether the module is applied to traffic.' }), true)

/**
 * A module of an edge or route: an object that is set, replaced and removed as a whole. `enabled` defaults to true;
 * `title` names its schemas in the OpenAPI document.
 */
export const moduleField = <F extends Fields>(title: string, own: F) => {
  const fields = { enabled, ...own }
  type Module = ModuleOf<typeof fields>
  const schema = Type.Unsafe<Module>(bodySchema(fields, { title: `${title}Input` }))
  return {
    ...writable(schema, { unset: 'null', column: 'module' }),
    shown: {
      schema: Type.Unsafe<ShownFields<typeof fields> | null>(orNull(shownSchemaOf(fields, { title }))),
      // Rows that an earlier version stored lack modules that are new.
      render: (row: unknown, links: Links) =>
        row === null || row === undefined
          ? null
          : renderFields(fields, row as Record<string, unknown>, links),
    },
    fields,
    complete: (given: Module) => completed(fields, given as Record<string, unknown>) as Module,
  }
}

type ModuleOf<F extends Fields> = { readonly [Name in keyof F]: StoredOf<F[Name]> }

/** The schema of the object that a client sends. Null means omitted; unknown fields are refused. */
export const bodySchema = (
  fields: Fields,
  options: { title?: string; minProperties?: number } = {},
): TSchema =>
  objectOf(
    Object.fromEntries(
      Object.entries(fields)
        .filter(([, { setBy }]) => setBy !== 'weir')
        .map(([name, { schema, required: needed }]) => [
          name,
          needed ? schema : Type.Optional(orNull(schema)),
        ]),
    ),
    options,
  )

const shownSchemaOf = (fields: Fields, options: { title?: string } = {}): TSchema =>
  objectOf(shownMembersOf(fields), options)

/** Members of a response; optional if they can be omitted. */
export const shownMembersOf = (fields: Fields): Record<string, TSchema> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, f]) => {
      if (f.shown === 'hidden') return []
      const optional = f.unset === 'omitted' && f.fallback === null
      const schema = f.unset === 'null' && f.shown.schema === f.schema ? orNull(f.schema) : f.shown.schema
      return [[f.shown.name ?? name, optional ? Type.Optional(schema) : schema]]
    }),
  )

/** A valid object, with its omitted fields filled in. */
export function completed(fields: Fields, given: Record<string, unknown>): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const [name, f] of Object.entries(fields)) {
    const value = given[name]
    const absent = value === undefined || value === null
    row[name] = absent ? (f.fallback ?? null) : f.complete === undefined ? value : f.complete(value as never)
  }
  return row
}

/** A row's fields as clients see them. */
export function renderFields(
  fields: Fields,
  row: Readonly<Record<string, unknown>>,
  links: Links,
): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const [name, f] of Object.entries(fields)) {
    if (f.shown === 'hidden') continue
    // A row that an earlier version stored lacks fields that are new.
    const value = row[name] ?? f.fallback ?? null
    if (value === null && f.unset === 'omitted') continue
    shown[f.shown.name ?? name] =
      value === null && f.shown.name === undefined && f.fields === undefined && f.unset === 'null'
        ? null
        : f.shown.render(value, links)
  }
  return shown
}

// --- values several kinds share ---

/** A rule for lists without duplicates. */
export const repeatedEntry = (values: readonly string[]): string | undefined => {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const value of values) {
    if (seen.has(value)) repeated.add(value)
    seen.add(value)
  }
  if (repeated.size === 0) return undefined
  const texts = [...repeated].map((value) => shown(value))
  return texts.length === 1 ? `${texts[0]} appears twice` : `${texts.join(', ')} appear twice`
}

export const labels = ruled(
  mapOf(boundedBytes(labelBytesMax), {
    maxProperties: labelsMax,
    description: 'Names and values that tunnels are matched by.',
    ...documented({ propertyNames: { minLength: 1, maxLength: labelBytesMax } }),
  }),
  (given) => {
    const names = Object.keys(given)
    return names.every((name) => name !== '' && Buffer.byteLength(name) <= labelBytesMax)
      ? undefined
      : `a label's name must have 1 to ${labelBytesMax} bytes in UTF-8`
  },
)
