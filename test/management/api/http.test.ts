/** Connections without a readable request, to a real port. */
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { exprBytesMax } from '../../../src/ground/core/limits.js'
import { queryExprCharsMax } from '../../../src/words/resource/fields/expression-schema.js'
import { openTestStore, type TestApi } from '../../harness/api.js'
import { all, type Caller } from '../../harness/caller.js'
import { portOf } from '../../harness/raw-connection.js'

/** All bytes that the server sends until it closes the connection. */
const exchange = (port: number, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(text))
    let answer = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('end', () => resolve(answer))
    socket.on('error', reject)
  })

t.test('connections', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api({})
  const me = await api.account()
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  await t.test('input that is not HTTP', (t) => unreadable(t, me, portOf(api.app)))
  await t.test('a filter that fits its schema fits the request line', async (t) => {
    const head = 'description == ""'
    const filters = [...'xéア😀'].map(
      (letter) => `${head.slice(0, -1)}${letter.repeat(queryExprCharsMax - head.length)}"`,
    )
    const longest = `${head.slice(0, -1)}${'='.repeat(exprBytesMax - head.length)}"`
    for (const filter of [...filters, longest]) {
      const path = `/ip_policies?filter=${encodeURIComponent(filter)}`
      const answer = await fetch(`http://127.0.0.1:${portOf(api.app)}${path}`, {
        headers: { Authorization: `Bearer ${me.token}`, 'Service-Version': '2' },
      })
      t.equal(answer.status, 200, `${filter.slice(15, 18)}: ${path.length} bytes`)
      await answer.body?.cancel()
    }
  })
  await t.test('clients that hold a connection and send almost nothing', (t) => slow(t, me, api))
})

async function unreadable(t: Test, me: Caller, port: number): Promise<void> {
  const key = `Authorization: Bearer ${me.token}\r\nService-Version: 2\r\n`
  const cases = [
    { name: 'not HTTP', text: 'hello\r\n\r\n', status: 400, code: 'ERR_INVALID_REQUEST' },
    { name: 'an unknown method', text: 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n', status: 400 },
    { name: 'a header too large', text: `GET / HTTP/1.1\r\nX: ${'a'.repeat(66_000)}\r\n\r\n`, status: 431 },
    { name: 'a path too long', text: `GET /${'a'.repeat(66_000)} HTTP/1.1\r\n\r\n`, status: 431 },
    {
      name: 'two lengths',
      text: `POST /ip_policies HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
      status: 400,
    },
    {
      name: 'no host',
      text: `GET /ip_policies HTTP/1.1\r\n${key}Connection: close\r\n\r\n`,
      status: 400,
      code: 'ERR_INVALID_REQUEST',
    },
    {
      name: 'a method without any operation',
      text: `PROPFIND /ip_policies HTTP/1.1\r\nHost: x\r\n${key}Connection: close\r\n\r\n`,
      status: 404,
    },
    {
      name: 'no content type at all',
      text: `POST /ip_policies HTTP/1.1\r\nHost: x\r\n${key}Connection: close\r\nContent-Length: 2\r\n\r\n{}`,
      status: 415,
    },
  ]
  for (const { name, text, status, code } of cases) {
    const answer = await exchange(port, text)
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    t.match(head, new RegExp(`^HTTP/1.1 ${status} `), name)
    t.match(head, /operation-id: op_\w+/i, name)
    t.match(head, /x-content-type-options: nosniff/i, name)
    t.match(head, /cache-control: no-store/i, name)
    const problem = JSON.parse(body)
    t.match(problem, { status_code: status, msg: /\.$/, details: { operation_id: /^op_/ } }, name)
    if (code !== undefined) t.equal(problem.error_code, code, name)
  }
}

/** Sends pieces until the server closes the connection. */
const trickle = (port: number, begin: string, piece: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(begin))
    const more = setInterval(() => socket.write(piece), 50)
    let answer = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('end', () => socket.end())
    // The connection may already be closed when the last pieces are sent.
    socket.on('error', (error: Error & { code?: string }) => {
      if (!/^(ECONNRESET|EPIPE)$/.test(error.code ?? '')) reject(error)
    })
    socket.on('close', () => {
      clearInterval(more)
      resolve(answer)
    })
  })

async function slow(t: Test, me: Caller, api: TestApi): Promise<void> {
  const { server } = api.app
  t.equal(server.requestTimeout, 30_000)
  t.equal(server.headersTimeout, 30_000)
  t.equal(server.keepAliveTimeout, 60_000)
  server.requestTimeout = 300
  server.headersTimeout = 300
  server.keepAliveTimeout = 300
  const port = portOf(api.app)
  const head = `Host: x\r\nAuthorization: Bearer ${me.token}\r\nService-Version: 2\r\n`
  const ofBody = 'Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"description": "'
  const [headers, body, idle] = await Promise.all([
    trickle(port, `GET /ip_policies HTTP/1.1\r\n${head}`, 'X-More: x\r\n'),
    trickle(port, `POST /ip_policies HTTP/1.1\r\n${head}${ofBody}`, 'x'),
    exchange(port, `GET /ip_policies HTTP/1.1\r\n${head}\r\n`),
  ])
  for (const [name, answer] of Object.entries({ headers, body })) {
    t.match(answer, /^HTTP\/1.1 408 /, `${name} that never end`)
    t.match(answer, /"ERR_REQUEST_TIMEOUT"/, name)
  }
  t.match(idle, /^HTTP\/1.1 200 /, 'an idle connection was answered, and closed')
  t.strictSame(await all(me.ipPolicy.list()), [], 'and nothing was created')
}
