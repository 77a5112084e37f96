/** The client's retries, its waits and its errors: against a server with prescribed answers. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { ApiError } from '../../../src/words/client/api-error.js'
import { Http, type HttpOptions, type Method, type Request } from '../../../src/words/client/http.js'

interface Told {
  readonly status: number
  readonly retryAfter?: string
  readonly location?: string
  readonly body?: string
}

const busy: Told = {
  status: 503,
  retryAfter: '1',
  body: JSON.stringify({
    error_code: 'ERR_UNAVAILABLE',
    status_code: 503,
    msg: 'The store is away.',
    details: { operation_id: 'op_1' },
  }),
}
const fine: Told = { status: 200, body: '{"id": "x"}' }

/** A server that gives these answers, one after the other, and remembers what it was asked. */
async function serverOf(t: Test, answers: readonly Told[], options: Partial<HttpOptions> = {}) {
  const asked: IncomingMessage[] = []
  const server = createServer((request, response) => {
    const { status, retryAfter, location, body } = answers[Math.min(asked.length, answers.length - 1)]!
    asked.push(request)
    request.resume()
    if (retryAfter !== undefined) response.setHeader('Retry-After', retryAfter)
    if (location !== undefined) response.setHeader('Location', location)
    response.writeHead(status).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { http: new Http({ url, token: 'weir_secret', ...options }), asked }
}

t.test('idempotent requests are retried when the API asks for it', async (t) => {
  const repeatable: readonly [Method, Request][] = [
    ['GET', {}],
    ['PUT', { body: {} }],
    ['PATCH', { body: {} }],
    ['DELETE', {}],
    ['POST', { body: {}, idempotencyKey: 'k' }],
  ]
  for (const [method, request] of repeatable) {
    for (const status of [429, 503]) {
      const { http, asked } = await serverOf(t, [{ ...busy, status }, fine])
      t.strictSame(await http.send(method, '/x', request), { id: 'x' }, `${method} ${status}`)
      t.equal(asked.length, 2)
    }
  }
})

t.test('a POST without a key is sent once', async (t) => {
  const { http, asked } = await serverOf(t, [busy, fine])
  await t.rejects(http.send('POST', '/x', { body: {} }), { name: 'ApiError', status_code: 503 })
  t.equal(asked.length, 1)
})

t.test('retries stop at the maximum wait', async (t) => {
  const { http, asked } = await serverOf(t, [{ ...busy, retryAfter: '31' }, fine])
  await t.rejects(http.send('GET', '/x'), { name: 'ApiError', status_code: 503 })
  t.equal(asked.length, 1)
  const impatient = await serverOf(t, [busy], { waitMs: 2_500 })
  await t.rejects(impatient.http.send('GET', '/x'), { name: 'ApiError', status_code: 503 })
  t.equal(impatient.asked.length, 3, 'after 1 s, and after 2 s')
})

t.test('other refusals, and those without Retry-After, are final', async (t) => {
  const answers = [
    { ...busy, status: 500 },
    { ...busy, status: 400 },
    { status: 503, body: '' },
    { ...busy, retryAfter: 'Wed, 21 Oct 2026 07:28:00 GMT' },
  ]
  for (const answer of answers) {
    const { http, asked } = await serverOf(t, [answer, fine])
    await t.rejects(http.send('GET', '/x'), { name: 'ApiError', status_code: answer.status })
    t.equal(asked.length, 1)
  }
})

t.test('an error has the code, message and operation id of the API', async (t) => {
  const { http } = await serverOf(t, [busy], { waitMs: 0 })
  const error = await http.send('GET', '/x').catch((thrown: unknown) => thrown)
  t.ok(error instanceof ApiError)
  t.match(error, {
    error_code: 'ERR_UNAVAILABLE',
    status_code: 503,
    msg: 'The store is away.',
    operation_id: 'op_1',
    message: 'GET /x: The store is away.',
  })
})

t.test('an error that did not come from the API', async (t) => {
  for (const body of ['<html>Bad Gateway</html>', '', 'null', '{"error": "no"}']) {
    const { http } = await serverOf(t, [{ status: 502, body }])
    const error = await http.send('GET', '/x').catch((thrown: unknown) => thrown)
    t.match(error, { error_code: undefined, status_code: 502, operation_id: undefined, msg: /502/ }, body)
  }
})

t.test('no connection: throws the error of fetch', async (t) => {
  const { http } = await serverOf(t, [fine])
  await http.send('GET', '/x')
  await t.rejects(new Http({ url: 'http://127.0.0.1:9', token: '' }).send('GET', '/x'), TypeError)
})

t.test('the headers of a request, and its query', async (t) => {
  const { http, asked } = await serverOf(t, [fine], { versionHeader: 'Acme-Version' })
  await http.send('POST', '/x', {
    body: { a: 1 },
    idempotencyKey: 'k 1',
    query: { filter: 'a & b', limit: 7 },
  })
  t.equal(asked[0]?.url, '/x?filter=a%20%26%20b&limit=7')
  t.match(asked[0]?.headers, {
    authorization: 'Bearer weir_secret',
    'acme-version': '2',
    'content-type': 'application/json',
    'idempotency-key': 'k 1',
  })
  await http.send('GET', '/x', { query: { filter: undefined } })
  t.equal(asked[1]?.url, '/x')
  t.equal(asked[1]?.headers['content-type'], undefined)
})

t.test('redirects are not followed, so the token stays here', async (t) => {
  const other = await serverOf(t, [fine])
  const { http } = await serverOf(t, [{ status: 302, location: 'http://127.0.0.1:9/' }])
  await t.rejects(http.send('GET', '/x'), TypeError)
  t.equal(other.asked.length, 0)
})

t.test('a request without an answer times out', async (t) => {
  const server = createServer(() => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await t.rejects(new Http({ url, token: '', timeoutMs: 200 }).send('GET', '/x'), { name: 'TimeoutError' })
})

t.test('a stream that is ended before it is answered ends, and does not fail', async (t) => {
  const server = createServer(() => stop.abort())
  const stop = new AbortController()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const http = new Http({ url: `http://127.0.0.1:${port}/`, token: 'weir_secret' })
  const events: unknown[] = []
  for await (const event of http.events('/decisions/live', {}, stop.signal)) events.push(event)
  t.strictSame(events, [])
})
