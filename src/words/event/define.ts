/**
 * Declares kinds of traffic events: name, subject and fields. A kind is one file with one line
 * per field: the field's type, whether filters may use it, and where its value comes from. A field named like a field
 * of the record is described there; any other field brings its description along.
 */

import type { Geo } from '../../delivery/record/geo-entry.js'
import type { IpDecision } from '../../delivery/record/policy-context.js'
import { nameAliases } from '../../delivery/record/policy-scope.js'
import { type FieldText, recordFieldOf } from '../../delivery/record/record-fields.js'
import {
  addressSpelling,
  normalizeHeaders,
  serverHost,
  serverSpelling,
} from '../../delivery/record/spelling.js'
import {
  type Headers,
  type RecordsByType,
  recordTypes,
  type TrafficRecord,
} from '../../delivery/record/traffic-record.js'
import { domainOf } from '../../delivery/record/value-domains.js'
import type { JsonBytes } from '../../ground/core/text/json-bytes.js'
import { writeUtcMicros } from '../../ground/core/text/timestamp.js'
import { type Domain, wholeNumbers } from '../../ground/expr/domain.js'
import { defineScope, type Scope, type ScopeName, type Spelling } from '../../ground/expr/scope.js'

/** The subject of a traffic policy: a connection that asks to be let in, or one that has ended. */
export type Direction = 'inbound' | 'outbound'

/** A log action of a traffic policy that ran; its metadata became JSON when the policy was compiled. */
export interface LogEntry {
  readonly metadataJson: string
  /** Its name, else its place. */
  readonly policyName: string
  readonly direction: Direction
}

/** The subjects that events are made from: a record of a type, a log action, or what a challenger decides otherwise. */
export interface Subjects extends RecordsByType {
  readonly log_action: LogEntry
  readonly difference: ChallengerDecision
}

export type Origin = keyof Subjects

/** `block` is the word of IP policies, `deny` that of traffic policies. */
export type Decision = 'allow' | 'block' | 'deny'

/** The part of the configuration that stopped a connection; `none` if nothing did. */
export interface DecidedBy {
  readonly type: 'restriction' | 'ip_restriction' | 'traffic_policy' | 'unserved' | 'none'
  /** The restriction, or the edge or route that has the module or the policy. */
  readonly id: string | null
  readonly name: string | null
  /** The IP policy with the rule, the rule and its range; null if no rule allows the address. */
  readonly ipPolicyId: string | null
  readonly ruleId: string | null
  readonly cidr: string | null
}

/** The decision under other policies, and the part of them that would have made it. */
export interface ShadowDecision {
  readonly decision: Decision
  readonly decidedBy: DecidedBy
}

/** The decision of a challenger's draft about a record. */
export interface ChallengerDecision extends ShadowDecision {
  /** The id of the challenger. */
  readonly id: string
}

/** The decision about a record, as far as events show it. Costly members are found when they are read. */
export interface ShownDecision {
  readonly record: TrafficRecord
  readonly decision: Decision
  readonly decidedBy: DecidedBy
  /** If everything that is not enforced were; null if all that applied is enforced. */
  readonly shadow: ShadowDecision | null
  readonly ipPolicy: { readonly decision: IpDecision } | null
  readonly edgeId: string | undefined
  readonly routeId: string | undefined
  readonly geo: Geo
  readonly warnings: readonly string[]
  /** The revision of the configuration. */
  readonly revision: number
}

type Read<R, T> = (record: R, decided: ShownDecision) => T | null | undefined

export type FieldType =
  | 'text'
  | 'int32'
  | 'int64'
  | 'double'
  | 'bool'
  | 'timestamp'
  | 'texts'
  | 'headers'
  | 'map'

/** The input of filters: the subject of an event, and the decision. */
export interface FilterInput<R> {
  readonly subject: R
  readonly decided: ShownDecision
}

/** Writes a value as JSON. */
type Write<T> = (value: T, out: JsonBytes) => void

export interface Field<R> extends FieldText {
  readonly type: FieldType
  readonly write: Write<never>
  readonly filterable: boolean
  /** Sent only if a source selects it. */
  readonly optIn: boolean
  readonly read: Read<R, unknown>
  /** The value as filters compare it; the value itself if undefined. */
  readonly compareAs?: (text: string) => string
  /** The spelling of values that filters compare it with. */
  readonly spelling?: Spelling
  /** The values that it can have; by default, those of the name. */
  readonly domain?: Domain
}

