/** Each request gets one answer, in order, whatever else a client sends on its connection. */
import t, { type Test } from 'tap'
import { openTestStore } from '../../harness/api.js'
import { portOf, RawConnection } from '../../harness/raw-connection.js'
import { until } from '../../harness/weir.js'

t.test('one answer for each request', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api({})
  const me = await api.account()
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  const { server } = api.app
  const json = 'Content-Type: application/json'
  const head = (request: string, token = me.token): string[] => [
    `${request} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${token}`,
    'Service-Version: 2',
  ]
  const get = [...head('GET /ip_policies'), '', '']
  const refused = (...more: string[]): string[] => [...head('POST /ip_policies', 'wrong'), json, ...more, '']
  const connection = (t: Test): RawConnection => {
    const raw = new RawConnection(portOf(api.app))
    t.teardown(() => raw.destroy())
    return raw
  }

  await t.test('a request that is refused early may end its body and be followed by others', async (t) => {
    const raw = connection(t)
    raw.send(...refused('Content-Length: 20'), '{"descript')
    await raw.answered(1)
    raw.send('ion": "x"}')
    raw.send(...get)
    await raw.answered(2)
    t.strictSame(raw.statuses, [401, 200])
  })

  await t.test(
    'a body that breaks after an early refusal ends the connection without an answer',
    async (t) => {
      const raw = connection(t)
      raw.send(...refused('Transfer-Encoding: chunked'), '5', '{"des', '')
      await raw.answered(1)
      raw.send('not a chunk', ...get)
      await raw.closed()
      t.strictSame(raw.statuses, [401])
    },
  )

  await t.test('and one whose body never ends', async (t) => {
    const { requestTimeout, headersTimeout } = server
    server.requestTimeout = 300
    server.headersTimeout = 300
    t.teardown(() => Object.assign(server, { requestTimeout, headersTimeout }))
    const raw = connection(t)
    raw.send(...refused('Content-Length: 20'), '{"descript')
    await raw.closed()
    t.strictSame(raw.statuses, [401])
  })

  await t.test('unreadable input after a request is answered after that request', async (t) => {
    const raw = connection(t)
    raw.send(...head('POST /ip_policies'), json, 'Content-Length: 2', '', '{}hello', '', '')
    await raw.closed()
    t.strictSame(raw.statuses, [201, 400])
    const both = connection(t)
    both.send(...get)
    both.send(...head('POST /ip_policies'), json, 'Transfer-Encoding: chunked', '', 'not a chunk', '', '')
    await both.closed()
    t.strictSame(both.statuses, [200, 400])
  })

  await t.test('a client that disconnects in the middle of a body is not a defect', async (t) => {
    const bodies = [
      ['Content-Length: 100', '{"descript'],
      ['Transfer-Encoding: chunked', '5\r\n{"des'],
      ['Transfer-Encoding: chunked', '5\r\n{"des\r\n'],
    ] as const
    for (const [length, sent] of bodies) {
      const before = api.log().length
      const raw = connection(t)
      raw.send(...head('POST /ip_policies'), json, length, '', sent)
      await raw.sent()
      raw.destroy()
      await until('it is logged', () => api.log().length > before)
      const lines = api
        .log()
        .slice(before)
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      t.match(lines, [{ level: 30, msg: 'A connection ended before its request was complete.' }])
      t.match(lines, [{ operation_id: /^op_/, path: '/ip_policies' }])
    }
  })

  await t.test(
    'a connection gets what the key of each request may see now, whatever came before',
    async (t) => {
      const other = await api.account()
      const { id, token } = await me.apiKey.create({})
      const mayRead = token ?? ''
      const policy = await me.ipPolicy.create({ description: 'before' })
      const path = `/ip_policies/${policy.id}`
      const raw = connection(t)
      const answerTo = async (request: string, token: string) => {
        raw.send(...head(request, token), '', '')
        const { status, body } = (await raw.answered(raw.answers.length + 1)).at(-1)!
        return { status, body: JSON.parse(body) }
      }
      const mine = { status: 200, body: { id: policy.id, description: 'before' } }
      t.match(await answerTo(`GET ${path}`, mayRead), mine)
      t.match(await answerTo(`GET ${path}`, mayRead), mine)
      t.match(await answerTo(`GET ${path}`, other.token), { status: 404 })
      t.match(await answerTo(`GET ${path}`, `${mayRead.slice(0, -1)}!`), { status: 401 })
      t.match(await answerTo(`GET ${path}`, mayRead), mine)
      t.match(await answerTo('GET /ip_policies?limit=1', mayRead), { body: { ip_policies: [mine.body] } })
      await me.ipPolicy.update(policy.id, { description: 'after' })
      const changed = { id: policy.id, description: 'after' }
      t.match(await answerTo(`GET ${path}`, mayRead), { status: 200, body: changed })
      t.match(await answerTo('GET /ip_policies?limit=1', mayRead), { body: { ip_policies: [changed] } })
      await me.apiKey.delete(id)
      t.match(await answerTo(`GET ${path}`, mayRead), { status: 401 })
      t.match(await answerTo('GET /ip_policies?limit=1', mayRead), { status: 401 })
      t.match(await answerTo(`GET ${path}`, me.token), { status: 200, body: changed })
    },
  )

  await t.test('input after the last request of a connection is not read', async (t) => {
    const raw = connection(t)
    raw.send(...head('GET /ip_policies'), 'Connection: close', '', '')
    raw.send(...get)
    await raw.closed()
    t.strictSame(raw.statuses, [200])
  })
})
