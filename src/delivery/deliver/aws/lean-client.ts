/**
 * A leaner way through a client of the SDK, for requests that a destination repeats: the SDK's middleware resolves the
 * endpoint, serializes, chooses how to sign and describes itself again for each request, which took three quarters of a
 * small request's CPU.
 *
 * - The SDK makes and signs the first request itself. If AWS accepts it, it becomes the template of later ones: they have
 *   another body, and hence another length and hash, another id, time and signature. The endpoint, all other headers and the
 *   signing key are kept.
 * - A template must give the SDK's own signature for the SDK's own request; otherwise, the SDK makes each request. It serves
 *   as long as the SDK has the same credentials, and for the day of its signing key.
 * - Credentials, the clock and the connection are always the client's, by its own providers and handler.
 * - An answer is read here only if it is ordinary. Any other one goes through the SDK, and so does an error of the
 *   connection: as if the SDK had sent the request itself. So its errors are the same.
 */
import { createHmac, hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { isoSeconds, now, uuid } from '../../../ground/core/clock.js'
import { type ClockedClient, differenceMinMs } from './aws-clock.js'
import type { AwsCredentials } from './aws-kind.js'
import type { HashedBody } from './shared-bodies.js'

/** A request as the SDK has it: complete and signed, when it comes to the HTTP handler. */
interface HttpRequest {
  readonly headers: Record<string, string>
  readonly method: string
  readonly path: string
  body: unknown
}

/** An answer as it comes from the SDK's HTTP handler; the body of status 200 is read at once. */
interface HttpAnswer {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  body: Readable | Buffer
}

/** What became of a request that was sent. */
type Outcome = { readonly response: HttpAnswer } | { readonly error: unknown }

interface Args {
  readonly input: object
  /** Present once the input is serialized. */
  readonly request?: unknown
}
type Middleware = <A extends Args, R extends object>(next: (args: A) => Promise<R>) => (args: A) => Promise<R>

/** The part of an SDK client that this file needs. */
interface SdkClient extends ClockedClient {
  readonly config: ClockedClient['config'] & {
    credentials(): Promise<AwsCredentials>
    readonly requestHandler: {
      handle(
        request: never,
        options: { readonly abortSignal: AbortSignal },
      ): Promise<{ response: HttpAnswer }>
    }
  }
  readonly middlewareStack: {
    add(middleware: Middleware, options: { readonly step: 'build'; readonly priority: 'high' }): void
    add(middleware: Middleware, options: { readonly step: 'deserialize'; readonly priority: 'low' }): void
  }
  send(command: never): Promise<object>
  destroy(): void
}

/** A request whose body was written without the SDK. */
interface LeanRequest<Answer> {
  readonly body: HashedBody
  readonly abortSignal: AbortSignal
  /** Reads the body of an ordinary answer of status 200; returns undefined, or throws, if the SDK is to read it. */
  readonly read: (body: Buffer) => Answer | undefined
}

/** A request on its way through the SDK. */
interface Passing {
  readonly body: HashedBody
  readonly abortSignal: AbortSignal
  readonly credentials: AwsCredentials
  /** Present if it was sent already. */
  readonly outcome: Outcome | undefined
}

interface Metadata {
  readonly $metadata: {
    readonly httpStatusCode?: number | undefined
    readonly requestId?: string | undefined
  }
}

export class LeanClient<C extends SdkClient> {
  readonly sdk: C
  readonly #passing = new WeakMap<object, Passing>()
  #template: RequestTemplate | undefined

  constructor(sdk: C) {
    this.sdk = sdk
    sdk.middlewareStack.add(
      (next) => (args) => {
        const passing = this.#passing.get(args.input)
        if (passing !== undefined) replaceBody(args.request as HttpRequest, passing.body)
        return next(args)
      },
      { step: 'build', priority: 'high' },
    )
    sdk.middlewareStack.add(
      (next) => async (args) => {
        const passing = this.#passing.get(args.input)
        if (passing === undefined) return next(args)
        return this.#handle(args.request as HttpRequest, passing) as never
      },
      // In place of the last step of the stack, which calls the handler without a signal.
      { step: 'deserialize', priority: 'low' },
    )
  }

  get config(): C['config'] {
    return this.sdk.config
  }

  destroy(): void {
    this.sdk.destroy()
  }

  /**
   * Sends a request of the one operation that this client repeats, with `body` in place of the serialized input. The SDK
   * gets no options, so that the client resolves its stack of middleware once (`cacheMiddleware`), and not for every request.
   */
  async send<Input extends object, Answer extends object>(
    Command: new (input: Input) => object,
    input: Input,
    { body, abortSignal, read }: LeanRequest<Answer>,
  ): Promise<Answer & Metadata> {
    const credentials = await this.config.credentials()
    const request = this.#template?.request(body, credentials, now() + this.config.systemClockOffset)
    const outcome = request === undefined ? undefined : await this.#exchange(request, abortSignal)
    const ordinary = outcome === undefined ? undefined : this.#ordinary(outcome, read)
    if (ordinary !== undefined) return ordinary
    this.#passing.set(input, { body, abortSignal, credentials, outcome })
    return (await this.sdk.send(new Command(input) as never)) as Answer & Metadata
  }

  async #exchange(request: HttpRequest, abortSignal: AbortSignal): Promise<Outcome> {
    try {
      const { response } = await this.config.requestHandler.handle(request as never, { abortSignal })
      if (response.statusCode === 200) response.body = await bytesOf(response.body as Readable)
      return { response }
    } catch (error) {
      return { error }
    }
  }

  /** The last step of the SDK's way. */
  async #handle(request: HttpRequest, passing: Passing): Promise<{ response: HttpAnswer }> {
    const outcome = passing.outcome ?? (await this.#exchange(request, passing.abortSignal))
    if ('error' in outcome) throw outcome.error
    if (passing.outcome === undefined && outcome.response.statusCode === 200)
      this.#template = RequestTemplate.of(request, passing.credentials)
    return outcome
  }

  /** An answer that brings nothing but what `read` returns: it has an id, and AWS's clock is as it was. */
  #ordinary<Answer extends object>(
    outcome: Outcome,
    read: LeanRequest<Answer>['read'],
  ): (Answer & Metadata) | undefined {
    if ('error' in outcome || outcome.response.statusCode !== 200) return undefined
    const { headers, body } = outcome.response
    const requestId = headers['x-amzn-requestid']
    const clockMs = Date.parse(headers['date'] ?? '') - this.config.systemClockOffset
    if (requestId === undefined || Math.abs(clockMs - now()) >= differenceMinMs) return undefined
    try {
      const answer = read(body as Buffer)
      return answer === undefined ? undefined : { ...answer, $metadata: { httpStatusCode: 200, requestId } }
    } catch {
      return undefined
    }
  }
}

