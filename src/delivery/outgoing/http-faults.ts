/** Turns the answer of a web server, or an error of the network, into a fault. Its class alone decides what a lane does. */
import type { IncomingHttpHeaders } from 'node:http'
import { now } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import type { Fault, FaultClass } from './fault-class.js'
import { connectionFault, fault } from './faults.js'
import type { Hide } from './hidden-secrets.js'
import type { HttpAnswer } from './http-client.js'

/** How much of an answer is quoted. */
const quotedBytesMax = 1024
const messageCharsMax = quotedBytesMax + 200
/** How much of it is read: a secret that begins in what is quoted must be seen whole. */
export const readBytesMax = 8 * 1024

/** About the URL, the right to post there, or what all requests have in common; the other 4xx are about the events. */
const setupStatuses = [402, 403, 404, 405, 406, 410, 411, 415, 421, 426, 431]

function classOfStatus(status: number): FaultClass {
  if (status === 429) return 'throttle'
  if (status === 401 || status === 407) return 'credentials'
  // 425: sent as early data.
  if (status === 408 || status === 425 || status >= 500) return 'transient'
  return status < 400 || setupStatuses.includes(status) ? 'configuration' : 'poison'
}

/** The fault of an answer that is not 2xx. `known`: its class, if the format of the body knows it. */
export function faultOfAnswer(answer: HttpAnswer, known: FaultClass | undefined, hide: Hide): Fault {
  const { status, statusText, headers, body } = answer
  const says = [
    `The server answered ${status} ${statusText}`.trimEnd(),
    redirection(answer),
    quoted(body, hide),
  ]
  const found = fault(
    known ?? classOfStatus(status),
    `Http${status}`,
    says.join(''),
    requestIdIn(headers),
    messageCharsMax,
  )
  const retryAfterMs = retryAfterIn(headers)
  return retryAfterMs === undefined ? found : { ...found, retryAfterMs }
}

/** The name that the server has for the request. */
export function requestIdIn(headers: IncomingHttpHeaders): string | undefined {
  const id = headers['x-request-id']
  return typeof id === 'string' && /^[\x21-\x7e]{1,128}$/.test(id) ? id : undefined
}

function redirection({ status, headers }: HttpAnswer): string {
  if (status < 300 || status >= 400) return ''
  const place =
    headers.location === undefined ? '' : ` to ${headers.location.replace(/[?#].*/s, '').slice(0, 200)}`
  return `, a redirection${place}, which is not followed`
}

/** A character that the limit cuts is left out. */
function quoted(body: Buffer, hide: Hide): string {
  const bytes = Buffer.from(hide(body.toString())).subarray(0, quotedBytesMax)
  const text = new TextDecoder().decode(bytes, { stream: true })
  const printable = text.replaceAll(/\p{Cc}+/gu, ' ').trim()
  return printable === '' ? '.' : `: ${printable}`
}

/** Seconds or a date: https://www.rfc-editor.org/rfc/rfc9110#name-retry-after */
function retryAfterIn(headers: IncomingHttpHeaders): number | undefined {
  const text = headers['retry-after']?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const ms = /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) - now() : Number.NaN
  return ms > 0 ? ms : undefined
}

export function faultOfError(error: unknown): Fault {
  const { code = '' } = error as NodeJS.ErrnoException
  if (code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE')
    return fault('configuration', 'NotHttp', `The answer is not HTTP: ${messageOf(error)}`)
  return connectionFault(error)
}
