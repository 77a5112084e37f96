/** Weir's decisions about targets, and servers that are asked for them: what they serve of private content. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import type { Test } from 'tap'
import { parseDecisionRequest } from '../../../src/delivery/record/record.js'
import { decideRecord } from '../../../src/judging/evaluate/decide.js'
import { buildPolicySet } from '../../../src/judging/evaluate/policy-set.js'
import { callerAddress } from '../../../src/management/access/caller.js'
import { recordOfProxy } from '../../../src/management/decide/forwarded-request.js'
import { freePorts } from '../../harness/free-ports.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'
import { deny, noGeo, noYield, TestConfiguration } from '../../judging/evaluate/configuration.js'
import { openApplication } from './routers.js'
import { type Place, type Site, type TargetServer, writeFiles } from './servers.js'

// --- Weir ---

const denying = (name: string, expression: string) => ({
  enabled: true,
  inbound: [{ name, expressions: [expression], actions: [deny] }],
  outbound: [],
})

/** Private paths are denied: listed ones of one host, all but public ones of another. */
export const policySetAt = (port: number) =>
  buildPolicySet(
    new TestConfiguration('ac_1')
      .httpsEdge(
        'edghts_listed',
        [`listed:${port}`],
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
        [`public:${port}`],
        'ac_1',
        denying('other', "!http.request.url.path.startsWith('/public/')"),
      ),
    undefined,
    noYield,
  )

const policySet = await policySetAt(80)

export const hostOf = ({ protects }: Site): string => (protects === 'listed' ? 'listed' : 'public')

/** The answer of `/decide/auth_request` to a proxy that sends this target. */
export function decisionOf(target: string, site: Site): string {
  const headers = {
    'x-forwarded-for': ['203.0.113.7'],
    'x-forwarded-proto': ['http'],
    'x-forwarded-host': [hostOf(site)],
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
  return record.ok ? decisionOfRecord(record.value) : `refused: ${record.problem.msg}`
}

export function decisionOfRecord(record: unknown): string {
  const parsed = parseDecisionRequest(record)
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
export async function ask(
  port: number,
  target: string,
  from: number,
  sentHeaders = 'Host: h',
): Promise<Answer | undefined> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${1 + (from % 50)}` })
  socket.write(Buffer.from(`GET ${target} HTTP/1.1\r\n${sentHeaders}\r\nConnection: close\r\n\r\n`, 'latin1'))
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

/** The signs of private content in the answer; empty if there are none. */
export function servedIn({ status, headers, body }: Answer, { protects }: Site): string {
  // Headers of an answer to what is no request show nothing.
  if (status === 400) return ''
  if (body.includes('PRIVATE')) return 'content'
  return headers.get(protects === 'listed' ? 'x-private' : 'x-not-public') ?? ''
}

export interface OpenedSite {
  readonly site: Site
  readonly port: number
}

/** `more`: of the server's configuration. */
export async function opened(t: Test, server: TargetServer, more = ''): Promise<OpenedSite[]> {
  const dir = tempDir(t)
  const app = openApplication()
  app.listen(0, '127.0.0.1')
  await once(app, 'listening')
  t.teardown(() => app.close())
  const place: Place = { dir, root: writeFiles(dir), app: `127.0.0.1:${(app.address() as AddressInfo).port}` }
  const served = server.sites(place)
  const ports = await freePorts(served.length)
  const sites = served.map((site, n): OpenedSite => ({ site, port: ports[n]! }))
  const text = sites.map(({ site, port }) => site.text(port)).join('\n')
  const args = server.args(place, `${more}\n${text}`)
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
