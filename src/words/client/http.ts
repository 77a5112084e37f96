/** Requests to the API by `fetch`: headers, timeouts, retries and errors. */
import { sleep } from '../../ground/core/clock.js'
import { ApiError } from './api-error.js'

export interface HttpOptions {
  /** The address of the API, such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** The token of an API key. Without one, `fetch` itself must authenticate: a browser sends its cookie. */
  readonly token?: string
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** The name of the version header. Default: `Service-Version`. */
  readonly versionHeader?: string
  /** Timeout of a request. Default: 60 s. */
  readonly timeoutMs?: number
  /** How long a call may wait in total between retries that the API asks for; 0: no retries. Default: 30 s. */
  readonly waitMs?: number
  /** Called before each of these waits. */
  readonly waits?: (ms: number) => void
  /** Called with each warning of an answer: it may be empty for a reason, or something saved can never apply. */
  readonly warned?: (warning: string) => void
  /** Sends requests instead of the global `fetch`, for example through a proxy. */
  readonly fetch?: Fetch
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

export interface Request {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  /** A body of lines (NDJSON). */
  readonly lines?: readonly object[]
  /** A body that is a text of this media type. */
  readonly text?: { readonly type: string; readonly text: string }
  readonly idempotencyKey?: string | undefined
  /** A POST that writes nothing, nor begins anything. */
  readonly isRead?: true
  readonly headers?: TraceHeaders | undefined
}

/** The trace that a request belongs to: https://www.w3.org/TR/trace-context/ */
export interface TraceHeaders {
  readonly traceparent: string
  readonly tracestate?: string
}

export class Http {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #timeoutMs: number
  readonly #waitMs: number
  readonly #waits: (ms: number) => void
  readonly #warned: (warning: string) => void
  readonly #fetchOne: Fetch

  constructor({
    url,
    token,
    headers = {},
    versionHeader = 'Service-Version',
    timeoutMs = 60_000,
    waitMs = 30_000,
    waits = () => {},
    warned = () => {},
    fetch = globalThis.fetch,
  }: HttpOptions) {
    this.#base = url.replace(/\/+$/, '')
    const login = token === undefined ? {} : { authorization: `Bearer ${token}` }
    this.#headers = { ...headers, ...login, [versionHeader]: '2' }
    this.#timeoutMs = timeoutMs
    this.#waitMs = waitMs
    this.#waits = waits
    this.#warned = warned
    this.#fetchOne = fetch
  }

  /**
   * The body of the answer, or undefined. Throws an `ApiError`, or the error of `fetch` if there is no answer. If the API
   * says when to retry (429, 503), the request is repeated, provided that repeating it is harmless.
   */
  async send<Body>(method: Method, path: string, request: Request = {}): Promise<Body> {
    for (let waitedMs = 0; ; ) {
      const response = await this.#fetch(method, path, request)
      const text = await response.text()
      if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as Body
      const afterMs = isRepeatable(method, request) ? retryAfterMs(response) : undefined
      if (afterMs === undefined || waitedMs + afterMs > this.#waitMs)
        throw new ApiError(`${method} ${path}`, response.status, text)
      this.#waits(afterMs)
      await sleep(afterMs)
      waitedMs += afterMs
    }
  }

  /** Server-sent events until the signal or the end of the stream; throws an `ApiError` if it is refused. */
  async *events(
    path: string,
    query: Request['query'],
    signal = new AbortController().signal,
  ): AsyncGenerator<ServerEvent, void> {
    const asked = query === undefined ? {} : { query }
    const response = await this.#fetch('GET', path, asked, signal).catch(unlessAborted(signal))
    if (response === undefined) return
    if (!response.ok) throw new ApiError(`GET ${path}`, response.status, await response.text())
    const reader = response.body?.getReader()
    // `fetch` of Node 20 forgets the signal when memory is collected.
    signal.addEventListener('abort', () => void reader?.cancel().catch(() => {}), { once: true })
    const decoder = new TextDecoder()
    let text = ''
    try {
      for (;;) {
        const { value, done = true } = (await reader?.read()) ?? {}
        if (done) return
        text += decoder.decode(value, { stream: true })
        const events = text.split('\n\n')
        text = events.pop() ?? ''
        yield* events.map(serverEvent)
      }
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      await reader?.cancel().catch(() => {})
    }
  }

  async #fetch(
    method: Method,
    path: string,
    { query, body, lines, text, idempotencyKey, headers }: Request,
    signal = AbortSignal.timeout(this.#timeoutMs),
  ): Promise<Response> {
    const fetchOne = this.#fetchOne
    const response = await fetchOne(`${this.#base}${path}${queryText(query)}`, {
      method,
      headers: {
        ...this.#headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(lines === undefined ? {} : { 'content-type': 'application/x-ndjson' }),
        ...(text === undefined ? {} : { 'content-type': text.type }),
        ...headers,
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: text?.text ?? lines?.map((line) => JSON.stringify(line)).join('\n') ?? jsonBody(body),
      // A redirect could send the token elsewhere.
      redirect: 'error',
      signal,
    })
    const warning = response.headers.get('weir-warning')
    if (warning !== null) this.#warned(warning)
    return response
  }
}

/** An event as Weir sends it: with a type or without, and one line of data. */
interface ServerEvent {
  readonly event: string
  readonly data: string
}

const serverEvent = (text: string): ServerEvent => ({
  event: /^event: (.*)$/m.exec(text)?.[1] ?? 'message',
  data: /^data: (.*)$/m.exec(text)?.[1] ?? '',
})

/** Who ended it wants no answer. */
const unlessAborted =
  (signal: AbortSignal) =>
  (error: unknown): undefined => {
    if (!signal.aborted) throw error
  }

const jsonBody = (body: unknown): string | null => (body === undefined ? null : JSON.stringify(body))

/**
 * Is the request idempotent? PATCH sets named fields, lines have ids, and a check writes nothing; only another POST without a
 * key could create a resource twice.
 */
const isRepeatable = (method: Method, { lines, idempotencyKey, isRead, query }: Request): boolean =>
  method !== 'POST' ||
  lines !== undefined ||
  idempotencyKey !== undefined ||
  isRead === true ||
  query?.['validate_only'] === true

/** At least a second, so that an answer of 0 does not cause a busy loop. */
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
