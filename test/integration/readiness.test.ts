/** `/readyz` is right within 5 s: every role reports why it can't work, and recovers by itself. */
import { randomBytes, randomInt } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort, isPortFree } from '../../src/delivery/nats-server/nats-probe.js'
import { newest, openCaller } from '../harness/caller.js'
import { type ClickhouseFront, startClickhouseFront } from '../harness/clickhouse-front.js'
import { startNatsCluster } from '../harness/nats-cluster.js'
import { OwnNats } from '../harness/own-nats.js'
import { isReady, type Ready, readyOf } from '../harness/pages.js'
import { type Running, run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { until } from '../harness/weir.js'

const token = 'token-of-the-first-key'
/**
 * The promise is 5 s, and `test/management/process/inquiry.test.ts` holds the limits to it; this is for a machine with other
 * work.
 */
const noticedMs = 15_000

interface RunningRole {
  readonly name: string
  readonly url: string
  readonly process: Running
}

/** Starts every role that runs alone, on one NATS and one ClickHouse. */
async function startRoles(t: Test, dir: string, natsUrl: string, replicas: number) {
  const clickhouse = await startClickhouseFront(join(dir, 'clickhouse'))
  t.teardown(() => clickhouse.process.kill())
  const secretKey = randomBytes(32).toString('base64')
  const start = async (name: string): Promise<RunningRole> => {
    const url = `http://127.0.0.1:${await freePort()}`
    const process = run('programs/main.js', [name], {
      NATS_URL: natsUrl,
      ...(name === 'api' ? { CLICKHOUSE_URL: clickhouse.url } : {}),
      WEIR_SECRET_KEY: secretKey,
      WEIR_DATA_DIR: join(dir, name),
      WEIR_PORT: new URL(url).port,
      WEIR_STORAGE_MAX: '64MiB',
      WEIR_NATS_REPLICAS: String(replicas),
      WEIR_BOOTSTRAP_TOKEN: token,
      WEIR_LOG_LEVEL: 'error',
    })
    t.teardown(() => process.kill())
    return { name, url, process }
  }
  const roles = await Promise.all(['api', 'pipeline', 'deliver', 'decide'].map(start))
  await untilAll(roles, 200, 120_000)
  return { roles, clickhouse }
}

/** `why`: what the reasons must say. */
async function untilAll(
  roles: readonly RunningRole[],
  status: number,
  patienceMs: number,
  why = /^/,
): Promise<void> {
  const last: Ready[] = []
  const holds = async (index: number): Promise<boolean> => {
    const ready = await readyOf(roles[index]!.url).catch(() => undefined)
    if (ready !== undefined) last[index] = ready
    return ready?.status === status && why.test(Object.values(ready.failing).join(' '))
  }
  await Promise.all(
    roles.map(({ name, process }, index) =>
      until(`${name} answers ${status}`, () => holds(index), patienceMs).catch((error: Error) => {
        throw new Error(`${error.message} ${JSON.stringify(last[index])} ${process.output().slice(-2_000)}`)
      }),
    ),
  )
}

/** Every role reports in time that it can't work, and why. */
async function untilNoticed(
  t: Test,
  roles: readonly RunningRole[],
  what: string,
  why: RegExp,
): Promise<void> {
  const before = Date.now()
  await untilAll(roles, 503, noticedMs, why)
  t.pass(`${what}: noticed by all after ${Date.now() - before} ms`)
}

t.test('NATS and ClickHouse stopped or frozen', async (t) => {
  const dir = tempDir(t)
  const cluster = await startNatsCluster(dir)
  t.teardown(() => cluster.close())
  const { servers } = cluster
  const { roles, clickhouse } = await startRoles(t, dir, cluster.url, servers.length)

  for (const server of servers) server.freeze()
  await untilNoticed(t, roles, 'frozen', /JetStream does not answer/)
  for (const { url, name } of roles) t.equal((await fetch(`${url}/healthz`)).status, 200, `${name} is alive`)
  for (const server of servers) server.thaw()
  await untilAll(roles, 200, 120_000)

  const [, ...others] = servers
  for (const server of others) await server.kill()
  await untilNoticed(t, roles, 'without a quorum', /nothing can be stored/i)
  for (const server of others) await server.start()
  await untilAll(roles, 200, 120_000)

  for (const server of servers) await server.kill()
  await untilNoticed(t, roles, 'killed', /the connection to NATS is lost/)
  await Promise.all(servers.map((server) => server.start()))
  await untilAll(roles, 200, 120_000)

  const api = roles.filter(({ name }) => name === 'api')
  const faults = {
    hang: /ClickHouse does not answer/,
    fail: /ClickHouse does not answer/,
    full: /ClickHouse stores nothing, because its disk is full/,
    unconfirmed: /ClickHouse stores nothing/,
  }
  for (const [mode, why] of Object.entries(faults)) {
    await clickhouse.mode(mode as keyof typeof faults)
    await untilNoticed(t, api, `ClickHouse: ${mode}`, why)
    await clickhouse.mode('ok')
    await untilAll(api, 200, 60_000)
  }
})

/** A port that stays free for a while: it is below those that connections get, on Linux from 32768 on. */
async function portForLater(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    if (await isPortFree(port)) return port
  }
}

t.test('an API that starts', async (t) => {
  const dir = tempDir(t)
  const nats = new OwnNats(join(dir, 'nats'))
  const clickhouse: ClickhouseFront = await startClickhouseFront(join(dir, 'clickhouse'))
  t.teardown(() => clickhouse.process.kill())
  const [natsPort, apiPort] = [await portForLater(), await freePort()]
  t.teardown(() => nats.kill())
  const url = `http://127.0.0.1:${apiPort}`
  const api = run('programs/main.js', ['api'], {
    NATS_URL: `nats://127.0.0.1:${natsPort}`,
    CLICKHOUSE_URL: clickhouse.url,
    WEIR_SECRET_KEY: randomBytes(32).toString('base64'),
    WEIR_DATA_DIR: join(dir, 'data'),
    WEIR_PORT: String(apiPort),
    WEIR_BOOTSTRAP_TOKEN: token,
  })
  t.teardown(() => api.kill())
  const client = openCaller({ base: url, token })

  await until('it is alive', () =>
    fetch(`${url}/healthz`).then(
      ({ status }) => status === 200,
      () => false,
    ),
  )
  t.match(await readyOf(url), { status: 503, failing: { start: /waits for NATS/ } })
  const early = await client.raw.send('GET', '/ip_policies')
  t.match(early, { status: 503, body: { error_code: 'ERR_UNAVAILABLE' } }, 'it accepts no request yet')
  t.ok(early.headers['retry-after'])

  await nats.start(natsPort)
  await until('it is ready', () => isReady(url).catch(() => false))
  t.ok(await newest(client.apiKey.list()), 'the key of the first account exists by then')
})
