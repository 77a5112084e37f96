/** Decisions over the management API: explained, and about the caller's own account alone. */
import t from 'tap'
import { grantRight, revokeRight } from '../../../src/management/write/accounts.js'
import { openTestStore } from '../../harness/api.js'
import { type Caller, newest, refusalOf, refused } from '../../harness/caller.js'
import { createUnclaimed } from '../../harness/unclaimed-names.js'

/** An account with two edges: one is open to the office without one address, the other denies high ports. */
class Office {
  readonly client: Caller
  readonly name: string
  office = ''
  deny = ''
  allow = ''
  scanners = ''
  edge = ''
  web = ''
  route = ''

  constructor(client: Caller, name: string) {
    this.client = client
    this.name = name
  }

  async open(): Promise<this> {
    const { client, name } = this
    const rule = async (ip_policy_id: string, cidr: string, action: 'allow' | 'deny', description: string) =>
      (await client.ipPolicyRule.create({ ip_policy_id, cidr, action, description })).id
    this.office = (await client.ipPolicy.create({ description: 'office' })).id
    this.scanners = (await client.ipPolicy.create({ description: 'scanners' })).id
    this.allow = await rule(this.office, '203.0.113.0/24', 'allow', 'fourth floor')
    await rule(this.office, '198.51.100.0/24', 'allow', 'guests')
    this.deny = await rule(this.scanners, '203.0.113.64/26', 'deny', 'scanner')
    await rule(this.scanners, '203.0.113.66/32', 'deny', 'the same')
    const edge = await client.tcpEdge.create({
      hostports: [`${name}.example:22`],
      ip_restriction: { ip_policy_ids: [this.office, this.scanners] },
      policies: {
        inbound: [
          { name: 'odd', expressions: ['int(conn.server_name) == 1'], actions: [{ type: 'deny' }] },
          { name: 'high ports', expressions: ['conn.client_port > 60000'], actions: [{ type: 'deny' }] },
          { actions: [{ type: 'log', config: { Metadata: {} } }] },
        ],
        outbound: [{ actions: [{ type: 'log', config: { Metadata: {} } }] }],
      },
    })
    this.edge = edge.id
    const web = await client.httpsEdge.create({ hostports: [`${name}.example:443`] })
    this.web = web.id
    const route = { match_type: 'path_prefix', match: '/admin' } as const
    const ip_restriction = { ip_policy_ids: [this.office] }
    this.route = (await client.httpsEdgeRoute.under(web.id).create({ ...route, ip_restriction })).id
    return this
  }

  conn(client_ip: string, client_port = 5000) {
    return { client_ip, client_port, server_name: `${this.name}.example`, server_port: 22 }
  }

  decide(client_ip: string, client_port?: number) {
    const body = { type: 'tcp_connection', conn: this.conn(client_ip, client_port) }
    return this.client.raw.expect(200, 'POST', '/decide', body)
  }

  request(client_ip: string, path: string) {
    const conn = { client_ip, server_name: `${this.name}.example`, server_port: 443 }
    const body = { type: 'http_request', conn, http: { request: { url: { path } } } }
    return this.client.raw.expect(200, 'POST', '/decide', body)
  }
}