/** The members of an answer in JSON; those that are null are missing, as for the SDK. Throws if it is malformed. */
export const membersOf = <Answer extends object>(json: string): Partial<Answer> =>
  Object(JSON.parse(json, (_name, value: unknown) => value ?? undefined))

/** The SDK signs the hash that this header says, and computes none. */
function replaceBody(request: HttpRequest, { body, sha256 }: HashedBody): void {
  request.body = body
  request.headers[hashHeader] = sha256
}

/** Reads all bytes in a third of the time of an async iteration, which counts for hundreds of answers a second. */
const bytesOf = (body: Readable): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    body
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => resolve(Buffer.concat(chunks)))
      .on('error', reject)
      .on('close', () => reject(Object.assign(new Error('The answer was cut off.'), { code: 'ECONNRESET' })))
  })

const hashHeader = 'x-amz-content-sha256'
const dateHeader = 'x-amz-date'
const idHeader = 'amz-sdk-invocation-id'
const lengthHeader = 'content-length'
/** Those that differ from request to request, besides the signature. */
const ownHeaders = [hashHeader, dateHeader, idHeader, lengthHeader]

const algorithm = 'AWS4-HMAC-SHA256'
const authorizationForm =
  /^AWS4-HMAC-SHA256 Credential=[^/]+\/(\d{8}\/[^,]+), SignedHeaders=([^,]+), Signature=/

/**
 * A signed request, from which others are made.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
class RequestTemplate {
  readonly #request: HttpRequest
  readonly #credentials: AwsCredentials
  /** `<day>/<region>/<service>/aws4_request`. */
  readonly #scope: string
  readonly #signedHeaders: readonly string[]
  readonly #key: Buffer

  /** The template that a request of the SDK makes; undefined if the same signature is not made from it. */
  static of(request: HttpRequest, credentials: AwsCredentials): RequestTemplate | undefined {
    const { headers } = request
    const [, scope, signed] = authorizationForm.exec(headers['authorization'] ?? '') ?? []
    if (scope === undefined || !ownHeaders.every((name) => name in headers)) return undefined
    const template = new RequestTemplate(request, credentials, scope, signed!.split(';'))
    return template.#authorization(headers) === headers['authorization'] ? template : undefined
  }

  private constructor(request: HttpRequest, credentials: AwsCredentials, scope: string, signed: string[]) {
    this.#request = { ...request, body: undefined }
    this.#credentials = credentials
    this.#scope = scope
    this.#signedHeaders = signed
    this.#key = scope.split('/').reduce(hmac, Buffer.from(`AWS4${credentials.secretAccessKey}`))
  }

  /** The request with this body; undefined if the template does not serve with these credentials or on this day. */
  request({ body, sha256 }: HashedBody, credentials: AwsCredentials, atMs: number): HttpRequest | undefined {
    const date = isoSeconds(atMs).replaceAll(/[-:]/g, '')
    if (credentials !== this.#credentials || !this.#scope.startsWith(date.slice(0, 8))) return undefined
    const headers: Record<string, string> = {
      ...this.#request.headers,
      [hashHeader]: sha256,
      [dateHeader]: date,
      [idHeader]: uuid(),
      [lengthHeader]: String(body.length),
    }
    headers['authorization'] = this.#authorization(headers)
    return { ...this.#request, headers, body }
  }

  #authorization(headers: Readonly<Record<string, string>>): string {
    const { method, path } = this.#request
    const names = this.#signedHeaders
    const lines = names.map((name) => `${name}:${headers[name]}\n`).join('')
    const canonical = `${method}\n${path}\n\n${lines}\n${names.join(';')}\n${headers[hashHeader]}`
    const toSign = `${algorithm}\n${headers[dateHeader]}\n${this.#scope}\n${hash('sha256', canonical)}`
    const signature = hmac(this.#key, toSign).toString('hex')
    const credential = `${this.#credentials.accessKeyId}/${this.#scope}`
    return `${algorithm} Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  }
}

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
