/** Batches: several writes, committed together or not at all. */
import fc from 'fast-check'
import t from 'tap'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller } from '../../harness/caller.js'
import type { HttpAnswer } from '../../harness/raw-client.js'

type Part = readonly [method: string, path: string, body?: object | undefined, as?: string]

const partOf = ([method, path, body, as]: Part) => ({
  method,
  path,
  ...(body && { body }),
  ...(as && { as }),
})

const send = (me: Caller, parts: readonly Part[], query = '', headers = {}): Promise<HttpAnswer> =>
  me.raw.send('POST', `/batch${query}`, { body: { requests: parts.map(partOf) }, headers })

const idsIn = ({ body }: HttpAnswer): string[] => (body.results as { id: string }[]).map(({ id }) => id)

const versionsOf = async (me: Caller): Promise<number[]> => {
  const versions: number[] = []
  for await (const { version } of me.changes()) versions.push(version)
  return versions
}

t.test('batches', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()

  t.test('resources that name each other, made and changed by one batch', async (t) => {
    const me = await api.account()
    const old = await me.ipPolicy.create({ description: 'old' })
    const [first = 0] = await versionsOf(me)
    const answer = await send(me, [
      ['POST', '/ip_lists', { name: 'guests' }, '#guests'],
      ['PUT', '/ip_lists/%23guests/entries', { entries: [{ cidr: '198.51.100.0/24' }] }],
      ['POST', '/ip_policies', { description: 'the office' }, '#office'],
      [
        'POST',
        '/ip_policy_rules',
        { ip_policy_id: '#office', cidr: '203.0.113.0/24', action: 'allow' },
        '#rule',
      ],
      ['POST', '/ip_policy_rules', { ip_policy_id: '#office', list_id: '#guests', action: 'allow' }],
      ['PATCH', '/ip_policy_rules/%23rule', { description: 'the building' }],
      ['POST', '/edges/https', { hostports: ['batched.example.com:443'] }, '#edge'],
      ['POST', '/edges/https/%23edge/routes', { match: '/', match_type: 'path_prefix' }, '#route'],
      ['PUT', '/edges/https/%23edge/routes/%23route/ip_restriction', { ip_policy_ids: ['#office'] }],
      ['DELETE', `/ip_policies/${old.id}`],
    ])
    t.equal(answer.status, 200, JSON.stringify(answer.body))
    t.strictSame(
      (answer.body.results as { status: number }[]).map(({ status }) => status),
      [201, 200, 201, 201, 201, 200, 201, 201, 200, 204],
    )
    const [list, , policy, rule, , , edge, route] = idsIn(answer)
    t.strictSame(
      (await all(me.ipPolicy.list())).map(({ id }) => id),
      [policy],
    )
    const rules = await all(me.rules(policy!))
    t.match(
      rules.map((each) => [each.id === rule, each.cidr, each.list?.id, each.description]),
      [
        [false, null, list, undefined],
        [true, '203.0.113.0/24', undefined, 'the building'],
      ],
    )
    t.strictSame(
      (await all(me.listEntries.list(list!))).map(({ cidr }) => cidr),
      ['198.51.100.0/24'],
    )
    const shown = await me.httpsEdge.get(edge!)
    t.match(shown.routes, [{ id: route, ip_restriction: { ip_policies: [{ id: policy }] } }])
    const versions = (await versionsOf(me)).filter((version) => version > first)
    t.strictSame(
      versions.toReversed(),
      Array.from({ length: 10 }, (_, index) => first + 1 + index),
    )
    const audits = (await api.audits(me.accountId)).map(
      ({ event_type, object }) => `${event_type} ${object.id}`,
    )
    t.equal(new Set(audits).size, audits.length, 'each has its event once')
    for (const each of [
      `ip_policy_created.v0 ${policy}`,
      `ip_policy_deleted.v0 ${old.id}`,
      `ip_policy_rule_created.v0 ${rule}`,
    ])
      t.ok(audits.includes(each), each)
  })

  t.test('one that is refused: nothing is written, and the message says which', async (t) => {
    const me = await api.account()
    const before = await versionsOf(me)
    const good: Part = ['POST', '/ip_policies', { description: 'good' }, '#good']
    const rule = (cidr: string): Part => [
      'POST',
      '/ip_policy_rules',
      { ip_policy_id: '#good', cidr, action: 'allow' },
    ]
    const hostports = ['twice.example.com:22']
    const cases: { name: string; parts: Part[]; status: number; msg: RegExp }[] = [
      { name: 'a body', parts: [good, rule('10.0.0.300/8')], status: 400, msg: /^requests\[1\]: "cidr"/ },
      {
        name: 'the same range twice',
        parts: [good, rule('10.0.0.0/8'), rule('10.0.0.0/8')],
        status: 400,
        msg: /^requests\[2\]: /,
      },
      {
        name: 'no such path',
        parts: [good, ['POST', '/nothing', {}]],
        status: 404,
        msg: /^requests\[1\]: There is nothing at POST/,
      },
      {
        name: 'no such resource',
        parts: [good, ['DELETE', '/ip_policies/ipp_none']],
        status: 404,
        msg: /^requests\[1\]: There is no/,
      },
      {
        name: 'no write',
        parts: [good, ['POST', '/decide', {}]],
        status: 400,
        msg: /^requests\[1\]: POST .decide can't be a part/,
      },
      {
        name: 'a batch in a batch',
        parts: [good, ['POST', '/batch', { requests: [] }]],
        status: 400,
        msg: /^requests\[1\]: POST .batch can't/,
      },
      {
        name: 'a sign-in',
        parts: [good, ['POST', '/console/session', {}]],
        status: 400,
        msg: /^requests\[1\]: POST .console.session can't/,
      },
      {
        name: 'a name twice',
        parts: [
          ['POST', '/edges/tcp', { hostports }],
          ['POST', '/edges/tcp', { hostports }],
        ],
        status: 400,
        msg: /twice\.example\.com:22/,
      },
      {
        name: 'changed and deleted',
        parts: [good, ['DELETE', '/ip_policies/%23good']],
        status: 400,
        msg: /^requests\[1\]: .*changed and deleted/,
      },
      {
        name: 'a query',
        parts: [['POST', '/ip_policies?validate_only=true', {}]],
        status: 400,
        msg: /requests\[0\]\.path/,
      },
      {
        name: 'a name for what is not new',
        parts: [['DELETE', '/ip_policies/x', undefined, '#x']],
        status: 400,
        msg: /requests\[0\]\.as/,
      },
      { name: 'two of one name', parts: [good, good], status: 400, msg: /requests\[1\]\.as/ },
    ]
    for (const { name, parts, status, msg } of cases) {
      const answer = await send(me, parts)
      t.equal(answer.status, status, `${name}: ${answer.body.msg}`)
      t.match(answer.body.msg, msg, name)
    }
    t.strictSame(await versionsOf(me), before)
    t.strictSame(await all(me.ipPolicy.list()), [])
    // The name that was taken for a moment is free.
    await me.tcpEdge.create({ hostports })
  })

  t.test('a key needs the right of each part', async (t) => {
    const me = await api.account()
    const { token } = await me.apiKey.create({ rights: ['read', 'write'] })
    const limited = api.stranger(token)
    const answer = await limited.raw.send('POST', '/batch', {
      body: {
        requests: [
          { method: 'POST', path: '/ip_policies', body: {} },
          { method: 'POST', path: '/api_keys', body: {} },
        ],
      },
    })
    t.equal(answer.status, 403)
    t.match(answer.body.msg, /^requests\[1\]: The API key .* lacks the right "all"/)
    t.strictSame(await all(me.ipPolicy.list()), [])
    const forged = await limited.raw.send('POST', '/ip_policies', {
      body: {},
      headers: { 'weir-batch': 'x' },
    })
    t.equal(forged.status, 201, 'a header from outside means nothing')
  })

  t.test('what holds in the end counts: policy tests and the own address', async (t) => {
    const me = await api.account()
    const { id } = await me.ipPolicy.create({})
    await me.ipPolicyRule.create({ ip_policy_id: id, cidr: '203.0.113.0/24', action: 'allow' })
    const edge = await me.tcpEdge.create({ hostports: ['tested-batch.example.com:22'] })
    await me.tcpEdge.ip_restriction.put(edge.id, { ip_policy_ids: [id] })
    const conn = { client_ip: '203.0.113.9', server_name: 'tested-batch.example.com', server_port: 22 }
    const given = { type: 'tcp_connection', conn } as never
    await me.policyTest.create({ given, expect: { decision: 'allow' } })
    const old = (await all(me.rules(id)))[0]!.id
    const swap: Part[] = [
      ['DELETE', `/ip_policy_rules/${old}`],
      ['POST', '/ip_policy_rules', { ip_policy_id: id, cidr: '203.0.113.0/25', action: 'allow' }],
    ]
    t.equal(
      (await me.raw.send('DELETE', `/ip_policy_rules/${old}`)).status,
      400,
      'alone, the first fails the test',
    )
    t.equal((await send(me, swap)).status, 200)
    const before = await versionsOf(me)
    const refused = await send(me, [
      ['PATCH', `/ip_policies/${id}`, { description: 'closed' }],
      ['POST', '/ip_policy_rules', { ip_policy_id: id, cidr: '203.0.113.9/32', action: 'deny' }],
    ])
    t.match(refused, { status: 400, body: { error_code: 'ERR_POLICY_TEST' } })
    t.strictSame(await versionsOf(me), before)
  })

  t.test('validate_only changes nothing, and takes a name as free that the batch gives up', async (t) => {
    const me = await api.account()
    const hostports = ['moved.example.com:22']
    const from = await me.tcpEdge.create({ hostports })
    const before = await versionsOf(me)
    const move: Part[] = [
      ['PATCH', `/edges/tcp/${from.id}`, { hostports: [] }],
      ['POST', '/edges/tcp', { hostports }],
    ]
    t.equal((await send(me, move, '?validate_only=true')).status, 200)
    t.strictSame(await versionsOf(me), before)
    const answer = await send(me, move)
    t.equal(answer.status, 400, 'a commit needs two steps')
    t.match(answer.body.msg, /moved\.example\.com:22/)
    t.equal((await me.tcpEdge.get(from.id)).hostports[0], hostports[0])
  })

  t.test('a repeated request gets the first answer; tokens are shown once', async (t) => {
    const me = await api.account()
    const parts: Part[] = [
      ['POST', '/ip_policies', { description: 'once' }],
      ['POST', '/api_keys', { description: 'new' }],
    ]
    const headers = { 'idempotency-key': 'the same' }
    const first = await send(me, parts, '', headers)
    const second = await send(me, parts, '', headers)
    t.strictSame(idsIn(second), idsIn(first))
    t.match(first.body.results[1].token, /^weir_/)
    t.equal(second.body.results[1].token, null)
    t.equal((await all(me.ipPolicy.list())).length, 1)
    t.equal((await send(me, parts.slice(1), '', headers)).status, 400, 'the key belongs to that request')
    const nothing: Part[] = [['PATCH', `/ip_policies/${idsIn(first)[0]}`, { description: 'once' }]]
    const again = { 'idempotency-key': 'nothing' }
    t.strictSame(idsIn(await send(me, nothing, '', again)), idsIn(await send(me, nothing, '', again)))
  })

  t.test('a batch may expect that nobody changed the account since', async (t) => {
    const me = await api.account()
    const last: number = (await send(me, [])).body.version
    const change = (expected_version: number): Promise<HttpAnswer> =>
      me.raw.send('POST', '/batch', {
        body: { requests: [{ method: 'POST', path: '/ip_policies', body: {} }], expected_version },
      })
    const first = await change(last)
    t.match(first, { status: 200, body: { version: last + 1 } })
    t.match(await change(last), { status: 409, body: { error_code: 'ERR_DRAFT_OUTDATED' } })
    const same: Part = ['PATCH', `/ip_policies/${idsIn(first)[0]}`, {}]
    t.match(await send(me, [same]), { status: 200, body: { version: last + 1 } }, 'nothing was changed')
    const [both] = await Promise.all([Promise.all([change(last + 1), change(last + 1)])])
    t.strictSame(both.map(({ status }) => status).sort(), [200, 409], 'one of two gets through')
  })

  t.test('more than one change can hold is refused as too large', async (t) => {
    const me = await api.account()
    const metadata = 'x'.repeat(4_000)
    const parts = Array.from({ length: 200 }, (): Part => ['POST', '/ip_policies', { metadata }])
    const answer = await send(me, parts)
    t.equal(answer.status, 413, answer.body.msg)
    t.match(answer.body.msg, /Split it/)
    t.equal((await send(me, parts.slice(0, 50))).status, 200)
  })

  t.test('any batch leaves what its requests leave one by one', async (t) => {
    const step = fc.record({
      what: fc.constantFrom('policy', 'rule', 'rename', 'unrule', 'delete'),
      at: fc.nat(4),
      octet: fc.nat(40),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const [one, other] = [await api.account(), await api.account()]
        const parts = partsOf(steps)
        const answer = await send(one, parts)
        const ids = new Map<string, string>()
        for (const [method, path, body, as] of parts) {
          const text = JSON.stringify([path, body ?? null]).replace(
            /(%23|#)\w+/g,
            (name) => ids.get(name.replace('%23', '#'))!,
          )
          const [at, given] = JSON.parse(text)
          const alone = await other.raw.send(method as 'POST', at, given === null ? {} : { body: given })
          if (as !== undefined) ids.set(as, String(alone.body.id))
        }
        t.equal(answer.status, 200, JSON.stringify(answer.body))
        t.strictSame(await stateOf(one), await stateOf(other))
      }),
      { numRuns: 12 },
    )
  })
})

