/** Rules that hold for every request. */
import t from 'tap'
import { requestBodyBytesMax } from '../../../src/ground/core/limits.js'
import { Usage } from '../../../src/management/access/usage.js'
import type { RouteStore } from '../../../src/management/http/context.js'
import type { Store } from '../../../src/management/store/store.js'
import { base, openTestStore } from '../../harness/api.js'
import { all, type Caller, newest, refused, statusOf } from '../../harness/caller.js'
import type { Headers, RequestParts } from '../../harness/raw-client.js'

t.test('the protocol', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  const nobody = api.stranger()

  t.test('the first failing check is reported, in this order', async (t) => {
    const limited = await store.api({ usage: new Usage(3) })
    const caller = await limited.account()
    await caller.ipRestriction.create({
      type: 'api',
      enforced: true,
      ip_policy_ids: [await allowing(caller, '127.0.0.1/32')],
    })
    const all: RequestParts = {
      headers: { authorization: 'Bearer wrong', 'service-version': '1', 'content-type': 'text/plain' },
      body: Buffer.alloc(requestBodyBytesMax + 1, '{'),
      from: '192.0.2.1',
    }
    const steps: { name: string; status: number; right: Headers; from?: string; path?: string }[] = [
      { name: 'token', status: 401, right: {} },
      { name: 'restriction', status: 403, right: { authorization: `Bearer ${caller.token}` } },
      { name: 'rate', status: 429, right: {}, from: '127.0.0.1' },
    ]
    let sent = all
    for (const { name, status, right, from } of steps) {
      sent = { ...sent, headers: { ...sent.headers, ...right }, ...(from === undefined ? {} : { from }) }
      t.equal((await caller.raw.send('POST', '/nowhere', sent)).status, status, name)
    }
    const further = [
      { name: 'version', status: 400, path: '/nowhere', right: { authorization: `Bearer ${me.token}` } },
      { name: 'path', status: 404, path: '/nowhere', right: { 'service-version': '2' } },
      { name: 'content type', status: 415, path: '/ip_policies', right: {} },
      { name: 'size', status: 413, path: '/ip_policies', right: { 'content-type': 'application/json' } },
    ]
    for (const { name, status, path, right } of further) {
      sent = { ...sent, headers: { ...sent.headers, ...right } }
      t.equal((await me.raw.send('POST', path, sent)).status, status, name)
    }
    t.equal((await me.raw.send('POST', '/ip_policies', { body: '{' })).status, 400, 'body')
  })

  t.test('refusals have WWW-Authenticate and Retry-After', async (t) => {
    const unknown = await nobody.raw.send('GET', '/ip_policies')
    t.equal(unknown.headers['www-authenticate'], 'Bearer')
    t.equal(unknown.body.error_code, 'ERR_UNAUTHENTICATED')
    const nameless = await me.raw.send('GET', '/ip_policies', { headers: { authorization: undefined } })
    t.equal(nameless.status, 401)
    t.equal(nameless.headers['www-authenticate'], 'Bearer')
    for (const authorization of ['Basic eDp5', 'Bearer', `Bearer ${me.token} x`, me.token])
      t.equal((await me.raw.send('GET', '/ip_policies', { headers: { authorization } })).status, 401)
    const lower = { authorization: `bearer ${me.token}` }
    t.equal(
      (await me.raw.send('GET', '/ip_policies', { headers: lower })).status,
      200,
      'schemes have no case',
    )
  })

  t.test('the version', async (t) => {
    for (const version of [undefined, '', '1', '3', '2.0', 'two']) {
      const answer = await me.raw.send('GET', '/ip_policies', { headers: { 'service-version': version } })
      t.equal(answer.status, 400)
      t.equal(answer.body.error_code, 'ERR_VERSION')
      t.match(answer.body.msg, 'Service-Version')
    }
    const renamed = await store.api({ versionHeaders: ['Acme-Version', 'Service-Version'] })
    const caller = renamed.stranger(me.token)
    const named = { 'service-version': undefined, 'acme-version': '2' }
    t.equal((await caller.raw.send('GET', '/ip_policies', { headers: named })).status, 200)
    t.equal(await statusOf(all(caller.ipPolicy.list())), 'ok', 'each of the names will do')
  })

  t.test('requests are counted per account and minute', async (t) => {
    const limited = await store.api({ usage: new Usage(2) })
    const one = await limited.account()
    const other = await limited.account()
    await one.raw.get('/ip_policies')
    await one.raw.send('GET', '/nowhere')
    const refused = await one.raw.send('GET', '/ip_policies')
    t.equal(refused.status, 429)
    t.match(refused.headers['retry-after'], /^[1-9]\d?$/)
    t.equal(await statusOf(all(other.ipPolicy.list())), 'ok', 'another account has its own count')
  })

  t.test('failed logins are limited per address', async (t) => {
    const guarded = await store.api()
    const from = '198.51.100.7'
    const statuses: number[] = []
    for (let tries = 0; tries < 40; tries += 1)
      statuses.push(
        (await guarded.stranger(`guess${tries}`).raw.send('GET', '/ip_policies', { from })).status,
      )
    t.equal(statuses[0], 401)
    t.equal(statuses.at(-1), 429)
    const guess = guarded.stranger('another')
    const refused = await guess.raw.send('GET', '/ip_policies', { from })
    t.match(refused.headers['retry-after'], /^\d+$/)
    t.equal((await guess.raw.send('GET', '/ip_policies', { from: '198.51.100.8' })).status, 401)
    const known = guarded.stranger(me.token)
    t.equal((await known.raw.send('GET', '/ip_policies', { from })).status, 200, 'a valid key always passes')
    t.equal((await guess.raw.send('GET', '/ip_policies', { from })).status, 429, 'and vouches for no other')
  })

  t.test('X-Forwarded-For is used only from a trusted proxy', async (t) => {
    const caller = await api.account()
    const policy = await allowing(caller, '203.0.113.0/24')
    await caller.ipPolicyRule.create({ ip_policy_id: policy, cidr: '127.0.0.1/32', action: 'allow' })
    await caller.ipRestriction.create({ type: 'api', enforced: true, ip_policy_ids: [policy] })
    const trusting = await store.api({ trustedProxies: ['10.0.0.0/8'] })
    const cases = [
      { name: 'no proxy is trusted', api, from: '10.0.0.1', forwarded: '203.0.113.9', status: 403 },
      { name: 'a proxy', api: trusting, from: '10.0.0.1', forwarded: '203.0.113.9', status: 200 },
      { name: 'anybody', api: trusting, from: '192.0.2.1', forwarded: '203.0.113.9', status: 403 },
      { name: 'a forger', api: trusting, from: '10.0.0.1', forwarded: '203.0.113.9, 192.0.2.1', status: 403 },
      { name: 'a port', api: trusting, from: '10.0.0.1', forwarded: '203.0.113.9:4711', status: 200 },
      {
        name: 'a proxy with a port',
        api: trusting,
        from: '10.0.0.1',
        forwarded: '203.0.113.9:1, 10.0.0.2:2',
        status: 200,
      },
      {
        name: 'a forger with a port',
        api: trusting,
        from: '10.0.0.1',
        forwarded: '203.0.113.9, 192.0.2.1:2',
        status: 403,
      },
      {
        name: 'IPv6 with a port',
        api: trusting,
        from: '::ffff:10.0.0.1',
        forwarded: '[2001:db8::1]:2',
        status: 403,
      },
      { name: 'no address', api: trusting, from: '10.0.0.1', forwarded: 'unknown', status: 403 },
      { name: 'IPv4 as IPv6', api, from: '::ffff:203.0.113.9', forwarded: '', status: 200 },
    ]
    for (const { name, api: each, from, forwarded, status } of cases) {
      const headers = { 'x-forwarded-for': forwarded }
      const answer = await each.stranger(caller.token).raw.send('GET', '/ip_policies', { from, headers })
      t.equal(answer.status, status, name)
    }
  })

  t.test('pages without a key and a version', async (t) => {
    const bare = { headers: { authorization: undefined, 'service-version': undefined } }
    for (const path of ['/openapi.json', '/docs', '/favicon.ico']) {
      t.equal((await nobody.raw.send('GET', path, bare)).status, 200, path)
      t.match(await nobody.raw.send('HEAD', path, bare), { status: 200, text: '' }, path)
    }
  })

  t.test('the reference fetches nothing from other origins', async (t) => {
    const page = await api.app.inject('/docs')
    const policy = String(page.headers['content-security-policy'])
    for (const source of [
      "default-src 'none'",
      "connect-src 'self'",
      "style-src 'self'",
      "trusted-types 'none'",
    ])
      t.match(policy, source, 'its script may not fetch from elsewhere')
    t.match(policy, "script-src 'self';", 'and inline scripts do not run')
    const scripts = [...page.payload.matchAll(/<script([^>]*)>([^<]*)/g)]
    t.equal(scripts.length, 1)
    for (const [, attributes, text] of scripts) {
      t.equal(text, '')
      const [, source = ''] = / src="([^"]+)"/.exec(attributes ?? '') ?? []
      const { pathname, origin } = new URL(source, `${base}/docs`)
      t.equal(origin, base)
      const { statusCode, headers, payload } = await api.app.inject(pathname)
      t.equal(statusCode, 200, pathname)
      t.match(headers['content-type'], /^text\/javascript/)
      t.match(payload, 'openapi.json')
    }
    const { statusCode, payload } = await api.app.inject('/docs/')
    t.equal(statusCode, 200)
    const scriptOf = (html: string, at: string): string =>
      new URL(/<script[^>]* src="([^"]+)"/.exec(html)?.[1] ?? '', `${base}${at}`).href
    t.equal(scriptOf(payload, '/docs/'), scriptOf(page.payload, '/docs'), 'with the same script')
  })

  t.test('the favicon', async (t) => {
    const { statusCode, headers, rawPayload } = await api.app.inject('/favicon.ico')
    t.equal(statusCode, 200)
    t.match(headers, { 'content-type': 'image/x-icon', 'cache-control': /^public, max-age=\d+$/ })
    // One picture, at the offset and with the length in its header.
    t.strictSame([...rawPayload.subarray(0, 6)], [0, 0, 1, 0, 1, 0])
    t.equal(rawPayload.readUInt32LE(18) + rawPayload.readUInt32LE(14), rawPayload.length)
  })

  t.test('an empty body is no body, on every method and with any content type', async (t) => {
    for (const type of ['application/json', 'application/json; charset=utf-8', 'text/plain', undefined]) {
      const empty = { body: '', headers: { 'content-type': type } }
      const made = await me.raw.send('POST', '/ip_policies', empty)
      t.equal(made.status, 201)
      t.equal((await me.raw.send('GET', `/ip_policies/${made.body.id}`, empty)).status, 200)
      t.equal((await me.raw.send('PATCH', `/ip_policies/${made.body.id}`, empty)).status, 200)
      t.equal((await me.raw.send('DELETE', `/ip_policies/${made.body.id}`, empty)).status, 204)
    }
  })

  t.test('bodies of GET and DELETE may only repeat ids of the path', async (t) => {
    const { id } = await me.ipPolicy.create({})
    const edge = await me.httpsEdge.create({})
    const route = await me.httpsEdgeRoute.under(edge.id).create({ match_type: 'exact_path', match: '/' })
    const policy = `/ip_policies/${id}`
    const below = `/edges/https/${edge.id}/routes/${route.id}`
    const cases: [string, unknown, RegExp][] = [
      [policy, { id: `${id}x` }, /"id" is .*, but the path says/],
      [policy, { zzz: 1 }, /A (GET|DELETE) request has no field "zzz": supported are "id"/],
      [policy, { id, description: 'x' }, /has no field "description"/],
      [policy, '{x', /not valid JSON/],
      [policy, '[]', /must be a JSON object/],
      [policy, 'null', /must be a JSON object/],
      [`${below}/backend`, { edge_id: 'edghts_other' }, /"edge_id" is "edghts_other", but the path says/],
      [below, { match: '/' }, /has no field "match".*supported are "edge_id", "id"/],
    ]
    for (const [path, body, says] of cases) {
      for (const method of ['GET', 'DELETE']) {
        const { status, body: answer } = await me.raw.send(method, path, { body })
        t.equal(status, 400, `${method} ${path}`)
        t.match(answer.msg, says)
      }
    }
    t.match((await me.raw.send('GET', '/ip_policies', { body: '{x' })).body.msg, /not valid JSON/)
    t.match((await me.raw.send('GET', '/ip_policies', { body: { limit: 1 } })).body.msg, /none are supported/)
    const plain = { body: 'x', headers: { 'content-type': 'text/plain' } }
    t.equal((await me.raw.send('GET', policy, plain)).status, 415)
    for (const body of [{}, { id }, { edge_id: edge.id }])
      t.equal((await me.raw.send('GET', below, { body })).status, 'id' in body ? 400 : 200)
    t.equal((await me.raw.send('DELETE', below, { body: { id: route.id, edge_id: edge.id } })).status, 204)
    t.equal((await me.raw.send('DELETE', policy, { body: {} })).status, 204)
  })

  t.test('PUT requires a body', async (t) => {
    const { id } = await me.ipPolicy.create({})
    const rules = [{ cidr: '192.0.2.0/24', action: 'allow' as const }]
    await me.replaceRules(id, rules)
    const deny = [{ actions: [{ type: 'deny' as const }] }]
    const edge = await me.tcpEdge.create({ policies: { inbound: deny } })
    for (const path of [`/edges/tcp/${edge.id}/policies`, `/ip_policies/${id}/rules`]) {
      for (const body of ['', ' \n', undefined]) {
        const { status, body: answer } = await me.raw.send('PUT', path, body === undefined ? {} : { body })
        t.equal(status, 400, path)
        t.match(answer.msg, /^PUT requires a body/)
      }
    }
    t.match((await me.tcpEdge.policies.get(edge.id)).inbound, deny)
    t.equal((await me.replaceRules(id, rules)).kept, 1)
    t.strictSame((await me.tcpEdge.policies.put(edge.id, {})).inbound, [], 'an empty one says it')
  })

  t.test('content types of a body', async (t) => {
    const bare = await me.raw.send('POST', '/ip_policies', {
      body: '{}',
      headers: { 'content-type': undefined },
    })
    t.equal(bare.status, 415)
    t.match(bare.body.msg, /^The body has no content type: application\/json is needed\.$/)
    const cases: [string | undefined, number][] = [
      ['application/json', 201],
      ['Application/JSON;charset=UTF-8', 201],
      ['application/json; charset="utf-8"', 201],
      ['application/json; charset=iso-8859-1', 415],
      ['application/merge-patch+json', 415],
      ['application/jsonx', 415],
      ['text/plain', 415],
      ['application/x-www-form-urlencoded', 415],
    ]
    for (const [type, status] of cases) {
      const answer = await me.raw.send('POST', '/ip_policies', {
        body: '{}',
        headers: { 'content-type': type },
      })
      t.equal(answer.status, status, type ?? 'none')
    }
  })

  t.test('sizes', async (t) => {
    const filled = (bytes: number): Buffer => Buffer.concat([Buffer.from('{}'), Buffer.alloc(bytes - 2, ' ')])
    const largest = await me.raw.send('POST', '/ip_policies', { body: filled(requestBodyBytesMax) })
    t.equal(largest.status, 201)
    const larger = await me.raw.send('POST', '/ip_policies', { body: filled(requestBodyBytesMax + 1) })
    t.equal(larger.status, 413)
    t.match(larger.body.msg, '1048576')
  })

  t.test('bodies that are not JSON objects', async (t) => {
    const cases = [
      { name: 'cut', body: '{"description": "x"', says: /not valid JSON.*character/ },
      { name: 'a comment', body: '{} // x', says: /not valid JSON/ },
      { name: 'a comma too many', body: '{"description": "x",}', says: /not valid JSON/ },
      { name: 'NaN', body: '{"description": NaN}', says: /not valid JSON/ },
      { name: 'not UTF-8', body: Buffer.from([0x7b, 0xff, 0x7d]), says: /UTF-8/ },
      { name: 'half a character', body: '{"description": "\\ud800"}', says: /half of a character/ },
      { name: 'half a character in a key', body: '{"\\udc00": "x"}', says: /half of a character/ },
      { name: 'a key twice', body: '{"metadata": "a", "metadata": "b"}', says: /"metadata" twice/ },
      { name: 'a key twice, escaped', body: '{"metadata": "a", "meta\\u0064ata": "b"}', says: /twice/ },
      { name: 'brackets', body: '['.repeat(100_000), says: /levels deep/ },
      { name: 'braces', body: '{"a":'.repeat(100_000), says: /levels deep/ },
      { name: 'a list', body: '[]', says: /must be a JSON object/ },
      { name: 'a text', body: '"x"', says: /must be a JSON object/ },
      { name: 'null', body: 'null', says: /must be a JSON object/ },
      { name: 'a number', body: '1', says: /must be a JSON object/ },
    ]
    for (const { name, body, says } of cases) {
      const answer = await me.raw.send('POST', '/ip_policies', { body })
      t.equal(answer.status, 400, name)
      t.match(answer.body.msg, says, name)
    }
    const pair = await me.raw.send('POST', '/ip_policies', { body: '{"description": "\\ud83d\\ude00"}' })
    t.equal(pair.body.description, '😀', 'a whole character, escaped')
  })

  t.test('unknown paths and wrong methods', async (t) => {
    const { id } = await me.ipPolicy.create({})
    const cases = [
      ['GET', '/nowhere'],
      ['GET', '/ip_policies/'],
      ['GET', '//ip_policies'],
      ['PUT', '/ip_policies'],
      ['PUT', `/ip_policies/${id}`],
      ['POST', `/ip_policies/${id}`],
      ['DELETE', '/ip_policies'],
      ['PATCH', '/ip_policies'],
      ['OPTIONS', '/ip_policies'],
      ['HEAD', '/ip_policies'],
      ['GET', '/accounts'],
      ['GET', '/ip_policies/%zz'],
      ['GET', `/ip_policies/${'a'.repeat(10_000)}`],
      ['GET', `/ip_policies/${id}/backend`],
      ['GET', `/ip_policies/${encodeURIComponent('../api_keys')}`],
    ]
    for (const [method = '', path = ''] of cases)
      t.equal((await me.raw.send(method, path)).status, 404, `${method} ${path.slice(0, 60)}`)
    t.equal(
      (await nobody.raw.send('GET', '/ip_policies/%zz')).status,
      401,
      'a caller without a key learns nothing',
    )
    const encoded = `/ip_policies/${id.replace('_', '%5F')}`
    t.equal((await me.raw.send('GET', encoded)).status, 200, 'percent-encoding says the same')
  })

  t.test('query parameters', async (t) => {
    const { id } = await me.ipPolicy.create({})
    const cases = [
      { path: '/ip_policies?page=2', says: /"page" is unknown: supported are "limit", "before_id"/ },
      { path: '/ip_policies?limit=1&limit=2', says: /"limit" is given 2 times/ },
      { path: '/ip_policies?limit=0', says: /1 to 100/ },
      { path: '/ip_policies?limit=101', says: /1 to 100/ },
      { path: '/ip_policies?limit=', says: /1 to 100/ },
      { path: '/ip_policies?limit=1e1', says: /1 to 100/ },
      { path: '/ip_policies?limit=-1', says: /1 to 100/ },
      { path: '/ip_policies?before_id=', says: /"ipp_"/ },
      { path: '/ip_policies?before_id=ipr_01M7Y46P1SGDTCFAVEJ96D4PD7', says: /"ipp_"/ },
      { path: `/ip_policies/${id}?x=1`, says: /"x" is unknown: none are supported/ },
      { path: '/ip_policies?__proto__=1', says: /"__proto__" is unknown/ },
    ]
    for (const { path, says } of cases) t.match(await me.raw.refused(400, 'GET', path), says, path)
    t.match(await me.raw.refused(400, 'POST', '/ip_policies?dry_run=1', {}), /"dry_run" is unknown/)
    t.match(await me.raw.refused(400, 'DELETE', `/ip_policies/${id}?force=1`), /"force" is unknown/)
  })

  t.test('a body may repeat ids of the path, but not contradict them', async (t) => {
    const { id } = await me.ipPolicy.create({})
    await me.at('/ip_policies').update(id, { id })
    t.match(
      await me.raw.refused(400, 'PATCH', `/ip_policies/${id}`, { id: `${id}x` }),
      /"id" is .* the path says/,
    )
    const edge = await me.httpsEdge.create({})
    const routes = `/edges/https/${edge.id}/routes`
    const route = await me.at(routes).create({ edge_id: edge.id, match_type: 'exact_path', match: '/' })
    await me.at(routes).update(route.id, { edge_id: edge.id, id: route.id })
    await me.raw.refused(400, 'PATCH', `${routes}/${route.id}`, { edge_id: 'edghts_other' })
    const backend = await me.tunnelGroupBackend.create({})
    const body = { edge_id: edge.id, id: route.id, backend_id: backend.id }
    await me.at(routes).module('backend').put(route.id, body)
  })

  t.test('a deleted key is refused at once, and no key deletes itself', async (t) => {
    const caller = await api.account()
    const { id, token } = await caller.apiKey.create({ description: 'second' })
    const second = caller.withToken(token)
    t.match(await refused(400, second.apiKey.delete(id)), /may not delete itself/)
    await caller.apiKey.delete(id)
    t.equal(await statusOf(all(second.apiKey.list())), 401)
  })

  t.test('of two keys that delete each other at the same time, one stays', async (t) => {
    for (let round = 0; round < (process.argv.includes('--full') ? 10 : 3); round += 1) {
      const caller = await api.account()
      const first = await newest(caller.apiKey.list())
      const { id, token } = await caller.apiKey.create({})
      const second = caller.withToken(token)
      const answers = await Promise.all([
        caller.raw.send('DELETE', `/api_keys/${id}`),
        second.raw.send('DELETE', `/api_keys/${first.id}`),
      ])
      t.strictSame(answers.map(({ status }) => status).toSorted(), [204, 401])
      const refused = answers.find(({ status }) => status === 401)
      t.match(refused, {
        body: { msg: 'The API key is not valid.' },
        headers: { 'www-authenticate': 'Bearer' },
      })
      const left = refused === answers[0] ? second : caller
      t.equal((await all(left.apiKey.list())).length, 1)
    }
  })

  t.test('a key deleted before its change is planned changes nothing', async (t) => {
    const caller = await api.account()
    const { id: policy } = await caller.ipPolicy.create({})
    const rules = [{ cidr: '192.0.2.0/24', action: 'allow' as const }]
    await caller.replaceRules(policy, rules)
    const before = await caller.ipPolicy.get(policy)
    const writes: [string, string, object?, Headers?][] = [
      ['POST', '/ip_policies', {}],
      ['POST', '/ip_policies', {}, { 'idempotency-key': 'once' }],
      ['POST', '/ip_policies?validate_only=true', {}],
      ['PATCH', `/ip_policies/${policy}`, { description: 'x' }],
      ['PATCH', `/ip_policies/${policy}`, {}],
      ['PUT', `/ip_policies/${policy}/rules`, { rules: [] }],
      ['PUT', `/ip_policies/${policy}/rules?validate_only=true`, { rules: [] }],
      ['DELETE', `/ip_policies/${policy}`],
    ]
    let doomed = ''
    const late = lateStore(store.parts.store, () => caller.apiKey.delete(doomed))
    const overtaken = await store.api({ context: { ...store.parts, store: late } })
    for (const [method, path, body, headers = {}] of writes) {
      const { id, token } = await caller.apiKey.create({})
      doomed = id
      const answer = await overtaken.stranger(token).raw.send(method, path, { body, headers })
      t.equal(answer.status, 401, `${method} ${path}`)
      t.equal(answer.body.msg, 'The API key is not valid.')
    }
    t.strictSame(await all(caller.ipPolicy.list()), [before])
    t.match(await all(caller.ipPolicyRule.list()), rules)
  })
})

