/**
 * The examples for gateways of `docs/kubernetes`: Envoy asks Weir with the members of the one, first in shadow, then not, and
 * while Weir is away. Skipped without Envoy. That of Traefik has the middlewares of its recipe, which other tests run.
 */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, get, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { envoyOfGateway } from '../harness/envoy-gateway.js'
import { freePorts } from '../harness/free-ports.js'
import { manifestsIn } from '../harness/helm.js'
import { optionalProgram } from '../harness/optional-program.js'
import { recipe } from '../harness/recipe.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'
import { token } from './deployment.js'

t.test('the middlewares of Traefik are those of its recipe', (t) => {
  const { middlewares } = parse(recipe('traefik', 'traefik asks')).http
  const objects = manifestsIn(readFileSync('docs/kubernetes/traefik.yaml', 'utf8'))
  const own = objects.filter(({ kind }) => kind === 'Middleware')
  t.strictSame(Object.fromEntries(own.map(({ metadata, spec }) => [metadata.name, spec])), {
    ...middlewares,
    weir: {
      forwardAuth: {
        ...middlewares.weir.forwardAuth,
        // The edge is named once the shadow has ended.
        address: 'http://weir-decide.weir:8081/decide/auth_request?unserved=allow',
      },
    },
  })
  const route = objects.find(({ kind }) => kind === 'IngressRoute')?.['spec'].routes[0]
  t.strictSame(
    route.middlewares.map(({ name }: { name: string }) => name),
    parse(recipe('traefik', 'traefik asks')).http.routers.app.middlewares,
    'in the same order',
  )
  t.end()
})

const envoy = optionalProgram('envoy', 'envoy/bin/envoy')

/** An application that keeps the headers of the last request. */
async function openApp(t: Test, port: number): Promise<() => IncomingHttpHeaders> {
  let last: IncomingHttpHeaders = {}
  const app = createServer((request, response) => {
    last = request.headers
    response.end('served')
  })
  await new Promise<void>((resolve) => app.listen(port, '127.0.0.1', resolve))
  t.teardown(() => app.close())
  return () => last
}

async function startEnvoy(t: Test, program: string, config: object, port: number): Promise<void> {
  const dir = tempDir(t)
  writeFileSync(join(dir, 'envoy.json'), JSON.stringify(config))
  const words = ['-c', 'envoy.json', '--concurrency', '1', '--disable-hot-restart', '-l', 'warning']
  const process = spawn(program, words, { cwd: dir, stdio: 'ignore' })
  t.teardown(() => process.kill('SIGKILL'))
  await until('Envoy listens', async () => (await statusOf(port, '/')) !== undefined)
}

/** Of a request for the example's name; undefined if no one listens. */
const statusOf = (port: number, path: string, headers: object = {}): Promise<number | undefined> =>
  new Promise((resolve) => {
    const options = {
      port,
      path,
      host: '127.0.0.1',
      headers: { host: 'www.example.com', ...headers },
      agent: false,
    }
    get(options, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).once('error', () => resolve(undefined))
  })

t.test('Envoy asks', { skip: envoy === undefined ? 'there is no Envoy' : false }, async (t) => {
  const dir = tempDir(t)
  const [open = 0, closed = 0, asked = 0, appPort = 0] = await freePorts(4)
  const lastHeaders = await openApp(t, appPort)
  const weir = await startWeir(tempDir(t), {
    WEIR_BOOTSTRAP_TOKEN: token,
    WEIR_TRUST_PROXY: '127.0.0.1/32',
    WEIR_DECIDE_PORT: String(asked),
  })
  t.teardown(() => weir.stop())
  const policy = {
    name: 'no admin pages',
    expressions: [
      'http.request.url.path.startsWith("/admin") && http.request.headers["user-agent"] != "an admin"',
    ],
    actions: [{ type: 'deny' as const }],
  }
  const inbound = (enforced: boolean) => ({ policies: { inbound: [{ ...policy, enforced }] } })
  const edge = await weir.api.httpsEdge.create({ hostports: ['www.example.com:80'], ...inbound(false) })
  const { token: key } = await weir.api.apiKey.create({ rights: ['decide'] })
  const ports = (at: number) => ({ envoy: at, weir: asked, app: appPort })
  await startEnvoy(t, envoy!, envoyOfGateway(dir, ports(open), key!), open)
  await startEnvoy(t, envoy!, envoyOfGateway(dir, ports(closed), key!, false), closed)
  for (const port of [open, closed])
    await until('the key and the edge are known', async () => (await statusOf(port, '/')) === 200)

  await t.test('in shadow, all are served, and the application does not see the key', async (t) => {
    const sent = { 'weir-key': 'weir_of-a-client', 'x-forwarded-host': 'other.example' }
    t.equal(await statusOf(closed, '/admin/users?a=b', sent), 200, 'with the key of the gateway')
    t.match(lastHeaders(), { host: 'www.example.com', 'x-request-id': /./ })
    for (const name of Object.keys(sent)) t.notOk(name in lastHeaders(), name)
    await until('the decision is logged, with what it would have been', async () => {
      for await (const { decision, shadow } of weir.api.decisions({ source: 'asked' }))
        if (decision === 'allow' && shadow?.decision === 'deny') return true
      return false
    })
  })

  await t.test('enforced, policies refuse, and see the headers that are passed on', async (t) => {
    await weir.api.httpsEdge.update(edge.id, inbound(true))
    await until('it is refused', async () => (await statusOf(closed, '/admin')) === 403)
    t.equal(await statusOf(closed, '/admin', { 'user-agent': 'an admin' }), 200)
    t.equal(await statusOf(closed, '/a//..%2f../x'), 200, 'a path as it came')
    t.equal(await statusOf(open, '/admin'), 403, 'also by the other one')
  })

  await t.test('while Weir is away, failOpen serves', async (t) => {
    await weir.stop()
    t.equal(await statusOf(open, '/admin'), 200)
    t.equal(await statusOf(closed, '/'), 403)
  })
})
