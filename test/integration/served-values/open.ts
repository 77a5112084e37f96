/** Weir, an application and a proxy between a client and both: what was asked, and what was served. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import type { Test } from 'tap'
import { freePort } from '../../../src/delivery/nats-server/nats-probe.js'
import type { RequestRecord } from '../../../src/delivery/record/traffic-record.js'
import type { Judgement } from '../../../src/judging/evaluate/judgement.js'
import type { PolicySet } from '../../../src/judging/evaluate/policy-set.js'
import { openDecisionPort } from '../../../src/management/decide/decision-port.js'
import type { DecidedBy } from '../../../src/words/event/define.js'
import type { AskingProxy } from '../../harness/asking-proxies.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'
import { noGeo } from '../../judging/evaluate/configuration.js'

/** A request as the application got it. */
export interface Served {
  readonly method: string
  readonly target: string
  readonly headers: readonly Header[]
  /** All of it, characters are bytes. */
  readonly bytes: string
}

interface Header {
  readonly name: string
  readonly value: string
}

export interface Seen {
  /** Of the answer; undefined if the proxy closed without one. */
  readonly status: number | undefined
  /** Undefined if Weir was not asked, or refused the question. */
  readonly asked: RequestRecord | undefined
  readonly decidedBy: DecidedBy | undefined
  readonly served: Served | undefined
}

interface Opened {
  readonly port: number
  readonly see: (request: string) => Promise<Seen>
}

/** Answers whatever comes, and shows its bytes, because parsers would clean them. */
async function openApplication(t: Test) {
  const served: Served[] = []
  const server = createServer((socket) => {
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!text.includes('\r\n\r\n')) return
      served.push(servedIn(text))
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nserved')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, served }
}

function servedIn(text: string): Served {
  const [line = '', ...fields] = text
    .slice(0, text.indexOf('\r\n\r\n'))
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const [method = '', target = ''] = line.split(' ')
  const headers = fields.map((field) => {
    const end = field.indexOf(':')
    return { name: field.slice(0, end), value: field.slice(end + 1).trim() }
  })
  return { method, target, headers, bytes: text }
}

/** The key that it takes. */
export const key = 'weir_key'

export async function openWeir(t: Test, policySet: PolicySet) {
  const asked: Judgement[] = []
  const opened = await openDecisionPort('127.0.0.1', 0, {
    policySet: () => policySet,
    geo: noGeo,
    keysOf: (token) => (token === key ? [{ id: 'ak_1', account_id: 'ac_1', rights: null } as never] : []),
    keyUses: { note: () => {} },
    trustedProxies: ['127.0.0.0/8'],
    occurrences: {
      connectionRefused: () => {},
      loginFailed: () => {},
      decisionTimed: () => {},
      requestFailed: () => {},
    },
    noted: (judgement) => {
      asked.push(judgement)
    },
  })
  t.teardown(() => opened!.close())
  return { address: new URL(opened!.url).host, asked }
}

/** How requests reach the proxy; the same requests, written as for HTTP/1. */
export interface Wire {
  readonly http2: boolean
  /** Resolves with the status of the answer, if there is one. */
  readonly send: (port: number, request: string) => Promise<number | undefined>
}

const http1: Wire = { http2: false, send: statusOf }

async function statusOf(port: number, request: string): Promise<number | undefined> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write(Buffer.from(request, 'latin1'))
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    // Some proxies keep a connection that was to be closed, and some say first that they wait for a body.
    text = text.replace(/^HTTP\/1\.1 1[\s\S]*?\r\n\r\n/, '')
    if (/^HTTP[\s\S]*\r\n\r\n/.test(text)) socket.end()
  })
  // A proxy that refuses a request may reset the connection.
  socket.on('error', () => {})
  await new Promise((resolve) => socket.on('close', resolve))
  return text === '' ? undefined : Number(text.split(' ')[1])
}

/** `policySet`: what Weir answers by; what it is asked is seen in any case. */
export async function openProxy(
  t: Test,
  proxy: AskingProxy,
  policySet: (port: number) => Promise<PolicySet>,
  { http2, send }: Wire = http1,
): Promise<Opened> {
  const port = await freePort()
  const app = await openApplication(t)
  const weir = await openWeir(t, await policySet(port))
  const dir = tempDir(t)
  const child = proxy.start(proxy.program!, {
    dir,
    port,
    key,
    weir: weir.address,
    app: app.address,
    edgeId: 'edghts_1',
    http2,
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (said += String(text)))
  t.teardown(async () => {
    const closed = once(child, 'exit')
    if (child.exitCode === null && child.kill()) await closed
  })
  const see = async (request: string): Promise<Seen> => {
    const before = [weir.asked.length, app.served.length] as const
    const status = await send(port, request)
    const judgement = weir.asked[before[0]]
    const asked = judgement?.record as RequestRecord | undefined
    return { status, asked, decidedBy: judgement?.decidedBy, served: app.served[before[1]] }
  }
  await until(`${proxy.name} serves`, async () => {
    if (child.exitCode !== null) throw new Error(said)
    const request = `GET / HTTP/1.1\r\nHost: public.example:${port}\r\nConnection: close\r\n\r\n`
    return (await see(request)).served !== undefined
  }).catch((error: unknown) => {
    throw new Error(`${String(error)} ${said}`)
  })
  return { port, see }
}
