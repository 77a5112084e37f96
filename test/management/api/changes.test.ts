/** The history: who changed what, of every resource of an account, with the fields before and after. */
import t from 'tap'
import { runAdminCommand } from '../../../src/roles/admin.js'
import { base, openTestStore } from '../../harness/api.js'
import { all, type Caller, newest } from '../../harness/caller.js'

interface ShownChange {
  readonly version: number
  readonly changed_at: string
  readonly verb: string
  readonly kind: string
  readonly id: string
  readonly fields: { name: string; before: unknown; after: unknown; secret: boolean }[]
  readonly rules: object | null
}

const of = async (me: Caller, path: string): Promise<ShownChange[]> => (await me.raw.get(path)).changes

/** Verb, kind and id of each change. */
const steps = (changes: readonly ShownChange[]) => changes.map(({ verb, kind, id }) => [verb, kind, id])

/** The changed fields of each change, as [name, before, after]. */
const fields = (changes: readonly ShownChange[]) =>
  changes.map((change) => change.fields.map(({ name, before, after }) => [name, before, after]))

t.test('changes', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()

  t.test('the life of an edge: each write, its author and its fields, also after the deletion', async (t) => {
    const me = await api.account()
    const key = await newest(me.apiKey.list())
    const made = await me.raw.send('POST', '/edges/tcp', {
      body: { hostports: ['ssh.example.com:22'] },
      from: '192.0.2.7',
    })
    const { id } = made.body
    const path = `/edges/tcp/${id}`
    const inbound = [{ expressions: [], actions: [{ type: 'deny' as const, config: null }], enforced: true }]
    await me.tcpEdge.policies.put(id, { inbound })
    await me.tcpEdge.update(id, { description: 'the office' })
    await me.tcpEdge.update(id, { description: 'the office' })
    await me.tcpEdge.policies.put(id, { inbound, enabled: false })
    await me.tcpEdge.delete(id)
    const changes = await of(me, `${path}/changes`)
    t.strictSame(
      steps(changes),
      ['delete', 'update', 'update', 'update', 'create'].map((verb) => [verb, 'tcp_edge', id]),
    )
    const policies = { enabled: true, inbound, outbound: [] }
    t.strictSame(fields(changes), [
      [
        ['description', 'the office', null],
        ['hostports', ['ssh.example.com:22'], null],
        ['policies', { ...policies, enabled: false }, null],
      ],
      [['policies.enabled', true, false]],
      [['description', null, 'the office']],
      [['policies', null, policies]],
      [['hostports', null, ['ssh.example.com:22']]],
    ])
    t.match(changes.at(-1), {
      changed_at: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
      source: 'API',
      api_key_id: key.id,
      api_key_description: 'First key of the account.',
      by: key.id,
      by_description: 'First key of the account.',
      client_address: '192.0.2.7',
      operation_id: made.headers['operation-id'],
      rules: null,
    })
    t.strictSame(await of(me, '/changes?limit=5'), changes, 'the same changes in those of the account')
    const log = api.log()
    for (const { verb, version } of changes) {
      const line = {
        level: 30,
        kind: 'tcp_edge',
        verb,
        id,
        account_id: me.accountId,
        version,
        key_id: key.id,
      }
      const lines = log.split('\n').filter((text) => text.includes(`"version":${version},`))
      t.match(
        lines.flatMap((text) => (text.includes(id) ? [JSON.parse(text)] : [])),
        [{ ...line, operation_id: /^op_/ }],
        `a line about version ${version}`,
      )
    }
    t.notMatch(log, 'the office', 'no values in the log')
  })

  t.test('an author is called as its key was last, also after the key was deleted', async (t) => {
    const me = await api.account()
    const key = await me.apiKey.create({ description: 'deploy' })
    await me.withToken(key.token!).ipPolicy.create({})
    await me.apiKey.update(key.id, { description: 'deployments' })
    const nameless = await me.apiKey.create({})
    await me.withToken(nameless.token!).ipPolicy.create({})
    await me.apiKey.delete(key.id)
    const policies = (await of(me, '/changes?filter=kind%3D%3D%22ip_policy%22')) as object[]
    t.match(policies, [
      { api_key_id: nameless.id, api_key_description: null, by: nameless.id, by_description: null },
      { api_key_id: key.id, api_key_description: 'deployments', by: key.id, by_description: 'deployments' },
    ])
    const found = await of(
      me,
      `/changes?filter=${encodeURIComponent("api_key_description == 'deployments'")}`,
    )
    t.strictSame(
      steps(found).map(([verb, kind]) => [verb, kind]),
      [['create', 'ip_policy']],
    )
    const report = await runAdminCommand(store.parts, { command: 'changes', account: me.accountId })
    t.match(report, `  ${key.id} (deployments)  `)
  })

  t.test('changes of the command line have no key, no address and no operation', async (t) => {
    const me = await api.account('made')
    const changes = await of(me, '/changes')
    t.strictSame(
      changes.map(({ verb, kind }) => [verb, kind]),
      [
        ['create', 'api_key'],
        ['create', 'account'],
      ],
    )
    for (const change of changes)
      t.match(change, {
        source: 'CLI',
        api_key_id: null,
        api_key_description: null,
        by: 'cli',
        by_description: 'the command line of Weir',
        client_address: null,
        operation_id: null,
      })
    t.strictSame(fields(changes), [
      [['description', null, 'First key of the account.']],
      [
        ['name', null, 'made'],
        ['rights', null, []],
      ],
    ])
  })

  t.test('rules of an IP policy: one by one, replaced together, and deleted with it', async (t) => {
    const me = await api.account()
    const { id } = await me.ipPolicy.create({})
    const rule = (cidr: string) => ({ cidr, action: 'deny' as const })
    const first = await me.ipPolicyRule.create({ ip_policy_id: id, ...rule('10.0.0.0/8') })
    const kept = { ...rule('10.0.0.0/8'), description: 'mine' }
    await me.replaceRules(id, [kept, rule('10.1.0.0/16'), rule('10.2.0.0/16')])
    await me.replaceRules(id, [kept, rule('::/0')])
    await me.ipPolicyRule.update(first.id, { description: 'alone' })
    await me.ipPolicy.delete(id)
    const changes = await of(me, `/ip_policies/${id}/changes`)
    t.strictSame(
      changes.map(({ verb, kind, rules }) => [verb, kind, rules]),
      [
        ['delete', 'ip_policy', { added: 0, updated: 0, removed: 2 }],
        ['update', 'ip_policy_rule', null],
        ['update', 'ip_policy', { added: 1, updated: 0, removed: 2 }],
        ['update', 'ip_policy', { added: 2, updated: 1, removed: 0 }],
        ['create', 'ip_policy_rule', null],
        ['create', 'ip_policy', null],
      ],
    )
    t.strictSame(await of(me, '/changes?limit=6'), changes)
    const ofRule = await of(me, `/ip_policy_rules/${first.id}/changes`)
    t.strictSame(steps(ofRule), [
      ['delete', 'ip_policy_rule', first.id],
      ['update', 'ip_policy_rule', first.id],
      ['update', 'ip_policy_rule', first.id],
      ['create', 'ip_policy_rule', first.id],
    ])
    t.strictSame(fields(ofRule).slice(1, 3), [
      [['description', 'mine', 'alone']],
      [['description', null, 'mine']],
    ])
  })

  t.test('a secret is named and never shown', async (t) => {
    const me = await api.account()
    const target = (secret: string) => ({
      kinesis: {
        stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/x',
        auth: { creds: { aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE', aws_secret_access_key: secret } },
      },
    })
    const { id } = await me.eventDestination.create({ target: target('the-first-secret') })
    await me.eventDestination.update(id, { target: target('the-second-secret') })
    await me.tunnelCredential.create({ acl: ['bind:a.example'] })
    await me.sshCertificateAuthority.create({})
    const [changed] = await of(me, `/event_destinations/${id}/changes`)
    t.strictSame(changed?.fields, [{ name: 'sealed_secret', before: null, after: null, secret: true }])
    const everything = await me.raw.send('GET', '/changes')
    t.notMatch(everything.text, /-secret|token|digest|v1\.|hash/)
  })

  t.test('pages: every change once, also within a write that changed many resources', async (t) => {
    const me = await api.account()
    const edge = await me.httpsEdge.create({})
    for (const match of ['/a', '/b', '/c'])
      await me.httpsEdgeRoute.under(edge.id).create({ match_type: 'exact_path', match })
    await me.httpsEdge.delete(edge.id)
    const whole = await of(me, '/changes')
    t.equal(new Set(whole.slice(0, 4).map(({ version }) => version)).size, 1, 'edge and routes in one write')
    const found: ShownChange[] = []
    for (let next: string | null = '/changes?limit=3'; next !== null; ) {
      const page = await me.raw.get(next)
      t.equal(page.uri, `${base}/changes`)
      found.push(...page.changes)
      next = page.next_page_uri
    }
    t.strictSame(found, whole)
    const [, route] = whole
    const routePath = `/edges/https/${edge.id}/routes/${route?.id}/changes`
    t.strictSame(steps(await of(me, routePath)), [
      ['delete', 'https_edge_route', route?.id],
      ['create', 'https_edge_route', route?.id],
    ])
    t.strictSame(
      (await me.raw.get(`${routePath}?limit=1`)).next_page_uri,
      `${base}${routePath}?limit=1&before_version=${whole[0]?.version}&before_id=${route?.id}`,
    )
    t.strictSame(await all(me.changes({ limit: 2 })), whole, 'by the typed client')
    const ofEdge = await all(me.httpsEdge.changes(edge.id))
    t.strictSame(ofEdge, await of(me, `/edges/https/${edge.id}/changes`))
  })

  t.test('by filter and by time', async (t) => {
    const me = await api.account()
    const policy = await me.ipPolicy.create({})
    const edge = await me.tcpEdge.create({})
    await me.tcpEdge.update(edge.id, { description: 'changed' })
    const found = async (query: string) => steps(await of(me, `/changes?${query}`))
    const filter = (text: string) => found(`filter=${encodeURIComponent(text)}`)
    t.strictSame(await filter("kind == 'tcp_edge'"), [
      ['update', 'tcp_edge', edge.id],
      ['create', 'tcp_edge', edge.id],
    ])
    t.strictSame(await filter("kind == 'tcp_edge' && verb == 'update'"), [['update', 'tcp_edge', edge.id]])
    t.strictSame(await filter(`id == '${policy.id}'`), [['create', 'ip_policy', policy.id]])
    t.strictSame(await filter("source == 'CLI' && kind == 'account'"), [['create', 'account', me.accountId]])
    t.strictSame(await filter("client_address == '192.0.2.99'"), [])
    const [newest] = await of(me, '/changes')
    const time = encodeURIComponent(newest?.changed_at ?? '')
    t.strictSame((await found(`since=${time}`))[0], ['update', 'tcp_edge', edge.id])
    t.notOk((await found(`until=${time}`)).some(([verb, kind]) => verb === 'update' && kind === 'tcp_edge'))
    const page = await me.raw.get(`/changes?limit=1&filter=${encodeURIComponent("kind == 'tcp_edge'")}`)
    const rest = await me.raw.get(page.next_page_uri)
    t.strictSame(steps([...page.changes, ...rest.changes]), await filter("kind == 'tcp_edge'"))
  })

  t.test('what is asked wrongly', async (t) => {
    const me = await api.account()
    const cases: [query: string, msg: RegExp][] = [
      ['limit=0', /"limit"/],
      ['before_version=x', /"before_version" is "x"/],
      ['before_version=0', /"before_version" is "0"/],
      ['before_id=edgtcp_1', /"before_id" needs "before_version"/],
      ['since=yesterday', /"since" is "yesterday"/],
      ['until=2026-02-30T00:00:00Z', /"until" is/],
      ['filter=colour', /"filter" is not a valid expression/],
      ['page=2', /"page" is unknown/],
    ]
    for (const [query, msg] of cases) t.match(await me.raw.refused(400, 'GET', `/changes?${query}`), msg)
    await me.raw.refused(404, 'GET', '/edges/tcp/edgtcp_00000000000000000000000000/changes')
    await me.raw.refused(404, 'GET', '/edges/tcp/nonsense/changes')
    await me.raw.refused(403, 'GET', '/abuse_reports/abrp_00000000000000000000000000/changes')
  })

  t.test('for an operator: all accounts or one, as lines or as JSON', async (t) => {
    const since = new Date().toISOString()
    const [one, other] = [await api.account('one'), await api.account('other')]
    const policy = await one.ipPolicy.create({ description: 'first' })
    await one.ipPolicy.update(policy.id, { description: 'second' })
    await one.replaceRules(policy.id, [
      { cidr: '10.0.0.0/8', action: 'allow' },
      { cidr: '::/0', action: 'deny' },
    ])
    const edge = await other.tcpEdge.create({ hostports: ['lines.example:1'] })
    const report = (options: object) => runAdminCommand(api.parts, { command: 'changes', ...options })
    const lines = (text: string) => text.trimEnd().split('\n')
    const [newestLine, ...older] = lines(await report({ since }))
    t.match(
      newestLine,
      new RegExp(`^2.*Z  ${other.accountId}  v\\d+  create  tcp_edge  ${edge.id}  ak_.*  hostports$`),
    )
    t.match(
      older[0],
      new RegExp(`${one.accountId}  v\\d+  update  ip_policy  ${policy.id}  ak_.*  rules \\+2 ~0 -0$`),
    )
    t.match(older[1], / {2}op_\w+ {2}description$/)
    t.notMatch(older[1], 'second', 'names of fields, no values')
    t.ok(older.some((line) => / {2}create {2}account {2}ac_\w+ {2}CLI {2}- {2}- {2}name, rights$/.test(line)))
    const json = lines(await report({ account: one.accountId, kind: 'ip_policy', json: 'yes' })).map((line) =>
      JSON.parse(line),
    )
    const whole = await of(one, `/changes?filter=${encodeURIComponent("kind == 'ip_policy'")}`)
    t.strictSame(
      json,
      whole.map((change) => ({ account_id: one.accountId, ...change })),
    )
    t.equal(await report({ account: one.accountId, since: '2100-01-01T00:00:00Z' }), '')
    const cases: [options: object, msg: RegExp][] = [
      [{ since: 'yesterday' }, /--since is "yesterday"/],
      [{ account: 'ac_nobody' }, /no account "ac_nobody"/],
      [{ kind: 'tcp_edges' }, /no kind "tcp_edges": did you mean "tcp_edge"/],
    ]
    for (const [options, msg] of cases) await t.rejects(report(options), { message: msg })
  })
})
