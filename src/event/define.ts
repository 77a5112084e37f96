/**
 * What a kind of traffic event is: its name, what it is made from, and its fields. A kind is one file with one line
 * per field: the field's type, whether filters may use it, and where its value comes from. A field named like a field
 * of the record is described there; any other field brings its description along.
 */
import { defineScope, type Scope, type ScopeName, type Spelling } from '../expr/scope.js'
import { normalizeHeaders } from '../record/normalize.js'
import { type IpDecision, nameAliases } from '../record/policy-scope.js'
import { type FieldText, recordFieldOf } from '../record/record-fields.js'
import { addressSpelling, serverHost, serverSpelling } from '../record/spelling.js'
import { type Headers, type RecordsByType, recordTypes } from '../record/traffic-record.js'
import { escaped, quoted } from './json.js'

/** A log action of a traffic policy that ran; its metadata became JSON when the policy was compiled. */
export interface LogEntry {
  readonly metadataJson: string
}

/** What events are made from: a record of a type, or a log action. */
export interface Subjects extends RecordsByType {
  readonly log_action: LogEntry
}

export type Origin = keyof Subjects

/** The decision about a record, as far as events show it. */
export interface ShownDecision {
  readonly ipPolicy: { readonly decision: IpDecision } | null
}

type Read<R, T> = (record: R, decided: ShownDecision) => T | null | undefined

export type FieldType = 'text' | 'int32' | 'int64' | 'bool' | 'timestamp' | 'headers' | 'map'

/** How a value is written as JSON. */
interface Writing<T> {
  /** If it is `inQuotes`, without the quotes. */
  readonly write: (value: T) => string
  readonly inQuotes: boolean
}

export interface Field<R> extends Writing<never>, FieldText {
  readonly type: FieldType
  readonly filterable: boolean
  readonly read: Read<R, unknown>
  /** The value as filters compare it; the value itself if undefined. */
  readonly compareAs?: (text: string) => string
  /** How filters spell what they compare it with. */
  readonly spelling?: Spelling
}

interface FieldOptions extends Partial<FieldText> {
  readonly filterable?: boolean
  readonly compareAs?: (text: string) => string
  readonly spelling?: Spelling
}

/** A field whose description may be that of the record. */
type DeclaredField<R> = Omit<Field<R>, 'about'> & Partial<FieldText>

const fieldType =
  <T>(type: FieldType, writing: Writing<T>) =>
  <R>(read: Read<R, T>, { filterable = false, ...options }: FieldOptions = {}): DeclaredField<R> => ({
    type,
    filterable,
    read,
    ...options,
    ...writing,
  })

/** Options of a server name: events show it as reported, filters compare its normal form. */
export const serverName: FieldOptions = {
  filterable: true,
  compareAs: serverHost,
  spelling: serverSpelling,
}
/** Options of the field that every kind about a record has. */
export const ipPolicyDecision: FieldOptions = {
  about: 'What IP policies decided: `allow` or `block`; null if none applied.',
}
/** Options of an address, which was normalized when the record was read. */
export const address: FieldOptions = { filterable: true, spelling: addressSpelling }

const inQuotes = (write: (value: string) => string): Writing<string> => ({ write, inQuotes: true })
const bare = <T>(write: (value: T) => string): Writing<T> => ({ write, inQuotes: false })
const asItIs = (value: string): string => value

export const text = fieldType<string>('text', inQuotes(escaped))
/** Text without anything to escape: checked when the record was read, or one of our own words. */
export const word = fieldType<string>('text', inQuotes(asItIs))
/** Checked when the record was read, so nothing needs escaping. */
export const timestamp = fieldType<string>('timestamp', inQuotes(asItIs))
export const int32 = fieldType<number>('int32', bare(String))
export const int64 = fieldType<number>('int64', bare(String))
export const bool = fieldType<boolean>('bool', bare(String))
export const headers = fieldType<Headers>('headers', bare(headersJson))
/** A map, already as JSON. */
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
  readonly madeFrom: Origin
  /** What has happened, in a sentence. */
  readonly about: string
  /** By dotted name, in the order in which they are written. */
  readonly fields: ReadonlyMap<string, Field<R>>
  /** Undefined if no field is filterable. */
  readonly filterScope: Scope<R> | undefined
}

/** A kind in a list of all kinds: a reader finds out by `madeFrom` what it is about. */
export type AnyTrafficEvent = TrafficEventKind<never>

interface TrafficEventDeclaration<R> {
  readonly name: string
  readonly about: string
  readonly fields: Readonly<Record<string, DeclaredField<R>>>
}

/** Curried, so that the type of the subject is known before the fields are inferred. */
export const defineTrafficEvent =
  <O extends Origin>(madeFrom: O) =>
  ({
    name,
    about,
    fields: declared,
  }: TrafficEventDeclaration<Subjects[O]>): TrafficEventKind<Subjects[O]> => {
    const fields = describedFields(madeFrom, name, declared)
    return {
      name,
      madeFrom,
      about,
      fields: new Map(Object.entries(fields)),
      filterScope: filterScopeOf(fields),
    }
  }

function describedFields<R>(
  madeFrom: Origin,
  kind: string,
  declared: Readonly<Record<string, DeclaredField<R>>>,
): Readonly<Record<string, Field<R>>> {
  const recordType = recordTypes.find((type) => type === madeFrom)
  const described = Object.entries(declared).map(([name, field]) => {
    const { about, unit } =
      field.about === undefined && recordType !== undefined ? (recordFieldOf(recordType, name) ?? {}) : field
    if (about === undefined) throw new Error(`The field ${name} of ${kind} needs a description.`)
    return [name, { ...field, about, ...(unit === undefined ? {} : { unit }) }] as const
  })
  return Object.fromEntries(described)
}

/** Filters see the record alone: fields that show a decision are not filterable. */
const undecided: ShownDecision = { ipPolicy: null }

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
