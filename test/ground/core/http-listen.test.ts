/** Connections over HTTP: silent ones are closed, and there is a bound on how many there are. */

import t, { type Test } from 'tap'
import { type ConnectionBounds, defaultBounds, listenHttp } from '../../../src/ground/core/http-listen.js'
import { RawConnection } from '../../harness/raw-connection.js'
import { until } from '../../harness/weir.js'

const get = ['GET / HTTP/1.1', 'Host: x', '', '']

/** A server with these bounds, and a function that connects to it. */
async function open(t: Test, bounds: Partial<ConnectionBounds>) {
  const refused: string[] = []
  const server = await listenHttp('127.0.0.1', 0, (_request, response) => void response.end('ok'), {
    bounds: { firstRequestMs: 60_000, max: 100, perAddressMax: 100, ...bounds },
    connectionRefused: (because) => refused.push(because),
  })
  t.teardown(() => server.close())
  const connect = (): RawConnection => {
    const raw = new RawConnection(Number(new URL(server.url).port))
    t.teardown(() => raw.destroy())
    return raw
  }
  /** A connection on which a request was answered. */
  const used = async (): Promise<RawConnection> => {
    const raw = connect()
    raw.send(...get)
    await raw.answered(1)
    return raw
  }
  return { connect, used, refused }
}

t.test('a connection without a request is closed, and one with a request stays', async (t) => {
  const { connect, used } = await open(t, { firstRequestMs: 300 })
  const kept = await used()
  const silent = [connect(), connect()]
  // The other one has been without a request for longer by then.
  for (const raw of silent) t.strictSame(await raw.closed(), [])
  kept.send(...get)
  await kept.answered(2)
  t.strictSame(kept.statuses, [200, 200])
})

for (const [because, bounds] of [
  ['all', { max: 2 }],
  ['address', { perAddressMax: 2 }],
] as const) {
  t.test(`too many connections: ${because}`, async (t) => {
    const { connect, used, refused } = await open(t, bounds)
    const first = await used()
    await used()
    const third = connect()
    third.send(...get)
    t.strictSame(await third.closed(), [])
    t.strictSame(refused, [because])
    first.destroy()
    await until('there is room again', async () => {
      const next = connect()
      next.send(...get.toSpliced(2, 0, 'Connection: close'))
      return (await next.closed()).length > 0
    })
  })
}

t.test('clients leave descriptors to the process', async (t) => {
  const { max, perAddressMax, firstRequestMs } = defaultBounds()
  t.ok(max >= 1 && max <= 10_000)
  t.ok(perAddressMax <= max)
  t.equal(firstRequestMs, 30_000)
})
