/** The API's answers about everything that decides are a configuration for the evaluator, and a file for `weir test`. */
import t from 'tap'
import type { TObject } from '../../../src/ground/core/schema.js'
import { compile, decide } from '../../../src/judging/evaluate/portable/evaluate-anywhere.js'
import { readPolicyFile } from '../../../src/judging/evaluate/portable/policy-file.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { resourceOf } from '../../../src/words/resource/registry.js'
import { resourceSchema } from '../../../src/words/resource/shown-schema.js'
import { usedRuleSchema } from '../../../src/words/shape/ip-policy-rules.js'
import { openTestStore } from '../../harness/api.js'
import { all } from '../../harness/caller.js'

const membersOf = (schema: object): string[] => Object.keys((schema as TObject).properties)

t.test('every member that the API shows is known', async (t) => {
  const places: [place: string, members: string[]][] = [
    ...(['tcp_edge', 'https_edge', 'ip_policy', 'ip_list', 'ip_restriction', 'policy_test'] as const).map(
      (kind): [string, string[]] => {
        const resource = resourceOf(kind)
        return [`${resource.listName}[0]`, membersOf(resourceSchema(resource))]
      },
    ),
    ['https_edges[0].routes[0]', membersOf(resourceSchema(resourceOf('https_edge_route')))],
    ['ip_policies[0].rules[0]', membersOf(usedRuleSchema)],
  ]
  for (const [place, members] of places) {
    const [list = '', inner] = place.replaceAll('[0]', '').split('.')
    // A value that no member takes: only members that are unknown are refused for their names.
    const shown = Object.fromEntries(members.map((name) => [name, 1.5]))
    const file = { [list]: [inner === undefined ? shown : { id: 'x', [inner]: [shown] }] }
    const read = readPolicyFile(JSON.stringify(file))
    const says = read.ok ? [] : read.faults.map(({ msg }) => msg)
    t.strictSame(
      says.filter((msg) => msg.includes('has no member')),
      [],
      place,
    )
  }
})

t.test('answers of the API decide as the API does, in their emptiest and their fullest form', async (t) => {
  const store = await openTestStore(t)
  await shapeLogTables(store.parts.clickhouse, { retentionMs: 86_400_000, bytesMax: 2 ** 30 })
  const me = await (await store.api()).account()
  const described = { description: 'all of it', metadata: '{"a": 1}' }
  await me.ipPolicy.create({})
  const policy = await me.ipPolicy.create(described)
  const empty = await me.ipList.create({ name: 'nothing' })
  const list = await me.ipList.create({
    ...described,
    name: 'fed',
    category: 'proxy.tor',
    source: { url: 'https://lists.example/tor.txt', format: 'lines' } as never,
  })
  await me.ipPolicyRule.create({ ip_policy_id: policy.id, cidr: '0.0.0.0/0', action: 'allow' })
  await me.ipPolicyRule.create({
    ...described,
    ip_policy_id: policy.id,
    list_id: empty.id,
    action: 'deny',
    enforced: false,
    expires_at: new Date(Date.now() + 30 * 86_400_000).toISOString(),
  })
  await me.tcpEdge.create({})
  const deny = {
    name: 'n',
    expressions: ["inList(conn.client_ip, 'nothing')"],
    actions: [{ type: 'deny' as const }],
  }
  const edge = await me.tcpEdge.create({
    ...described,
    hostports: ['as-shown.example:22'],
    ip_restriction: { ip_policy_ids: [policy.id] },
    policies: { inbound: [deny], outbound: [] },
  })
  const https = await me.httpsEdge.create({
    ...described,
    hostports: ['as-shown.example:443'],
    policies: { inbound: [deny], outbound: [] },
  })
  await me.httpsEdgeRoute.under(https.id).create({
    ...described,
    match_type: 'path_prefix',
    match: '/docs',
    ip_restriction: { ip_policy_ids: [policy.id] },
  })
  await me.ipRestriction.create({ ...described, type: 'endpoints', ip_policy_ids: [policy.id] })
  const given = {
    type: 'tcp_connection',
    conn: { client_ip: '203.0.113.7', server_name: 'as-shown.example', server_port: 22 },
  }
  await me.policyTest.create({ given: given as never, expect: { decision: 'allow' } })
  await me.policyTest.create({
    ...described,
    given: { ...given, country: 'DE', asn: 64_500 } as never,
    expect: { decision: 'allow', decided_by: { type: 'none' }, shadow: { decision: 'allow' } },
  })

  const answer = async (path: string) => (await me.raw.send('GET', path)).body as Record<string, object[]>
  const rules = new Map<string, object[]>()
  for (const { id } of await all(me.ipPolicy.list()))
    rules.set(id, (await answer(`/ip_policies/${id}/rules?counts_since=24h`))['rules'] ?? [])
  const { ip_policies = [], ...listed } = await answer('/ip_policies')
  const file: Record<string, object[] | undefined> = {
    ...listed,
    ...(await answer('/edges/tcp')),
    ...(await answer('/edges/https')),
    ...(await answer('/ip_lists')),
    ...(await answer('/ip_restrictions')),
    ...(await answer('/policy_tests')),
    ip_policies: ip_policies.map((each) => ({ ...each, rules: rules.get((each as { id: string }).id) })),
  }
  const read = readPolicyFile(JSON.stringify(file))
  t.ok(read.ok, read.ok ? '' : read.faults.map(({ msg }) => msg).join(' '))
  if (read.ok) t.equal(read.file.tests.length, 2)
  const { policy_tests: _, ...configuration } = file
  t.match(decide(await compile(configuration as never), given as never), { decision: 'allow' })

  const page = await answer(`/ip_policies/${policy.id}/rules`)
  const put = (body: object) => me.raw.send('PUT', `/ip_policies/${policy.id}/rules`, { body: body as never })
  const { status, body } = await put(page)
  t.match({ status, body }, { status: 200, body: { kept: 2, removed: 0 } }, JSON.stringify(body))
  t.match(await put({ ...page, next_page_uri: 'http://x' }), {
    status: 400,
    body: { msg: /one page of several/ },
  })

  const counted = (entries: unknown) => ({
    ...file,
    ip_lists: file['ip_lists']?.map((each) =>
      (each as { id: string }).id === empty.id ? { ...each, entries } : each,
    ),
  })
  const refused = readPolicyFile(JSON.stringify(counted(3)))
  t.match(
    refused.ok || refused.faults[0]?.msg,
    new RegExp(`is 3, the number of entries.*GET /ip_lists/${empty.id}/entries`),
  )
  t.ok(
    readPolicyFile(JSON.stringify(counted([{ cidr: '192.0.2.0/24', comment: null, expires_at: null }]))).ok,
  )
  t.ok(edge.id && list.id)
})
