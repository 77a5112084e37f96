/**
 * A web server of the account's choice: POST, with events in one of several forms of body, so that many services accept
 * them as they are. The server must be in a network that destinations may lead to.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { fail, ok, type Problem, type Result, shown } from '../../../ground/core/errors.js'
import { version } from '../../../ground/core/package.js'
import { mapOf, objectOf, oneOf, type Static, type TObject, Type } from '../../../ground/core/schema.js'
import type { Fault } from '../../outgoing/fault-class.js'
import { type Hide, hiding, withHiddenHead } from '../../outgoing/hidden-secrets.js'
import { type HttpAnswer, HttpClient, type HttpQuestion } from '../../outgoing/http-client.js'
import { faultOfAnswer, faultOfError, readBytesMax, requestIdIn } from '../../outgoing/http-faults.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import { httpAdvice } from '../advice/http-advice.js'
import { httpForms, httpWords } from '../forms/http-forms.js'
import { type BodyFormat, bodyFormatNames, bodyFormats } from '../http/body-formats.js'
import { brokenHeaders, headersMax, headerText, headerTextRule } from '../http/request-headers.js'
import { brokenWebhookSecret, signatureHeaders } from '../http/standard-webhooks.js'
import type { DestinationConfig } from '../kind/destination.js'
import { defineDestinationKind, type KindLimits } from '../kind/kind.js'
import type { BatchLimits, Finding, Sender, SenderDeps, SendOutcome } from '../kind/sender.js'
import { type OptionsOf, optional, secretText, targetOptions } from '../kind/target-options.js'

// --- address ---

function check(text: string): Problem | undefined {
  const isAddress = /^https?:\/\/[\x21-\x7e]+$/i.test(text) && URL.canParse(text)
  // The value may have a password in it, so it is not shown.
  if (!isAddress) return { msg: `the URL of a web server is allowed, such as ${address.example}` }
  const url = new URL(text)
  if (url.username + url.password !== '') return { msg: 'user and password are to be given in "auth"' }
  return url.hash === '' ? undefined : { msg: 'no server is sent what follows "#"' }
}

const address = {
  field: 'url',
  pattern: '^https?://[!-~]+$',
  example: 'https://logs.example.com/events',
  check,
} as const

// --- options ---

const labelNamesMax = 15

const members = {
  body: optional(
    oneOf(
      bodyFormatNames,
      `${bodyFormatNames.map((name) => `${name}: ${bodyFormats[name].about}`).join('; ')}. Default: ndjson.`,
    ),
  ),
  gzip: optional(Type.Boolean({ description: 'Compress the body. Default: false.' })),
  content_type: optional(headerText(128, 'Replaces the Content-Type that belongs to the body.')),
  headers: optional(
    mapOf(headerText(1_024), {
      maxProperties: headersMax,
      description: 'Further headers, by their names. They are shown: put secrets into secret_headers.',
    }),
  ),
  secret_headers: optional(
    mapOf(secretText({ broken: headerTextRule }), {
      maxProperties: headersMax,
      description: 'Headers whose values are secrets.',
    }),
  ),
  auth: optional(
    objectOf(
      {
        bearer: optional(
          objectOf({
            token: secretText({
              broken: (token) => (/\s/.test(token) ? 'white space is not allowed' : headerTextRule(token)),
            }),
          }),
        ),
        basic: optional(
          objectOf({
            username: Type.String({ maxLength: 256 }),
            password: secretText({ charsMax: 1_024 }),
          }),
        ),
      },
      { description: 'The header Authorization: exactly one of them.' },
    ),
  ),
  signing: optional(
    objectOf(
      { secret: secretText({ charsMax: 128, broken: brokenWebhookSecret }) },
      {
        description:
          'Signs each request as Standard Webhooks say: the body, before it is compressed. The secret is whsec_ and 24 to 64 bytes in base64.',
      },
    ),
  ),
  labels: optional(
    mapOf(Type.String({ minLength: 1, maxLength: 1_024 }), {
      maxProperties: labelNamesMax,
      description: 'Of the stream, for the body loki. Default: service_name="weir".',
    }),
  ),
}

/** The problem with members that are valid by themselves, but not together. */
function brokenTogether({
  auth,
  labels,
  body,
  ...headers
}: Static<TObject<typeof members>>): string | undefined {
  const forms = [auth?.bearer, auth?.basic].filter((form) => (form ?? null) !== null).length
  if (auth && forms !== 1) return `must have exactly one of bearer and basic in "auth", and has ${forms}`
  if (auth?.basic && /[:\p{Cc}]/u.test(auth.basic.username))
    return 'has a colon or a control character in "auth.basic.username"'
  if (labels && body !== 'loki') return 'has "labels", which only the body loki has'
  const wrong = Object.keys(labels ?? {}).find((name) => !/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name))
  if (wrong !== undefined) return `has the label ${shown(wrong)}: letters, digits and _ are allowed`
  return brokenHeaders(headers, auth != null)
}

const options = targetOptions(members, {
  broken: (_, given) => brokenTogether(given),
  // With another path, a server of many tenants may hand the secrets to another one of them.
  recipient(url) {
    const { origin, pathname } = new URL(url)
    return origin + pathname
  },
})

type HttpOptions = OptionsOf<typeof options>

// --- limits ---

