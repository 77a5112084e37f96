/** The building blocks of declarations. */
import { isId } from '../core/ids.js'
import {
  descriptionBytesMax,
  ipPoliciesPerModuleMax,
  labelBytesMax,
  labelsMax,
  metadataBytesMax,
} from '../core/limits.js'
import { boundedBytes, ruled, type Static, type TSchema, type TUnsafe, Type } from '../core/schema.js'
import type { Column, Field, Fields, Links, Reference, StoredOf } from './define.js'
import { refSchema } from './define.js'

interface Options {
  readonly atCreation?: boolean
  readonly unset?: 'omitted' | 'null'
  readonly column?: Column
}

const asIs = (schema: TSchema) => ({ schema, render: (value: unknown) => value })

/** What a schema is kept as, where nothing else is said. */
function columnOf(schema: TSchema): Column {
  const { type, items, enum: values } = schema as { type?: string; items?: TSchema; enum?: unknown[] }
  if (type === 'string' || values !== undefined) return 'text'
  if (type === 'boolean') return 'flag'
  if (type === 'integer') return 'integer'
  if (type === 'array' && items !== undefined && columnOf(items) === 'text') return 'texts'
  return 'json'
}

const field = <S extends TSchema, U extends null | never>(
  schema: S,
  options: Options & { required: boolean; fallback: Static<S> | U; setBy?: Field['setBy'] },
): Field<S, U> => ({
  schema,
  column: options.column ?? columnOf(schema),
  setBy: options.setBy ?? (options.atCreation ? 'client-at-creation' : 'client'),
  required: options.required,
  fallback: options.fallback,
  unset: options.unset ?? 'omitted',
  shown: asIs(schema),
})

/** Optional; unset it is null in the row. */
export const writable = <S extends TSchema>(schema: S, options: Options = {}): Field<S> =>
  field<S, null>(schema, { ...options, required: false, fallback: null })

export const required = <S extends TSchema>(schema: S, options: Options = {}): Field<S, never> =>
  field<S, never>(schema, { ...options, required: true, fallback: undefined as never })

export const defaulted = <S extends TSchema>(
  schema: S,
  fallback: Static<S>,
  options: Options = {},
): Field<S, never> => field<S, never>(schema, { ...options, required: false, fallback })

/** Set by Weir and shown. */
export const derived = <S extends TSchema>(schema: S, options: Options = {}): Field<S> =>
  field<S, null>(schema, { ...options, required: false, fallback: null, setBy: 'weir' })

/** Set by Weir at creation, and there ever after. */
export const assigned = <S extends TSchema>(schema: S): Field<S, never> =>
  field<S, never>(schema, { required: true, fallback: undefined as never, setBy: 'weir' })

/** Set by Weir and never shown. */
export const hidden = <S extends TSchema>(schema: S): Field<S> => ({
  ...field<S, null>(schema, { required: false, fallback: null, setBy: 'weir' }),
  shown: 'hidden',
})

/** A secret at rest: text of the sealer, never shown. */
export const sealed = (): Field<ReturnType<typeof Type.String>> => ({
  ...hidden(Type.String()),
  sealed: true,
})

/** A one-time secret: in the response that creates it, null ever after. */
export const oneTimeToken = (): Field<TSchema> => ({
  ...field<TSchema, null>(Type.String(), { required: false, fallback: null, setBy: 'weir', unset: 'null' }),
  shown: { schema: Type.Union([Type.String(), Type.Null()]), render: () => null },
})

export const described = {
  description: writable(boundedBytes(descriptionBytesMax, 'Human-readable purpose.')),
  metadata: writable(boundedBytes(metadataBytesMax, 'User-defined machine-readable data.')),
}

// --- references ---

const idSchema = (idPrefix: string) =>
  ruled(Type.String({ maxLength: 80 }), (id) =>
    isId(idPrefix, id) ? undefined : `an id that begins with "${idPrefix}" is needed`,
  )

const render = (value: unknown, reference: Reference, links: Links): unknown => {
  const { kind, foreignPath } = reference
  const one = (id: string) => ({
    id,
    uri: foreignPath === undefined ? links.of(kind, id) : links.uri(`${foreignPath}/${id}`),
  })
  if (Array.isArray(value)) return value.map(one)
  return value === null ? null : one(String(value))
}

export interface ReferenceOptions extends Options {
  readonly shownAs: string
  readonly required?: boolean
  readonly foreignPath?: string
}

