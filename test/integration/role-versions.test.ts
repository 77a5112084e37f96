/**
 * Processes of other versions, announced by the test: a role that starts waits while they would misunderstand each other,
 * says why in its log, its readiness and the overview, and goes on by itself.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { openNatsServer } from '../../src/delivery/nats-server/nats-server.js'
import { natsAccess } from '../../src/delivery/nats-server/nats-users.js'
import { rolesSubject, statusSubject } from '../../src/delivery/wire/names.js'
import { announcementOf, type RoleName } from '../../src/delivery/wire/role-formats.js'
import { createLogger } from '../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../src/ground/core/telemetry/occurrences.js'
import { openNats } from '../../src/ground/nats/nats.js'
import { localNatsServer } from '../../src/management/process/settings.js'
import { localNatsEnvironment } from '../../src/roles/local-nats.js'
import { openClient } from '../../src/words/client/client.js'
import { freePorts } from '../harness/free-ports.js'
import { isReady, readyOf } from '../harness/pages.js'
import { type Running, run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'
import { token } from './deployment.js'

const dir = tempDir(t)
const occurrences = createOccurrences({
  logger: createLogger('test', 'silent'),
  registry: createRegistry(),
})
const server = await openNatsServer({
  executable: localNatsServer(),
  dataDir: join(dir, 'nats'),
  port: 0,
  storageMaxBytes: 64 * 1024 * 1024,
  access: natsAccess(),
  occurrences,
})
t.teardown(() => server.close())
const nats = await openNats({ servers: [server.urlOf('admin')], name: 'test', replicas: 1 })
t.teardown(() => nats.close())

const env = {
  WEIR_SECRET_KEY: randomBytes(32).toString('base64'),
  WEIR_DATA_DIR: join(dir, 'data'),
  WEIR_BOOTSTRAP_TOKEN: token,
  WEIR_LOG_LEVEL: 'info',
  WEIR_STORAGE_MAX: '64MiB',
}

/** A process of this role, and where its readiness is asked for. */
async function start(role: RoleName): Promise<{ readonly running: Running; readonly url: string }> {
  const [port = 0] = await freePorts(1)
  const running = run('programs/main.js', [role], {
    ...env,
    ...localNatsEnvironment(server, role),
    [role === 'api' ? 'WEIR_PORT' : 'WEIR_OPS_PORT']: String(port),
    WEIR_DECIDE_PORT: '0',
  })
  t.teardown(() => running.stop())
  const url = `http://127.0.0.1:${port}`
  await running.line(/Health and metrics are served/)
  return { running, url }
}

/** A process of another version, which works until the result is called. */
function announce(
  role: RoleName,
  others: Readonly<Record<string, readonly [number, number]>>,
): () => Promise<void> {
  const { formats, ...said } = announcementOf('another', role, 'works')
  const text = JSON.stringify({ ...said, version: '9.8.7', formats: { ...formats, ...others } })
  const answering = nats.answer(rolesSubject, undefined, () => text)
  return () => answering.close()
}

const untilReady = (url: string): Promise<void> => until('it is ready', () => isReady(url))

/** The role is not ready, for this reason, which its log says, too. */
async function untilWaits(
  { running, url }: Awaited<ReturnType<typeof start>>,
  reason: RegExp,
): Promise<void> {
  await running.line(/This process waits, because it and another one/)
  const { status, failing } = await readyOf(url)
  t.equal(status, 503)
  t.match(failing['start'], reason)
  t.match(running.output(), reason)
}

const api = await start('api')
await untilReady(api.url)
const client = openClient({ url: api.url, token })
const versionsFound = async (): Promise<string[]> => {
  const { attention } = await client.overview()
  return attention.flatMap(({ type, sentence }) => (type === 'role_versions' ? sentence : []))
}

t.test('a pipeline waits for a deliverer that could not read its packs', async (t) => {
  const upgrade = announce('deliver', { packs: [1, 1] })
  const pipeline = await start('pipeline')
  await untilWaits(
    pipeline,
    /a deliverer of Weir 9\.8\.7 can't read packs written by a pipeline of Weir .+ Upgrade or stop each that is older \(a deliverer of Weir 9\.8\.7\)/,
  )
  await until('the overview has it', async () => (await versionsFound()).length > 0)
  t.match(await versionsFound(), [
    /^A pipeline of Weir .+ waits for processes of another version: a deliverer of Weir 9\.8\.7/,
  ])
  await upgrade()
  await untilReady(pipeline.url)
  t.match(pipeline.running.output(), /The processes that this one waited for have ended/)
  await until('the overview has it no more', async () => (await versionsFound()).length === 0)
  await pipeline.running.stop()
})

t.test('it waits for a deliverer of a version that says nothing of itself', async () => {
  // 0.1.0 answers nothing about a destination that it does not know.
  const silent = nats.answer(statusSubject, undefined, () => '')
  const pipeline = await start('pipeline')
  await untilWaits(pipeline, /a deliverer of Weir before 0\.2\.0 can't read packs/)
  await silent.close()
  await untilReady(pipeline.url)
  await pipeline.running.stop()
})

t.test('a deliverer waits while a newer pipeline works, and says which version to start', async () => {
  const step = announce('pipeline', { packs: [1, 99] })
  const deliver = await start('deliver')
  await untilWaits(
    deliver,
    /a deliverer of Weir \d.+ can't read packs written by a pipeline of Weir 9\.8\.7\. Start Weir 9\.8\.7 here instead/,
  )
  t.strictSame(await deliver.running.stop(), { code: 0, signal: null }, 'and stops at once while it waits')
  await step()
})

t.test('those of one version wait for no one', async (t) => {
  const roles = await Promise.all((['deliver', 'pipeline'] as const).map(start))
  for (const { running, url } of roles) {
    await untilReady(url)
    t.notMatch(running.output(), /This process waits|did not bring what the roles say/)
  }
  for (const { running } of roles) await running.stop()
})

t.test('an API that waits answers requests with the reason', async (t) => {
  await api.running.stop()
  const step = announce('decide', { configuration: [99, 99] })
  const waiting = await start('api')
  await untilWaits(
    waiting,
    /a `decide` of Weir 9\.8\.7 can't read the configuration written by an API of Weir \d/,
  )
  const answer = await fetch(`${waiting.url}/ip_policies`)
  t.equal(answer.status, 503)
  t.match(await answer.json(), {
    msg: /^The API is starting: it waits for .+ Start Weir 9\.8\.7 here instead\.$/,
  })
  await step()
  await untilReady(waiting.url)
  await waiting.running.stop()
})

t.test('`weir serve` waits for no one', async (t) => {
  const step = announce('deliver', { packs: [1, 1] })
  const weir = await startWeir(env.WEIR_DATA_DIR, { ...env, NATS_URL: server.urlOf('admin') })
  t.teardown(() => weir.stop())
  await untilReady(weir.url)
  await until('the overview says what is misread', async () => {
    const { attention } = await weir.api.overview()
    return attention.some(({ sentence }) => /^A deliverer of Weir 9\.8\.7 can't read packs/.test(sentence))
  })
  await step()
})
