/** Which servers a destination may lead to: the address that is connected to decides, however it is written. */
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { connectionFault } from '../../../src/delivery/outgoing/faults.js'
import {
  PrivateNetworkError,
  ReachableNetworks,
  UnknownHostError,
} from '../../../src/delivery/outgoing/private-networks.js'

t.test('networks that are not public are refused, unless they are allowed', async (t) => {
  const none = new ReachableNetworks()
  const some = new ReachableNetworks(['10.1.0.0/16', 'fd00::/8'])
  const cases: [address: string, isReachable: boolean, isAllowed: boolean][] = [
    ['8.8.8.8', true, true],
    ['2606:4700::1111', true, true],
    ['127.0.0.1', false, false],
    ['10.1.2.3', false, true],
    ['10.2.2.3', false, false],
    ['172.31.255.255', false, false],
    ['192.168.0.1', false, false],
    ['169.254.169.254', false, false],
    ['100.64.0.1', false, false],
    ['0.0.0.0', false, false],
    ['255.255.255.255', false, false],
    ['::1', false, false],
    ['::', false, false],
    ['::ffff:127.0.0.1', false, false],
    ['::ffff:10.1.2.3', false, true],
    ['::ffff:8.8.8.8', true, true],
    ['::7f00:1', false, false],
    ['64:ff9b::7f00:1', false, false],
    ['::ffff:0:10.1.2.3', false, false],
    ['168.63.129.16', false, false],
    ['2002:7f00:1::', false, false],
    ['fd12::1', false, true],
    ['fe80::1', false, false],
    ['not an address', false, false],
  ]
  for (const [address, isReachable, isAllowed] of cases) {
    t.equal(none.isReachable(address), isReachable, address)
    t.equal(some.isReachable(address), isAllowed, `${address}, if two networks are allowed`)
  }
})

/** A server on loopback, and what a request to it through the agent meets. */
async function request(allowed: readonly string[], host: string): Promise<unknown> {
  const server = createServer((_, response) => response.end('here')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const agent = new ReachableNetworks(allowed).httpAgent({})
  try {
    return await new Promise((resolve) => {
      const asked = get(`http://${host}:${port}/`, { agent }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      asked.on('error', resolve)
    })
  } finally {
    agent.destroy()
    server.closeAllConnections()
    server.close()
  }
}

t.test('a connection is checked for the address that it goes to', async (t) => {
  const written = ['127.0.0.1', 'localhost', '127.1', '0x7f000001', '2130706433', '[::ffff:127.0.0.1]']
  for (const host of written) {
    const refusal = await request([], host)
    t.ok(refusal instanceof PrivateNetworkError || refusal instanceof UnknownHostError, host)
    t.match(
      (refusal as Error).message,
      /private network, which WEIR_HTTP_PRIVATE|private network; WEIR/,
      host,
    )
    t.equal(await request(['127.0.0.0/8'], host), 200, `${host}, if it is allowed`)
  }
})

t.test('a name in a private network and one that does not exist: the same sentence', async (t) => {
  const inside = new ReachableNetworks([], async () => [{ address: '10.0.0.7', family: 4 }])
  const refusals = ['ENOTFOUND', 'EAI_AGAIN', 'ESERVFAIL'].map((code) =>
    new ReachableNetworks([], async () => {
      throw Object.assign(new Error(`getaddrinfo ${code} db.internal`), { code })
    }).addressesOf('db.internal'),
  )
  const faults = await Promise.all(
    [inside.addressesOf('db.internal'), ...refusals].map((each) => each.catch(connectionFault)),
  )
  const [first] = faults
  t.match(first, { class: 'transient', code: 'UnknownHost', msg: /^db\.internal has no address/ })
  for (const fault of faults) t.strictSame(fault, first)
})

t.test('connections that wait for the same name look it up once, and later ones again', async (t) => {
  const asked: (() => void)[] = []
  const networks = new ReachableNetworks(
    [],
    () => new Promise((resolve) => asked.push(() => resolve([{ address: '8.8.8.8', family: 4 }]))),
  )
  const both = [networks.addressesOf('slow.example'), networks.addressesOf('slow.example')]
  await new Promise(setImmediate)
  t.equal(asked.length, 1)
  asked[0]?.()
  t.strictSame(await Promise.all(both), [['8.8.8.8'], ['8.8.8.8']])
  const later = networks.addressesOf('slow.example')
  await new Promise(setImmediate)
  t.equal(asked.length, 2)
  asked[1]?.()
  await later
})