function referenceField<S extends TSchema>(
  schema: S,
  reference: Reference,
  options: ReferenceOptions,
): Field<S, never> {
  const shownSchema = reference.many
    ? Type.Array(refSchema)
    : options.required
      ? refSchema
      : Type.Union([refSchema, Type.Null()])
  return {
    ...field<S, never>(schema, {
      ...options,
      required: options.required ?? false,
      fallback: undefined as never,
    }),
    reference,
    shown: {
      name: options.shownAs,
      schema: shownSchema,
      render: (value: unknown, links: Links) => render(value, reference, links),
    },
  }
}

/** Names one resource by its id; shown as `{id, uri}`. */
export const reference = (kind: string, idPrefix: string, options: ReferenceOptions) =>
  referenceField(idSchema(idPrefix), { kind, idPrefix, many: false, ...foreign(options) }, options)

/** Names several resources by their ids. */
export const references = (
  kind: string,
  idPrefix: string,
  options: ReferenceOptions & { min: number; max: number },
) =>
  referenceField(
    ruled(Type.Array(idSchema(idPrefix), { minItems: options.min, maxItems: options.max }), repeatedEntry),
    { kind, idPrefix, many: true, ...foreign(options) },
    options,
  )

const foreign = ({ foreignPath }: ReferenceOptions) => (foreignPath === undefined ? {} : { foreignPath })

/** A rule for lists in which nothing may stand twice. */
export const repeatedEntry = (values: readonly string[]): string | undefined => {
  const seen = new Set<string>()
  for (const value of values) {
    if (seen.has(value)) return `${JSON.stringify(value)} stands in it twice`
    seen.add(value)
  }
  return undefined
}

// --- modules ---

/**
 * A module of an edge or route: an object that is set, replaced and removed as a whole. `enabled` is true where
 * nothing else is said.
 */
export function moduleField<F extends Fields>(fields: F): Field<TUnsafe<ModuleOf<F>>> {
  const all: Fields = {
    enabled: defaulted(Type.Boolean({ description: 'Is the module applied to traffic?' }), true),
    ...fields,
  }
  return {
    schema: Type.Unsafe<ModuleOf<F>>(bodySchema(all)),
    column: 'module',
    setBy: 'client',
    required: false,
    fallback: null,
    unset: 'null',
    shown: {
      schema: Type.Union([shownSchemaOf(all), Type.Null()]),
      render: (row, links) =>
        row === null ? null : renderFields(all, row as Record<string, unknown>, links),
    },
    fields: all,
    complete: (given) => completed(all, given as Record<string, unknown>) as ModuleOf<F>,
  }
}

type ModuleOf<F extends Fields> = { readonly enabled: boolean } & {
  readonly [Name in keyof F]: StoredOf<F[Name]>
}

/** The object a client sends: required fields required, nothing unknown. */
export const bodySchema = (fields: Fields): TSchema =>
  Type.Object(
    Object.fromEntries(
      Object.entries(fields)
        .filter(([, { setBy }]) => setBy !== 'weir')
        .map(([name, { schema, required: needed }]) => [name, needed ? schema : Type.Optional(schema)]),
    ),
    { additionalProperties: false },
  )

export const shownSchemaOf = (fields: Fields): TSchema =>
  Type.Object(
    Object.fromEntries(
      Object.entries(fields).flatMap(([name, f]) => {
        if (f.shown === 'hidden') return []
        const optional = f.unset === 'omitted' && f.fallback === null
        const schema =
          f.unset === 'null' && f.shown.schema === f.schema
            ? Type.Union([f.schema, Type.Null()])
            : f.shown.schema
        return [[f.shown.name ?? name, optional ? Type.Optional(schema) : schema]]
      }),
    ),
    { additionalProperties: false },
  )

/** A valid object with what it leaves out. */
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
    const value = row[name] ?? null
    if (value === null && f.unset === 'omitted') continue
    shown[f.shown.name ?? name] =
      value === null && f.shown.name === undefined && f.fields === undefined && f.unset === 'null'
        ? null
        : f.shown.render(value, links)
  }
  return shown
}

// --- values several kinds share ---

export const ipPolicyIds = (min: number) =>
  references('ip_policy', 'ipp_', {
    shownAs: 'ip_policies',
    required: true,
    min,
    max: ipPoliciesPerModuleMax,
  })

export const labels = ruled(
  Type.Record(Type.String(), boundedBytes(labelBytesMax), {
    maxProperties: labelsMax,
    description: 'Names and values that tunnels are matched by.',
  }),
  (given) => {
    const names = Object.keys(given)
    return names.every((name) => name !== '' && Buffer.byteLength(name) <= labelBytesMax)
      ? undefined
      : `a label's name has 1 to ${labelBytesMax} bytes in UTF-8`
  },
)
