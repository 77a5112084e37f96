/** Audit events: one for each change of an object that has them, and its contents. */
import t from 'tap'
import { base, openTestStore, type TestApi } from '../../harness/api.js'
import { type AnyCollection, type Caller, newest, refused } from '../../harness/caller.js'
import { certificateBody, fixturePem } from '../../harness/certificates.js'

const secret = 'never-shown-to-anybody'
const creds = { aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE', aws_secret_access_key: secret }
const target = {
  kinesis: { stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/x', auth: { creds } },
}

const public_key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH'

interface Used {
  readonly last_used_at?: unknown
  readonly last_used_from?: unknown
}

/** When a key was used is no part of it. */
const unobserved = ({ last_used_at, last_used_from, ...rest }: Used) => rest

t.test('audit events', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account('acme')
  const key = await newest(me.apiKey.list())
  const { id: policy } = await me.ipPolicy.create({})

  t.test('of a new account', async (t) => {
    const [event, ...more] = (await api.audits(me.accountId)).slice(0, 1)
    t.strictSame(more, [])
    t.match(event, {
      event_type: 'api_key_created.v0',
      account_id: me.accountId,
      principal: { id: me.accountId, subject: 'acme', source: 'CLI', credential: null },
      object: { ...unobserved(key), token: null },
    })
  })

  const https = await me.httpsEdge.create({})
  const { id: ssh_certificate_authority_id } = await me.sshCertificateAuthority.create({})
  const objects: [object: string, path: string, body: object][] = [
    ['ip_policy', '/ip_policies', { description: 'x' }],
    ['ip_policy_rule', '/ip_policy_rules', { ip_policy_id: policy, cidr: '10.0.0.0/8', action: 'allow' }],
    ['ip_restriction', '/ip_restrictions', { type: 'agent', ip_policy_ids: [policy] }],
    ['event_destination', '/event_destinations', { target }],
    ['event_subscription', '/event_subscriptions', { sources: [{ type: 'log.v0' }] }],
    ['api_key', '/api_keys', {}],
    ['ssh_certificate_authority', '/ssh_certificate_authorities', { private_key_type: 'ecdsa' }],
    ['ssh_host_certificate', '/ssh_host_certificates', { ssh_certificate_authority_id, public_key }],
    [
      'ssh_user_certificate',
      '/ssh_user_certificates',
      { ssh_certificate_authority_id, public_key, principals: ['me'] },
    ],
    ['ssh_public_key', '/ssh_credentials', { public_key, acl: ['*'] }],
    ['tcp_address', '/reserved_addrs', { region: 'eu' }],
    ['domain', '/reserved_domains', { domain: 'a.example', certificate_management_policy: {} }],
    ['tls_certificate', '/tls_certificates', certificateBody('chain', 'ecdsa.key')],
    ['certificate_authority', '/certificate_authorities', { ca_pem: fixturePem('authority') }],
    ['tunnel_credential', '/credentials', { acl: ['bind:a.example'] }],
    ['tcp_edge', '/edges/tcp', { hostports: ['audit.example:22'], policies: { inbound: [] } }],
    ['https_edge_route', `/edges/https/${https.id}/routes`, { match_type: 'exact_path', match: '/' }],
    ['tunnel_group_backend', '/backends/tunnel_group', { labels: { app: 'web' } }],
  ]
  for (const [object, path, body] of objects) {
    t.test(object, async (t) => {
      const { audits, shown } = await lifetime(api, me, me.at(path), body)
      t.strictSame(
        audits.map(({ event_type }) => event_type),
        [`${object}_created.v0`, `${object}_updated.v0`, `${object}_deleted.v0`],
        'one for each change, none for a PATCH that changes nothing',
      )
      t.strictSame(
        audits.map((event) => event.object),
        shown.map(unobserved),
        'the object as the API shows it, without its use',
      )
      for (const event of audits) {
        const { event_id, event_timestamp, partitionKey, ...rest } = event
        t.match(event_id, /^ev_/)
        t.match(event_timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'milliseconds')
        t.equal(partitionKey, event.object.id, 'events of a resource stay in order')
        t.strictSame(Object.keys(rest).toSorted(), ['account_id', 'event_type', 'object', 'principal'])
        t.strictSame(rest.principal, {
          id: me.accountId,
          subject: 'acme',
          source: 'API',
          credential: { id: key.id, uri: `${base}/api_keys/${key.id}` },
        })
      }
      t.equal(new Set(audits.map(({ event_id }) => event_id)).size, 3)
      t.notMatch(JSON.stringify(audits), secret)
      t.notMatch(JSON.stringify(audits), /"token":"/)
    })
  }

  t.test('rules deleted with their policy have their own events', async (t) => {
    const { id } = await me.ipPolicy.create({})
    const rules: { id: string }[] = []
    for (const cidr of ['10.0.0.0/8', '::/0'])
      rules.push(await me.ipPolicyRule.create({ ip_policy_id: id, cidr, action: 'deny' }))
    const audits = await api.auditsOf(me.accountId, () => me.ipPolicy.delete(id))
    const ofRules = audits.filter(({ event_type }) => event_type === 'ip_policy_rule_deleted.v0')
    t.strictSame(
      ofRules.map(({ object }) => object).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      rules,
    )
    t.equal(audits.filter(({ event_type }) => event_type === 'ip_policy_deleted.v0').length, 1)
    t.equal(audits.length, 3)
  })

  t.test('each change of a source is one of its subscription', async (t) => {
    const { id } = await me.eventSubscription.create({})
    const sources = me.sources(id)
    const type = 'tcp_connection_closed.v0'
    const audits = await api.auditsOf(me.accountId, async () => {
      await sources.create({ type })
      await sources.update(type, { filter: 'conn.client_ip == "192.0.2.1"' })
      await sources.update(type, { filter: 'conn.client_ip == "192.0.2.1"' })
      await sources.delete(type)
    })
    t.strictSame(
      audits.map(({ event_type, object }) => [event_type, object.sources.length, object.sources[0]?.filter]),
      [
        ['event_subscription_updated.v0', 1, undefined],
        ['event_subscription_updated.v0', 1, 'conn.client_ip == "192.0.2.1"'],
        ['event_subscription_updated.v0', 0, undefined],
      ],
    )
  })

  t.test('each change of a module is one of its edge', async (t) => {
    const inbound = [
      {
        name: 'nobody',
        expressions: [],
        actions: [{ type: 'deny' as const, config: null }],
        enforced: true,
      },
    ]
    const routes = me.httpsEdgeRoute.under(https.id)
    const { id: tcp } = await me.tcpEdge.create({})
    const { id: edge } = await me.httpsEdge.create({})
    const { id: route } = await routes.create({ match_type: 'path_prefix', match: '/audited' })
    const owners = [
      ['tcp_edge', me.tcpEdge.policies, tcp],
      ['https_edge', me.httpsEdge.policies, edge],
      ['https_edge_route', routes.policies, route],
    ] as const
    for (const [kind, policies, id] of owners) {
      const audits = await api.auditsOf(me.accountId, async () => {
        await policies.put(id, { inbound })
        await policies.put(id, { inbound })
        await policies.delete(id)
      })
      t.strictSame(
        audits.map(({ event_type, object }) => [event_type, object.id, object.policies]),
        [
          [`${kind}_updated.v0`, id, { enabled: true, inbound, outbound: [] }],
          [`${kind}_updated.v0`, id, null],
        ],
      )
    }
  })

  t.test(
    'routes deleted with their edge have their own events, and are not in that of the edge',
    async (t) => {
      const edge = await me.httpsEdge.create({ hostports: ['audit.example:443'] })
      const routes: { id: string }[] = []
      for (const match of ['/a', '/b'])
        routes.push(await me.httpsEdgeRoute.under(edge.id).create({ match_type: 'exact_path', match }))
      const { routes: _, ...alone } = edge
      const audits = await api.auditsOf(me.accountId, async () => {
        await me.httpsEdge.update(edge.id, { description: 'the website' })
        await me.httpsEdge.delete(edge.id)
      })
      const described = { ...alone, description: 'the website' }
      t.strictSame(
        audits.map(({ event_type, object, partitionKey }) => [event_type, object, partitionKey]),
        [
          ['https_edge_updated.v0', described, edge.id],
          ['https_edge_deleted.v0', described, edge.id],
          ...routes.map((route) => ['https_edge_route_deleted.v0', route, route.id]),
        ],
      )
    },
  )

  t.test('refusals have no events', async (t) => {
    const audits = await api.auditsOf(me.accountId, async () => {
      await me.raw.refused(400, 'POST', '/ip_policies', { description: 5 })
      await refused(404, me.ipPolicy.delete('ipp_01M7Y46P1SGDTCFAVEJ96D4PD7'))
    })
    t.strictSame(audits, [])
  })
})

/** Creates, changes and deletes a resource; returns its events and the API's answers. */
async function lifetime(api: TestApi, me: Caller, kind: AnyCollection, body: object) {
  const shown: object[] = []
  const audits = await api.auditsOf(me.accountId, async () => {
    const { id, token, ...rest } = await kind.create(body)
    shown.push({ id, ...rest, ...(token === undefined ? {} : { token: null }) })
    const { description, ...same } = body as Record<string, unknown>
    await kind.update(id, {})
    await kind.update(id, 'target' in same ? same : { metadata: null })
    const changed = await kind.update(id, { description: 'changed' })
    await kind.update(id, { description: 'changed' })
    await kind.delete(id)
    shown.push(changed, changed)
  })
  return { audits, shown }
}
