/**
 * Weir and the server behind it must not read a target differently: whenever nginx, HAProxy, Apache, Caddy or an application on
 * Node serves private content, Weir had said no. Hostile targets are sent as bytes, because HTTP clients clean them.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { eachOf } from '../../src/core/concurrency.js'
import { recordOfProxy } from '../../src/decide/forwarded-request.js'
import { decideRecord } from '../../src/evaluate/decide.js'
import { buildPolicySet } from '../../src/evaluate/policy-set.js'
import { callerAddress } from '../../src/http/caller/caller.js'
import { freePort } from '../../src/nats-server/nats-probe.js'
import { parseDecisionRequest } from '../../src/record/record.js'
import { deny, noGeo, noYield, TestConfiguration } from '../evaluate/configuration.js'
import { tempDir } from '../harness/temp-dir.js'
import { until } from '../harness/weir.js'
import { openApplication } from './served-targets/routers.js'
import {
  apache,
  caddy,
  haproxy,
  isInstalled,
  nginx,
  type Place,
  type Site,
  type TargetServer,
  writeFiles,
} from './served-targets/servers.js'
import { hostileTargets } from './served-targets/targets.js'

const isFull = process.argv.includes('--full')
// Many requests to many sites.
const timeoutMs = 3_600_000
t.setTimeout(timeoutMs)
const targetsPerServer = Number(process.env['TARGETS'] ?? (isFull ? 20_000 : 300))
const seed = Number(process.env['SEED'] ?? 49)

// --- Weir ---

const denying = (name: string, expression: string) => ({
  enabled: true,
  inbound: [{ name, expressions: [expression], actions: [deny] }],
  outbound: [],
})

const policySet = await buildPolicySet(
  new TestConfiguration('ac_1')
    .httpsEdge(
      'edghts_listed',
      ['listed:80'],
      'ac_1',
      denying('admin', "http.request.url.path.startsWith('/admin/')"),
    )
    .route('edghtsrt_private', {
      edge_id: 'edghts_listed',
      match_type: 'path_prefix',
      match: '/private',
      policies: denying('nobody', 'true'),
    })
    .route('edghtsrt_secret', {
      edge_id: 'edghts_listed',
      match_type: 'exact_path',
      match: '/secret',
      policies: denying('nobody', 'true'),
    })
    .httpsEdge(
      'edghts_public',
      ['public:80'],
      'ac_1',
      denying('other', "!http.request.url.path.startsWith('/public/')"),
    ),
  undefined,
  noYield,
)

/** What `/decide/auth_request` answers to a proxy that sends this target. */
function decisionOf(target: string, { protects }: Site): string {
  const headers = {
    'x-forwarded-for': ['203.0.113.7'],
    'x-forwarded-proto': ['http'],
    'x-forwarded-host': [protects === 'listed' ? 'listed' : 'public'],
    'x-forwarded-uri': [target],
  }
  const asked = {
    method: 'GET',
    headers,
    keyHeaders: [],
    appendedUri: '',
    peer: '127.0.0.1',
    type: undefined,
    edgeId: undefined,
  }
  const record = recordOfProxy(asked, 'ac_1', () => true, callerAddress)
  if (!record.ok) return `refused: ${record.problem.msg}`
  const parsed = parseDecisionRequest(record.value)
  if (!parsed.ok) return `refused: ${parsed.problem.msg}`
  const decided = decideRecord(policySet, noGeo, parsed.value, 'ac_1')
  return decided.ok ? decided.value.judgement.decision : `refused: ${decided.problem.msg}`
}

// --- a server ---

interface Answer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** Undefined if the server closes without an answer. */
async function ask(port: number, target: string, from: number): Promise<Answer | undefined> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${1 + (from % 50)}` })
  socket.write(Buffer.from(`GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`, 'latin1'))
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  // A server that refuses a request may reset the connection.
  socket.on('error', () => {})
  await new Promise((resolve) => socket.on('close', resolve))
  const text = Buffer.concat(chunks).toString('latin1')
  const [head = '', body = ''] = [text.split('\r\n\r\n', 1)[0], text.slice(text.indexOf('\r\n\r\n') + 4)]
  const [line = '', ...fields] = head.split('\r\n')
  const status = Number(line.split(' ')[1])
  if (!Number.isInteger(status)) return undefined
  const headers = new Map(
    fields.map((field) => [field.split(':', 1)[0]!.toLowerCase(), field.slice(field.indexOf(':') + 2)]),
  )
  return { status, headers, body }
}

/** What of private content the answer shows; empty if nothing. */
function servedIn({ status, headers, body }: Answer, { protects }: Site): string {
  // Headers of an answer to what is no request show nothing.
  if (status === 400) return ''
  if (body.includes('PRIVATE')) return 'content'
  return headers.get(protects === 'listed' ? 'x-private' : 'x-not-public') ?? ''
}

async function opened(t: Test, server: TargetServer): Promise<{ site: Site; port: number }[]> {
  const dir = tempDir(t)
  const app = openApplication()
  app.listen(0, '127.0.0.1')
  await once(app, 'listening')
  t.teardown(() => app.close())
  const place: Place = { dir, root: writeFiles(dir), app: `127.0.0.1:${(app.address() as AddressInfo).port}` }
  const sites: { site: Site; port: number }[] = []
  for (const site of server.sites(place)) sites.push({ site, port: await freePort() })
  const args = server.args(place, sites.map(({ site, port }) => site.text(port)).join('\n'))
  const env = { ...process.env, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir }
  const child = spawn(server.program, args, { cwd: dir, env })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += String(text)))
  t.teardown(async () => {
    const closed = once(child, 'exit')
    if (child.exitCode === null && child.kill()) await closed
  })
  for (const { port } of sites)
    await until('it serves', async () => {
      if (child.exitCode !== null) throw new Error(said)
      return (await ask(port, '/', 0))?.status !== undefined
    })
  return sites
}

for (const server of [nginx, haproxy, apache, caddy]) {
  const skip = isInstalled(server) ? false : `${server.program} is not installed`
  t.test(`what ${server.name} serves, Weir let in`, { skip, timeout: timeoutMs }, async (t) => {
    const sites = await opened(t, server)
    const targets = [...hostileTargets(seed, targetsPerServer)]
    const passed: string[] = []
    for (const { site, port } of sites) {
      const counts = { served: 0, letIn: 0 }
      await eachOf([...targets.entries()], 16, async ([index, sent]) => {
        const answer = await ask(port, sent, index)
        if (answer === undefined) return
        const seen = answer.headers.get('x-target') ?? sent
        const target = /^GET (.*) HTTP\/1\.1$/.exec(seen)?.[1] ?? seen
        const decision = decisionOf(target, site)
        const served = servedIn(answer, site)
        if (served !== '') counts.served += 1
        if (decision === 'allow') counts.letIn += 1
        if (served !== '' && decision === 'allow')
          passed.push(`${site.name}: ${JSON.stringify(sent)} (${JSON.stringify(target)}) served as ${served}`)
      })
      t.comment(`${site.name}: ${JSON.stringify(counts)} of ${targets.length}`)
      t.ok(
        counts.served > 0 && counts.letIn > 0,
        `${site.name} serves private content, and Weir lets some in`,
      )
    }
    t.strictSame(passed.slice(0, 20), [], `${passed.length} targets passed`)
  })
}
