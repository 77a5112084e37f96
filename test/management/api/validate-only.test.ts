/** Writes with `validate_only`: answered like the write, and nothing is changed. */
import t, { type Test } from 'tap'
import { bucketNames } from '../../../src/delivery/wire/names.js'
import { ApiError } from '../../../src/words/client/api-error.js'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller, newest } from '../../harness/caller.js'
import type { HttpAnswer } from '../../harness/raw-client.js'

const stream_arn = 'arn:aws:kinesis:us-east-1:123456789012:stream/x'
const creds = { aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE', aws_secret_access_key: 'never-shown' }
const kinesis = { target: { kinesis: { stream_arn, auth: { creds } } } }
const unknownPolicy = 'ipp_01M7Y46P1SGDTCFAVEJ96D4PD7'

type Request = readonly [method: string, path: string, body?: unknown]

const send = (me: Caller, [method, path, body]: Request, query = ''): Promise<HttpAnswer> =>
  me.raw.send(method, `${path}${query}`, body === undefined ? {} : { body })

const rehearse = (me: Caller, request: Request): Promise<HttpAnswer> =>
  send(me, request, '?validate_only=true')

/** An answer without values that are drawn for each request. */
const comparable = ({ status, text, body }: HttpAnswer): string => {
  const { token: _, addr: __, ...rest } = body ?? {}
  return `${status} ${body === undefined ? text : JSON.stringify(rest)}`
    .replaceAll(/_[0-9A-HJKMNP-TV-Z]{26}/g, '_<id>')
    .replaceAll(/"created_at":"[^"]+"/g, '"created_at":"<now>"')
}

t.test('validate_only', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const { nats } = store.parts

  const buckets = [...Object.values(bucketNames)]
  const revisions = async (): Promise<number[]> => {
    const opened = await Promise.all(buckets.map(async (name) => (await nats.findBucket(name))!))
    return Promise.all(opened.map(async (bucket) => (await bucket.position()).lastRevision))
  }
  /** Rehearses while nothing else is written; nothing may be written. */
  const unchanging = async (t: Test, me: Caller, request: Request): Promise<HttpAnswer> => {
    const before = await revisions()
    const audits = (await api.audits(me.accountId)).length
    const answer = await rehearse(me, request)
    t.strictSame(await revisions(), before, `${request.slice(0, 2).join(' ')} writes to no bucket`)
    t.equal((await api.audits(me.accountId)).length, audits, 'and emits nothing')
    return answer
  }
  /** An account with something to change. */
  const world = async () => {
    const me = await api.account()
    const { id: policy } = await me.ipPolicy.create({ description: 'office' })
    const { id: rule } = await me.ipPolicyRule.create({
      ip_policy_id: policy,
      cidr: '10.0.0.0/8',
      action: 'allow',
    })
    const { id: backend } = await me.tunnelGroupBackend.create({})
    const { id: edge } = await me.tcpEdge.create({ backend: { backend_id: backend } })
    const { id: https } = await me.httpsEdge.create({})
    const { id: route } = await me.httpsEdgeRoute.under(https).create({
      match_type: 'exact_path',
      match: '/',
    })
    const { id: destination } = await me.eventDestination.create(kinesis)
    const subscribed = { sources: [{ type: 'log.v0' }], destination_ids: [destination] }
    const { id: subscription } = await me.eventSubscription.create(subscribed)
    return { me, policy, rule, backend, edge, https, route, destination, subscription }
  }

  t.test('every kind of write: the same answer as the real write', async (t) => {
    const { me, policy, rule, edge, https, route, backend, destination, subscription } = await world()
    const sources = `/event_subscriptions/${subscription}/sources`
    const requests: Request[] = [
      ['POST', '/ip_policies', { description: 'new' }],
      ['POST', '/ip_policy_rules', { ip_policy_id: policy, cidr: '192.0.2.0/24', action: 'deny' }],
      ['POST', '/ip_restrictions', { type: 'agent', ip_policy_ids: [policy] }],
      ['POST', '/edges/tcp', { hostports: ['rehearsed.example.com:22'] }],
      ['POST', `/edges/https/${https}/routes`, { match_type: 'path_prefix', match: '/a' }],
      ['POST', '/event_destinations', kinesis],
      ['POST', '/api_keys', { description: 'key' }],
      ['POST', '/credentials', {}],
      ['POST', '/reserved_addrs', { region: 'eu' }],
      ['POST', '/ssh_certificate_authorities', {}],
      ['POST', sources, { type: 'ip_policy_created.v0' }],
      ['PATCH', `/ip_policies/${policy}`, { description: '' }],
      ['PATCH', `/ip_policies/${policy}`, {}],
      ['PATCH', `/ip_policy_rules/${rule}`, { cidr: '10.1.0.0/16' }],
      ['PATCH', `/edges/tcp/${edge}`, { hostports: ['patched.example.com:22'] }],
      ['PATCH', `/edges/https/${https}`, { description: 'with its routes' }],
      ['PATCH', `/edges/https/${https}/routes/${route}`, { match: '/b' }],
      ['PATCH', `/event_destinations/${destination}`, { format: 'JSON' }],
      ['PATCH', `${sources}/log.v0`, { fields: ['metadata'] }],
      ['PUT', `/edges/tcp/${edge}/backend`, { backend_id: backend, enabled: false }],
      ['PUT', `/edges/tcp/${edge}/ip_restriction`, { ip_policy_ids: [policy] }],
      ['PUT', `/edges/tcp/${edge}/policies`, { inbound: [{ actions: [{ type: 'deny' }] }] }],
      ['PUT', `/edges/https/${https}/policies`, { inbound: [{ actions: [{ type: 'deny' }] }] }],
      [
        'PUT',
        `/edges/https/${https}/routes/${route}/policies`,
        { inbound: [{ actions: [{ type: 'deny' }] }] },
      ],
      ['DELETE', `/edges/https/${https}/routes/${route}/policies`],
      ['PUT', `/ip_policies/${policy}/rules`, { rules: [{ cidr: '198.51.100.0/24', action: 'allow' }] }],
      ['DELETE', `/edges/tcp/${edge}/backend`],
      ['DELETE', `${sources}/log.v0`],
      ['DELETE', `/edges/https/${https}/routes/${route}`],
      ['DELETE', `/edges/https/${https}`],
      ['DELETE', `/ip_policies/${policy}`],
    ]
    for (const request of requests) {
      const [method, path] = request
      const rehearsed = await unchanging(t, me, request)
      t.ok(rehearsed.status < 300, `${method} ${path}: ${rehearsed.text}`)
      if (rehearsed.body?.token !== undefined) t.equal(rehearsed.body.token, null, 'no token is shown')
      const done = await send(me, request)
      const [one, other] = [rehearsed, done]
        .map(comparable)
        .map((text) => text.replaceAll(/"public_key":"[^"]+"/g, ''))
      t.equal(one, other, `${method} ${path}`)
      t.equal(rehearsed.headers['location'] === undefined, done.headers['location'] === undefined)
      const id = rehearsed.body?.id
      if (method === 'POST' && id !== undefined) await me.raw.refused(404, 'GET', `${path}/${id}`)
    }
  })

  t.test('every kind of refusal: the same message as the real write', async (t) => {
    const { me, policy, rule, edge, backend, destination, subscription } = await world()
    const other = await api.account()
    await other.tcpEdge.create({ hostports: ['taken.example.com:22'] })
    await me.ipRestriction.create({ type: 'endpoints', ip_policy_ids: [policy] })
    const ownKey = (await newest(me.apiKey.list())).id
    const expressions = Array.from({ length: 10 }, () => `conn.client_ip == '${'x'.repeat(6000)}'`)
    const loud = { expressions, actions: [{ type: 'deny' }] }
    const requests: Request[] = [
      ['POST', '/ip_policies', { description: 5 }],
      ['POST', '/ip_policies', { descripton: 'x' }],
      ['POST', '/ip_policy_rules', { ip_policy_id: unknownPolicy, cidr: '10.0.0.0/8', action: 'allow' }],
      ['POST', '/ip_policy_rules', { ip_policy_id: policy, cidr: '10.0.0.0/8', action: 'deny' }],
      ['POST', '/ip_restrictions', { type: 'endpoints', ip_policy_ids: [policy] }],
      ['POST', '/ip_restrictions', { type: 'api', enforced: true, ip_policy_ids: [policy] }],
      ['POST', '/edges/tcp', { hostports: ['taken.example.com:22'] }],
      ['POST', '/edges/tcp', { policies: { inbound: [loud, loud] } }],
      ['POST', '/edges/https', { policies: { inbound: [loud, loud] } }],
      ['POST', `/event_subscriptions/${subscription}/sources`, { type: 'log.v0' }],
      ['POST', '/ssh_host_certificates', {}],
      ['PATCH', `/edges/tcp/${edge}`, { hostports: ['mine.example.com:22', 'taken.example.com:22'] }],
      ['PATCH', `/ip_policies/${unknownPolicy}`, {}],
      ['PUT', `/edges/tcp/${edge}/ip_restriction`, { ip_policy_ids: [unknownPolicy] }],
      ['PUT', `/ip_policies/${unknownPolicy}/rules`, { rules: [] }],
      ['PUT', `/ip_policies/${policy}/rules`, { rules: [{ cidr: '10.0.0.1/8', action: 'allow' }] }],
      ['DELETE', `/edges/tcp/${edge}/policies`],
      ['DELETE', `/backends/tunnel_group/${backend}`],
      ['DELETE', `/event_destinations/${destination}`],
      ['DELETE', `/api_keys/${ownKey}`],
      ['DELETE', `/ip_policies/${unknownPolicy}`],
      ['DELETE', `/ip_policy_rules/${rule.replace('ipr_', 'ipp_')}`],
    ]
    for (const request of requests) {
      const rehearsed = await unchanging(t, me, request)
      const done = await send(me, request)
      t.ok(done.status >= 400, `${request.slice(0, 2).join(' ')}: ${done.text}`)
      t.strictSame([rehearsed.status, rehearsed.body.msg], [done.status, done.body.msg])
    }
  })

  t.test('validated values stay available', async (t) => {
    const [one, two] = [await api.account(), await api.account()]
    const request: Request = ['POST', '/edges/tcp', { hostports: ['free.example.com:22'] }]
    t.equal((await rehearse(one, request)).status, 201)
    t.equal((await rehearse(two, request)).status, 201)
    const { id } = (await send(two, request)).body
    t.match((await rehearse(one, request)).body.msg, /free.example.com:22/, 'taken now')
    t.equal((await rehearse(two, ['DELETE', `/edges/tcp/${id}`])).status, 204)
    t.equal((await rehearse(one, request)).status, 400, 'and still')
    await two.tcpEdge.delete(id)
    t.equal((await rehearse(one, request)).status, 201)
  })

  t.test('an idempotency key is ignored', async (t) => {
    const me = await api.account()
    const headers = { 'idempotency-key': 'k' }
    const post = (query: string, description: string) =>
      me.raw.send('POST', `/ip_policies${query}`, { body: { description }, headers })
    t.equal((await post('?validate_only=true', 'one')).status, 201)
    t.equal((await post('', 'two')).status, 201)
    t.equal((await post('?validate_only=true', 'three')).body.description, 'three')
    t.equal((await all(me.ipPolicy.list())).length, 1)
    const bad = { headers: { 'idempotency-key': '' } }
    t.equal(
      (await me.raw.send('POST', '/ip_policies?validate_only=true', bad)).status,
      400,
      'but it must be valid',
    )
  })

  t.test('allowed values, and operations without it', async (t) => {
    const { me, destination } = await world()
    const before = (await all(me.ipPolicy.list())).length
    await me.raw.expect(201, 'POST', '/ip_policies?validate_only=false')
    t.equal((await all(me.ipPolicy.list())).length, before + 1, 'false: it is written')
    for (const value of ['', 'TRUE', '1', 'yes', 'true,true'])
      t.match(
        await me.raw.refused(400, 'POST', `/ip_policies?validate_only=${value}`, {}),
        /The query parameter "validate_only" is ".*": true or false is allowed/,
      )
    t.match(
      await me.raw.refused(400, 'POST', '/ip_policies?validate_only=true&validate_only=true', {}),
      /"validate_only" is given 2 times/,
    )
    t.match(await me.raw.refused(400, 'GET', '/ip_policies?validate_only=true'), /"validate_only" is unknown/)
    const testEvent = `/event_destinations/${destination}/send_test_event?validate_only=true`
    t.match(await me.raw.refused(400, 'POST', testEvent), /"validate_only" is unknown/)
    t.match(
      await me.raw.refused(400, 'POST', '/ip_policies?validate=true', {}),
      /supported are "validate_only"/,
    )
  })
})

t.test('expressions that are wrong come with the characters to mark', async (t) => {
  const store = await openTestStore(t)
  const me = await (await store.api()).account()
  const edge = await me.tcpEdge.create({})
  const deny = [{ type: 'deny' }]
  const marked = ({ body, text }: HttpAnswer) => {
    t.match(body, { error_code: 'ERR_INVALID_EXPRESSION' })
    return new ApiError('It', 400, text).places
  }
  const placesOf = async (...request: Request) => marked(await rehearse(me, request))
  const path = `/edges/tcp/${edge.id}/policies`
  const one = { inbound: [{ expressions: ['true', "conn.client_ipp == '::1'"], actions: deny }] }
  t.match(await placesOf('PUT', path, one), [
    { place: 'inbound[0].expressions[1]', offset: 0, length: 15, line: 1, column: 1, msg: /did you mean/ },
  ])
  const two = {
    inbound: [
      { expressions: ['true &&\n  size(1, 2)'], actions: deny },
      { expressions: ['1 +'], actions: deny },
    ],
  }
  t.match(await placesOf('PUT', path, two), [
    { place: 'inbound[0].expressions[0]', offset: 10, length: 4, line: 2, column: 3 },
    { place: 'inbound[1].expressions[0]', offset: 3, length: 0 },
  ])
  const sources = [{ type: 'tcp_connection_closed.v0', filter: 'conn.server_port = 22' }]
  t.match(await placesOf('POST', '/event_subscriptions', { sources }), [
    { place: 'sources[0].filter', offset: Number, length: Number },
  ])
  const filtered = await me.raw.send('GET', '/edges/tcp?filter=backend.enabld')
  t.match(marked(filtered), [{ place: 'filter', offset: 0, length: 'backend.enabld'.length }])
  t.match(filtered.body.details, { 'filter.offset': '0', 'filter.length': '14', 'filter.line': '1' })
  const error = await me.tcpEdge
    .list({ filter: 'backend.enabld' })
    .next()
    .catch((error) => error)
  t.strictSame(Object.keys(error.details).sort(), ['filter', 'operation_id'], 'for people')
  const other = await me.raw.send('PUT', path, { body: { inbound: [{ actions: [] }] } })
  t.strictSame(Object.keys(other.body.details), ['operation_id'], 'only of expressions')
})
