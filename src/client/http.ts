/** Requests to the API with nothing but `fetch`: headers, deadlines, what is sent again, and errors. */
import { sleep } from '../core/clock.js'
import { ApiError } from './api-error.js'

export interface HttpOptions {
  /** Where the API is, such as `http://127.0.0.1:8080`. */
  readonly url: string
  readonly token: string
  /** The name of the version header. Default: `Service-Version`. */
  readonly versionHeader?: string
  /** How long a request may take. Default: 60 s. */
  readonly timeoutMs?: number
  /** How long a call may wait, in all, for an API that asks to be asked later; 0: not at all. Default: 30 s. */
  readonly waitMs?: number
  /** What sends requests, where that is not the global `fetch`: a proxy's, or a test's. */
  readonly fetch?: Fetch
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

export interface Request {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly idempotencyKey?: string | undefined
}

export class Http {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #timeoutMs: number
  readonly #waitMs: number
  readonly #fetchOne: Fetch

  constructor({
    url,
    token,
    versionHeader = 'Service-Version',
    timeoutMs = 60_000,
    waitMs = 30_000,
    fetch = globalThis.fetch,
  }: HttpOptions) {
    this.#base = url.replace(/\/+$/, '')
    this.#headers = { authorization: `Bearer ${token}`, [versionHeader]: '2' }
    this.#timeoutMs = timeoutMs
    this.#waitMs = waitMs
    this.#fetchOne = fetch
  }

  /**
   * The body of the answer; undefined where it has none. Throws an `ApiError`, or what `fetch` throws where nobody
   * answers. Where the API says when to ask again (429, 503), it is asked again, if that can do no harm.
   */
  async send(method: Method, path: string, request: Request = {}): Promise<unknown> {
    for (let waitedMs = 0; ; ) {
      const response = await this.#fetch(method, path, request)
      const text = await response.text()
      if (response.ok) return text === '' ? undefined : JSON.parse(text)
      const afterMs = isRepeatable(method, request) ? retryAfterMs(response) : undefined
      if (afterMs === undefined || waitedMs + afterMs > this.#waitMs)
        throw new ApiError(`${method} ${path}`, response.status, text)
      await sleep(afterMs)
      waitedMs += afterMs
    }
  }

  #fetch(method: Method, path: string, { query, body, idempotencyKey }: Request): Promise<Response> {
    const fetchOne = this.#fetchOne
    return fetchOne(`${this.#base}${path}${queryText(query)}`, {
      method,
      headers: {
        ...this.#headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      // The token is for this API alone.
      redirect: 'error',
      signal: AbortSignal.timeout(this.#timeoutMs),
    })
  }
}

/** Twice is once: PATCH sets what it names, and only a new resource would be there twice. */
const isRepeatable = (method: Method, { idempotencyKey }: Request): boolean =>
  method !== 'POST' || idempotencyKey !== undefined

/** At least a second, so that an API which says 0 is not run over. */
function retryAfterMs({ status, headers }: Response): number | undefined {
  const seconds = headers.get('retry-after') ?? ''
  return (status === 429 || status === 503) && /^\d{1,6}$/.test(seconds)
    ? Math.max(1, Number(seconds)) * 1000
    : undefined
}

function queryText(query: Request['query'] = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return given.length === 0 ? '' : `?${given.join('&')}`
}
