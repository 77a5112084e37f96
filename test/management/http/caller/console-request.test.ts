/** From which pages a session may change something: a foreign name can be made to lead here (DNS rebinding). */
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { checkConsoleRequest } from '../../../../src/management/http/caller/console-request.js'

/** A browser's request from a page at `origin`; `localAddress`: where the connection came in. */
const request = (host: string, origin: string, localAddress: string): FastifyRequest =>
  ({
    host,
    method: 'POST',
    raw: { rawHeaders: ['Weir-Console', '1', 'Origin', origin] },
    socket: { localAddress },
  }) as unknown as FastifyRequest

const [local, far] = ['127.0.0.1', '10.0.0.9']
const set = 'https://weir.example'

const cases: [
  name: string,
  host: string,
  localAddress: string,
  baseUrl: string | undefined,
  isOwn: boolean,
][] = [
  ['loopback', 'localhost:8080', local, undefined, true],
  ['a name below localhost', 'weir.localhost:8080', local, undefined, true],
  ['an address', '10.0.0.9:8080', far, undefined, true],
  ['IPv6', '[2001:db8::1]:8080', '2001:db8::1', undefined, true],
  ['a foreign name, over loopback', 'evil.example:8080', local, undefined, false],
  ['a foreign name, over loopback with IPv6', 'evil.example:8080', '::1', undefined, false],
  ['one that only looks like loopback', 'localhost.evil.example:8080', local, undefined, false],
  ['one that only looks like an address', '127.0.0.1.evil.example', local, undefined, false],
  ['a name of the network, if none is set', 'weir.internal:8080', far, undefined, true],
  ['a foreign name, if one is set', 'evil.example', far, set, false],
  ['loopback, if one is set', 'localhost:8080', local, set, true],
]

t.test('the name that a request was sent to', (t) => {
  for (const [name, host, localAddress, baseUrl, isOwn] of cases) {
    const check = (): void => checkConsoleRequest(request(host, `http://${host}`, localAddress), baseUrl)
    if (isOwn) t.doesNotThrow(check, name)
    else t.throws(check, { status: 403, message: /own origin only\..*WEIR_BASE_URL/ }, name)
  }
  t.end()
})

t.test('the name that is set, behind a proxy that sends another one', (t) => {
  t.doesNotThrow(() => checkConsoleRequest(request('api:8080', set, far), set))
  t.throws(() => checkConsoleRequest(request('api:8080', 'http://api:8080', far), set), /"http:\/\/api:8080"/)
  t.end()
})
