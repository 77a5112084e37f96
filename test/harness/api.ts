/**
 * The management API in this process, on a real store (embedded ClickHouse, its own nats-server), without a
 * port. Every answer and every audit event is checked against the API's own OpenAPI document.
 */
import type { FastifyInstance, InjectOptions } from 'fastify'
import root, { type Test } from 'tap'
import { openAwsClock } from '../../src/delivery/deliver/aws/aws-clock.js'
import { openNatsServer } from '../../src/delivery/nats-server/nats-server.js'
import { natsAccess } from '../../src/delivery/nats-server/nats-users.js'
import { auditStream, auditSubject, bucketNames } from '../../src/delivery/wire/names.js'
import { readPack } from '../../src/delivery/wire/pack.js'
import { monotonicMs } from '../../src/ground/core/clock.js'
import { getOrMake } from '../../src/ground/core/maps.js'
import { ReleaseStack } from '../../src/ground/core/release.js'
import { createLogger } from '../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../src/ground/core/telemetry/occurrences.js'
import { type Nats, openNats } from '../../src/ground/nats/nats.js'
import { windowMs } from '../../src/management/access/rate-windows.js'
import { openSessions } from '../../src/management/access/sessions.js'
import { SignInCodes } from '../../src/management/access/sign-in-codes.js'
import { Usage } from '../../src/management/access/usage.js'
import { type ApiOptions, buildApi } from '../../src/management/api/server.js'
import { ownersIn } from '../../src/management/insight/dead-letter-owner.js'
import { Live } from '../../src/management/insight/live.js'
import { openReplays } from '../../src/management/operate/replays.js'
import type { RoleContext } from '../../src/management/process/role-context.js'
import { loadSettings, localNatsServer } from '../../src/management/process/settings.js'
import { createAccount } from '../../src/management/write/accounts.js'
import { openDoctor } from '../../src/roles/doctor-parts.js'
import { localNatsEnvironment } from '../../src/roles/local-nats.js'
import { openStoreParts, type StoreParts } from '../../src/roles/store-parts.js'
import { trafficEvents } from '../../src/words/event/catalog.js'
import { SecretsView } from '../../src/words/view/secrets-view.js'
import { type Caller, openCaller } from './caller.js'
import { geoOf } from './geo.js'
import { idleDestinations } from './idle-status.js'
import { AnswerCheck, EventCheck } from './openapi.js'
import { patientReader } from './patient-reader.js'
import type { RawClient, Transport } from './raw-client.js'
import { tempDir } from './temp-dir.js'
import { openTrials } from './trials.js'
import { until } from './weir.js'

export const base = 'http://weir.test:8080'

/** Sends to an API in this process, without a port. */
const inProcess =
  (app: FastifyInstance): Transport =>
  async ({ method, path, headers, body, from }) => {
    const answer = await app.inject({
      method: method as NonNullable<InjectOptions['method']>,
      url: path,
      headers,
      ...(body === undefined ? {} : { payload: body }),
      ...(from === undefined ? {} : { remoteAddress: from }),
    })
    return {
      status: answer.statusCode,
      headers: answer.headers as Record<string, string>,
      text: answer.payload,
    }
  }

/** Headers of a request of the web console, without a key. */
export const fromConsole = { authorization: undefined, 'service-version': undefined, 'weir-console': '1' }

/** Signs in; the cookie as a browser sends it back. */
export async function signIn(raw: RawClient, body: object): Promise<string> {
  const { status, headers, text } = await raw.send('POST', '/console/session', { headers: fromConsole, body })
  const [cookie] = String(headers['set-cookie']).split(';')
  if (status !== 201 || cookie === undefined) throw new Error(`Signing in failed: ${status} ${text}`)
  return cookie
}

interface AuditEvent {
  readonly event_id: string
  readonly event_type: string
  readonly event_timestamp: string
  readonly account_id: string
  readonly principal: object
  // biome-ignore lint/suspicious/noExplicitAny: tests look into objects of every kind.
  readonly object: any
  /** Partition key at a destination. */
  readonly partitionKey: string
}

const checks = new Map<string, { readonly answers: AnswerCheck; readonly events: EventCheck }>()

/** Most instances have the same document, which takes long to make, and its schemas to compile. */
function checksOf(app: FastifyInstance, { versionHeaders = [] }: TestApiOptions) {
  return getOrMake(checks, versionHeaders.join(), () => {
    const document = app.swagger()
    return { answers: new AnswerCheck(document), events: new EventCheck(document) }
  })
}

