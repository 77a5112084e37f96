/** The interface of a service's operation, and helpers that read its input. */
import { AwsError, constraintBroken } from './aws-error.js'
import type { Target } from './fault-book.js'
import type { ServiceName } from './wire.js'
import type { World } from './world.js'

export type Input = Readonly<Record<string, unknown>>

/** One verified request. */
export interface Call {
  readonly world: World
  readonly target: Target
  readonly region: string
  readonly accessKeyId: string
  readonly requestId: string
  readonly nowMs: number
}

/** An answer that is undefined has no members. */
type Operation = (input: Input, call: Call) => object | undefined

export interface Service {
  readonly name: ServiceName
  /** Before the dot in `X-Amz-Target`. */
  readonly targetPrefix: string
  /** Default: that of JSON 1.1. */
  readonly contentType?: string
  readonly operations: Readonly<Record<string, Operation>>
  /** The stream, queue or other resource that an input names; faults are chosen by it. */
  resourceOf(input: Input): string
  /** Headers of an answer with an error. */
  errorHeaders?(error: AwsError): Readonly<Record<string, string>>
}

export const contentTypeOf = ({ contentType = 'application/x-amz-json-1.1' }: Service): string => contentType

const fieldOf =
  <T>(type: string, isType: (value: unknown) => value is T) =>
  (input: Input, field: string): T | undefined => {
    const value = input[field] ?? undefined
    if (value === undefined || isType(value)) return value
    throw new AwsError('SerializationException', `${field} is not a ${type}`)
  }

export const text = fieldOf('string', (value) => typeof value === 'string')
export const number = fieldOf('number', (value) => typeof value === 'number')
export const list = fieldOf('list', (value): value is readonly Input[] => Array.isArray(value))

const recordsMax = 500
const mebibyte = 1024 * 1024

/** The records of a request to Kinesis or Firehose; `parse` gets the path of each for messages. */
export function parseRecords<R extends { readonly bytes: number }>(
  input: Input,
  bytesMax: number,
  parse: (record: Input, path: string) => R,
): R[] {
  const given = list(input, 'Records') ?? []
  if (given.length < 1) throw constraintBroken('records', 'have length greater than or equal to 1')
  if (given.length > recordsMax)
    throw constraintBroken('records', `have length less than or equal to ${recordsMax}`)
  const records = given.map((record, index) => parse(record, `records.${index + 1}.member`))
  if (records.reduce((sum, { bytes }) => sum + bytes, 0) > bytesMax)
    throw new AwsError('InvalidArgumentException', `Records size exceeds ${bytesMax / mebibyte} MB limit`)
  return records
}

/** Length of base64 text when decoded; throws if it is not base64. */
export function base64Bytes(encoded: string): number {
  if (encoded.length % 4 !== 0) throw new AwsError('SerializationException', 'Data is not base64')
  if (encoded.endsWith('==')) return (encoded.length / 4) * 3 - 2
  return (encoded.length / 4) * 3 - (encoded.endsWith('=') ? 1 : 0)
}
