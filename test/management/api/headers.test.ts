/** Headers that are repeated, contradict each other, or announce an encoded body. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { openTestStore } from '../../harness/api.js'
import { portOf, RawConnection } from '../../harness/raw-connection.js'

t.test('headers', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api({ versionHeaders: ['Service-Version', 'X-Version'] })
  const me = await api.account()
  const other = await api.account()
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  const bearer = (token: string): string => `Authorization: Bearer ${token}`
  const host = 'Host: x'
  const mine = bearer(me.token)
  const version = 'Service-Version: 2'
  const json = 'Content-Type: application/json'

  /** The answer to a request with exactly these headers. */
  const answerTo = async (request: string, headers: readonly string[], body = Buffer.alloc(0)) => {
    const raw = new RawConnection(portOf(api.app))
    const length = body.length === 0 ? [] : [`Content-Length: ${body.length}`]
    raw.send(`${request} HTTP/1.1`, ...headers, ...length, 'Connection: close', '', body.toString('latin1'))
    const [answer] = await raw.closed()
    return { status: answer?.status, ...JSON.parse(answer?.body ?? '{}') }
  }

  t.test('one request has one credential, host, type and idempotency key', async (t) => {
    const twice = (name: string) => ({
      status: 400,
      error_code: 'ERR_INVALID_REQUEST',
      msg: `The header "${name}" is given 2 times: once is allowed.`,
    })
    const again = 'authorization: Bearer guess'
    const get = 'GET /ip_policies'
    t.match(await answerTo(get, [host, mine, again, version]), twice('Authorization'))
    t.match(await answerTo(get, [host, again, mine, version]), twice('Authorization'))
    t.match(await answerTo(get, [host, mine, mine, version]), twice('Authorization'), 'also the same one')
    t.match(await answerTo(get, [host, mine, bearer(other.token), version]), twice('Authorization'))
    t.match(await answerTo(get, [host, 'Host: y', mine, version]), twice('Host'))
    const post = 'POST /ip_policies'
    const body = Buffer.from('{}')
    const plain = 'Content-Type: text/plain'
    t.match(await answerTo(post, [host, mine, version, json, plain], body), twice('Content-Type'))
    const keys = ['Idempotency-Key: a', 'Idempotency-Key: b']
    t.match(await answerTo(post, [host, mine, version, json, ...keys], body), twice('Idempotency-Key'))
  })

  t.test('version headers agree', async (t) => {
    const cases: [string[], number, RegExp?][] = [
      [['Service-Version: 2'], 200],
      [['x-version: 2'], 200],
      [['Service-Version: 2', 'X-Version: 2'], 200],
      [['Service-Version: 2', 'service-version: 2'], 200],
      [
        ['Service-Version: 2', 'X-Version: 1'],
        400,
        /"Service-Version: 2" and "X-Version: 1" contradict each other/,
      ],
      [['X-Version: 3', 'Service-Version: 2'], 400, /contradict/],
      [['Service-Version: 2', 'Service-Version: 1'], 400, /contradict/],
      [['Service-Version: 2', 'X-Version: '], 400, /contradict/],
      [['Service-Version: 1', 'X-Version: 1'], 400, /"Service-Version: 1" is refused: 2 is the supported/],
      [['Service-Version: 2, 2'], 400, /without a version in it/],
      [['Service-Version: YOUR_SECRET_TOKEN'], 400, /^[^_]*$/],
      [[], 400, /"Service-Version: 2" is needed/],
    ]
    for (const [headers, status, says = /^/] of cases) {
      const answer = await answerTo('GET /ip_policies', [host, mine, ...headers])
      t.equal(answer.status, status, headers.join(', '))
      if (status === 400) t.match(answer, { error_code: 'ERR_VERSION', msg: says })
    }
  })

  t.test('compressed bodies are refused', async (t) => {
    const body = Buffer.from('{}')
    const cases: [string[], number][] = [
      [[], 201],
      [['Content-Encoding: identity'], 201],
      [['Content-Encoding: Identity, identity'], 201],
      [['Content-Encoding:'], 201],
      [['Content-Encoding: gzip'], 415],
      [['Content-Encoding: identity', 'Content-Encoding: br'], 415],
      [['Content-Encoding: identity, gzip'], 415],
      [['Content-Encoding: nonsense'], 415],
    ]
    for (const [headers, status] of cases) {
      const answer = await answerTo('POST /ip_policies', [host, mine, version, json, ...headers], body)
      t.equal(answer.status, status, headers.join(', '))
      if (status === 415) t.match(answer, { error_code: 'ERR_CONTENT_TYPE', msg: /content encoding/ })
    }
    const packed = gzipSync('{}')
    const gzip = [host, mine, version, json, 'Content-Encoding: gzip']
    t.equal((await answerTo('POST /ip_policies', gzip, packed)).status, 415)
    t.equal((await answerTo('GET /ip_policies', gzip)).status, 200, 'without a body it says nothing')
  })
})