export class TestApi {
  readonly parts: StoreParts
  readonly app: FastifyInstance
  readonly #check: AnswerCheck
  readonly #events: EventCheck
  readonly #lines: readonly string[]
  /** Reads audit events, which the API itself may only publish. */
  readonly #admin: Nats
  /** Those that were read already, by account, and where to go on. */
  readonly #audits = new Map<string, { readonly events: AuditEvent[]; next: number }>()

  constructor(
    parts: StoreParts,
    app: FastifyInstance,
    options: TestApiOptions,
    lines: readonly string[],
    admin: Nats,
  ) {
    this.parts = parts
    this.#admin = admin
    this.app = app
    const { answers, events } = checksOf(app, options)
    this.#check = answers
    this.#events = events
    this.#lines = lines
  }

  /** A caller with the first key of a new account. */
  async account(name = 'test'): Promise<Caller> {
    const { store, writes } = this.parts
    // After a test that took away a bucket, or a pause of a busy machine, data is compared, and writes wait.
    let made: Awaited<ReturnType<typeof createAccount>>
    await until('the store takes writes', async () => {
      if (store.refusal !== undefined) return false
      made = await createAccount(store, writes, name)
      return true
    })
    if (made === undefined) throw new Error('The account was not created.')
    return this.#caller(made.token, made.accountId)
  }

  /** A caller without a valid key. */
  stranger(token: string | null = 'weir_nobody'): Caller {
    return this.#caller(token ?? '')
  }

  /** A caller with a key that another instance on the store made. */
  caller(token: string, accountId: string): Caller {
    return this.#caller(token, accountId)
  }

  /** The caller after it signed in to the web console: its requests have the session's cookie instead of the token. */
  async signedIn({ token, accountId }: Caller): Promise<Caller & { readonly cookie: string }> {
    const cookie = await signIn(this.stranger(token).raw, { token })
    const check = this.#check.check.bind(this.#check)
    const send = inProcess(this.app)
    const transport: Transport = ({ headers: { authorization: _, ...headers }, ...request }) =>
      send({ ...request, headers: { cookie, 'weir-console': '1', ...headers } })
    return { ...openCaller({ base, token: '', transport, check }, accountId), cookie }
  }

  #caller(token: string, accountId = ''): Caller {
    const check = this.#check.check.bind(this.#check)
    return openCaller({ base, token, transport: inProcess(this.app), check }, accountId)
  }

  /** All log lines so far. */
  log(): string {
    return this.#lines.join('')
  }

  /** The audit events of an account, in the order of the stream. */
  async audits(accountId: string): Promise<AuditEvent[]> {
    const read = getOrMake(this.#audits, accountId, () => ({ events: [], next: 1 }))
    const subject = auditSubject(accountId)
    for (;;) {
      const message = await this.#admin.nextMessage(auditStream, subject, read.next)
      if (message === undefined) return [...read.events]
      for (const { data, partitionKey } of readPack(message.data).events) {
        const event = JSON.parse(data.toString())
        this.#events.check(event)
        read.events.push({ ...event, partitionKey })
      }
      read.next = message.sequence + 1
    }
  }

  /** The audit events that `work` causes. */
  async auditsOf(accountId: string, work: () => Promise<unknown>): Promise<AuditEvent[]> {
    const before = (await this.audits(accountId)).length
    await work()
    return (await this.audits(accountId)).slice(before)
  }
}

type TestApiOptions = Partial<
  Pick<
    ApiOptions,
    | 'baseUrl'
    | 'context'
    | 'destinations'
    | 'doctor'
    | 'geo'
    | 'listening'
    | 'lag'
    | 'live'
    | 'log'
    | 'occurrences'
    | 'deliveries'
    | 'failures'
    | 'traffic'
    | 'replays'
    | 'sessions'
    | 'signInCodes'
    | 'trials'
    | 'usage'
    | 'trustedProxies'
    | 'versionHeaders'
  >
>

/** The store of a test process, and any number of API instances on it. */
export interface TestStore {
  readonly parts: StoreParts
  /** A connection with all rights. */
  readonly admin: Nats
  /** The data directory. */
  readonly dir: string
  /** Closed with the test that asked for the store; the store itself, with the process. */
  readonly release: ReleaseStack
  /**
   * With options, even without any in them, an instance of the test's own: it may listen. Otherwise the one that all
   * tests of the process share, in a new minute: it remembers no failed logins.
   */
  api(options?: TestApiOptions): Promise<TestApi>
}

const day = 24 * 60 * 60_000

type OpenStore = Omit<TestStore, 'release' | 'api'> & {
  readonly occurrences: ApiOptions['occurrences']
  readonly context: RoleContext
  /** Those of destinations. */
  readonly secrets: SecretsView
  /** All log lines so far. */
  readonly lines: readonly string[]
  /** Released with the process. */
  readonly release: ReleaseStack
}

