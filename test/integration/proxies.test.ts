/**
 * Debian's nginx, HAProxy and Caddy, set up as `docs/recipes` says: they ask before they serve, and `weir publish` makes
 * records of their logs.
 */
import { Agent, createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../../src/delivery/nats-server/nats-probe.js'
import { eachOf } from '../../src/ground/core/concurrency.js'
import { type AskingProxy, caddy, haproxy, nginx, type ProxySetup } from '../harness/asking-proxies.js'
import { untilInUse } from '../harness/in-use.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { run } from '../harness/processes.js'
import { recipe } from '../harness/recipe.js'
import { tempDir } from '../harness/temp-dir.js'
import { type RunningWeir, startWeir, until } from '../harness/weir.js'
import { token } from './deployment.js'

const requests = 1_000
/** Each tenth client is one that an IP policy denies. */
const [letIn, shutOut] = ['127.0.0.1', '127.0.0.9']

/** The values that a proxy and `weir publish` are set up with. */
interface Setup extends ProxySetup {
  /** `127.0.0.1:5140`, where syslog is taken. */
  readonly syslog: string
}

/** How the log of a proxy is written, as a part of its configuration, and how it is read. */
interface Logged {
  readonly proxy: AskingProxy
  readonly log: (setup: Setup) => string
  readonly publish: (setup: Setup) => string[]
}

const logged: readonly Logged[] = [
  {
    proxy: nginx,
    log: () => recipe('nginx', 'nginx log', { '/var/log/nginx/weir.log': 'access.log' }),
    publish: ({ dir }) => ['--format', 'nginx', '--file', join(dir, 'access.log')],
  },
  {
    proxy: haproxy,
    log: ({ syslog }) => recipe('haproxy', 'haproxy log', { '127.0.0.1:5140': syslog }),
    publish: ({ syslog, port }) => ['--format', 'haproxy', '--syslog', syslog, '--server-port', String(port)],
  },
  {
    proxy: caddy,
    log: () => recipe('caddy', 'caddy log', { '/var/log/caddy/access.log': 'access.log' }),
    publish: ({ dir, port }) => [
      ...['--format', 'caddy', '--file', join(dir, 'access.log')],
      ...['--server-port', String(port)],
    ],
  },
]

/** An application, and a Weir that answers proxies: for all of them, because starts take longest. */
async function open(t: Test) {
  const app = createServer((_, response) => response.end('served'))
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  t.teardown(() => app.close())
  const decidePort = await freePort()
  const weir = await startWeir(tempDir(t), {
    WEIR_BOOTSTRAP_TOKEN: token,
    WEIR_RATE_LIMIT: '0',
    WEIR_TRUST_PROXY: '127.0.0.1/32',
    WEIR_DECIDE_PORT: String(decidePort),
  })
  t.teardown(() => weir.stop())
  const policy = await weir.api.ipPolicy.create({})
  await weir.api.replaceRules(policy.id, [
    { cidr: '127.0.0.0/8', action: 'allow' },
    { cidr: shutOut, action: 'deny' },
  ])
  await weir.api.ipRestriction.create({ type: 'endpoints', enforced: true, ip_policy_ids: [policy.id] })
  const { token: key } = await weir.api.apiKey.create({ rights: ['decide'] })
  const addressOf = (port: number): string => `127.0.0.1:${port}`
  const appAddress = addressOf((app.address() as AddressInfo).port)
  return { weir, key: key!, app: appAddress, asked: addressOf(decidePort) }
}

/** The answers of each status to requests by clients of both kinds. */
interface Asked {
  readonly statuses: Record<number, number>
  /** Requests that were not served, because the decision came later than nginx waits. A busy machine has some. */
  readonly late: { letIn: number; shutOut: number }
}

async function ask(port: number): Promise<Asked> {
  const agent = new Agent({ keepAlive: true, maxSockets: 20 })
  const statuses: Record<number, number> = {}
  const late = { letIn: 0, shutOut: 0 }
  const one = (at: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const localAddress = at % 10 === 0 ? shutOut : letIn
      const headers = { host: `local.example:${port}`, 'user-agent': 'a test' }
      const options = { port, localAddress, headers, agent, host: '127.0.0.1', path: `/page?n=${at}` }
      const sent = request(options, (answer) => {
        answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
      })
      sent.once('error', reject).end()
    })
  await eachOf(
    Array.from({ length: requests }, (_, at) => at),
    10,
    async (at) => {
      const status = await one(at)
      if (status === 500) late[at % 10 === 0 ? 'shutOut' : 'letIn'] += 1
      else statuses[status] = (statuses[status] ?? 0) + 1
    },
  )
  agent.destroy()
  return { statuses, late }
}

