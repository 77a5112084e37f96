/**
 * Signatures as Standard Webhooks 1.0 has them: https://github.com/standard-webhooks/standard-webhooks
 *
 * The JSON is signed, also if it is sent compressed: the libraries for receivers verify text.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { now } from '../../../ground/core/clock.js'

const prefix = 'whsec_'
const keyBytes = { min: 24, max: 64 }
/** How old a request may be, or ahead of the receiver's clock. */
const toleranceMs = 5 * 60_000

/** The form of a secret whose key is the bytes of a random text. */
export const webhookSecretOf = (text: string): string => `${prefix}${Buffer.from(text).toString('base64')}`

/** The problem with a secret, without repeating it. */
export function brokenWebhookSecret(secret: string): string | undefined {
  const encoded = secret.startsWith(prefix) ? secret.slice(prefix.length) : ''
  const { length } = keyOf(secret)
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded)
  if (isBase64 && length >= keyBytes.min && length <= keyBytes.max) return undefined
  return `it must be "${prefix}" and ${keyBytes.min} to ${keyBytes.max} bytes in base64`
}

const keyOf = (secret: string): Buffer => Buffer.from(secret.slice(prefix.length), 'base64')

/** The header `webhook-signature`. */
function signature(secret: string, id: string, timestamp: string, body: Uint8Array): string {
  const mac = createHmac('sha256', keyOf(secret))
  return `v1,${mac.update(`${id}.${timestamp}.`).update(body).digest('base64')}`
}

/** The same events have the same id in every request, so that a receiver recognises them. */
function webhookId(eventIds: readonly string[]): string {
  const [first = '', ...others] = eventIds
  if (others.length === 0) return first
  return `msg_${createHash('sha256').update(eventIds.toSorted().join()).digest('base64url')}`
}

/** The headers of a signed request. */
export function signatureHeaders(
  secret: string,
  eventIds: readonly string[],
  body: Uint8Array,
): Record<string, string> {
  const [id, timestamp] = [webhookId(eventIds), String(Math.floor(now() / 1000))]
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature(secret, id, timestamp, body),
  }
}

interface SignatureHeaders {
  readonly id: string
  readonly timestamp: string
  readonly signatures: readonly string[]
}

const signatureForm = /^v1,[A-Za-z0-9+/]{43}=$/

/** The headers of a request that may have been signed lately, which takes no body to say; undefined for others. */
export function recentSignature(headers: IncomingHttpHeaders): SignatureHeaders | undefined {
  const [id = '', timestamp = '', given = ''] = ['id', 'timestamp', 'signature'].map((name) =>
    String(headers[`webhook-${name}`] ?? ''),
  )
  const isRecent = Math.abs(now() - Number(timestamp) * 1000) <= toleranceMs
  const signatures = given.split(' ').filter((each) => signatureForm.test(each))
  return isRecent && id !== '' && signatures.length > 0 ? { id, timestamp, signatures } : undefined
}

/** Was the body signed with the secret? */
export function isSigned(
  secret: string,
  { id, timestamp, signatures }: SignatureHeaders,
  body: Uint8Array,
): boolean {
  const wanted = Buffer.from(signature(secret, id, timestamp, body))
  return signatures.some((each) => timingSafeEqual(Buffer.from(each), wanted))
}
