/**
 * Requests to the API that the typed client never sends: malformed ones, ones that must fail, pages without a key.
 * Statuses, headers and bodies are returned as they are.
 */
import { type Client, openClient } from '../../src/client/client.js'

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

interface RawClientOptions {
  /** The address of the API. */
  readonly base: string
  readonly token: string
  readonly accountId?: string
  /** Default: over HTTP. */
  readonly transport?: Transport
  /** Throws for an answer that the API must not give. */
  readonly check?: (method: string, path: string, answer: HttpAnswer) => void
}

export class RawClient {
  readonly #options: RawClientOptions
  readonly #transport: Transport
  readonly base: string
  readonly token: string
  readonly accountId: string

  constructor(options: RawClientOptions) {
    const { base, token, accountId = '', transport = overHttp(base) } = options
    this.#options = options
    this.#transport = transport
    this.base = base
    this.token = token
    this.accountId = accountId
  }

  /** The same caller with another key. */
  withToken(token: string): RawClient {
    return new RawClient({ ...this.#options, token })
  }

  async send(
    method: string,
    path: string,
    { body, headers = {}, from }: RequestParts = {},
  ): Promise<HttpAnswer> {
    const isRaw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
    const all: Headers = {
      authorization: `Bearer ${this.token}`,
      'service-version': '2',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    }
    const received = await this.#transport({
      method,
      path: path.startsWith(this.base) ? path.slice(this.base.length) : path,
      headers: Object.fromEntries(
        Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      ),
      body: isRaw ? body : JSON.stringify(body),
      from,
    })
    const answer = { ...received, body: parsed(received.text) }
    this.#options.check?.(method, path, answer)
    return answer
  }

  /** The body of an answer with this status; any other status fails with the answer's text. */
  async expect(status: number, method: string, path: string, body?: unknown): Promise<HttpAnswer['body']> {
    const answer = await this.send(method, path, { body })
    if (answer.status === status) return answer.body
    throw new Error(`${method} ${path} answered ${answer.status} instead of ${status}: ${answer.text}`)
  }

  get = (path: string) => this.expect(200, 'GET', path)
  post = (path: string, body: unknown = {}) => this.expect(201, 'POST', path, body)
  patch = (path: string, body: unknown) => this.expect(200, 'PATCH', path, body)
  put = (path: string, body: unknown) => this.expect(200, 'PUT', path, body)
  delete = (path: string) => this.expect(204, 'DELETE', path)

  /** The message of a refusal with this status. */
  async refused(status: number, method: string, path: string, body?: unknown): Promise<string> {
    return (await this.expect(status, method, path, body)).msg
  }

  /** The typed client of the same caller, over the same transport. */
  get typed(): Client {
    return openClient({
      url: this.base,
      token: this.token,
      waitMs: 0,
      fetch: (url, init) => this.#fetch(url, init),
    })
  }

  async #fetch(url: string, { method = 'GET', headers, body }: RequestInit): Promise<Response> {
    const parts = { headers: headers as Record<string, string>, ...(body ? { body: String(body) } : {}) }
    const answer = await this.send(method, url, parts)
    return new Response(answer.text === '' ? null : answer.text, {
      status: answer.status,
      headers: Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]),
    })
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
