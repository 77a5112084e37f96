/** Lists narrowed down: by an expression over shown members, and by a description. */
import t from 'tap'
import { grantRight } from '../../../src/management/write/accounts.js'
import { allOperations } from '../../../src/words/resource/kind/define.js'
import { resources } from '../../../src/words/resource/registry.js'
import { seededRandom } from '../../ground/expr/generator.js'
import { base, openTestStore } from '../../harness/api.js'
import { all, type Caller } from '../../harness/caller.js'

const query = (parameters: Readonly<Record<string, string | number>>): string =>
  `?${new URLSearchParams(Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]))}`

const idsOf = (entries: readonly { id: string }[]): string[] => entries.map(({ id }) => id)

/** Ids of all matches, page by page, following `next_page_uri`. */
async function walk(
  me: Caller,
  path: string,
  list: string,
  onPage?: () => Promise<unknown>,
): Promise<string[]> {
  const ids: string[] = []
  for (let next: string | null = path; next !== null; ) {
    const page = await me.raw.get(next)
    ids.push(...idsOf(page[list]))
    next = page.next_page_uri
    await onPage?.()
  }
  return ids
}

t.test('filters', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()

  t.test('by the shown members of each kind', async (t) => {
    const me = await api.account()
    const policy = await me.ipPolicy.create({ description: 'office' })
    const other = await me.ipPolicy.create({ metadata: '{"team":"b"}' })
    const rule = (cidr: string, action: 'allow' | 'deny', ip_policy_id: string) =>
      me.ipPolicyRule.create({ cidr, action, ip_policy_id })
    const allow = await rule('203.0.113.0/24', 'allow', policy.id)
    const deny = await rule('198.51.100.7/32', 'deny', other.id)
    const backend = await me.tunnelGroupBackend.create({ labels: { env: 'prod', 'a b': '1' } })
    const plain = await me.tunnelGroupBackend.create({ labels: { env: 'test' } })
    const bare = await me.tcpEdge.create({})
    const full = await me.tcpEdge.create({
      hostports: ['a.example.com:22', 'b.example.com:22'],
      backend: { backend_id: backend.id },
      ip_restriction: { enabled: false, ip_policy_ids: [policy.id, other.id] },
      policies: { inbound: [{ name: 'no', actions: [{ type: 'deny' }] }] },
    })
    const restriction = await me.ipRestriction.create({ type: 'agent', ip_policy_ids: [policy.id] })
    const stream_arn = 'arn:aws:kinesis:us-east-1:123456789012:stream/x'
    const auth = { role: { role_arn: 'arn:aws:iam::123456789012:role/weir' } }
    const destination = await me.eventDestination.create({ target: { kinesis: { stream_arn, auth } } })
    const edges = ['/edges/tcp', 'tcp_edges'] as const
    const rules = ['/ip_policy_rules', 'ip_policy_rules'] as const
    const policies = ['/ip_policies', 'ip_policies'] as const
    const backends = ['/backends/tunnel_group', 'backends'] as const
    const destinations = ['/event_destinations', 'event_destinations'] as const
    const table: readonly [readonly [path: string, list: string], filter: string, wanted: string[]][] = [
      [policies, 'description == "office"', [policy.id]],
      [policies, 'description == null', [other.id]],
      [policies, 'metadata|contains("team")', [other.id]],
      [policies, `id == '${other.id}'`, [other.id]],
      [policies, 'created_at >= "2020-01-01" && uri|startsWith("http")', [other.id, policy.id]],
      [policies, 'false', []],
      [rules, 'action == "deny"', [deny.id]],
      [rules, `ip_policy.id == "${policy.id}"`, [allow.id]],
      [rules, 'inCidrRange("203.0.113.9", "203.0.113.0/24") && cidr|endsWith("/24")', [allow.id]],
      [
        rules,
        'ip_policy.uri|matches("ip_policies/ipp_") && action in ["allow", "deny"]',
        [deny.id, allow.id],
      ],
      [backends, 'labels.env == "prod"', [backend.id]],
      [backends, 'labels["a b"] == 1', [backend.id]],
      [backends, 'labels.none == null', [plain.id, backend.id]],
      [backends, 'tunnels|size == 0', [plain.id, backend.id]],
      [edges, 'backend == null', [bare.id]],
      [edges, 'backend.enabled', [full.id]],
      [edges, `backend.backend.id == "${backend.id}"`, [full.id]],
      [edges, '!ip_restriction.enabled', [full.id, bare.id]],
      [edges, 'ip_restriction.enabled == false', [full.id]],
      [edges, `ip_restriction.ip_policies[.id == "${other.id}"]|size == 1`, [full.id]],
      [edges, '"b.example.com:22" in hostports', [full.id]],
      [edges, 'hostports|size > 1', [full.id]],
      [edges, 'policies.inbound[0].actions[0].type == "deny"', [full.id]],
      [['/ip_restrictions', 'ip_restrictions'], '!enforced && type == "agent"', [restriction.id]],
      [destinations, 'target.kinesis.stream_arn|contains(":stream/x")', [destination.id]],
      [destinations, 'target.firehose != null', []],
      [
        ['/api_keys', 'keys'],
        'token == null && description|lower|contains("first")',
        idsOf(await all(me.apiKey.list())),
      ],
    ]
    for (const [[path, list], filter, wanted] of table)
      t.strictSame(await walk(me, `${path}${query({ filter })}`, list), wanted, filter)
    const foreign = await api.account()
    t.strictSame(await all(foreign.ipPolicy.list({ filter: 'true' })), [])
  })

  t.test('every shown member is a name', async (t) => {
    const me = await api.account()
    await grantRight(store.parts.store, me.accountId, 'abuse_reports')
    const { schemas } = (api.app.swagger() as { components: { schemas: Record<string, Shape> } }).components
    for (const { kind, path, operations = allOperations } of resources) {
      if (!operations.includes('list') || path.includes('{')) continue
      const name = Object.keys(schemas).find((each) => each.toLowerCase() === kind.replaceAll('_', ''))!
      const members = Object.keys(schemas[name]!.properties)
      t.ok(members.includes('created_at'), kind)
      const { length } = await all(me.at(path).list())
      for (const member of members) {
        const found = await all(me.at(path).list({ filter: `${member} == null || true` }))
        t.equal(found.length, length, `${kind}: ${member}`)
      }
    }
  })

  t.test('pages of matches', async (t) => {
    const me = await api.account()
    const made: { id: string; metadata?: string }[] = []
    for (let at = 0; at < 12; at += 1) {
      const description = at % 2 === 0 ? 'even & "fünf"' : 'odd'
      made.unshift(await me.ipPolicy.create({ description, metadata: String(at) }))
    }
    const wanted = idsOf(made.filter((_, at) => at % 2 === 1 && at < 10))
    const parameters = { limit: 2, filter: 'metadata|int >= 2', description: 'even & "fünf"' }
    t.strictSame(await walk(me, `/ip_policies${query(parameters)}`, 'ip_policies'), wanted)
    const first = await me.raw.get(`/ip_policies${query(parameters)}`)
    t.equal(first.uri, `${base}/ip_policies`, 'the list itself has no query')
    t.strictSame(Object.fromEntries(new URL(first.next_page_uri).searchParams), {
      limit: '2',
      before_id: wanted[1],
      filter: parameters.filter,
      description: parameters.description,
    })
    const exact = await me.raw.get(`/ip_policies${query({ ...parameters, limit: 5 })}`)
    t.equal(exact.ip_policies.length, 5)
    t.equal(exact.next_page_uri, null, 'others behind the page match nothing')
    const behind = await me.raw.get(`/ip_policies${query({ ...parameters, before_id: wanted[3]! })}`)
    t.strictSame(idsOf(behind.ip_policies), wanted.slice(4))
  })

  t.test('by description', async (t) => {
    const me = await api.account()
    const one = await me.ipPolicy.create({ description: 'a+b %26=é' })
    const none = await me.ipPolicy.create({})
    await me.ipPolicy.create({ description: 'a+b %26=é2' })
    const found = async (description: string): Promise<string[]> =>
      idsOf(await all(me.ipPolicy.list({ description })))
    t.strictSame(await found('a+b %26=é'), [one.id], 'exactly')
    t.strictSame(await found('a+b'), [])
    t.strictSame(await found(''), [none.id], 'those without one')
  })

  t.test('a filter that fails for an entry does not match it', async (t) => {
    const me = await api.account()
    await me.ipPolicy.create({ description: 'ten' })
    const { id } = await me.ipPolicy.create({ description: '10' })
    await me.ipPolicy.create({ description: 'ten again', metadata: 'x'.repeat(2000) })
    const found = async (filter: string) => idsOf(await all(me.ipPolicy.list({ filter })))
    t.strictSame(await found('int(description) == 10'), [id])
    t.strictSame(await found('!(int(description) == 11)'), [id], 'a failure is no value to be negated')
    t.equal((await found('metadata|matches("x+") || description != ""')).length, 2, 'too long a text for it')
  })

  t.test('invalid filters', async (t) => {
    const me = await api.account()
    const table: readonly [parameters: Record<string, string>, says: RegExp][] = [
      [
        { filter: 'descripton == "x"' },
        /"filter" is not a valid expression: descripton is not a known name at character 1; did you mean description\?/,
      ],
      [{ filter: 'ip_policy.id == "x"' }, /ip_policy.id is not a known name/],
      [{ filter: 'description.length > 1' }, /description.length is not a known name/],
      [{ filter: 'token_hash == "x"' }, /token_hash is not a known name/],
      [{ filter: 'rules_generation == 1' }, /rules_generation is not a known name/],
      [{ filter: 'account_id == "x"' }, /account_id is not a known name/],
      [{ filter: 'id.constructor' }, /constructor/],
      [{ filter: '' }, /"filter" is not a valid expression/],
      [{ filter: '(id == "x"' }, /"filter" is not a valid expression/],
      [{ filter: 'shout(id)' }, /shout is not a known function/],
      [{ filter: 'id == "x" && true || false' }, /"filter" is not a valid expression/],
      [{ filter: `id in [${'1,'.repeat(5000)}1]` }, /"filter" is not a valid expression/],
      [
        { descripton: 'x' },
        /"descripton" is unknown: supported are "limit", "before_id", "filter", "description"/,
      ],
    ]
    for (const [parameters, says] of table) {
      const [[name, text]] = Object.entries(parameters) as [[string, string]]
      t.match(
        await me.raw.refused(400, 'GET', `/ip_policies${query(parameters)}`),
        says,
        `${name}=${text.slice(0, 60)}`,
      )
    }
    const near = await me.raw.refused(400, 'GET', `/edges/tcp${query({ filter: 'backend.enabld' })}`)
    t.match(near, /backend.enabld is not a known name .*backend.enabled/)
    const write = await me.raw.refused(
      400,
      'GET',
      `/ip_policy_rules${query({ filter: 'ip_policy_id == "x"' })}`,
    )
    t.match(write, /ip_policy_id is not a known name .*ip_policy.id/, 'the name it has in requests')
    t.match(
      await me.raw.refused(400, 'GET', '/ip_policies?filter=true&filter=false'),
      /"filter" is given 2 times/,
    )
    t.match(await me.raw.refused(400, 'GET', '/ip_policies/ipp_x?filter=true'), /"filter" is unknown/)
    await me.raw.refused(400, 'POST', '/ip_policies?filter=true', {})
  })

  t.test('any filter with any page size finds the same as checking each entry', async (t) => {
    const seed = Date.now() >>> 0
    const random = seededRandom(seed)
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
    const me = await api.account()
    const shown: Entry[] = []
    const bodies = Array.from({ length: 40 }, () => ({
      description: pick(['', 'a', 'b', 'ab', '7']),
      metadata: pick(['', 'x', '12', '30']),
      labels: pick<Record<string, string>>([{}, { env: 'a' }, { env: 'b', n: '5' }]),
    }))
    shown.push(...(await Promise.all(bodies.map((body) => me.tunnelGroupBackend.create(body)))))
    shown.sort((one, other) => (one.id < other.id ? 1 : -1))
    const parts: readonly [filter: string, holds: (entry: Entry) => boolean][] = [
      ['description == "a"', ({ description }) => description === 'a'],
      ['description != null', ({ description }) => description !== undefined],
      ['description|startsWith("a")', ({ description }) => description?.startsWith('a') ?? false],
      ['metadata > 12', ({ metadata }) => Number(metadata) > 12],
      ['metadata in ["x", "30"]', ({ metadata }) => metadata === 'x' || metadata === '30'],
      ['labels.env == "b"', ({ labels }) => labels['env'] === 'b'],
      ['labels.n', ({ labels }) => labels['n'] !== undefined],
      [`id < "${pick(shown).id}"`, () => true],
    ]
    const pivot = /"(bkdtg_\w+)"/.exec(parts.at(-1)![0])![1]!
    const holdsAt = (at: number, entry: Entry): boolean =>
      at === parts.length - 1 ? entry.id < pivot : parts[at]![1](entry)
    for (let turn = 0; turn < 60; turn += 1) {
      const [one, other] = [Math.floor(random() * parts.length), Math.floor(random() * parts.length)]
      const isBoth = random() < 0.5
      const negates = random() < 0.5
      const filter = `(${parts[one]![0]}) ${isBoth ? '&&' : '||'} ${negates ? '!' : ''}(${parts[other]![0]})`
      const description = random() < 0.3 ? pick(['', 'a', 'ab']) : undefined
      const wanted = shown.filter((entry) => {
        const [left, right] = [holdsAt(one, entry), holdsAt(other, entry) !== negates]
        const matches = isBoth ? left && right : left || right
        return matches && (description === undefined || (entry.description ?? '') === description)
      })
      const limit = 1 + Math.floor(random() * 12)
      const parameters = { limit, filter, ...(description === undefined ? {} : { description }) }
      const found = await walk(me, `/backends/tunnel_group${query(parameters)}`, 'backends')
      t.strictSame(found, idsOf(wanted), `seed ${seed}: ${JSON.stringify(parameters)}`)
    }
  })

  t.test('no entry is repeated or skipped during writes', async (t) => {
    const me = await api.account()
    const stays: string[] = []
    const goes: string[] = []
    for (let count = 0; count < 6; count += 1) {
      stays.unshift((await me.ipPolicy.create({ description: 'wanted' })).id)
      await me.ipPolicy.create({})
      goes.push((await me.ipPolicy.create({ description: 'wanted' })).id)
    }
    const path = `/ip_policies${query({ limit: 2, filter: 'description == "wanted"' })}`
    const seen = await walk(me, path, 'ip_policies', () =>
      Promise.all([me.ipPolicy.create({ description: 'wanted' }), me.ipPolicy.delete(goes.pop()!)]),
    )
    t.equal(new Set(seen).size, seen.length, 'nothing twice')
    t.strictSame(
      seen.filter((id) => stays.includes(id)),
      stays,
      'every entry that existed all the time, in order',
    )
  })

  t.test('other requests proceed during a long search, which skips nothing', async (t) => {
    const me = await api.account()
    const metadata = 'x'.repeat(1000)
    const made: { id: string }[] = await Promise.all(
      Array.from({ length: 300 }, () => me.ipPolicy.create({ metadata })),
    )
    const ids = idsOf(made).toSorted().toReversed()
    const [first = ''] = ids
    const costly = Array.from({ length: 2 }, (_, at) => `!(metadata|matches("(x|y)*${at}$"))`).join(' && ')
    const order: string[] = []
    const note = (what: string) => () => order.push(what)
    const search = walk(me, `/ip_policies${query({ filter: costly })}`, 'ip_policies')
    const others = [
      me.ipPolicy.get(first).then(note('read')),
      me.ipPolicy.delete(ids[150]!).then(note('deleted')),
    ]
    const found = await search.finally(note('searched'))
    await Promise.all(others)
    t.equal(order[0], 'read', 'a read is not held up')
    const stays = ids.filter((_, at) => at !== 150)
    t.strictSame(
      found.filter((id) => id !== ids[150]),
      stays,
      'all entries that stay are found',
    )
  })
})

interface Shape {
  readonly properties: object
}

interface Entry {
  readonly id: string
  readonly description?: string
  readonly metadata?: string
  readonly labels: Readonly<Record<string, string>>
}
