/**
 * Requests to the API as a test writes them. Use the typed client (`caller.ts`) for ordinary calls, and this one for what
 * that client can't send or does not show: malformed requests, other headers, methods, content types and queries, pages
 * without a key, tables of paths; and the status, headers and text of an answer.
 */

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  /** Undefined for an empty body; text that is not JSON stays text. */
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect answers of every shape.
  readonly body: any
}

export type Headers = Readonly<Record<string, string | undefined>>

/** Parts of a request other than method and path. */
export interface RequestParts {
  /** Text and bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown
  /** Undefined removes a header that is sent by default. */
  readonly headers?: Headers
  /** The address that the request comes from; only for an API in the same process. */
  readonly from?: string
}

/** A request whose headers and body are complete. */
interface RawRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | undefined
  readonly from: string | undefined
}

export type Transport = (request: RawRequest) => Promise<Omit<HttpAnswer, 'body'>>

export interface RawClientOptions {
  /** The address of the API. */
  readonly base: string
  readonly token: string
  /** Default: over HTTP. */
  readonly transport?: Transport
  /** Throws for an answer that the API must not give. */
  readonly check?: (method: string, path: string, answer: HttpAnswer) => void
}

export class RawClient {
  readonly #options: RawClientOptions
  readonly #transport: Transport

  constructor(options: RawClientOptions) {
    this.#options = options
    this.#transport = options.transport ?? overHttp(options.base)
  }

  async send(
    method: string,
    path: string,
    { body, headers = {}, from }: RequestParts = {},
  ): Promise<HttpAnswer> {
    const { base, token, check } = this.#options
    const isRaw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
    const all: Headers = {
      authorization: `Bearer ${token}`,
      'service-version': '2',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    }
    const received = await this.#transport({
      method,
      path: path.startsWith(base) ? path.slice(base.length) : path,
      headers: Object.fromEntries(
        Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      ),
      body: isRaw ? body : JSON.stringify(body),
      from,
    })
    const answer = { ...received, body: parsed(received.text) }
    check?.(method, path, answer)
    return answer
  }

  /** The body of an answer with this status; any other status fails with the answer's text. */
  async expect(status: number, method: string, path: string, body?: unknown): Promise<HttpAnswer['body']> {
    const answer = await this.send(method, path, { body })
    if (answer.status === status) return answer.body
    throw new Error(`${method} ${path} answered ${answer.status} instead of ${status}: ${answer.text}`)
  }

  /** The body that is served at a path. */
  get = (path: string) => this.expect(200, 'GET', path)

  /** The message of a refusal with this status. */
  async refused(status: number, method: string, path: string, body?: unknown): Promise<string> {
    return (await this.expect(status, method, path, body)).msg
  }
}

/** Sends over HTTP. */
const overHttp =
  (base: string): Transport =>
  async ({ method, path, headers, body }) => {
    const url = path.startsWith('http') ? path : `${base}${path}`
    const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      text: await response.text(),
    }
  }

function parsed(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
