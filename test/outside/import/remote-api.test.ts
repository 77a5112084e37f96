/** The APIs of other systems: all pages, a key that goes nowhere else, and servers that answer something else. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { imported, importedSystems } from '../../../src/outside/import/import.js'
import type { Document } from '../../../src/outside/import/input/document.js'
import { RemoteApi } from '../../../src/outside/import/input/remote-api.js'
import { freePorts } from '../../harness/free-ports.js'
import { type Json, sectionOf } from './fixtures.js'

const key = 'the-key-of-the-api'

interface Answer {
  readonly status?: number
  readonly body: unknown
  readonly location?: string
}

/** A server that answers, and what it was asked. */
async function serverOf(t: Test, answerTo: (path: string, origin: string) => Answer | undefined) {
  const asked: IncomingMessage[] = []
  const server = createServer((request, response) => {
    asked.push(request)
    const origin = `http://${request.headers.host}`
    const { status = 200, body, location } = answerTo(request.url!, origin) ?? { status: 404, body: {} }
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(location !== undefined && { location }),
    })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

type Progressed = ConstructorParameters<typeof RemoteApi>[2]

async function documentsOf(name: string, url: string, progressed?: Progressed): Promise<Document[]> {
  const { ask, headersFor } = importedSystems[name]!
  const documents: Document[] = []
  for await (const document of ask(new RemoteApi(url, headersFor(key), progressed))) documents.push(document)
  return documents
}

const importAt = async (name: string, url: string) =>
  imported(importedSystems[name]!, await documentsOf(name, url), { atMs: 0, nowMs: 0 })

t.test('ngrok: every list, every page, and lists that are not there', async (t) => {
  const policy = (id: string): Json => ({ id, description: id })
  const { url, asked } = await serverOf(t, (path, origin) => {
    if (path === '/ip_policies')
      return {
        body: {
          ip_policies: [policy('ipp_2')],
          uri: '',
          next_page_uri: `${origin}/ip_policies?before_id=ipp_2`,
        },
      }
    if (path === '/ip_policies?before_id=ipp_2')
      return { body: { ip_policies: [policy('ipp_1')], uri: '', next_page_uri: null } }
    return path === '/edges/tcp' ? { body: { tcp_edges: [], uri: '', next_page_uri: null } } : undefined
  })
  const result = await importAt('ngrok', url)
  t.same(
    sectionOf(result, 'ip_policies').map(({ description }) => description),
    ['ipp_2', 'ipp_1'],
  )
  t.ok(asked.length > 15, `${asked.length} requests`)
  const shown: Parameters<NonNullable<Progressed>>[0][] = []
  await documentsOf('ngrok', url, (progress) => shown.push(progress))
  t.match(shown.slice(0, 3), [
    { requests: 1, list: { name: '/ip_policies', done: 0 } },
    { requests: 2, list: { name: '/ip_policies', done: 0 } },
    { requests: 3, list: { name: '/ip_policy_rules', done: 1 } },
  ])
  const { done = 0, of } = shown.at(-1)?.list ?? {}
  t.equal(done + 1, of, 'the last one is the last of all lists')
  for (const { headers } of asked) t.match(headers, { authorization: `Bearer ${key}`, 'ngrok-version': '2' })
})

t.test('Cloudflare: the items of each list, by cursors', async (t) => {
  const answer = (result: unknown, after?: string): Answer => ({
    body: { result, success: true, result_info: { cursors: after === undefined ? {} : { after } } },
  })
  const { url } = await serverOf(t, (path) => {
    if (path === '/rules/lists') return answer([{ id: 'one', name: 'one', kind: 'ip', num_items: 2 }])
    if (path === '/rules/lists/one/items') return answer([{ ip: '192.0.2.1' }], 'c 1')
    return path === '/rules/lists/one/items?cursor=c%201' ? answer([{ ip: '192.0.2.2' }]) : undefined
  })
  t.match(sectionOf(await importAt('cloudflare-lists', url), 'ip_lists'), [
    { entries: ['192.0.2.1/32', '192.0.2.2/32'] },
  ])
})

t.test('CrowdSec and Outpost', async (t) => {
  const { url, asked } = await serverOf(t, (path) =>
    path === '/v1/decisions'
      ? {
          body: [
            { duration: '1h', scope: 'Ip', type: 'ban', value: '192.0.2.1', origin: 'x', scenario: 'y' },
          ],
        }
      : {
          body: [
            { id: 'd', type: 'webhook', topics: '*', config: { url: 'https://a.example/' }, credentials: {} },
          ],
        },
  )
  t.match(sectionOf(await importAt('crowdsec', url), 'ip_lists'), [{ entries: [{ cidr: '192.0.2.1/32' }] }])
  t.match(sectionOf(await importAt('outpost', `${url}/tenants/a/`), 'event_destinations'), [
    { description: 'd' },
  ])
  t.equal(asked[0]!.headers['x-api-key'], key)
  t.match(asked[1], { url: '/tenants/a/destinations', headers: { authorization: `Bearer ${key}` } })
})

t.test('a next page at another server gets no key', async (t) => {
  const other = await serverOf(t, () => ({ body: {} }))
  const { url } = await serverOf(t, () => ({
    body: { ip_policies: [], uri: '', next_page_uri: `${other.url}/ip_policies` },
  }))
  await t.rejects(documentsOf('ngrok', url), {
    message: /names a next page elsewhere, which is not asked for/,
  })
  const moved = await serverOf(t, () => ({ status: 302, body: '', location: `${other.url}/ip_policies` }))
  await t.rejects(documentsOf('ngrok', moved.url), { message: /does not answer/ })
  t.equal(other.asked.length, 0)
})

t.test('an address where nothing is', async (t) => {
  const { url } = await serverOf(t, () => undefined)
  for (const [name, message] of Object.entries({
    ngrok: /There is none of \/ip_policies, /,
    crowdsec: /\/v1\/decisions answers 404/,
    'cloudflare-lists': /\/rules\/lists answers 404/,
    outpost: /\/destinations answers 404/,
  }))
    await t.rejects(documentsOf(name, url), { message }, name)
})

t.test('a key that is refused, a server that fails, and what is not JSON', async (t) => {
  const answers: readonly (readonly [Answer, RegExp])[] = [
    [{ status: 403, body: { msg: 'no' } }, /answers 403: the key is not accepted there\.$/],
    [{ status: 500, body: 'oops' }, /answers 500\.$/],
    [{ body: `{"token": "${key}` }, /^The answer of \S+ is not JSON/],
    [{ body: '['.repeat(100) }, /nested too deeply/],
  ]
  for (const [answer, message] of answers) {
    const { url } = await serverOf(t, () => answer)
    const error = await documentsOf('crowdsec', url).then(
      () => undefined,
      (found: Error) => found,
    )
    t.match(error?.message, message)
    t.notOk(error?.message.includes(key), 'no key in a message')
  }
  const [port] = await freePorts(1)
  await t.rejects(documentsOf('crowdsec', `http://127.0.0.1:${port}`), {
    message: /does not answer: ECONNREFUSED/,
  })
})
