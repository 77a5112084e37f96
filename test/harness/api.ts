/**
 * The management API in this process, on a real store (embedded ClickHouse, a nats-server of its own), without a
 * port. Every answer and every audit event is held against the API's own OpenAPI document.
 */
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { createAccount } from '../../src/api/accounts.js'
import { type ApiOptions, buildApi } from '../../src/api/server.js'
import { Usage } from '../../src/api/usage.js'
import { openClient, type Client as TypedClient } from '../../src/client/client.js'
import { createLogger } from '../../src/core/log.js'
import { createRegistry } from '../../src/core/metrics.js'
import { createOccurrences } from '../../src/core/occurrences.js'
import { ReleaseStack } from '../../src/core/release.js'
import { trafficEvents } from '../../src/event/catalog.js'
import type { AnyTrafficEvent } from '../../src/event/define.js'
import { type Nats, openNats } from '../../src/nats/nats.js'
import { localNatsEnvironment } from '../../src/process/local-nats.js'
import { openNatsServer } from '../../src/process/nats-server.js'
import { natsAccess } from '../../src/process/nats-users.js'
import { loadSettings, localNatsServer } from '../../src/process/settings.js'
import { openStoreParts, type StoreParts } from '../../src/process/store-parts.js'
import { auditStream, auditSubject } from '../../src/wire/names.js'
import { readPack } from '../../src/wire/pack.js'
import { AnswerCheck, EventCheck } from './openapi.js'
import { tempDir } from './temp-dir.js'

export const base = 'http://weir.test:8080'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  /** Undefined for an empty body, the text where it is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  readonly body: any
}

export type Headers = Readonly<Record<string, string | undefined>>

/** What a test sends beside method and path. A body that is text or bytes is sent as it is. */
export interface Sent {
  readonly body?: unknown
  /** Undefined takes a header away that is sent otherwise. */
  readonly headers?: Headers
  readonly from?: string
}

/** A caller of the API with a key. */
export class Client {
  readonly #app: FastifyInstance
  readonly #check: AnswerCheck
  readonly token: string
  readonly accountId: string

  constructor(app: FastifyInstance, check: AnswerCheck, token: string, accountId: string) {
    this.#app = app
    this.#check = check
    this.token = token
    this.accountId = accountId
  }