const mebibyte = 1024 * 1024

const limits: KindLimits = {
  eventsMax: 1_000,
  eventBytesMax: 10 * mebibyte,
  sizeOf: ({ dataBytes }) => dataBytes,
}

// --- client ---

const compressed = promisify(gzip)

function authorization({ auth }: HttpOptions): string | undefined {
  if (auth?.bearer) return `Bearer ${auth.bearer.token}`
  if (!auth?.basic) return undefined
  const { username, password } = auth.basic
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

/** The headers of every request. */
function fixedHeaders(given: HttpOptions, contentType: string): Record<string, string> {
  const authorized = authorization(given)
  return {
    'User-Agent': `weir/${version}`,
    ...given.headers,
    ...given.secret_headers,
    ...(authorized !== undefined && { Authorization: authorized }),
    'Content-Type': given.content_type ?? contentType,
    ...(given.gzip && { 'Content-Encoding': 'gzip' }),
  }
}

/** Texts that a server may repeat in its answer, and that no one may read there. */
function secretsOf(given: HttpOptions): string[] {
  const { auth, secret_headers, signing } = given
  const basic = authorization(given)?.replace(/^\w+ /, '')
  const texts = [basic, auth?.basic?.password, signing?.secret, ...Object.values(secret_headers ?? {})]
  return texts.filter((text) => typeof text === 'string' && text !== '') as string[]
}

// --- sender ---

class HttpSender implements Sender {
  readonly #options: HttpOptions
  readonly #format: BodyFormat
  readonly #limits: BatchLimits
  readonly #client: HttpClient
  readonly #headers: Record<string, string>
  readonly #hide: Hide

  constructor({ address, options: given }: DestinationConfig<HttpOptions>, deps: SenderDeps) {
    this.#options = given
    this.#format = bodyFormats[this.#options.body ?? 'ndjson']
    this.#limits = { ...deps.limits, ...this.#format.limits }
    this.#client = new HttpClient(new URL(address), deps.networks, deps.requestTimeoutMs)
    this.#headers = fixedHeaders(this.#options, this.#format.contentType)
    this.#hide = hiding(secretsOf(this.#options))
  }

  limits(): BatchLimits {
    return this.#limits
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    const written = this.#format.write(events, this.#options.labels ?? {})
    const body = this.#options.gzip ? await compressed(written) : written
    const { answerBytes, outcomeOf, classOf } = this.#format
    const answerBytesMax = Math.max(readBytesMax, answerBytes?.(events.length) ?? 0)
    const headers = {
      ...this.#headers,
      'Content-Length': String(body.length),
      ...this.#signature(events, written),
    }
    const asked = await this.#ask({ method: 'POST', headers, body, answerBytesMax }, signal)
    if (!asked.ok) return { outcome: 'failed', fault: asked.problem }
    const answer = asked.value
    if (!isSuccess(answer))
      return { outcome: 'failed', fault: faultOfAnswer(answer, classOf?.(answer), this.#hide) }
    const requestId = requestIdIn(answer.headers)
    const outcome = outcomeOf?.(answer, events.length, this.#hide) ?? { outcome: 'accepted' }
    return outcome.outcome === 'failed' || requestId === undefined ? outcome : { ...outcome, requestId }
  }

  /** No answer to a request without events shows what the server does with events. */
  async check(_event: PackedEvent, signal: AbortSignal): Promise<Result<Finding, Fault>> {
    const { 'Content-Encoding': _, 'Content-Type': __, ...headers } = this.#headers
    const asked = await this.#ask({ method: 'OPTIONS', headers, answerBytesMax: readBytesMax }, signal)
    if (!asked.ok) return fail(asked.problem)
    const { status, statusText } = asked.value
    const proved = [
      'The server can be reached, is in a network that destinations may lead to, and speaks HTTP.',
      ...(this.#client.isSecure ? ['Its certificate is valid.'] : []),
    ]
    const accepting = `Whether it accepts events and the credentials, which only a POST shows. It answered OPTIONS with ${status} ${statusText}`
    return ok({ mayWrite: false, proved, notProved: [`${accepting.trimEnd()}.`] })
  }

  dropCredentials(): void {}

  close(): void {
    this.#client.close()
  }

  async #ask(question: HttpQuestion, signal: AbortSignal): Promise<Result<HttpAnswer, Fault>> {
    try {
      return ok(withHiddenHead(await this.#client.ask(question, signal), this.#hide))
    } catch (error) {
      return fail(faultOfError(error))
    }
  }

  #signature(events: readonly PackedEvent[], body: Uint8Array): Record<string, string> {
    const secret = this.#options.signing?.secret
    return secret
      ? signatureHeaders(
          secret,
          events.map(({ id }) => id),
          body,
        )
      : {}
  }
}

const isSuccess = ({ status }: HttpAnswer): boolean => status >= 200 && status < 300

// --- declaration ---

export const http = defineDestinationKind({
  name: 'http',
  title: 'web server',
  about: 'POST, with as many events in a body as its form and the limits allow.',
  address,
  options,
  setup: { words: httpWords, forms: httpForms },
  limits,
  requestBytes: { max: 10 * mebibyte, default: mebibyte },
  advice: httpAdvice,
  keepsLineBreak: false,
  open: (config, deps) => new HttpSender(config, deps),
})
