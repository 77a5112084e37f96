/** Requests with every byte in every place, and what a server's log should say of each. */
import { connect } from 'node:net'
import type { Client } from './log-programs.js'

export interface HostileRequest {
  /** The place, and the bytes in it. */
  readonly says: string
  readonly method: string
  /** Behind the number of the request. */
  readonly target: Buffer
  readonly agent: Buffer
  readonly user: Buffer
  readonly host: string
  readonly forwarded: string | undefined
}

const plain: HostileRequest = {
  says: 'plain',
  method: 'GET',
  target: Buffer.from('a'),
  agent: Buffer.from('agent'),
  user: Buffer.from('user'),
  host: 'web.example',
  forwarded: undefined,
}

const around = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from('a'), bytes, Buffer.from('z')])

type Place = readonly [name: string, put: (bytes: Buffer) => Partial<HostileRequest>]

const places: readonly Place[] = [
  ['path', (bytes) => ({ target: around(bytes) })],
  ['query', (bytes) => ({ target: Buffer.concat([Buffer.from('a?q='), around(bytes)]) })],
  ['agent', (bytes) => ({ agent: around(bytes) })],
  ['user', (bytes) => ({ user: around(bytes) })],
]

/** Those that programs escape, and neighbours of the bounds of what they escape; the others by `--full`. */
const someBytes = [
  1, 8, 9, 11, 12, 13, 27, 31, 32, 34, 35, 37, 39, 45, 58, 63, 91, 92, 93, 123, 124, 125, 126, 127, 128, 195,
  255,
]
const everyByte = Array.from({ length: 255 }, (_, index) => index + 1)

const texts = [
  'caf\u00e9 \u20ac \u{1f600}',
  String.raw`\x41\xC3\xA9\n\"\\ #C3#A9 %C3%A9`,
  '"] "GET /other HTTP/1.1" 200 1 "-" "-',
  ' [10/Oct/2026:13:55:36 +0000] ',
  '{x|y} {z} 0/0 "GET /other HTTP/1.1"',
  '","remote_addr":"6.6.6.6","x":"',
  '-',
]
const long = 'long '.repeat(1_500)

/** A method may be any token; nginx takes capitals, `_` and `-`. */
const methods = ['POST', 'PRO_P-X', 'get', "a!#$%&'*+.^`|~9"]
const hosts = ['web.example', 'Web.Example', 'web.example:8080', '[2001:db8::1]:8080', '192.0.2.1']
const forwarded = ['203.0.113.9', '6.6.6.6, 203.0.113.9', '203.0.113.9, 127.0.0.2', '2001:DB8::7']

export function hostileRequests(isFull: boolean): readonly HostileRequest[] {
  const bytes = (isFull ? everyByte : someBytes).map((byte) => Buffer.from([byte]))
  const all = [...bytes, ...[...texts, long].map((text) => Buffer.from(text))]
  return [
    // A method, a host and a list of addresses have a syntax of their own.
    ...places.flatMap(([name, put]) =>
      all.map((each) => ({
        ...plain,
        ...put(each),
        says: `${name}: ${JSON.stringify(each.toString('latin1').slice(0, 40))}`,
      })),
    ),
    { ...plain, says: 'an empty user', user: Buffer.from('') },
    ...methods.map((method) => ({ ...plain, method, says: `method: ${method}` })),
    ...hosts.map((host) => ({ ...plain, host, says: `host: ${host}` })),
    ...forwarded.map((list) => ({ ...plain, forwarded: list, says: `forwarded: ${list}` })),
  ]
}

/** The number of a request stands in its target, so that its line is found. */
export const targetOf = (index: number, { target }: HostileRequest): Buffer =>
  Buffer.concat([Buffer.from(`/${index}/`), target])

export const proxiedClient = { address: '203.0.113.44', port: 5678 }

/** The list that the nearest proxy sends, where it always sends one, for a client that sent none. */
export const forwardedAlways = '198.51.100.1'

const bytesOf = (index: number, request: HostileRequest, client: Client): Buffer => {
  const { method, agent, user, host } = request
  const list = request.forwarded ?? (client === 'forwarded, always' ? forwardedAlways : undefined)
  const credentials = Buffer.concat([user, Buffer.from(':secret')]).toString('base64')
  return Buffer.concat([
    Buffer.from(
      client === 'proxy protocol'
        ? `PROXY TCP4 ${proxiedClient.address} 192.0.2.1 ${proxiedClient.port} 80\r\n`
        : '',
    ),
    Buffer.from(`${method} `),
    targetOf(index, request),
    Buffer.from(` HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: `),
    agent,
    Buffer.from(
      `\r\nAuthorization: Basic ${credentials}\r\n${list === undefined ? '' : `X-Forwarded-For: ${list}\r\n`}`,
    ),
    Buffer.from('Content-Length: 0\r\nConnection: close\r\n\r\n'),
  ])
}

export interface Sent {
  /** Undefined if there was no answer. */
  readonly status: number | undefined
  /** The port of the connection. */
  readonly port: number
}

const silentMs = 20_000

/** Sends the request on a connection of its own; resolves when the server has closed it. */
export const send = (index: number, request: HostileRequest, client: Client, port: number): Promise<Sent> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    let answer = ''
    let localPort = 0
    socket.setTimeout(silentMs, () => socket.destroy())
    socket.once('connect', () => {
      localPort = socket.localPort ?? 0
      socket.write(bytesOf(index, request, client))
    })
    socket.on('data', (chunk) => (answer += chunk.toString('latin1')))
    // A server that refuses a request may reset the connection.
    socket.on('error', () => {})
    socket.once('close', () => {
      const { 1: status } = /^HTTP\/\S+ (\d{3})/.exec(answer) ?? []
      resolve({ status: status === undefined ? undefined : Number(status), port: localPort })
    })
  })
