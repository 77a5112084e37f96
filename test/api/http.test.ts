/** Connections that bring no readable request, against a real port. */
import { connect } from 'node:net'
import t from 'tap'
import { openTestStore } from '../harness/api.js'

/** Everything the server answers until it closes the connection. */
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

t.test('requests that are none', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  const address = api.app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const key = `Authorization: Bearer ${me.token}\r\nService-Version: 2\r\n`
  const cases = [
    { name: 'no HTTP', text: 'hello\r\n\r\n', status: 400, code: 'ERR_INVALID_REQUEST' },
    { name: 'an unknown method', text: 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n', status: 400 },
    { name: 'a header too large', text: `GET / HTTP/1.1\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`, status: 431 },
    { name: 'a path too long', text: `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n\r\n`, status: 431 },
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
      name: 'a method that is served nowhere',
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
    const problem = JSON.parse(body)
    t.match(problem, { status_code: status, msg: /\.$/, details: { operation_id: /^op_/ } }, name)
    if (code !== undefined) t.equal(problem.error_code, code, name)
  }
})
