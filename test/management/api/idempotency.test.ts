/** A POST with an `Idempotency-Key` is done once; repeats get its first answer. */
import t, { type Test } from 'tap'
import { bucketNames } from '../../../src/delivery/wire/names.js'
import { streamOf } from '../../../src/ground/nats/bucket-stream.js'
import { seededRandom } from '../../ground/expr/generator.js'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller, refused, statusOf } from '../../harness/caller.js'
import { idleDestinations } from '../../harness/idle-status.js'
import type { HttpAnswer } from '../../harness/raw-client.js'
import { until } from '../../harness/weir.js'

const post = (me: Caller, key: string, path: string, body?: unknown): Promise<HttpAnswer> =>
  me.raw.send('POST', path, { headers: { 'idempotency-key': key }, ...(body === undefined ? {} : { body }) })

const checkRefused = (t: Test, { status, body }: HttpAnswer, says: RegExp): void => {
  t.equal(status, 400)
  t.match(body.msg, says)
}

const stream_arn = 'arn:aws:kinesis:us-east-1:123456789012:stream/x'
const creds = { aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE', aws_secret_access_key: 'never-shown' }
const kinesis = { target: { kinesis: { stream_arn, auth: { creds } } } }

t.test('idempotency keys', async (t) => {
  const store = await openTestStore(t)
  let sent = 0
  const api = await store.api({
    destinations: {
      ...idleDestinations,
      sendTestEvent: async ({ description }) => {
        sent += 1
        return description === 'down' ? { refusal: 'It is down.' } : { eventId: `ev_${sent}` }
      },
    },
  })
  const counted = async (me: Caller, path: string, list: string): Promise<number> =>
    (await me.raw.get(path))[list].length

  t.test('a repeated request is done once and gets the same answer', async (t) => {
    const me = await api.account()
    const bodies: readonly [path: string, list: string, body: object][] = [
      ['/ip_policies', 'ip_policies', { description: 'one' }],
      ['/edges/tcp', 'tcp_edges', { hostports: ['once.example.com:22'] }],
      ['/edges/https', 'https_edges', {}],
      ['/backends/tunnel_group', 'backends', { labels: { 10: 'b', 9: 'a', x: '"\\\n' } }],
      ['/event_destinations', 'event_destinations', kinesis],
      ['/event_subscriptions', 'event_subscriptions', {}],
    ]
    for (const [path, list, body] of bodies) {
      const audits = await api.auditsOf(me.accountId, async () => {
        const first = await post(me, path, path, body)
        t.equal(first.status, 201, first.text)
        const again = await post(me, path, path, body)
        t.equal(again.status, 201)
        t.equal(again.text, first.text)
        t.equal(again.headers['location'], first.headers['location'])
        t.not(again.headers['operation-id'], first.headers['operation-id'], 'it is a request of its own')
      })
      t.equal(await counted(me, path, list), 1, path)
      t.ok(audits.length <= 1, 'no event twice')
    }
  })

  t.test('a token is shown once', async (t) => {
    const me = await api.account()
    for (const path of ['/api_keys', '/credentials']) {
      const first = await post(me, path, path)
      t.type(first.body.token, 'string')
      const again = await post(me, path, path)
      t.strictSame(again.body, { ...first.body, token: null })
    }
    const { nats } = store.parts
    const bucket = (await nats.findBucket(bucketNames.idempotency))!
    for (const key of await bucket.keys('>')) {
      const kept = Buffer.from((await bucket.get(key))!.value!).toString()
      t.notMatch(kept, /never-shown|"token":"/, 'nothing secret is kept')
    }
  })

  t.test('another request with the same key is refused', async (t) => {
    const me = await api.account()
    await post(me, 'k', '/ip_policies', { description: 'one' })
    const says = /This "Idempotency-Key" was used with another request before/
    checkRefused(t, await post(me, 'k', '/ip_policies', { description: 'two' }), says)
    checkRefused(t, await post(me, 'k', '/ip_policies'), says)
    checkRefused(t, await post(me, 'k', '/backends/tunnel_group', { description: 'one' }), says)
    t.equal((await post(me, 'K', '/ip_policies', { description: 'two' })).status, 201, 'another key')
    t.equal(await counted(me, '/ip_policies', 'ip_policies'), 2)
  })

  t.test('spelling of the body does not matter', async (t) => {
    const me = await api.account()
    const first = await post(me, 'k', '/ip_policies', '{"description":"one","metadata":"m"}')
    const again = await post(me, 'k', '/ip_policies', ' {"description" : "\\u006fne", "metadata": "m"}\n')
    t.equal(again.text, first.text)
  })

  t.test('each account has its own keys', async (t) => {
    const [one, two] = [await api.account(), await api.account()]
    const first = await post(one, 'k', '/ip_policies')
    const other = await post(two, 'k', '/ip_policies', { description: 'other' })
    t.equal(other.status, 201)
    t.not(other.body.id, first.body.id)
    const key = await one.apiKey.create({})
    t.equal((await post(one.withToken(key.token), 'k', '/ip_policies')).text, first.text, 'not each API key')
  })

  t.test("later changes don't alter the answer", async (t) => {
    const me = await api.account()
    const edge = await me.httpsEdge.create({})
    const routes = `/edges/https/${edge.id}/routes`
    const body = { match_type: 'exact_path', match: '/' }
    const first = await post(me, 'k', routes, body)
    await me.httpsEdgeRoute.under(edge.id).update(first.body.id, { description: 'changed' })
    t.equal((await post(me, 'k', routes, body)).text, first.text)
    await me.httpsEdge.delete(edge.id)
    t.equal((await post(me, 'k', routes, body)).text, first.text, 'not even its deletion')
  })

  t.test('a request that failed does not use its key up', async (t) => {
    const me = await api.account()
    const body = { ip_policy_id: 'ipp_01M7Y46P1SGDTCFAVEJ96D4PD7', cidr: '10.0.0.0/8', action: 'allow' }
    t.equal((await post(me, 'k', '/ip_policy_rules', body)).status, 404)
    t.equal((await post(me, 'k', '/ip_policy_rules', { ...body, cidr: 'x' })).status, 400)
    const { id } = await me.ipPolicy.create({})
    const rule = { ...body, ip_policy_id: id }
    t.equal((await post(me, 'k', '/ip_policy_rules', rule)).status, 201)
    await me.raw.refused(400, 'POST', '/ip_policy_rules', rule)
    t.equal((await post(me, 'k', '/ip_policy_rules', rule)).status, 201, 'the duplicate is the answer again')
  })

  t.test('concurrent requests with one key create one resource', async (t) => {
    const me = await api.account()
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(me, 'k', '/ip_policies')))
    t.equal(new Set(answers.map(({ text }) => text)).size, 1)
    t.equal(await counted(me, '/ip_policies', 'ip_policies'), 1)
    const mixed = await Promise.all(
      Array.from({ length: 10 }, (_, at) => post(me, 'm', '/ip_policies', { description: `${at % 2}` })),
    )
    t.equal(mixed.filter(({ status }) => status === 201).length, 5, 'of two requests, one has the key')
    t.equal(await counted(me, '/ip_policies', 'ip_policies'), 2)
  })

  t.test('sources of a subscription', async (t) => {
    const me = await api.account()
    const { id } = await me.eventSubscription.create({})
    const sources = `/event_subscriptions/${id}/sources`
    const source = { type: 'log.v0', fields: ['metadata'] }
    const first = await post(me, 'k', sources, source)
    t.equal(first.status, 201)
    t.equal((await post(me, 'k', sources, source)).text, first.text)
    await refused(400, me.sources(id).create(source))
    await me.sources(id).delete('log.v0')
    t.equal((await post(me, 'k', sources, source)).text, first.text)
    t.strictSame(await all(me.sources(id).list()), [], 'it is not added again')
  })

  t.test('a test event is repeated until one is accepted, then not again', async (t) => {
    const me = await api.account()
    const { id } = await me.eventDestination.create({ ...kinesis, description: 'down' })
    const path = `/event_destinations/${id}/send_test_event`
    sent = 0
    checkRefused(t, await post(me, 'k', path), /It is down/)
    await me.eventDestination.update(id, { description: 'up' })
    const first = await post(me, 'k', path)
    t.strictSame([first.status, first.body], [200, { event_id: 'ev_2' }])
    t.equal((await post(me, 'k', path)).text, first.text)
    t.equal(sent, 2)
    t.equal((await me.raw.send('POST', path)).body.event_id, 'ev_3', 'without a key it is sent each time')
    const audits = await api.audits(me.accountId)
    t.equal(audits.filter(({ event_type }) => event_type.startsWith('event_destination_')).length, 2)
    t.equal((await post(me, 'k2', '/ip_policies')).status, 201, 'and the account takes writes')
  })

  t.test('other methods ignore the header', async (t) => {
    const me = await api.account()
    const { id } = await me.ipPolicy.create({})
    const headers = { 'idempotency-key': 'k' }
    for (const description of ['one', 'two']) {
      const answer = await me.raw.send('PATCH', `/ip_policies/${id}`, { body: { description }, headers })
      t.equal(answer.body.description, description)
    }
  })

  t.test('invalid keys', async (t) => {
    const me = await api.account()
    const says = /The header "Idempotency-Key" is .*: 1 to 255 printable ASCII characters are allowed/
    for (const key of ['', 'x'.repeat(256), 'é', 'a\tb', '\x7f'])
      checkRefused(t, await post(me, key, '/ip_policies'), says)
    t.equal(await counted(me, '/ip_policies', 'ip_policies'), 0)
    for (const key of ['x', 'x'.repeat(255), '!"#$ %&\'()*+,-./:;<=>?@[\\]^_`{|}~'])
      t.equal((await post(me, key, '/ip_policies')).status, 201)
  })

  t.test('any sequence of repeated requests has the effect of one of each', async (t) => {
    const me = await api.account()
    const seed = Date.now() >>> 0
    const random = seededRandom(seed)
    const answers = new Map<string, string>()
    const made = new Set<string>()
    for (let turn = 0; turn < 60; turn += 1) {
      const [key, description] = [`k${Math.floor(random() * 6)}`, `d${Math.floor(random() * 2)}`]
      const request = `${key} ${description}`
      const isFirst = ![...answers.keys()].some((each) => each.startsWith(`${key} `))
      const answer = await post(me, key, '/ip_policies', { description })
      t.equal(answer.status, isFirst || answers.has(request) ? 201 : 400, `seed ${seed}: ${request}`)
      if (answer.status !== 201) continue
      t.equal(answers.get(request) ?? answer.text, answer.text)
      answers.set(request, answer.text)
      made.add(answer.body.id)
    }
    t.equal(await counted(me, '/ip_policies', 'ip_policies'), made.size)
  })

  t.test('a deleted bucket is recreated without its keys', async (t) => {
    const me = await api.account()
    const first = await post(me, 'k', '/ip_policies')
    await store.admin.request(`$JS.API.STREAM.DELETE.${streamOf(bucketNames.idempotency)}`, '', 5_000)
    t.equal(await statusOf(me.ipPolicy.create({})), 'ok', 'requests without a key need none')
    let again: HttpAnswer | undefined
    await until('it is there again', async () => {
      again = await post(me, 'k', '/ip_policies')
      return again.status !== 503
    })
    t.equal(again?.status, 201)
    t.not(again?.body.id, first.body.id)
    t.equal((await post(me, 'k', '/ip_policies')).text, again?.text)
    t.equal(await counted(me, '/ip_policies', 'ip_policies'), 3)
  })

  t.test('keys are kept for 24 hours', async (t) => {
    const { config } = (await store.parts.nats.streamInfo(streamOf(bucketNames.idempotency)))!
    t.equal(config.max_age, 24 * 60 * 60 * 1e9, 'in nanoseconds')
  })
})
