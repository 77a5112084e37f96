/**
 * Start here: the path of every request through the API. Checks before a body is read, in this order: token ▸ `api`
 * restriction ▸ rate ▸ version ▸ rights ▸ path and method ▸ content encoding and type ▸ what is served at the same
 * time. Requests to unknown paths pass the same checks first, so a refused caller learns nothing.
 *
 * Who asks is in `caller/`, what is allowed at once in `bounds/`, what a body may say in `body/`, pages and filters in
 * `lists/`, and what the API's document says of it in `openapi/`.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest, hideSecrets, shown, WeirError } from '../../ground/core/errors.js'
import { requestBodyBytesMax, requestValuesMax } from '../../ground/core/limits.js'
import type { Caller } from '../access/caller.js'
import { checkKeyRight, rightFor } from '../access/key-rights.js'
import { parseJsonBody } from '../exchange/body/json-body.js'
import { parseLargeBody } from '../exchange/body/large-body.js'
import { addAnswerHeaders } from './answer-headers.js'
import type { Batch, Batches } from './batch.js'
import type { AtOnce } from './bounds/at-once.js'
import { admitAtOnce, boundWork, largeBodyBytes, slicesOf } from './bounds/bounded-work.js'
import type { Auth } from './caller/auth.js'
import { headerLines, onlyHeader } from './caller/headers.js'

const shownPathCharsMax = 200

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Served without a key and a version header. */
    isOpen?: boolean
    /** Default: JSON, not compressed. */
    bodies?: { readonly types: readonly string[]; readonly gzip: true }
  }
}

export async function guard(
  app: FastifyInstance,
  auth: Auth,
  atOnce: AtOnce,
  batches: Batches,
): Promise<void> {
  boundWork(app, atOnce)
  await addAnswerHeaders(app)
  app.addHook('onRequest', (request, reply, done) => {
    request.batch = batches.of(request)
    if (request.batch !== undefined) {
      admitPart(request, request.batch)
      return done()
    }
    if (request.routeOptions.config.isOpen) return done()
    const caller = auth.check(request)
    const admitted = (found: Caller): Promise<void> | undefined => {
      admit(request, found)
      return admitAtOnce(atOnce, request, reply)
    }
    if (caller instanceof Promise) return caller.then(admitted)
    const turn = admitted(caller)
    if (turn !== undefined) return turn
    done()
  })
}

function admit(request: FastifyRequest, caller: Caller): void {
  request.caller = caller
  checkRight(request)
  if (request.is404) throw nothingThere(request)
  checkHost(request)
  checkContentType(request)
}

/** The caller of a batch was admitted as a whole; each part needs its right. */
function admitPart(request: FastifyRequest, { caller }: Batch): void {
  admit(request, caller)
  const { method, routeOptions } = request
  if (!routeOptions.config.isBatchable)
    throw badRequest(`${method} ${routeOptions.url} can't be a part of a batch: send it by itself.`)
}

function checkRight({ caller, method, routeOptions }: FastifyRequest): void {
  const { principal, rights } = caller
  checkKeyRight({ id: principal.credentialId, rights }, rightFor(method, routeOptions.url))
}

export function nothingThere({ method, url }: FastifyRequest): WeirError {
  const path = url.split('?')[0]!.split('/').map(shownSegment).join('/').slice(0, shownPathCharsMax)
  return new WeirError('ERR_NOT_FOUND', `There is nothing at ${method} ${path}.`)
}

/** A segment of a path, hidden if it looks like a secret: a client may have sent a token in place of an id. */
function shownSegment(segment: string): string {
  let text = segment
  try {
    text = decodeURIComponent(segment)
  } catch {
    // A segment that can't be decoded is checked as it was sent.
  }
  return hideSecrets(text) === text ? segment : '…'
}

/** HTTP/1.1 requires the header Host: https://www.rfc-editor.org/rfc/rfc9112#section-3.2 */
function checkHost(request: FastifyRequest): void {
  if (onlyHeader(request, 'Host') === undefined && request.raw.httpVersion === '1.1')
    throw badRequest('The header "Host" is needed.')
}

/** Most bodies are JSON in UTF-8. Without a body the content type is ignored, because clients send it with any method. */
export function checkContentType(request: FastifyRequest): void {
  const { headers, routeOptions } = request
  const { types, gzip } = routeOptions.config.bodies ?? { types: ['application/json'] }
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (!hasBody) return
  checkContentEncoding(request, gzip)
  const [type = '', ...parameters] = (onlyHeader(request, 'Content-Type') ?? '')
    .split(';')
    .map((part) => part.trim())
  if (!types.includes(type.toLowerCase())) {
    const given =
      type === '' ? 'The body has no content type' : `The content type of the body is ${shown(type)}`
    throw new WeirError('ERR_CONTENT_TYPE', `${given}: ${types.join(' or ')} is needed.`)
  }
  const charset = parameters.map((each) => /^charset\s*=\s*"?([^"]*)"?$/i.exec(each)?.[1]).find(Boolean)
  if (charset === undefined || charset.toLowerCase() === 'utf-8' || charset.toLowerCase() === 'utf8') return
  throw new WeirError('ERR_CONTENT_TYPE', `The charset of the body is ${shown(charset)}: JSON is UTF-8.`)
}

/** Compressed bodies are refused, unless their route bounds them: how much memory one needs is unknown before. */
function checkContentEncoding(request: FastifyRequest, gzip = false): void {
  const codings = contentCodings(request)
  if (codings.length === 0 || (gzip && codings.length === 1 && codings[0]!.toLowerCase() === 'gzip')) return
  throw new WeirError(
    'ERR_CONTENT_TYPE',
    `The content encoding of the body is ${shown(codings.join(', '))}: send it ${gzip ? 'with gzip, or ' : ''}uncompressed.`,
  )
}

/** How the body is encoded; none if it is not. */
export const contentCodings = (request: FastifyRequest): string[] =>
  headerLines(request, 'Content-Encoding')
    .flatMap((line) => line.split(','))
    .map((each) => each.trim())
    .filter((each) => each !== '' && each.toLowerCase() !== 'identity')

/** Its lists have bounds of their own, and small bodies of such a route are parsed as a whole, too. */
const takesLongLists = ({ routeOptions }: FastifyRequest): boolean =>
  (routeOptions.bodyLimit ?? 0) > requestBodyBytesMax

/** Accepts JSON, and empty bodies of any type. GET bodies are parsed, too, so that their content can be refused. */
export function acceptBodies(app: FastifyInstance): void {
  app.addHttpMethod('GET', { hasBody: true, overrideExisting: true })
  app.removeAllContentTypeParsers()
  const parse = async (request: FastifyRequest, body: Buffer): Promise<unknown> =>
    body.length <= largeBodyBytes || request.work === undefined
      ? parseJsonBody(body, takesLongLists(request) ? Number.POSITIVE_INFINITY : requestValuesMax)
      : request.work.run(() => parseLargeBody(body, slicesOf(request)))
  app.addContentTypeParser(['application/json', '*'], { parseAs: 'buffer' }, parse)
}
