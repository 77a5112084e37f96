/** The memory that a connection to a broker keeps for its requests. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { API } from '@platformatic/kafka'
import t from 'tap'
import { KafkaConnection } from '../../../src/delivery/deliver/kafka/connection.js'
import { protocol } from '../../../src/delivery/deliver/kafka/protocol.js'
import { collectGarbage } from '../../../src/ground/core/collect-garbage.js'

const lengthBytes = 4
const numberAt = 8
/** It knows the request for versions, in versions 0 to 3. */
const versions = Buffer.from([0, 0, 2, 0, 18, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0])

t.test('it does not grow with the number of requests', async (t) => {
  const broker = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (request) => {
      const head = Buffer.alloc(2 * lengthBytes)
      head.writeInt32BE(lengthBytes + versions.length)
      request.copy(head, lengthBytes, numberAt, numberAt + lengthBytes)
      socket.write(Buffer.concat([head, versions]))
    })
  })
  await once(broker.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => broker.close())
  const place = { host: '127.0.0.1', port: (broker.address() as AddressInfo).port }
  const networks = { check: () => {}, lookup: undefined } as never
  const { signal } = new AbortController()
  const options = { networks, clientId: 'test', tls: undefined, sasl: undefined }
  const connection = await KafkaConnection.open(place, options, signal)
  t.teardown(() => connection.close())
  const { api } = (await protocol()).apiVersionsV3
  const apis = [api as API<[string, string], unknown>]
  const heapAfter = async (times: number): Promise<number> => {
    for (let time = 0; time < times; time += 1) await connection.call(apis, signal, 'weir', '1')
    collectGarbage('all')
    return process.memoryUsage().heapUsed
  }
  const before = await heapAfter(300)
  const bytes = (await heapAfter(3_000)) - before
  // An answer that is kept takes more than a thousand.
  t.ok(bytes < 1_000_000, `${bytes}`)
})
