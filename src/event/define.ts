/**
 * What a kind of traffic event is: its name and its fields. A kind is one file with one line per field, which says
 * the field's type, whether filters may use it, and where its value comes from.
 */
import { defineScope, type Scope, type ScopeName } from '../expr/scope.js'
import type { Headers } from '../record/connection-record.js'
import { normalizeHeaders } from '../record/normalize.js'
import { type IpDecision, nameAliases } from '../record/policy-scope.js'
import { quoted } from './json.js'

/** What events tell of the decision that was made about a record. */
export interface Decided {
  readonly ipPolicy: { readonly decision: IpDecision } | null
}

type Read<R, T> = (record: R, decided: Decided) => T | null | undefined

export type FieldType = 'text' | 'int32' | 'int64' | 'bool' | 'timestamp' | 'headers' | 'map'

export interface Field<R> {
  readonly type: FieldType
  readonly filterable: boolean
  /** The value, for filters. */
  readonly read: Read<R, unknown>
  /** The value as JSON, `null` where there is none. */
  readonly json: (record: R, decided: Decided) => string
}

interface FieldOptions {
  readonly filterable?: boolean
}

/** A field type: how a value of it is written. */
const fieldType =
  <T>(type: FieldType, write: (value: T) => string) =>
  <R>(read: Read<R, T>, { filterable = false }: FieldOptions = {}): Field<R> => ({
    type,
    filterable,
    read,
    json: (record, decided) => {
      const value = read(record, decided)
      return value === undefined || value === null ? 'null' : write(value)
    },
  })

export const text = fieldType<string>('text', quoted)
export const timestamp = fieldType<string>('timestamp', quoted)
export const int32 = fieldType<number>('int32', String)
export const int64 = fieldType<number>('int64', String)
export const bool = fieldType<boolean>('bool', String)
export const headers = fieldType<Headers>('headers', headersJson)
/** A map that is JSON already. */
export const map = fieldType<string>('map', (json) => json)

function headersJson(given: Headers): string {
  const members = [...normalizeHeaders(given)].map(
    ([name, values]) => `${quoted(name)}:${JSON.stringify(values)}`,
  )
  return `{${members.join(',')}}`
}

export interface TrafficEventKind<R> {
  /** `….v0` */
  readonly name: string
  /** By dotted name, in the order in which they are written. */
  readonly fields: ReadonlyMap<string, Field<R>>
  /** Undefined where no field is filterable. */
  readonly filterScope: Scope<R> | undefined
}

/** Declares a kind of event about an `R`; curried, so that `R` is given and the rest is inferred. */
export const defineTrafficEvent =
  <R>() =>
  (name: string, fields: Readonly<Record<string, Field<R>>>): TrafficEventKind<R> => ({
    name,
    fields: new Map(Object.entries(fields)),
    filterScope: filterScopeOf(fields),
  })

/** Filters see the record alone: what was decided about it has no filterable field. */
const undecided: Decided = { ipPolicy: null }

/** Each name may be written with a leading `ev.`. */
const eventPrefix = 'ev.'

function filterScopeOf<R>(fields: Readonly<Record<string, Field<R>>>): Scope<R> | undefined {
  const all = Object.entries(fields)
  const filterable = all.filter(([, field]) => field.filterable)
  if (filterable.length === 0) return undefined
  const allowed = filterable.map(([name]) => name)
  const refused = all.filter(([, field]) => !field.filterable).map(([name]) => name)
  const reason = `is not filterable; filters may use ${allowed.join(', ')}`
  const aliases = Object.entries(nameAliases).filter(([, name]) => allowed.includes(name))
  return defineScope<R>({
    names: Object.fromEntries(filterable.map(([name, field]) => [name, scopeNameOf(field)])),
    aliases: Object.fromEntries([
      ...aliases.flatMap(([alias, name]) => [
        [alias, name],
        [eventPrefix + alias, name],
      ]),
      ...allowed.map((name) => [eventPrefix + name, name]),
    ]),
    unavailable: Object.fromEntries(
      refused.flatMap((name) => [
        [name, reason],
        [eventPrefix + name, reason],
      ]),
    ),
  })
}

function scopeNameOf<R>(field: Field<R>): ScopeName<R> {
  const { read } = field
  const type = field.type === 'int32' || field.type === 'int64' ? 'number' : 'string'
  return { type, read: (record) => read(record, undecided) }
}
