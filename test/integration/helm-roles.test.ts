/**
 * The four roles with exactly what the Helm chart gives to their containers, on a nats-server with the chart's configuration:
 * each answers the probes of its container, and proxies are answered while NATS is away. Skipped without Go, which builds Helm.
 * ClickHouse is the embedded one behind a server of the tests.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { localNatsServer } from '../../src/management/process/settings.js'
import { openClient } from '../../src/words/client/client.js'
import { startClickhouseFront } from '../harness/clickhouse-front.js'
import { freePorts } from '../harness/free-ports.js'
import { Helm, helmProgram, type Manifest } from '../harness/helm.js'
import { chartSecrets, environmentOf, roles } from '../harness/helm-roles.js'
import { readyOf } from '../harness/pages.js'
import { type Running, run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { until } from '../harness/weir.js'

type Role = (typeof roles)[number]

const natsInCluster = 'weir-nats-0.weir-nats:4222'

interface Chart {
  readonly manifests: readonly Manifest[]
  readonly secrets: ReturnType<typeof chartSecrets>
  readonly dir: string
}

const objectOf = ({ manifests }: Chart, kind: string, name: string): Manifest =>
  manifests.find((each) => each.kind === kind && each.metadata.name === name)!

/** A text in which each part is there, and replaced. */
const adapted = (text: string, parts: Readonly<Record<string, string>>): string =>
  Object.entries(parts).reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`The chart does not have ${from}.`)
    return changed.replaceAll(from, to)
  }, text)

/** A server with the chart's configuration, on ports of this test. */
async function startNats(t: Test, chart: Chart, port: number, monitor: number): Promise<ChildProcess> {
  const store = tempDir(t)
  const { data } = objectOf(chart, 'ConfigMap', 'weir-nats')
  const config = adapted(data['weir.conf'], {
    'port: 4222': `host: 127.0.0.1, port: ${port}`,
    'http: 8222': `http: "127.0.0.1:${monitor}"`,
    'store_dir: "/data"': `store_dir: ${JSON.stringify(store)}`,
    '"/tmp/nats.pid"': JSON.stringify(join(store, 'nats.pid')),
    // An old server can't, and this test pulls no plug.
    'sync_interval: always': '',
  })
  writeFileSync(join(chart.dir, 'weir.conf'), config)
  writeFileSync(join(chart.dir, 'accounts.conf'), data['accounts.conf'])
  const env = { ...chart.secrets.entries.get('weir-nats'), POD_NAME: 'weir-nats-0' }
  const server = spawn(localNatsServer() ?? 'nats-server', ['-c', join(chart.dir, 'weir.conf')], {
    env,
    stdio: 'ignore',
  })
  t.teardown(() => server.kill('SIGKILL'))
  const [{ startupProbe, livenessProbe, readinessProbe }] = objectOf(chart, 'StatefulSet', 'weir-nats')[
    'spec'
  ].template.spec.containers
  for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe])
    await until(`nats-server answers ${httpGet.path}`, async () => {
      const answer = await fetch(`http://127.0.0.1:${monitor}${httpGet.path}`).catch(() => undefined)
      return answer?.ok === true
    })
  return server
}

/** The variables of a role's container, on ports of this test. */
function environment(chart: Chart, role: Role, ports: Readonly<Record<string, number>>, clickhouse: string) {
  const env = environmentOf(chart.manifests, role, chart.secrets)
  const change = (variable: string, to: (text: string) => string): void => {
    const file = env[variable]!
    writeFileSync(file, to(readFileSync(file, 'utf8')))
  }
  change('NATS_URL_FILE', (text) => adapted(text, { [natsInCluster]: `127.0.0.1:${ports['nats']}` }))
  if (role === 'api') {
    change('WEIR_TRIAL_NATS_URL_FILE', (text) =>
      adapted(text, { [natsInCluster]: `127.0.0.1:${ports['nats']}` }),
    )
    change('CLICKHOUSE_URL_FILE', () => clickhouse)
  }
  return {
    ...env,
    WEIR_HOST: '127.0.0.1',
    WEIR_PORT: String(ports[role]),
    ...(role === 'decide' && { WEIR_DECIDE_PORT: String(ports['proxies']) }),
    WEIR_DATA_DIR: join(chart.dir, `data-${role}`),
  }
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.once('error', () => resolve(false)).once('connect', () => socket.destroy())
  })

interface Probe {
  readonly httpGet?: { readonly path: string }
}