  /** The same caller with another key. */
  withToken(token: string): Client {
    return new Client(this.#app, this.#check, token, this.accountId)
  }

  async send(method: string, path: string, { body, headers = {}, from }: Sent = {}): Promise<Answer> {
    const raw = typeof body === 'string' || Buffer.isBuffer(body)
    const all: Headers = {
      authorization: `Bearer ${this.token}`,
      'service-version': '2',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    }
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
    const answer = await this.#app.inject({
      method: method as NonNullable<InjectOptions['method']>,
      url: path.startsWith(base) ? path.slice(base.length) : path,
      headers: given as Record<string, string>,
      ...(body === undefined ? {} : { payload: raw ? (body as string | Buffer) : JSON.stringify(body) }),
      ...(from === undefined ? {} : { remoteAddress: from }),
    })
    const told: Answer = {
      status: answer.statusCode,
      headers: answer.headers as Record<string, string>,
      text: answer.payload,
      body: parsed(answer.payload),
    }
    this.#check.check(method, path, told)
    return told
  }

  /** The body of an answer with this status; anything else fails with what was answered. */
  async expect(status: number, method: string, path: string, body?: unknown): Promise<Answer['body']> {
    const answer = await this.send(method, path, body === undefined ? {} : { body })
    if (answer.status === status) return answer.body
    throw new Error(`${method} ${path} answered ${answer.status} instead of ${status}: ${answer.text}`)
  }

  get = (path: string) => this.expect(200, 'GET', path)
  post = (path: string, body: unknown = {}) => this.expect(201, 'POST', path, body)
  patch = (path: string, body: unknown) => this.expect(200, 'PATCH', path, body)
  put = (path: string, body: unknown) => this.expect(200, 'PUT', path, body)
  delete = (path: string) => this.expect(204, 'DELETE', path)

  /** The typed client of the same caller; its answers are held against the document, too. */
  get typed(): TypedClient {
    return openClient({
      url: base,
      token: this.token,
      waitMs: 0,
      fetch: (url, init) => this.#fetch(url, init),
    })
  }

  async #fetch(url: string, { method = 'GET', headers, body }: RequestInit): Promise<Response> {
    const sent = { headers: headers as Record<string, string>, ...(body ? { body: String(body) } : {}) }
    const answer = await this.send(method, url, sent)
    const given = Object.entries(answer.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ])
    return new Response(answer.text === '' ? null : answer.text, { status: answer.status, headers: given })
  }

  /** The sentence of a refusal with this status. */
  async refused(status: number, method: string, path: string, body?: unknown): Promise<string> {
    return (await this.expect(status, method, path, body)).msg
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

export interface AuditEvent {
  readonly event_id: string
  readonly event_type: string
  readonly event_timestamp: string
  readonly account_id: string
  readonly principal: object
  // biome-ignore lint/suspicious/noExplicitAny: tests look into objects of every kind.
  readonly object: any
  /** What orders it at a destination. */
  readonly partitionKey: string
}

export class TestApi {
  readonly parts: StoreParts
  readonly app: FastifyInstance
  readonly #check: AnswerCheck
  readonly #events: EventCheck
  readonly #lines: readonly string[]
  /** Reads audit events, which the API itself may only publish. */
  readonly #admin: Nats

  constructor(parts: StoreParts, app: FastifyInstance, lines: readonly string[], admin: Nats) {
    this.parts = parts
    this.#admin = admin
    this.app = app
    this.#check = new AnswerCheck(app.swagger())
    this.#events = new EventCheck(app.swagger())
    this.#lines = lines
  }

  /** A caller with the first key of a new account. */
  async account(name = 'test'): Promise<Client> {
    const { store, writes } = this.parts
    const made = await createAccount(store, writes, name)
    if (made === undefined) throw new Error('The account was not made.')
    return new Client(this.app, this.#check, made.token, made.accountId)
  }

  /** A caller without a valid key. */
  stranger(token = 'weir_nobody'): Client {
    return new Client(this.app, this.#check, token, '')
  }

  /** Everything that was logged. */
  log(): string {
    return this.#lines.join('')
  }

  /** The audit events of an account, in the order of the stream. */
  async audits(accountId: string): Promise<AuditEvent[]> {
    const nats = this.#admin
    const events: AuditEvent[] = []
    const subject = auditSubject(accountId)
    for (let sequence = 1; ; ) {
      const message = await nats.nextMessage(auditStream, subject, sequence)
      if (message === undefined) return events
      for (const { data, partitionKey } of readPack(message.data).events) {
        const event = JSON.parse(data.toString())
        this.#events.check(event)
        events.push({ ...event, partitionKey })
      }
      sequence = message.sequence + 1
    }
  }

  /** The audit events that `work` leads to. */
  async auditsOf(accountId: string, work: () => Promise<unknown>): Promise<AuditEvent[]> {
    const before = (await this.audits(accountId)).length
    await work()
    return (await this.audits(accountId)).slice(before)
  }
}

export type TestApiOptions = Partial<
  Pick<
    ApiOptions,
    'baseUrl' | 'context' | 'destinations' | 'listening' | 'usage' | 'trustedProxies' | 'versionHeaders'
  >
>

/** A store for a test file, and any number of API instances on it. ClickHouse allows one store per process. */
export interface TestStore {
  readonly parts: StoreParts
  /** A connection that may do everything. */
  readonly admin: Nats
  /** The data directory. */
  readonly dir: string
  /** Closed with the test file. */
  readonly release: ReleaseStack
  api(options?: TestApiOptions): Promise<TestApi>
}

const noDestinations: ApiOptions['destinations'] = {
  sendTestEvent: async () => ({ refusal: 'There are no destinations in this test.' }),
  status: async () => ({}),
}

export async function openTestStore(
  t: Test,
  eventKinds: readonly AnyTrafficEvent[] = trafficEvents,
): Promise<TestStore> {
  const dir = tempDir(t)
  const release = new ReleaseStack()
  t.teardown(() => release.release())
  const lines: string[] = []
  const logger = createLogger('test', 'debug', { write: (line: string) => lines.push(line) })
  const registry = createRegistry()
  const occurrences = createOccurrences({ logger, registry })
  const environment = { WEIR_DATA_DIR: dir, WEIR_STORAGE_MAX: '1GiB' }
  const { storageMaxBytes } = loadSettings({ environment }).settings.nats
  const server = await openNatsServer({
    executable: localNatsServer(),
    dataDir: dir,
    port: 0,
    storageMaxBytes,
    access: natsAccess,
    occurrences,
  })
  release.own(server)
  const { settings } = loadSettings({
    environment: { ...environment, ...localNatsEnvironment(server, 'api') },
  })
  const admin = await openNats({ servers: [server.urlOf('admin')], replicas: 1, name: 'test', occurrences })
  release.own(admin)
  const parts = await openStoreParts(
    { settings, logger, registry, occurrences, eventKinds },
    () => base,
    release,
  )
  return {
    parts,
    admin,
    dir,
    release,
    api: async (options = {}) => {
      const app = await buildApi({
        context: { store: parts.store, writes: parts.writes, presenter: parts.presenter },
        view: parts.store.view,
        destinations: noDestinations,
        occurrences,
        baseUrl: base,
        versionHeaders: ['Service-Version'],
        eventKinds,
        usage: new Usage(0),
        trustedProxies: [],
        ...options,
      })
      release.add(() => app.close())
      return new TestApi(parts, app, lines, admin)
    },
  }
}