let opened: Promise<OpenStore> | undefined
let shared: Promise<TestApi> | undefined
let sharedSkippedMs = 0

/**
 * ClickHouse allows one store per process, and to open it takes longer than most tests. So the tests of a process share
 * it; what they make in it belongs to accounts of their own.
 */
export async function openTestStore(t: Test): Promise<TestStore> {
  opened ??= openStoreOfProcess()
  const store = await opened
  const { parts, admin, dir } = store
  const release = new ReleaseStack()
  t.teardown(() => release.release())
  return {
    parts,
    admin,
    dir,
    release,
    api: async (options) => {
      if (options !== undefined) return openApi(store, options, release)
      sharedSkippedMs += windowMs
      const usage = new Usage(0, { nowMs: () => monotonicMs() + sharedSkippedMs })
      shared ??= openApi(store, { usage }, store.release)
      return shared
    },
  }
}

async function openApi(
  { parts, context, secrets, admin, occurrences, lines }: OpenStore,
  options: TestApiOptions,
  release: ReleaseStack,
): Promise<TestApi> {
  const geo = geoOf()
  const sessions = await openSessions(parts.nats, 1024 * 1024, {
    sealer: parts.sealer,
    occurrences,
    isDeleted: parts.isKeyDeleted,
  })
  release.own(sessions)
  const lag = { now: async () => ({ messages: 0, oldestAtMs: undefined }) }
  const { doctor } = openDoctor(context, parts, {
    destinations: idleDestinations,
    geo,
    lag,
    clock: openAwsClock(occurrences),
    readiness: { metrics: async () => '' },
    secrets,
  })
  const app = await buildApi({
    context: parts,
    view: parts.store.view,
    destinations: idleDestinations,
    doctor,
    geo,
    live: new Live({ nats: parts.nats, occurrences, ownerOf: ownersIn(parts.store.view) }),
    lag,
    versions: { troubles: async () => [] },
    log: parts.log,
    deliveries: parts.deliveries,
    failures: parts.failures,
    traffic: parts.traffic,
    nats: parts.nats,
    partitions: parts.partitions,
    replays: await openReplays({
      nats: parts.nats,
      partitions: parts.partitions,
      bucketBytesMax: 1024 * 1024,
      retentionMs: day,
    }),
    trials: await openTrials({ nats: parts.nats, reader: admin, view: parts.store.view, geo, occurrences }),
    occurrences,
    baseUrl: base,
    versionHeaders: ['Service-Version'],
    eventKinds: trafficEvents,
    usage: new Usage(0),
    keyUses: parts.keyUses,
    sessions,
    signInCodes: new SignInCodes(),
    trustedProxies: [],
    ...options,
  })
  release.add(() => app.close())
  return new TestApi(parts, app, options, lines, admin)
}

async function openStoreOfProcess(): Promise<OpenStore> {
  const dir = tempDir(root)
  const release = new ReleaseStack()
  root.teardown(() => release.release())
  const lines: string[] = []
  const logger = createLogger('test', 'debug', { write: (line: string) => lines.push(line) })
  const registry = createRegistry()
  const occurrences = createOccurrences({ logger, registry })
  const environment = { WEIR_DATA_DIR: dir, WEIR_STORAGE_MAX: '1GiB', WEIR_DECISION_LOG: 'all' }
  const { storageMaxBytes } = loadSettings({ environment }).settings.nats
  const server = await openNatsServer({
    executable: localNatsServer(),
    dataDir: dir,
    port: 0,
    storageMaxBytes,
    access: natsAccess(),
    occurrences,
  })
  release.own(server)
  const { settings } = loadSettings({
    environment: { ...environment, ...localNatsEnvironment(server, 'api') },
  })
  const admin = await openNats({ servers: [server.urlOf('admin')], replicas: 1, name: 'test', occurrences })
  release.own(admin)
  const context: RoleContext = {
    role: 'api',
    settings,
    logger,
    registry,
    occurrences,
    eventKinds: trafficEvents,
    telemetry: undefined,
  }
  const opened = await openStoreParts(context, { baseUrl: () => base, geo: geoOf() }, release)
  const parts = { ...opened, log: patientReader(opened.clickhouse, settings.decisionLog.rows) }
  const secrets = release.own(new SecretsView(await opened.nats.openBucket(bucketNames.secrets, 1024 * 1024)))
  await secrets.open()
  return { parts, context, secrets, admin, dir, occurrences, lines, release }
}
