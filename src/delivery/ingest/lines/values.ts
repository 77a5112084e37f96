/** Values in lines of logs, before it is known what they are. */
import { canonicalAddress, isPeerAddress } from '../../../ground/core/address/ip.js'
import { fail, ok, type Problem, problem, type Result } from '../../../ground/core/errors.js'
import { recordBytesMax } from '../../../ground/core/limits.js'
import { commonNameOf } from '../../../ground/core/text/distinguished-name.js'
import { syntaxErrorIndex } from '../../../ground/core/text/json-place.js'
import { parseJson } from '../../record/record.js'

/** A value as logged. Empty text and `-` stand for no value. */
export type Value = string | number | null | undefined

/** Undefined for no value. */
export function textOf(value: Value): string | undefined {
  if (value === undefined || value === null) return undefined
  const text = String(value)
  return text === '' || text === '-' ? undefined : text
}

/** A value that is no number is kept as it is: the record is then refused, and the reason shows it. */
export function numberOf(value: Value): number | undefined {
  const text = textOf(value)
  if (text === undefined) return undefined
  return /^[+-]?\d+$/.test(text) ? Number(text) : (text as unknown as number)
}

interface AddressAndPort {
  readonly address: string
  readonly port?: number
}

/** An address with or without its port; a zone is dropped. Undefined if it is no address. */
export function splitAddress(value: Value): AddressAndPort | undefined {
  const text = textOf(value)
  if (text === undefined) return undefined
  if (isPeerAddress(text)) return { address: canonicalAddress(text) }
  const { 1: bracketed, 2: plain, 3: port } = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? []
  const address = bracketed ?? plain
  if (!isPeerAddress(address)) return undefined
  return { address: canonicalAddress(address), ...(port === undefined ? {} : { port: Number(port) }) }
}

/** The common name in the name of a certificate. */
export function commonNameIn(name: Value): string | undefined {
  const text = textOf(name)
  return text === undefined ? undefined : commonNameOf(text)
}

/** A line that is a JSON object. */
export function jsonObject(line: string): Result<Readonly<Record<string, unknown>>> {
  const parsed = parseJson(Buffer.from(line))
  if (!parsed.ok) return withColumn(parsed.problem, line)
  const { value } = parsed
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return problem('It is not a JSON object.')
  return ok(value as Readonly<Record<string, unknown>>)
}

function withColumn(problem: Problem, line: string): Result<never> {
  const index = line.length > recordBytesMax ? undefined : syntaxErrorIndex(line)
  return fail(index === undefined ? problem : { ...problem, column: index + 1 })
}

/** The same, for a format that looks up its members. */
export function jsonLine(line: string): Result<Fields> {
  const object = jsonObject(line)
  return object.ok ? ok(new Fields(object.value)) : object
}

/** Members of a JSON object by name. */
export class Fields {
  readonly #members: Readonly<Record<string, unknown>>

  constructor(members: Readonly<Record<string, unknown>>) {
    this.#members = members
  }

  /** The first of these that has a value: text or a number; true and false as text. */
  get(...names: readonly string[]): Value {
    for (const name of names) {
      const value = Object.hasOwn(this.#members, name) ? this.#members[name] : undefined
      const text = typeof value === 'boolean' ? String(value) : value
      if ((typeof text === 'string' || typeof text === 'number') && textOf(text) !== undefined) return text
    }
    return undefined
  }

  /** A member that is an object; none is one without members. */
  within(name: string): Fields {
    const value = Object.hasOwn(this.#members, name) ? this.#members[name] : undefined
    const isObject = typeof value === 'object' && value !== null
    return new Fields(isObject ? (value as Readonly<Record<string, unknown>>) : {})
  }

  get names(): readonly string[] {
    return Object.keys(this.#members)
  }

  /** A number, also written as text; undefined if it is none. */
  number(...names: readonly string[]): number | undefined {
    const value = Number(this.get(...names) ?? Number.NaN)
    return Number.isFinite(value) ? value : undefined
  }
}
