/**
 * Fetches a list from a web server that an account chose. Every address that is connected to, also after a redirection, must
 * be one that destinations may lead to (`outgoing/private-networks.ts`).
 */
import type { IncomingHttpHeaders } from 'node:http'
import { timeoutCode } from '../../../delivery/outgoing/faults.js'
import { type HttpAnswer, HttpClient } from '../../../delivery/outgoing/http-client.js'
import { faultOfAnswer, faultOfError } from '../../../delivery/outgoing/http-faults.js'
import { privateNetworkCode, type ReachableNetworks } from '../../../delivery/outgoing/private-networks.js'
import { monotonicMs } from '../../../ground/core/clock.js'
import { ipListBodyBytesMax } from '../../../ground/core/limits.js'
import { version } from '../../../ground/core/package.js'
import type { FeedErrorCode } from '../../../words/resource/fields/ip-list-source.js'
import { FeedFault } from './feed-fault.js'
import { type Fetched, tooLargeList, unzipped, type Validators } from './fetched.js'

const redirectionsMax = 3
const redirections: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** Longer ones are not kept: each is stored with the state of the list. */
const validatorCharsMax = 512

interface FetchOptions {
  /** For the server of the URL; another one that it redirects to does not get them. */
  readonly headers?: Readonly<Record<string, string>>
  readonly networks: ReachableNetworks
  /** For all requests together; an answer that takes longer is cut. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Rejects with a `FeedFault`, or with the signal's reason. `known`: of what was fetched last. */
export async function fetchUrl(url: string, known: Validators, options: FetchOptions): Promise<Fetched> {
  const endMs = monotonicMs() + options.timeoutMs
  const { origin } = new URL(url)
  let place = new URL(url)
  for (let followed = 0; ; followed += 1) {
    const answer = await ask(place, known, {
      ...options,
      headers: place.origin === origin ? (options.headers ?? {}) : {},
      timeoutMs: Math.max(1, endMs - monotonicMs()),
    })
    options.signal.throwIfAborted()
    if (!redirections.has(answer.status)) return fetchedFrom(answer, known)
    if (followed === redirectionsMax)
      throw new FeedFault('redirect', `The server redirects more than ${redirectionsMax} times.`)
    place = nextPlace(place, answer.headers.location)
  }
}

async function ask(
  place: URL,
  { etag, lastModified }: Validators,
  { headers: given, networks, timeoutMs, signal }: FetchOptions,
): Promise<HttpAnswer> {
  const client = new HttpClient(place, networks, timeoutMs)
  const headers = {
    'User-Agent': `weir/${version}`,
    Accept: '*/*',
    'Accept-Encoding': 'gzip',
    ...given,
    ...(etag !== null && { 'If-None-Match': etag }),
    ...(lastModified !== null && { 'If-Modified-Since': lastModified }),
  }
  try {
    return await client.ask({ method: 'GET', headers, answerBytesMax: ipListBodyBytesMax }, signal)
  } catch (error) {
    signal.throwIfAborted()
    const { code, msg } = faultOfError(error)
    throw new FeedFault(errorCodes[code] ?? 'unreachable', msg)
  } finally {
    client.close()
  }
}

const errorCodes: Readonly<Record<string, FeedErrorCode>> = {
  [privateNetworkCode]: 'private_network',
  [timeoutCode]: 'timeout',
}

function nextPlace(from: URL, location: string | undefined): URL {
  const to = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : undefined
  if (to === undefined)
    throw new FeedFault('redirect', 'The server redirects, and does not say to which URL.')
  const shown = `${to.origin}${to.pathname}`.slice(0, 200)
  const isWeb = to.protocol === 'https:' || (to.protocol === 'http:' && from.protocol === 'http:')
  if (!isWeb || to.username + to.password !== '')
    throw new FeedFault(
      'redirect',
      `The server redirects to ${shown}: only http and https are followed, without user and password, and not from https to http.`,
    )
  return to
}

async function fetchedFrom(answer: HttpAnswer, known: Validators): Promise<Fetched> {
  const isKnown = known.etag !== null || known.lastModified !== null
  if (answer.status === 304 && isKnown) return undefined
  if (answer.status === 304)
    throw new FeedFault(
      'http_status',
      'The server answers 304, that nothing has changed, although Weir has nothing of it and did not ask for that.',
    )
  if (answer.status !== 200) {
    const { msg, retryAfterMs } = faultOfAnswer(answer, undefined, (text) => text)
    throw new FeedFault('http_status', msg, retryAfterMs)
  }
  if (answer.extent === 'long') throw tooLargeList()
  if (answer.extent === 'cut')
    throw new FeedFault(
      'timeout',
      'The answer took too long, came in too many pieces, or ended before it was complete.',
    )
  const bytes = await decoded(answer)
  const { headers } = answer
  return { bytes, validators: { etag: kept(headers, 'etag'), lastModified: kept(headers, 'last-modified') } }
}

async function decoded({ headers, body }: HttpAnswer): Promise<Buffer> {
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (coding === '' || coding === 'identity') return body
  if (coding === 'gzip' || coding === 'x-gzip') return unzipped(body)
  throw new FeedFault('invalid', 'The answer is encoded in another way than gzip, which was not asked for.')
}

function kept(headers: IncomingHttpHeaders, name: 'etag' | 'last-modified'): string | null {
  const text = headers[name]
  return text !== undefined && text.length <= validatorCharsMax && /^[\x20-\x7e]+$/.test(text) ? text : null
}
