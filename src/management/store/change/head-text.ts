/** The head of an account as text. */
import { jsonOf } from '../../../ground/core/bytes.js'
import { WeirError } from '../../../ground/core/errors.js'
import { isObject } from '../../../ground/core/json-object.js'
import type { Head } from './change.js'

/** Throws if the value is damaged. */
export function decodeHead(value: Uint8Array): Head {
  const head = jsonOf<Head>(value)
  const isWhole =
    isObject(head) &&
    Number.isSafeInteger(head.version) &&
    Array.isArray(head.recent) &&
    (head.change === null || isObject(head.change))
  if (isWhole) return head
  throw new Error('The value is no head.')
}

/** As text that fits a message: removed rows that would not fit are left out, and read from ClickHouse later. */
export function encodeHead(head: Head, bytesMax: number): string {
  const whole = JSON.stringify(head)
  if (Buffer.byteLength(whole) <= bytesMax || head.change === null) return whole
  const removals = head.change.removals.map(({ kind, id }) => ({ kind, id, row: null }))
  const slim = JSON.stringify({ ...head, change: { ...head.change, removals } } satisfies Head)
  const bytes = Buffer.byteLength(slim)
  if (bytes <= bytesMax) return slim
  const [code, what] =
    head.earlier === undefined
      ? (['ERR_INVALID_REQUEST', 'The change has'] as const)
      : (['ERR_BODY_TOO_LARGE', 'The changes of the batch have'] as const)
  throw new WeirError(
    code,
    `${what} ${bytes} bytes: at most ${bytesMax} are allowed. Split it into several requests.`,
  )
}
