/** The answer of a GET can be sent back: whole, in parts, and with changes. */
import t from 'tap'
import { runAdminCommand } from '../../../src/roles/admin.js'
import { allOperations, type Fields } from '../../../src/words/resource/kind/define.js'
import { openTestStore } from '../../harness/api.js'
import { type Caller, refused } from '../../harness/caller.js'
import { Estate, servedResources } from './estate.js'

type Body = Readonly<Record<string, unknown>>

const described = { description: 'all of it', metadata: '{"a": 1}' }

const deny = { name: 'n', expressions: ['conn.client_port > 1'], actions: [{ type: 'deny', config: null }] }
const log = { actions: [{ type: 'log', config: { Metadata: { Message: 'x' } } }] }

/** Fields that bodies of the estate leave out, by kind, so that every field is set once. */
const rest: Readonly<Record<string, Body>> = {
  tcp_edge: {
    hostports: ['all.example:22'],
    policies: { enabled: false, inbound: [deny, { ...log, name: 'm' }], outbound: [log] },
  },
  https_edge: {
    hostports: ['all.example:443'],
    policies: { enabled: false, inbound: [deny], outbound: [log] },
  },
  https_edge_route: { match: '/all' },
  tunnel_group_backend: { labels: { app: 'web', zone: '' } },
  ip_restriction: { enforced: false, type: 'agent' },
  // A wildcard keeps all names below it from the accounts of other tests.
  domain: {
    domain: '*.sent-back.example',
    region: 'eu',
    certificate_id: null,
    certificate_management_policy: {},
  },
  ssh_certificate_authority: { private_key_type: 'ecdsa', elliptic_curve: 'P-256', key_size: 256 },
  ssh_host_certificate: {
    principals: ['a.example'],
    valid_after: '2026-01-01T00:00:00+01:00',
    valid_until: '2036-01-01T00:00:00.5Z',
  },
  ssh_user_certificate: {
    principals: ['me'],
    valid_after: '2026-01-01T00:00:00Z',
    valid_until: '2036-01-01T00:00:00Z',
    critical_options: { 'force-command': 'x' },
    extensions: { 'permit-pty': '' },
  },
  ssh_credential: { acl: ['bind:A.example', '*'] },
  tunnel_credential: { acl: ['bind:*.a.example'] },
  event_destination: {
    format: 'JSON',
    target: {
      firehose: {
        delivery_stream_arn: 'arn:aws:firehose:us-east-1:123456789012:deliverystream/x',
        auth: { creds: { aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE', aws_secret_access_key: 'never-shown' } },
      },
    },
  },
  event_subscription: {
    sources: [
      { type: 'tcp_connection_closed.v0', fields: ['conn.client_ip'], filter: 'conn.server_port == 22' },
      { type: 'ip_policy_created.v0' },
    ],
  },
  reserved_addr: { region: 'eu', endpoint_configuration_id: 'ec_01M7Y46P1SGDTCFAVEJ96D4PD7' },
}

/** Kinds of which a second one like the first is refused: the first is deleted before. */
const isUnique = (kind: string): boolean =>
  [
    'tcp_edge',
    'https_edge',
    'https_edge_route',
    'ip_policy_rule',
    'ip_restriction',
    'ip_list',
    'domain',
    'challenger',
    'tls_certificate',
    'certificate_authority',
    'ssh_credential',
  ].includes(kind)

/** Another name for the fullest form. */
const again: Readonly<Record<string, Body>> = {
  tcp_edge: { hostports: ['again.example:22'] },
  https_edge: { hostports: ['again.example:443'] },
  domain: { domain: '*.sent-back-again.example' },
}

/** Secrets, which no answer shows. */
const notShown = ({ private_key_pem, target }: Body): Body => ({
  ...(private_key_pem !== undefined && { private_key_pem }),
  ...(target !== undefined && { target }),
})

t.test('answers of GET sent back', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me: Caller = await api.account()
  await runAdminCommand(store.parts, {
    command: 'account grant',
    account: me.accountId,
    right: 'abuse_reports',
  })
  const estate = new Estate(me, 'sent-back')
  /** Sends it; fails if an event reports a change. */
  const changesNothing = async (work: () => Promise<unknown>): Promise<void> => {
    const events = await api.auditsOf(me.accountId, work)
    if (events.length > 0) throw new Error(`There were events: ${JSON.stringify(events)}`)
  }

  for (const resource of servedResources) {
    const { kind, operations = allOperations } = resource
    if (!operations.includes('update')) continue
    t.test(kind, async (t) => {
      const operations = me.at(await estate.collection(resource))
      const body = { ...(await estate.body(kind)), ...described, ...rest[kind] }
      const { id } = await operations.create(body)
      if (kind === 'https_edge')
        await me.httpsEdgeRoute.under(id).create({ match_type: 'exact_path', match: '/' })
      const shown: Body = await operations.get(id)

      await changesNothing(async () => {
        t.strictSame(await operations.update(id, shown), shown, 'the whole of it')
        for (const [name, value] of Object.entries(shown))
          t.strictSame(await operations.update(id, { [name]: value }), shown, `${name} alone`)
      })

      for (const [name, { setBy, shown: asShown }] of Object.entries(resource.fields)) {
        if (setBy !== 'weir' || asShown === 'hidden') continue
        const says = await refused(400, operations.update(id, { [name]: ['another'] }))
        t.match(says, `"${name}" `)
        t.match(says, "can't be changed: it is ")
      }

      for (const [name, { fields }] of Object.entries(resource.fields as Fields)) {
        if (fields === undefined) continue
        const at = operations.module<Body, Body>(name)
        const module = await at.get(id)
        await changesNothing(async () => {
          t.strictSame(await at.put(id, module), module, `PUT of ${name}`)
        })
        const other = { ...module, enabled: !module['enabled'] }
        t.strictSame(await at.put(id, other), other, 'only the changed member changes')
        t.strictSame((await operations.update(id, { [name]: module }))[name], module, 'in a PATCH, too')
        const fresh = kind === 'https_edge_route' ? { match: `/${name}` } : { hostports: [] }
        const sent = { ...body, ...fresh, [name]: module }
        t.strictSame(
          (await operations.create(sent))[name],
          module,
          'and in a body that creates another resource',
        )
      }
    })
  }

  t.test(
    'an answer is taken as the body of a new resource, in its emptiest and its fullest form',
    async (t) => {
      const mine: Caller = await api.account()
      const copies = new Estate(mine, 'sent-back-as-new')
      await runAdminCommand(store.parts, {
        command: 'account grant',
        account: mine.accountId,
        right: 'abuse_reports',
      })
      for (const resource of servedResources) {
        const { kind, operations: allowed = allOperations } = resource
        if (!allowed.includes('create') || !allowed.includes('get')) continue
        const operations = mine.at(await copies.collection(resource))
        const body = await copies.body(kind)
        for (const [form, sent] of [
          ['as it is', body],
          ['with all', { ...body, ...(kind !== 'abuse_report' && described), ...rest[kind], ...again[kind] }],
        ] as const) {
          const made: Body = await operations.create(sent)
          const shown: Body = await operations.get(made['id'] as string)
          // A resource that must be the account's only one makes room; secret values, and those not shown, are given again.
          if (operations.delete !== undefined && allowed.includes('delete') && isUnique(kind))
            await operations.delete(made['id'] as string)
          const copy = await operations.create({ ...shown, ...notShown(sent) })
          t.not(copy['id'], shown['id'], `${kind} ${form}`)
          t.not(copy['uri'], shown['uri'], `${kind} ${form}`)
          if (isUnique(kind)) await operations.delete(copy['id'] as string)
        }
      }
      const policy = await mine.ipPolicy.create({})
      t.match(
        await refused(400, mine.at('/ip_policies').create({ ...policy, uri: 5 })),
        /"uri" is 5, but is set by Weir alone/,
      )
      t.match(
        await refused(400, mine.at('/ip_policies').create({ created_at: policy.created_at })),
        /has no field "created_at"/,
        'what is no answer has no read-only members',
      )
      const edge = await mine.httpsEdge.create({ hostports: [] })
      await mine.httpsEdgeRoute.under(edge.id).create({ match_type: 'exact_path', match: '/' })
      const { routes } = await mine.httpsEdge.get(edge.id)
      const { body, headers } = await mine.raw.send('POST', '/edges/https', { body: { ...edge, routes } })
      t.match(body, { routes: [] })
      t.match(headers['weir-warning'], /"routes" was left out.*POST \/edges\/https\/edghts_\w+\/routes/)
      t.match(await refused(400, mine.at('/ip_policies').create({ ide: 'x' })), /has no field "ide"/)
    },
  )

  t.test('a reference to a deleted policy may be sent back with other changes', async (t) => {
    // Without the policy test of the other account, which an enforced restriction would fail.
    const own: Caller = await api.account()
    const { id: gone } = await own.ipPolicy.create({})
    const { id: kept } = await own.ipPolicy.create({})
    const edge = await own.tcpEdge.create({ ip_restriction: { ip_policy_ids: [gone, kept] } })
    const edges = own.at('/edges/tcp')
    const untyped = edges.module('ip_restriction')
    const restriction = await own.ipRestriction.create({ type: 'endpoints', ip_policy_ids: [gone] })
    await own.ipPolicy.delete(gone)
    const module = await own.tcpEdge.ip_restriction.get(edge.id)
    t.strictSame(await untyped.put(edge.id, module), module)
    t.strictSame(await edges.update(edge.id, await own.tcpEdge.get(edge.id)), edge)
    const off = { enabled: false, ip_policy_ids: [kept, gone] }
    const changed = await own.tcpEdge.ip_restriction.put(edge.id, off)
    t.strictSame(
      [changed.enabled, changed.ip_policies[1]?.id],
      [false, gone],
      'the present reference stays allowed',
    )
    const enforced = { ...restriction, enforced: true }
    t.strictSame(await own.ipRestriction.update(restriction.id, enforced), enforced)
    await own.tcpEdge.ip_restriction.put(edge.id, { ip_policy_ids: [kept] })
    t.match(await refused(404, untyped.put(edge.id, module)), `names "${gone}"`)
    const { id: other } = await own.tcpEdge.create({})
    t.match(await refused(404, untyped.put(other, module)), `names "${gone}"`)
  })

  t.test('with changes', async (t) => {
    const { id: one } = await me.ipPolicy.create({})
    const two = await me.ipPolicy.create({})
    const made = await me.ipRestriction.create({ type: 'api', ip_policy_ids: [one] })
    const refs = [...made.ip_policies, { id: two.id, uri: two.uri }]
    const sent = { ...made, ip_policies: refs }
    t.strictSame(await me.at('/ip_restrictions').update(made.id, sent), sent)
    const shown = await me.ipRestriction.get(made.id)
    t.strictSame(
      (await me.ipRestriction.update(made.id, { ...shown, ip_policy_ids: [two.id] })).ip_policies,
      [{ id: two.id, uri: two.uri }],
      'ids next to unchanged Refs',
    )
    const address = await me.reservedAddr.create({})
    const endpoint_configuration = { id: 'ec_01M7Y46P1SGDTCFAVEJ96D4PD7' }
    const addresses = me.at('/reserved_addrs')
    const attached = await addresses.update(address.id, { endpoint_configuration })
    t.match(attached, { endpoint_configuration })
    const detached = await addresses.update(address.id, { ...attached, endpoint_configuration: null })
    t.strictSame(detached, address)
  })

  t.test('sources with their addresses', async (t) => {
    const made = await me.eventSubscription.create({ sources: [{ type: 'log.v0' }] })
    const sources = [...made.sources, { type: 'ip_policy_created.v0' }]
    const two = await me.eventSubscription.update(made.id, { sources })
    t.strictSame(two.sources[0], made.sources[0])
    const [, second] = two.sources
    const misplaced = { sources: [{ ...second, type: 'log.v0' }] }
    t.match(
      await refused(400, me.eventSubscription.update(made.id, misplaced)),
      /"sources\[0\]" is .*: the "uri" must be the one of the source "log.v0"/,
    )
    const source = await me.sources(made.id).get('log.v0')
    await changesNothing(async () => t.strictSame(await me.sources(made.id).update('log.v0', source), source))
    const wrong = { ...source, uri: second!.uri }
    t.match(await refused(400, me.sources(made.id).update('log.v0', wrong)), /"uri"/)
  })

  t.test("routes can't be changed through their edge", async (t) => {
    const { id } = await me.httpsEdge.create({})
    const route = await me.httpsEdgeRoute.under(id).create({ match_type: 'exact_path', match: '/' })
    const routes = [{ ...route, match: '/a' }]
    t.match(
      await refused(400, me.at('/edges/https').update(id, { routes })),
      /"routes" is .*, but can't be changed: it is/,
    )
  })
})