interface Step {
  readonly what: string
  readonly at: number
  readonly octet: number
}

/** Requests that are all valid: each names what is there by then, and deletes nothing that was written before. */
function partsOf(steps: readonly Step[]): Part[] {
  const parts: Part[] = [['POST', '/ip_policies', { description: 'first' }, '#p0']]
  const policies = ['#p0']
  const ranges = new Set<string>()
  for (const [index, { what, at, octet }] of steps.entries()) {
    const policy = policies[at % policies.length]!
    const cidr = `10.${octet}.0.0/16`
    if (what === 'policy') {
      parts.push(['POST', '/ip_policies', { description: `${index}` }, `#p${index + 1}`])
      policies.push(`#p${index + 1}`)
    } else if (what === 'rename') {
      parts.push(['PATCH', `/ip_policies/${policy.replace('#', '%23')}`, { description: `new ${index}` }])
    } else if (!ranges.has(policy + cidr)) {
      ranges.add(policy + cidr)
      parts.push([
        'POST',
        '/ip_policy_rules',
        { ip_policy_id: policy, cidr, action: 'allow', description: `${index}` },
      ])
    }
  }
  return parts
}

async function stateOf(me: Caller): Promise<unknown> {
  const found: unknown[] = []
  for (const { id, description } of await all(me.ipPolicy.list())) {
    const rules = await all(me.rules(id))
    found.push([description, rules.map(({ cidr, description }) => [cidr, description])])
  }
  return found
}
