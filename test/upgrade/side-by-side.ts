/**
 * An upgrade process by process, as docs/upgrading.md has it: with traffic under way, each role of an older version is
 * replaced by one of today, and for a while both work on the same streams.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type Nats, openNats } from '../../src/ground/nats/nats.js'
import { openClient } from '../../src/words/client/client.js'
import { startClickhouseFront } from '../harness/clickhouse-front.js'
import { freePorts } from '../harness/free-ports.js'
import { OwnNats } from '../harness/own-nats.js'
import { isReady } from '../harness/pages.js'
import type { Running } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { type Emulator, startEmulator, until } from '../harness/weir.js'
import { record, token } from '../integration/deployment.js'
import { furnish, publishRecords, streams, untilAt, untilUsed } from './contents.js'
import { type Build, todaysBuild } from './older-build.js'

const perMessage = 20
const betweenMs = 200
/** Records that are worked off between two steps, so that each step has traffic. */
const perStep = 100

/** Publishes records until it is stopped; `count` says how many. */
class Traffic {
  readonly #nats: Nats
  readonly #emulator: Emulator
  readonly #publishing: Promise<void>
  #isStopped = false
  count = 0

  constructor(nats: Nats, emulator: Emulator) {
    this.#nats = nats
    this.#emulator = emulator
    this.#publishing = this.#publish()
  }

  async #publish(): Promise<void> {
    while (!this.#isStopped) {
      await publishRecords(this.#nats, this.count, this.count + perMessage)
      this.count += perMessage
      await sleep(betweenMs)
    }
  }

  /** Resolves when as many further events have arrived as a step should see. */
  async goesOn(): Promise<void> {
    const arrived = async () =>
      (await this.#emulator.client.counts({ service: 'kinesis', name: 'works' })).events
    const before = await arrived()
    await until('traffic goes on', async () => (await arrived()) >= before + perStep)
  }

  async stop(): Promise<number> {
    this.#isStopped = true
    await this.#publishing
    return this.count
  }
}

/** Starts roles of any build, each with a port of its own for its health. */
async function roleStarter(t: Test, emulator: Emulator) {
  const dir = tempDir(t)
  const server = new OwnNats(join(dir, 'nats'))
  await server.start()
  t.teardown(() => server.kill())
  const clickhouse = await startClickhouseFront(join(dir, 'clickhouse'))
  t.teardown(() => clickhouse.process.stop())
  const env = {
    NATS_URL: server.url,
    CLICKHOUSE_URL: clickhouse.url,
    WEIR_SECRET_KEY: randomBytes(32).toString('base64'),
    WEIR_DATA_DIR: join(dir, 'data'),
    WEIR_STORAGE_MAX: '256MiB',
    WEIR_BOOTSTRAP_TOKEN: token,
    WEIR_DECIDE_PORT: '0',
    WEIR_LOG_LEVEL: 'info',
    AWS_ENDPOINT_URL: emulator.url,
  }
  const start = async (build: Build, role: string): Promise<{ running: Running; url: string }> => {
    const [port = 0] = await freePorts(1)
    const running = build([role], { ...env, [role === 'api' ? 'WEIR_PORT' : 'WEIR_OPS_PORT']: String(port) })
    t.teardown(() => running.stop())
    return { running, url: `http://127.0.0.1:${port}` }
  }
  const ready = async (build: Build, role: string) => {
    const started = await start(build, role)
    await until(
      () => `${role} is ready: ${started.running.output().slice(-2_000)}`,
      () => isReady(started.url).catch(() => false),
    )
    return started
  }
  return { server, start, ready }
}

export async function workSideBySide(t: Test, older: Build): Promise<void> {
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  const { server, start, ready } = await roleStarter(t, emulator)
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
  t.teardown(() => nats.close())
  const oldApi = await ready(older, 'api')
  const [oldPipeline, otherPipeline, oldDeliver, otherDeliver] = await Promise.all(
    ['pipeline', 'pipeline', 'deliver', 'deliver'].map((role) => ready(older, role)),
  )
  const { destinations } = await furnish(openClient({ url: oldApi.url, token }), emulator)
  await emulator.client.addFault({ effect: { type: 'access_denied' }, resource: 'refuses' })
  await untilUsed(nats, emulator)
  const traffic = new Traffic(nats, emulator)
  await traffic.goesOn()

  await oldApi.running.stop()
  const { url } = await ready(todaysBuild, 'api')
  await traffic.goesOn()
  const early = await start(todaysBuild, 'pipeline')
  await early.running.line(/a deliverer of Weir before 0\.2\.0 can't read packs/)
  await traffic.goesOn()
  await oldDeliver!.running.stop()
  await otherDeliver!.running.stop()
  await Promise.all(['deliver', 'deliver'].map((role) => ready(todaysBuild, role)))
  await until('the pipeline that waited is ready', () => isReady(early.url))
  await traffic.goesOn()
  await oldPipeline!.running.stop()
  await ready(todaysBuild, 'pipeline')
  await traffic.goesOn()
  await otherPipeline!.running.stop()
  await traffic.goesOn()

  const count = await traffic.stop()
  await emulator.client.clearFaults()
  for (const name of streams) await untilAt(emulator, name, count)
  const api = openClient({ url, token })
  for (const name of streams)
    await until('nothing is on its way any more', async () => {
      const { backlog, counts } = await api.deliveryStatus(destinations[name])
      return backlog.events === 0 && counts.delivered >= count
    })
  t.equal((await api.deadLetters.list().next()).done, true, 'nothing was set aside')
  const { decision, explanation } = (await api.decide(JSON.parse(record('asked', 7)))) as unknown as {
    readonly decision: string
    readonly explanation: object
  }
  t.ok(decision, 'decisions are answered')
  t.match(JSON.stringify(explanation), /10\.0\.0\.0\/8/, 'and explained by a rule of the older version')
}
