/**
 * OTLP's requests in JSON. Of a request, only what records are made of is looked at, so that nothing else is a reason to
 * refuse it: names of enums, fields of later versions, odd values of attributes that have no meaning here.
 */
import { type Attribute, Attributes, type LogRecord, type OtlpLog } from './log-records.js'

/**
 * A text, or a number that JavaScript may not hold. A text without an end is one, too: otherwise each quote in it would be
 * tried as the beginning of another one, and a body of 2 MiB would take hours.
 */
const textOrNumber = /"(?:[^"\\]|\\.)*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
/** No number of JSON begins so: it must not become a text, which would be none of its faults. */
const zeroFirst = /^-?0\d/
/** So many digits are exact in a double. */
const exactDigits = 15
/** Digits of an exponent: no number of 64 bits has more. */
const exponentMax = 20

/** JSON text with integers as text if a double might not hold them: proto3 takes 64-bit numbers in both forms. */
export const withExactIntegers = (json: string): string =>
  json.replace(textOrNumber, (token) => {
    if (token.startsWith('"') || (token.length <= exactDigits && !/e/i.test(token))) return token
    const integer = zeroFirst.test(token) ? undefined : integerOf(token)
    return integer === undefined ? token : `"${integer}"`
  })

/** `1.7640648e18` is an integer; undefined for a number that is none, or has more than 64 bits. */
function integerOf(number: string): string | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number)
  if (match === null) return undefined
  const { 1: sign = '', 2: whole = '', 3: part = '', 4: exponent = '0' } = match
  const power = Number(exponent) - part.length
  if (Math.abs(power) > exponentMax) return undefined
  const digits = power >= 0 ? `${whole}${part}${'0'.repeat(power)}` : withoutZeros(`${whole}${part}`, -power)
  return digits === undefined ? undefined : `${sign}${digits.replace(/^0+(?=\d)/, '')}`
}

/** Undefined if other digits would be cut. */
const withoutZeros = (digits: string, count: number): string | undefined =>
  digits.endsWith('0'.repeat(count)) && digits.length > count ? digits.slice(0, -count) : undefined

type Members = Readonly<Record<string, unknown>>

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}

/** A member by its name in JSON, or that in the schema: parsers of proto3 take both. */
function member(members: Members, name: string): unknown {
  const inSchema = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return members[name] ?? members[inSchema]
}

/** Throws an error if it is there and no list. */
function listOf(members: Members, name: string): readonly unknown[] {
  const value = member(members, name) ?? []
  if (!Array.isArray(value)) throw new Error(`"${name}" must be a list`)
  return value
}

/** Throws an error if lists of it are none. `value` has integers as `withExactIntegers` writes them. */
export function logsInJson(value: unknown): readonly OtlpLog[] {
  return listOf(membersOf(value), 'resourceLogs').flatMap((resourceLogs) => {
    const ofResource = attributesIn(member(membersOf(resourceLogs), 'resource'))
    return listOf(membersOf(resourceLogs), 'scopeLogs').flatMap((scopeLogs) => {
      const outer = [attributesIn(membersOf(scopeLogs)['scope']), ofResource]
      return listOf(membersOf(scopeLogs), 'logRecords').map((log) => ({ outer, record: () => recordIn(log) }))
    })
  })
}

const attributesIn = (owner: unknown): Attributes => new Attributes(attributesOf(membersOf(owner)))

function recordIn(log: unknown): LogRecord {
  const members = membersOf(log)
  const timeUnixNano = nanosIn(members, 'timeUnixNano')
  return {
    timeUnixNano,
    // It counts only if the other one is not known.
    observedTimeUnixNano: timeUnixNano === 0n ? nanosIn(members, 'observedTimeUnixNano') : 0n,
    attributes: attributesOf(members),
    sent: log,
  }
}

const uint64Max = 2n ** 64n - 1n

/** Throws an error if it is no time: 0 is one that is not known. */
function nanosIn(members: Members, name: string): bigint {
  const value = member(members, name) ?? 0
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  const integer = integerOf(text)
  const nanos = integer === undefined ? -1n : BigInt(integer)
  if (nanos < 0n || nanos > uint64Max) throw new Error(`"${name}" is no number of nanoseconds`)
  return nanos
}

function attributesOf(members: Members): readonly Attribute[] {
  const list = member(members, 'attributes')
  if (!Array.isArray(list)) return []
  return list.flatMap((attribute) => {
    const { key, value } = membersOf(attribute)
    return typeof key === 'string' ? [{ key, value: valueIn(value) }] : []
  })
}

const scalars = ['stringValue', 'intValue', 'boolValue', 'doubleValue'] as const

/** A number may be a text, and have a fraction of zero or an exponent. */
const scalarText = (name: (typeof scalars)[number], scalar: string | number | boolean): string =>
  (name === 'intValue' || name === 'doubleValue' ? integerOf(String(scalar)) : undefined) ?? String(scalar)

/** A value of another form is none. */
function valueIn(value: unknown): NonNullable<Attribute['value']> {
  const members = membersOf(value)
  for (const name of scalars) {
    const scalar = member(members, name)
    if (typeof scalar === 'string' || typeof scalar === 'number' || typeof scalar === 'boolean')
      return { value: { case: 'stringValue', value: scalarText(name, scalar) } }
  }
  const { values } = membersOf(member(members, 'arrayValue'))
  if (Array.isArray(values)) return { value: { case: 'arrayValue', value: { values: values.map(valueIn) } } }
  return { value: { case: undefined } }
}
