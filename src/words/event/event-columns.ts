/**
 * Events as columns, for tables of databases: derived from the schemas of events, so that a table has every field that an
 * event may have. Each dialect writes them in its own words (`event-ddl.ts`).
 */
import type { TSchema } from '../../ground/core/schema.js'

/** `time`: a point in time, in UTC, with up to six fractional digits. `json`: any JSON. */
export type Scalar = 'text' | 'int32' | 'int64' | 'double' | 'bool' | 'time' | 'json'

export type ColumnType =
  | Scalar
  | { readonly list: ColumnType }
  /** A map: values by names that are not declared. */
  | { readonly values: ColumnType }
  | { readonly members: Columns }

export interface Column {
  readonly type: ColumnType
  readonly mayBeNull: boolean
  /** Not in every event: fields are selected, and members without a value can be left out. */
  readonly mayBeMissing: boolean
  readonly about: string
}

export type Columns = ReadonlyMap<string, Column>

interface Shape {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: TSchema | false
  readonly description?: string
  readonly 'x-documented'?: Shape
}

const shapeOf = (schema: TSchema): Shape => {
  const { 'x-documented': documented, ...shape } = schema as Shape
  return { ...shape, ...documented }
}

/** The members of an object, in the order of its schema. */
export function columnsOf(schema: TSchema): Columns {
  const { properties = {}, required = [] } = shapeOf(schema)
  return new Map(
    Object.entries(properties).map(([name, member]) => [name, columnOf(member, !required.includes(name))]),
  )
}

function columnOf(schema: TSchema, mayBeMissing: boolean): Column {
  const shape = shapeOf(schema)
  const choices = shape.anyOf?.filter((each) => shapeOf(each).type !== 'null') ?? [schema]
  const [only] = choices
  return {
    type: choices.length === 1 && only !== undefined ? typeOf(only) : 'json',
    mayBeNull: choices.length < (shape.anyOf?.length ?? 0),
    mayBeMissing,
    about: shape.description ?? (only === undefined ? undefined : shapeOf(only).description) ?? '',
  }
}

function typeOf(schema: TSchema): ColumnType {
  const { type, format, items, properties = {}, additionalProperties, ...values } = shapeOf(schema)
  if (type === 'array' && items !== undefined) return { list: columnOf(items, false).type }
  if (Object.keys(properties).length > 0) return { members: columnsOf(schema) }
  if (type === 'object' && typeof additionalProperties === 'object') {
    const each = columnOf(additionalProperties, false).type
    return each === 'json' ? 'json' : { values: each }
  }
  if (type === 'string' && format === 'date-time') return 'time'
  if (type === 'string' || values.enum?.every(isText) === true) return 'text'
  if (type === 'integer') return format === 'int32' ? 'int32' : 'int64'
  if (type === 'number') return 'double'
  return type === 'boolean' ? 'bool' : 'json'
}

const isText = (value: unknown): boolean => typeof value === 'string'

/** The columns of a table for events of several kinds: a member whose type is not the same in all of them is JSON. */
export function unionOf(kinds: readonly Columns[]): Columns {
  const names = new Set(kinds.flatMap((columns) => [...columns.keys()]))
  return new Map(
    [...names].map((name) => {
      const found = kinds.flatMap((columns) => columns.get(name) ?? [])
      return [
        name,
        {
          type: found.map(({ type }) => type).reduce(commonType),
          mayBeNull: found.some(({ mayBeNull }) => mayBeNull),
          mayBeMissing: found.length < kinds.length || found.some(({ mayBeMissing }) => mayBeMissing),
          about: found[0]?.about ?? '',
        },
      ]
    }),
  )
}

function commonType(one: ColumnType, other: ColumnType): ColumnType {
  if (one === other) return one
  if (typeof one === 'string' || typeof other === 'string') return 'json'
  if ('members' in one && 'members' in other) return { members: unionOf([one.members, other.members]) }
  if ('list' in one && 'list' in other) return { list: commonType(one.list, other.list) }
  if ('values' in one && 'values' in other) return { values: commonType(one.values, other.values) }
  return 'json'
}