t.test('decisions over the API', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const office = await new Office(await api.account('office'), 'office').open()
  const me = office.client
  const key = await newest(me.apiKey.list())
  await me.apiKey.update(key.id, { description: 'deployments' })

  t.test('a deny rule wins, and the others say why they lost', async (t) => {
    const { explanation, ...answer } = await office.decide('203.0.113.66')
    t.match(answer, { decision: 'block', policy: null, warnings: [], revision: Number })
    t.match(explanation.decided_by, {
      type: 'ip_restriction',
      id: office.edge,
      ip_policy_id: office.scanners,
      rule_id: office.deny,
      cidr: '203.0.113.64/26',
      last_change: { at: /^2\d{3}-/, by: key.id, by_description: 'deployments', version: Number },
    })
    const [group] = explanation.ip_policies
    t.match(group, { decision: 'block', reason: `The deny rule ${office.deny} contains the address.` })
    const said = group.rules.map((rule: Record<string, unknown>) => [
      rule['description'],
      rule['won'],
      rule['reason'],
    ])
    t.strictSame(said, [
      [
        'fourth floor',
        false,
        'It contains the address, but a deny rule of any policy wins over allow rules.',
      ],
      ['scanner', true, 'It contains the address, and a deny rule wins over allow rules of any policy.'],
      ['the same', false, 'It contains the address, too; one deny rule is enough.'],
      ['guests', false, 'It does not contain the address.'],
    ])
    t.match(explanation.policies_not_reached, [
      { policy: 'odd', reason: 'Not reached: the address was blocked before.' },
      { policy: 'high ports' },
      { policy: 'inbound[2]' },
      { policy: 'outbound[0]', direction: 'outbound' },
    ])
  })

  t.test('a traffic policy denies', async (t) => {
    const { explanation, ...answer } = await office.decide('203.0.113.7', 60_001)
    t.match(answer, { decision: 'deny', policy: 'high ports', warnings: [/int\(conn.server_name\)/] })
    t.match(explanation.decided_by, {
      type: 'traffic_policy',
      id: office.edge,
      name: 'high ports',
      rule_id: null,
      last_change: { by: key.id },
    })
    t.match(explanation.ip_policies, [{ decision: 'allow', reason: /^The allow rule ipr_\w+ contains/ }])
    t.match(explanation.policies, [
      { policy: 'odd', applied: false, reason: /has no result\.$/, expressions: [{ value: null }] },
      {
        policy: 'high ports',
        applied: true,
        reason: 'All its expressions are true, so it denies.',
        expressions: [
          {
            value: true,
            decisive: null,
            names: [{ name: 'conn.client_port', value: 60_001 }],
            names_left_out: 0,
          },
        ],
      },
    ])
    t.equal(explanation.policies.length, 2)
    t.match(explanation.policies_not_reached, [
      { policy: 'inbound[2]', reason: 'Not reached: "high ports" denied before.' },
      { policy: 'outbound[0]' },
    ])
  })

  t.test('what is let in', async (t) => {
    const { decision, explanation } = await office.decide('198.51.100.7')
    t.equal(decision, 'allow')
    t.match(explanation.decided_by, { type: 'none', id: null, last_change: null })
    t.match(explanation.policies[1], { applied: false, reason: /"conn.client_port > 60000" is not true/ })
    t.match(explanation.policies[2], { applied: true, reason: /no expressions, so it applies; it only logs/ })
    t.match(explanation.policies_not_reached, [{ policy: 'outbound[0]', reason: /connection has closed/ }])
    const { explanation: none } = await me.raw.expect(200, 'POST', '/decide', {
      type: 'tcp_connection',
      conn: office.conn('198.51.100.7'),
      explain: false,
    })
    t.equal(none, undefined, 'without an explanation')
    t.equal((await office.decide('::ffff:198.51.100.7%eth0')).decision, 'allow', 'a zone is dropped')
  })

  t.test('a request to a route', async (t) => {
    t.equal((await office.request('192.0.2.1', '/')).decision, 'allow')
    const { decision, explanation } = await office.request('192.0.2.1', '/admin/users')
    t.equal(decision, 'block')
    t.match(explanation.ip_policies, [{ reason: 'No allow rule contains the address.' }])
    const last_change = { by: key.id }
    t.match(explanation.decided_by, { type: 'ip_restriction', id: office.route, rule_id: null, last_change })
  })

  t.test('the restriction of the account', async (t) => {
    const ip_policy_ids = [office.scanners]
    const { id } = await me.ipRestriction.create({
      type: 'endpoints',
      description: 'guests only',
      ip_policy_ids,
    })
    const warned = await office.decide('198.51.100.7')
    t.match(warned, { decision: 'allow', warnings: [/would block/, /no result/] })
    t.match(warned.explanation.ip_policies[1], { source: id, reason: /not enforced, so it only warns\.$/ })
    await me.ipRestriction.update(id, { enforced: true })
    const { explanation } = await office.decide('198.51.100.7')
    t.match(explanation.decided_by, { type: 'restriction', id, name: 'guests only', last_change: {} })
    const alone = { type: 'tcp_connection', conn: { client_ip: '192.0.2.1' } }
    for (const asked of [alone, { ...alone, account_id: me.accountId }])
      t.match(await me.raw.expect(200, 'POST', '/decide', asked), { decision: 'block', served: false })
    await me.ipRestriction.delete(id)
  })

  t.test('a name that no edge of the account serves', async (t) => {
    const nowhere = { ...office.conn('192.0.2.1'), server_name: 'nobody.example' }
    const asked = { type: 'tcp_connection', conn: nowhere }
    const answered = (query: string) => me.raw.expect(200, 'POST', `/decide${query}`, asked)
    const allowed = { decision: 'allow', served: false, warnings: [] }
    const denied = {
      decision: 'deny',
      served: false,
      policy: null,
      warnings: [/No edge of the account serves/],
    }
    const [usual, asking] = [await answered(''), await answered('?unserved=allow')]
    t.match(usual, { ...denied, explanation: { hostport: null, decided_by: { type: 'unserved', id: null } } })
    t.match(asking, allowed)
    t.equal((await office.decide('198.51.100.7')).served, true)
    await grantRight(store.parts.store, me.accountId, 'unserved_allowed')
    t.match(await answered(''), allowed, 'the account allows it')
    t.match(await answered('?unserved=deny'), denied)
    t.match(await answered(`?revision=${usual.revision}`), denied, 'and did not then')
    await revokeRight(store.parts.store, me.accountId, 'unserved_allowed')
    t.match(await answered(''), denied)
    const { msg } = await me.raw.expect(400, 'POST', '/decide?unserved=perhaps', asked)
    t.match(msg, /"unserved" is "perhaps": allow or deny is allowed/)
    t.match(await me.decide(asked as never, { unserved: 'allow' }), allowed, 'the typed client')
  })

  t.test('a change is seen by the next decision', async (t) => {
    await me.ipPolicyRule.update(office.deny, { cidr: '192.0.2.0/24' })
    const { explanation } = await office.decide('203.0.113.66')
    t.equal(explanation.decided_by.cidr, '203.0.113.66/32')
    await me.ipPolicyRule.update(office.deny, { cidr: '203.0.113.64/26' })
    t.equal((await office.decide('203.0.113.66')).explanation.decided_by.rule_id, office.deny)
  })

  t.test('the author of a change keeps its name after its key was deleted', async (t) => {
    const { id, token } = await me.apiKey.create({ description: 'a night shift' })
    await me.withToken(token!).ipPolicyRule.update(office.deny, { description: 'scanner of the night' })
    await me.apiKey.delete(id)
    const { explanation } = await office.decide('203.0.113.66')
    t.match(explanation.decided_by.last_change, { by: id, by_description: 'a night shift' })
  })

  t.test('the typed client', async (t) => {
    const answer = await me.decide({
      type: 'tcp_connection',
      conn: office.conn('203.0.113.66'),
    })
    t.equal(answer.explanation?.decided_by.rule_id, office.deny)
  })

  t.test('edges of other accounts do not exist', async (t) => {
    const other = await new Office(await api.account('other'), 'other').open()
    const never = '00000000000000000000000000'
    const asked = async (body: object) => {
      const { status, body: answer } = await me.raw.send('POST', '/decide', { body })
      const ids = /\b(edg\w+_|ac_)\w{26}\b/g
      return JSON.parse(JSON.stringify({ status, ...answer, details: {} }).replaceAll(ids, '$1…'))
    }
    const conn = { client_ip: '192.0.2.1' }
    const pairs: [string, object, object][] = [
      ...[other.edge, other.web].flatMap((edge_id): [string, object, object][] =>
        ['tcp_connection', 'http_request'].map((type) => [
          `${type} of ${edge_id}`,
          { type, edge_id, conn },
          { type, edge_id: edge_id.replace(/\w{26}$/, never), conn },
        ]),
      ),
      [
        'an account',
        { type: 'tcp_connection', account_id: other.client.accountId, conn },
        { type: 'tcp_connection', account_id: `ac_${never}`, conn },
      ],
      [
        'a hostport',
        { type: 'tcp_connection', conn: other.conn('192.0.2.1') },
        { type: 'tcp_connection', conn: { ...other.conn('192.0.2.1'), server_name: 'nobody.example' } },
      ],
      [
        'a hostport with a route',
        { type: 'http_request', route_id: other.route, conn: { ...other.conn('::1'), server_port: 443 } },
        { type: 'http_request', route_id: other.route, conn: { client_ip: '::1' } },
      ],
    ]
    for (const [name, theirs, nothing] of pairs) t.strictSame(await asked(theirs), await asked(nothing), name)
    t.match(await asked(pairs[0]![1]), { status: 404, msg: /there is no such edge/ })
    t.match(await asked(pairs[4]![1]), { status: 404, msg: /not your account/ })
  })

  t.test('requests that are refused', async (t) => {
    const conn = { client_ip: '192.0.2.1' }
    const cases: [number, unknown, RegExp][] = [
      [400, {}, /"type" is missing/],
      [400, { type: 'tcp_connection', conn: { client_ip: 'here' } }, /"conn.client_ip" is "here"/],
      [400, { type: 'tcp_connection', conn, explain: 'yes' }, /"explain" is "yes"/],
      [400, [], /must be a JSON object/],
      [400, { type: 'http_request', edge_id: office.edge, conn }, /a TCP edge; a http_request can't/],
      [413, { type: 'tcp_connection', conn, padding: 'x'.repeat(65 * 1024) }, /at most 65536 bytes/],
    ]
    for (const [status, body, says] of cases)
      t.match((await me.raw.expect(status, 'POST', '/decide', body)).msg, says, String(says))
  })

  t.test('a key with the right to decide decides', async (t) => {
    const made = await me.apiKey.create({ rights: ['decide'] })
    t.strictSame(made.rights, ['decide'])
    const limited = me.withToken(made.token)
    const answer = await limited.decide({ type: 'tcp_connection', conn: office.conn('203.0.113.66') })
    t.equal(answer.decision, 'block')
    for (const rights of [['all'], ['decide', 'all']] as ('all' | 'decide')[][]) {
      const { rights: shown, token } = await me.apiKey.create({ rights })
      t.equal(shown, undefined, `${rights}`)
      t.ok(await newest(me.withToken(token).apiKey.list()), `${rights}: everything`)
    }
    const refusals: [string, unknown, RegExp][] = [
      // The value there may be a token that was put at the wrong place.
      [
        'an unknown right',
        ['see'],
        /"rights\[0\]" .* must be one of "read", "write", "skip_tests", "decide", "publish", "all"/,
      ],
      ['a right twice', ['decide', 'decide'], /"rights" .* given twice/],
      ['text', 'decide', /"rights" .* must be a list/],
    ]
    for (const [name, rights, says] of refusals)
      t.match((await me.raw.expect(400, 'POST', '/api_keys', { rights })).msg, says, name)
    const change = await me.raw.expect(400, 'PATCH', `/api_keys/${made.id}`, { rights: ['all'] })
    t.match(change.msg, /"rights" .*can't be changed after creation/)
  })

  t.test('the configuration as it was', async (t) => {
    const before = await office.decide('203.0.113.66')
    const { revision } = before
    const then = async (at: number, body?: object) =>
      me.raw.expect(200, 'POST', `/decide?revision=${at}`, {
        type: 'tcp_connection',
        conn: office.conn('203.0.113.66'),
        ...body,
      })
    t.strictSame(await then(revision), before, 'nothing has changed since')
    const changes: [string, string, () => Promise<unknown>][] = [
      ['a rule is deleted', 'block', () => me.ipPolicyRule.delete(office.deny)],
      [
        'all rules are replaced',
        'allow',
        () => me.replaceRules(office.scanners, [{ cidr: '192.0.2.0/24', action: 'deny' }]),
      ],
      [
        'a traffic policy',
        'deny',
        () => me.tcpEdge.policies.put(office.edge, { inbound: [{ actions: [{ type: 'deny' }] }] }),
      ],
      ['another account changes', 'deny', async () => (await api.account('busy')).ipPolicy.create({})],
      ['the policy is deleted', 'block', () => me.ipPolicy.delete(office.office)],
      ['the module is removed', 'deny', () => me.tcpEdge.ip_restriction.delete(office.edge)],
      ['the edge is deleted', 'deny', () => me.tcpEdge.delete(office.edge)],
    ]
    const judged: { readonly name: string; readonly revision: number; readonly answer: unknown }[] = []
    for (const [name, decision, change] of changes) {
      await change()
      const { explanation, ...answer } = await office.decide('203.0.113.66')
      t.equal(answer.decision, decision, name)
      judged.push({ name, revision: answer.revision, answer: { ...answer, explanation } })
    }
    t.strictSame(await then(revision), before, 'the old judgement')
    const byId = await then(revision, { edge_id: office.edge })
    const withoutHostport = { ...before, explanation: { ...before.explanation, hostport: null } }
    t.strictSame(byId, withoutHostport, 'by the id of an edge that is deleted now')
    for (const each of judged) t.strictSame(await then(each.revision), each.answer, each.name)
    await api.account('busy again')
    const last = judged.at(-1)!
    t.strictSame(await then(last.revision), last.answer, 'only others have changed since')
    const typed = await me.decide({ type: 'tcp_connection', conn: office.conn('203.0.113.66') }, { revision })
    t.strictSame(typed, before)
  })

  t.test('revisions that cannot be explained', async (t) => {
    const refusals: [string, RegExp][] = [
      ['1', /"revision" is 1, which is too old/],
      ['999999999', /"revision" is 999999999, but the configuration has reached \d+ only/],
      ['-1', /"revision" is "-1", but must be a revision/],
      ['x', /"revision" is "x"/],
      ['1&revision=2', /given 2 times/],
    ]
    const body = { type: 'tcp_connection', conn: office.conn('::1') }
    for (const [revision, says] of refusals)
      t.match((await me.raw.expect(400, 'POST', `/decide?revision=${revision}`, body)).msg, says, revision)
  })

  t.test(
    'wildcard hostports: what others name changes nothing, now and at an earlier revision',
    async (t) => {
      const [mine, theirs] = [await api.account('catch all'), await api.account('exact')]
      for (const { accountId } of [mine, theirs])
        await grantRight(store.parts.store, accountId, 'catch_all_allowed')
      const wide = await mine.tcpEdge.create({ hostports: ['*.Wild.Example:22', '*:2222'] })
      t.strictSame(wide.hostports, ['*.wild.example:22', '*:2222'])
      t.match(
        await refused(400, theirs.httpsEdge.create({ hostports: ['*:2222'] })),
        /another edge .* serves/,
      )
      const served = async (server_name: string, server_port: number, query = '') => {
        const body = { type: 'tcp_connection', conn: { client_ip: '203.0.113.7', server_name, server_port } }
        const { explanation, warnings } = await mine.raw.expect(200, 'POST', `/decide${query}`, body)
        return warnings.length === 0 ? explanation.hostport : null
      }
      t.equal(await served('a.wild.example', 22), '*.wild.example:22')
      t.equal(await served('b.wild.example', 2222), '*:2222')
      const { revision } = store.parts.store.view.state
      await mine.tcpEdge.update(wide.id, { hostports: ['*.wild.example:22'] })
      const named = { hostports: ['a.wild.example:22', '*.b.wild.example:*'] }
      t.equal((await refusalOf(theirs.httpsEdge.create(named)))?.status_code, 409, 'now they are refused')
      await createUnclaimed(store.parts, theirs.accountId, 'https_edge', named)
      const { addr } = await theirs.reservedAddr.create({})
      const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(addr) ?? []
      await mine.tcpEdge.create({ hostports: ['*:*'] })
      const cases: [name: string, port: number, query: string, want: string | null][] = [
        ['a.wild.example', 22, '', '*.wild.example:22'],
        ['x.b.wild.example', 22, '', '*.wild.example:22'],
        ['b.wild.example', 22, '', '*.wild.example:22'],
        ['b.wild.example', 2222, '', '*:*'],
        ['b.wild.example', 2222, `?revision=${revision}`, '*:2222'],
        ['a.wild.example', 22, `?revision=${revision}`, '*.wild.example:22'],
        [host, Number(port), '', '*:*'],
      ]
      for (const [name, port, query, want] of cases)
        t.equal(await served(name, port, query), want, `${name}:${port}${query}`)
      t.match(await refused(400, mine.tcpEdge.create({ hostports: [`${host}:*`] })), /POST \/reserved_addrs/)
      t.match(
        await refused(400, mine.tcpEdge.create({ hostports: ['*.weir.localhost:22'] })),
        /reserved_addrs/,
      )
    },
  )

  t.test('the version of an account at a revision', async (t) => {
    const { clickhouse } = store.parts
    const time = '2026-11-20 10:00:00.000'
    const row = { id: 'edgtcp_1', deleted: false, created_at: time, changed_at: time, changed_by: 'cli' }
    const histories: [string, readonly (number | null)[], readonly [number, number | undefined][]][] = [
      [
        'ac_plain',
        [10, 20, 30],
        [
          [10, undefined],
          [11, 1],
          [20, 1],
          [21, 2],
          [99, 3],
        ],
      ],
      [
        'ac_older_weir',
        [null, null, 20],
        [
          [20, undefined],
          [21, 3],
        ],
      ],
      [
        'ac_bucket_recreated',
        [100, 200, 5, 8],
        [
          [3, 2],
          [6, 3],
          [8, 3],
          [9, 4],
        ],
      ],
    ]
    for (const [account_id, bases, wanted] of histories) {
      const rows = bases.map((base_revision, index) => ({
        account_id,
        ...row,
        version: index + 1,
        base_revision,
      }))
      await clickhouse.insert('tcp_edge_versions', rows)
      for (const [revision, version] of wanted)
        t.equal(
          await store.parts.store.pastRows.versionAt(account_id, revision),
          version,
          `${account_id} ${revision}`,
        )
    }
  })
})