/** The store, in which another change happens between a request's arrival and its plan. */
function lateStore(store: Store, first: () => Promise<unknown>): RouteStore {
  const after = async <T>(work: () => Promise<T>): Promise<T> => {
    await first()
    return work()
  }
  return {
    view: store.view,
    keys: store.keys,
    pastRows: store.pastRows,
    history: store.history,
    answered: (key) => store.answered(key),
    settled: (accountId) => after(() => store.settled(accountId)),
    commit: (...planned) => after(() => store.commit(...planned)),
    commitOnce: (...planned) => after(() => store.commitOnce(...planned)),
    commitBatch: (...planned) => after(() => store.commitBatch(...planned)),
    stage: (accountId) => store.stage(accountId),
    rehearsals: {
      of: (...planned) => after(() => store.rehearsals.of(...planned)),
      ofBatch: (...planned) => after(() => store.rehearsals.ofBatch(...planned)),
      ofRules: (...planned) => after(() => store.rehearsals.ofRules(...planned)),
    },
    replaceRules: (...planned) => after(() => store.replaceRules(...planned)),
  }
}

/** The id of a new policy that allows one range. */
async function allowing(client: Caller, cidr: string): Promise<string> {
  const { id } = await client.ipPolicy.create({})
  await client.ipPolicyRule.create({ ip_policy_id: id, cidr, action: 'allow' })
  return id
}