const passes = async ({ httpGet }: Probe, port: number, proxies: number): Promise<boolean> =>
  httpGet === undefined
    ? isOpen(proxies)
    : (await fetch(`http://127.0.0.1:${port}${httpGet.path}`).catch(() => undefined))?.ok === true

const found = helmProgram()

t.test('the roles of the chart', { skip: 'missing' in found ? found.missing : false }, async (t) => {
  const dir = tempDir(t)
  const manifests = new Helm(t, 'missing' in found ? '' : found.program).manifests({ nats: { replicas: 1 } })
  const chart: Chart = { manifests, dir, secrets: chartSecrets(dir, 1) }
  const names = ['nats', 'monitor', 'proxies', ...roles]
  const numbers = await freePorts(names.length)
  const ports: Record<string, number> = Object.fromEntries(names.map((name, at) => [name, numbers[at]!]))
  const { proxies = 0 } = ports
  const nats = await startNats(t, chart, ports['nats']!, ports['monitor']!)
  const clickhouse = await startClickhouseFront(join(dir, 'clickhouse'))
  t.teardown(() => clickhouse.process.stop())
  const started: Running[] = []
  t.teardown(() => Promise.all(started.map((one) => one.stop())))
  const containers = roles.map((role) => {
    const [container] = objectOf(chart, 'Deployment', `weir-${role}`)['spec'].template.spec.containers
    started.push(run('programs/main.js', container.args, environment(chart, role, ports, clickhouse.url)))
    return { role, container }
  })
  for (const { role, container } of containers)
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      await until(`${role} passes its ${probe}`, () => passes(container[probe], ports[role]!, proxies))
  for (const one of started) t.notMatch(one.output(), /Unknown setting/, 'it knows all of its variables')

  const token = chart.secrets.entries.get('weir')!['bootstrap-token']!
  const api = openClient({ url: `http://127.0.0.1:${ports['api']}`, token })
  const { token: key } = await api.apiKey.create({ rights: ['decide'] })
  const asked = JSON.stringify({
    type: 'tcp_connection',
    conn: { client_ip: '203.0.113.7', server_name: 'ssh.example.com', server_port: 22 },
  })
  const ask = async (): Promise<number> => {
    const request = { method: 'POST', headers: { 'weir-key': key! }, body: asked }
    return (await fetch(`http://127.0.0.1:${proxies}/decide?unserved=allow`, request)).status
  }
  await until('decide knows the key', async () => (await ask()) === 200)

  await t.test(
    'while ClickHouse is away, a pod of the API still gets requests, and writes alone fail',
    async (t) => {
      await clickhouse.process.stop()
      const url = `http://127.0.0.1:${ports['api']}`
      await until('the API says so', async () => (await readyOf(url)).status === 503)
      const { container } = containers.find(({ role }) => role === 'api')!
      for (const probe of ['livenessProbe', 'readinessProbe'])
        t.ok(await passes(container[probe], ports['api']!, proxies), probe)
      const send = async (method: string, path: string, body?: string, type = 'application/json') => {
        const headers = { authorization: `Bearer ${token}`, 'service-version': '2', 'content-type': type }
        return fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body }) })
      }
      const statusOf = async (...sent: Parameters<typeof send>) => (await send(...sent)).status
      t.equal(await statusOf('GET', '/api_keys'), 200, 'it reads')
      t.equal(await statusOf('POST', '/decide', asked), 200, 'it decides')
      const times = { start_ts: '2026-11-20T10:00:00Z', end_ts: '2026-11-20T10:00:01Z' }
      const { type, conn } = JSON.parse(asked)
      const record = JSON.stringify({ record_id: 'r-1', type, conn: { ...conn, ...times } })
      const published = await send('POST', '/records', record, 'application/x-ndjson')
      t.match(await published.json(), { stored: 1, refused_count: 0 }, 'it takes records')
      t.equal(await statusOf('POST', '/ip_policies', '{}'), 503, 'it does not write')
    },
  )

  await t.test('while NATS is away, proxies are answered by a pod that still gets requests', async (t) => {
    nats.kill('SIGKILL')
    const url = `http://127.0.0.1:${ports['decide']}`
    await until('decide says so', async () => (await readyOf(url)).status === 503)
    const { container } = containers.find(({ role }) => role === 'decide')!
    for (const probe of ['livenessProbe', 'readinessProbe'])
      t.ok(await passes(container[probe], ports['decide']!, proxies), probe)
    t.equal(await ask(), 200)
  })
})
