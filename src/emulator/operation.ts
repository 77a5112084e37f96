/** The interface of a service's operation, and helpers that read its input. */
import { AwsError } from './aws-error.js'
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

type Operation = (input: Input, call: Call) => object

export interface Service {
  readonly name: ServiceName
  /** Before the dot in `X-Amz-Target`. */
  readonly targetPrefix: string
  readonly operations: Readonly<Record<string, Operation>>
  /** The stream, delivery stream or log group that an input names; faults are chosen by it. */
  resourceOf(input: Input): string
}

export function text(input: Input, field: string): string | undefined {
  const value = input[field]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  throw new AwsError('SerializationException', `${field} is not a string`)
}

export function number(input: Input, field: string): number | undefined {
  const value = input[field]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number') return value
  throw new AwsError('SerializationException', `${field} is not a number`)
}

export function list(input: Input, field: string): readonly Input[] {
  const value = input[field]
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  throw new AwsError('SerializationException', `${field} is not a list`)
}

/** Length of base64 text when decoded; throws if it is not base64. */
export function base64Bytes(encoded: string): number {
  if (encoded.length % 4 !== 0) throw new AwsError('SerializationException', 'Data is not base64')
  if (encoded.endsWith('==')) return (encoded.length / 4) * 3 - 2
  return (encoded.length / 4) * 3 - (encoded.endsWith('=') ? 1 : 0)
}