interface FieldOptions extends Partial<FieldText> {
  readonly filterable?: boolean
  readonly optIn?: boolean
  readonly compareAs?: (text: string) => string
  readonly spelling?: Spelling
  readonly domain?: Domain
}

/** A field whose description may be that of the record. */
export type DeclaredField<R> = Omit<Field<R>, 'about'> & Partial<FieldText>

const fieldType =
  <T>(type: FieldType, write: Write<T>) =>
  <R>(
    read: Read<R, T>,
    { filterable = false, optIn = false, ...options }: FieldOptions = {},
  ): DeclaredField<R> => ({
    type,
    filterable,
    optIn,
    read,
    ...options,
    write,
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
  filterable: true,
}
/** Options of an address, which was normalized when the record was read. */
export const address: FieldOptions = { filterable: true, spelling: addressSpelling }

const quote = 0x22

const writeText: Write<string> = (value, out) => out.quoted(value)
const writeTimestamp: Write<string> = (value, out) => {
  out.byte(quote)
  writeUtcMicros(value, out)
  out.byte(quote)
}
const writeNumber: Write<number> = (value, out) => out.number(value)
const writeBoolean: Write<boolean> = (value, out) => out.ascii(String(value))
const writeJson: Write<string> = (value, out) => out.text(value)

export const text = fieldType('text', writeText)
export const timestamp = fieldType('timestamp', writeTimestamp)
export const int32 = fieldType('int32', writeNumber)
export const int64 = fieldType('int64', writeNumber)
export const double = fieldType('double', writeNumber)
export const bool = fieldType('bool', writeBoolean)
export const texts = fieldType<readonly string[]>('texts', (value, out) => out.text(JSON.stringify(value)))
export const headers = fieldType<Headers>('headers', (value, out) => out.text(headersJson(value)))
/** A map, already as JSON. */
export const map = fieldType('map', writeJson)

function headersJson(given: Headers): string {
  const members = [...normalizeHeaders(given)].map(
    ([name, values]) => `${JSON.stringify(name)}:${JSON.stringify(values)}`,
  )
  return `{${members.join(',')}}`
}

export interface TrafficEventKind<R> {
  /** `….v0` */
  readonly name: string
  readonly madeFrom: Origin
  /** The occurrence, in a sentence. */
  readonly about: string
  /** By dotted name, in the order in which they are written. */
  readonly fields: ReadonlyMap<string, Field<R>>
  readonly filterScope: Scope<FilterInput<R>>
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

/** Each name may be written with a leading `ev.`. */
const eventPrefix = 'ev.'

function filterScopeOf<R>(fields: Readonly<Record<string, Field<R>>>): Scope<FilterInput<R>> {
  const all = Object.entries(fields)
  const filterable = all.filter(([, field]) => field.filterable)
  const allowed = filterable.map(([name]) => name)
  const refused = all.filter(([, field]) => !field.filterable).map(([name]) => name)
  const reason = `is not filterable; filters may use ${allowed.join(', ')}`
  const aliases = Object.entries(nameAliases).filter(([, name]) => allowed.includes(name))
  return defineScope<FilterInput<R>>({
    names: Object.fromEntries(filterable.map(([name, field]) => [name, scopeNameOf(name, field)])),
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

const nameTypes: Readonly<Record<FieldType, ScopeName<never>['type']>> = {
  text: 'string',
  int32: 'number',
  int64: 'number',
  double: 'number',
  bool: 'boolean',
  timestamp: 'string',
  texts: 'any',
  headers: 'any',
  map: 'any',
}

const ofFieldTypes: Partial<Record<FieldType, Domain>> = {
  int32: wholeNumbers(-(2 ** 31), 2 ** 31 - 1),
  int64: wholeNumbers(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
}

function scopeNameOf<R>(name: string, field: Field<R>): ScopeName<FilterInput<R>> {
  const { read, compareAs, spelling, domain = domainOf(name) ?? ofFieldTypes[field.type] } = field
  const named = { type: nameTypes[field.type], domain, ...(spelling === undefined ? {} : { spelling }) }
  if (compareAs === undefined) return { ...named, read: ({ subject, decided }) => read(subject, decided) }
  const readCompared = ({ subject, decided }: FilterInput<R>): unknown => {
    const value = read(subject, decided)
    return typeof value === 'string' ? compareAs(value) : value
  }
  return { ...named, read: readCompared }
}