/** Each names `/admin` for some server, and none begins with it. */
const disguised = [
  ...[
    '/x/../admin',
    '/x/%2e%2e/admin',
    '//admin',
    '/./admin/',
    '/%61dmin',
    '/x%2f..%2fadmin',
    '/x/..%2Fadmin',
  ],
  ...[
    '/x\\..\\admin',
    '/%5cadmin',
    '/x/..;/admin',
    '/%252561dmin',
    '/x/%252e%252e/admin',
    '//h/admin',
    '/admin/.',
    '/admin;x',
  ],
  ...['/admin/x%2f..%2f..%2fpublic', '/admin/\\..\\..\\public'],
]

/** The status of the answer to a request for this target, which no client has cleaned. */
async function statusOf(port: number, target: string): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${target} HTTP/1.1\r\nHost: local.example:${port}\r\nConnection: close\r\n\r\n`)
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return Number(text.split(' ')[1])
}

/** How many records were evaluated so far, and how many were bad. */
async function counted({ url }: RunningWeir): Promise<{ evaluated: number; bad: number }> {
  const metrics = await metricsOf(url)
  const of = (name: string): number => total(metrics, `weir_records_${name}_total`)
  return { evaluated: of('evaluated'), bad: of('bad') }
}

const opened = logged.some(({ proxy }) => proxy.program !== undefined) ? await open(t) : undefined

for (const { proxy, log, publish: publishing } of logged) {
  const skip = proxy.program === undefined ? `${proxy.name} is not installed` : false
  t.test(`${proxy.name} asks, and its log becomes records`, { skip }, async (t) => {
    const { weir, key, app, asked } = opened!
    const evaluatedBefore = (await counted(weir)).evaluated
    const port = await freePort()
    const edge = await weir.api.httpsEdge.create({ hostports: [`local.example:${port}`] })
    const dir = tempDir(t)
    const setup = {
      dir,
      port,
      weir: asked,
      app,
      syslog: `127.0.0.1:${await freePort()}`,
      key,
      edgeId: edge.id,
    }
    const publish = run('programs/main.js', ['publish', ...publishing(setup)], {
      NATS_URL: weir.natsUrl,
      WEIR_DATA_DIR: dir,
    })
    t.teardown(() => publish.stop())
    // Messages that are sent over UDP before it listens are lost.
    if (proxy === haproxy) await until('syslog is taken', () => /Syslog is taken/.test(publish.output()))
    const child = proxy.start(proxy.program!, { ...setup, more: log(setup) })
    t.teardown(() => child.kill())
    let said = ''
    child.stderr?.on('data', (text) => (said += String(text)))
    await until('it serves', async () => {
      if (child.exitCode !== null) throw new Error(said)
      return fetch(`http://127.0.0.1:${port}/`).then(
        (answer) => answer.status > 0,
        () => false,
      )
    })
    await untilInUse(weir)
    await until('the first record', async () => {
      if (publish.child.exitCode !== null) throw new Error(publish.output())
      return (await counted(weir)).evaluated > evaluatedBefore
    })
    const { statuses, late } = await ask(port)
    const expected = { 200: requests - requests / 10 - late.letIn, 403: requests / 10 - late.shutOut }
    t.strictSame(statuses, expected, 'denied ones are denied')
    t.ok(late.letIn + late.shutOut < requests / 2, `${late.letIn + late.shutOut} were late`)
    // Of this edge alone: the last records of the proxy before may still come.
    const logged = async () => {
      const { counts } = await weir.api.stats({ by: 'edge', since: '1h' })
      const own = counts.filter(({ value }) => value === edge.id)
      const sumOf = (decision: 'allow' | 'block' | 'deny'): number =>
        own.reduce((sum, each) => sum + each[decision], 0)
      return { allow: sumOf('allow'), block: sumOf('block'), deny: sumOf('deny') }
    }
    await until('the log has all', async () => {
      const { allow, block } = await logged()
      return allow + block >= requests
    })
    t.strictSame(await logged(), { allow: requests - requests / 10, block: requests / 10, deny: 0 })
    t.equal((await counted(weir)).bad, 0)
    await weir.api.httpsEdgeRoute.under(edge.id).create({
      match_type: 'path_prefix',
      match: '/admin',
      policies: { inbound: [{ name: 'nobody', expressions: [], actions: [{ type: 'deny' }] }] },
    })
    await until('the route is known', async () => (await statusOf(port, '/admin')) === 403)
    for (const target of disguised) {
      const status = await statusOf(port, target)
      t.ok(status === 403 || status === 400, `${target} is refused: ${status}`)
    }
    t.equal(await statusOf(port, '/administrator?x=/../admin'), 200, 'and nothing else')
  })
}
