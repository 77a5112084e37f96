/**
 * What a kind of traffic event is: its name and its fields. A kind is one file with one line per field, which says
 * the field's type, whether filters may use it, and where its value comes from.
 */
import { defineScope, type Scope, type ScopeName, type Spelling } from '../expr/scope.js'
import { normalizeHeaders } from '../record/normalize.js'
import { type IpDecision, nameAliases } from '../record/policy-scope.js'
import { addressSpelling, serverHost, serverSpelling } from '../record/spelling.js'
import type { Headers } from '../record/traffic-record.js'
import { escaped, quoted } from './json.js'

/** What events tell of the decision that was made about a record. */
export interface Decided {
  readonly ipPolicy: { readonly decision: IpDecision } | null
}

type Read<R, T> = (record: R, decided: Decided) => T | null | undefined

export type FieldType = 'text' | 'int32' | 'int64' | 'bool' | 'timestamp' | 'headers' | 'map'

/** How a value is written as JSON. */
export interface Writing<T> {
  /** Without the quotes around it, where it is `inQuotes`. */
  readonly write: (value: T) => string
  readonly inQuotes: boolean
}

export interface Field<R> extends Writing<never> {
  readonly type: FieldType
  readonly filterable: boolean
  readonly read: Read<R, unknown>
  /** The value as filters compare it, where that is not the value itself. */
  readonly compareAs?: (text: string) => string
  /** How filters spell what they compare it with. */
  readonly spelling?: Spelling
}

interface FieldOptions {
  readonly filterable?: boolean
  readonly compareAs?: (text: string) => string
  readonly spelling?: Spelling
}

const fieldType =
  <T>(type: FieldType, writing: Writing<T>) =>
  <R>(read: Read<R, T>, { filterable = false, ...options }: FieldOptions = {}): Field<R> => ({
    type,
    filterable,
    read,
    ...options,
    ...writing,
  })

/** Options of a server name: events show it as given, filters compare its one spelling. */
export const serverName: FieldOptions = {
  filterable: true,
  compareAs: serverHost,
  spelling: serverSpelling,
}
/** Options of an address, which has its one spelling since the record was read. */
export const address: FieldOptions = { filterable: true, spelling: addressSpelling }

const inQuotes = (write: (value: string) => string): Writing<string> => ({ write, inQuotes: true })
const bare = <T>(write: (value: T) => string): Writing<T> => ({ write, inQuotes: false })
const asItIs = (value: string): string => value

export const text = fieldType<string>('text', inQuotes(escaped))
/** Text that holds nothing to be escaped: it was checked when the record was read, or is a word of ours. */
export const word = fieldType<string>('text', inQuotes(asItIs))
/** Checked when the record was read, so there is nothing to be escaped. */
export const timestamp = fieldType<string>('timestamp', inQuotes(asItIs))
export const int32 = fieldType<number>('int32', bare(String))
export const int64 = fieldType<number>('int64', bare(String))
export const bool = fieldType<boolean>('bool', bare(String))
export const headers = fieldType<Headers>('headers', bare(headersJson))
/** A map that is JSON already. */
export const map = fieldType<string>('map', bare(asItIs))

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
  const { read, compareAs, spelling } = field
  const type = field.type === 'int32' || field.type === 'int64' ? 'number' : 'string'
  const spelled = spelling === undefined ? {} : { spelling }
  if (compareAs === undefined) return { type, ...spelled, read: (record) => read(record, undecided) }
  const readCompared = (record: R): unknown => {
    const value = read(record, undecided)
    return typeof value === 'string' ? compareAs(value) : value
  }
  return { type, ...spelled, read: readCompared }
}
