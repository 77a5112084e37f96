/** HTTP requests: which edge and route serve them, and that no spelling of a target or value gets by a policy. */
import type { Chapter } from '../clause.js'
import { asked, client, decides, deny, http, policyOf, tcp } from '../questions.js'
import type { Visit } from '../visit.js'

/** An edge that denies `/private` and the role `admin`. */
async function shop(visit: Visit) {
  const host = visit.host('shop')
  const denies = (name: string, expression: string) => ({ name, expressions: [expression], actions: [deny] })
  const inbound = [
    denies('nothing private', "http.request.url.path.startsWith('/private')"),
    denies('no admin', "http.request.headers['x-role'] == 'admin'"),
    denies('no role', "http.request.url.parameters['role'] == 'admin'"),
  ]
  const edge = await visit.make('/edges/https', { hostports: [`${host}:443`], policies: { inbound } })
  await decides(visit, http(host, '/open'), 'allow')
  return { edge, host }
}

export const routes: Chapter = {
  title: 'Requests of HTTP',
  clauses: [
    {
      number: 801,
      page: 'ingress.md#how-the-edge-is-found',
      says: 'The route is one whose match is exactly the path, else the one with the longest prefix of whole segments.',
      needs: ['writes'],
      check: async (visit) => {
        const host = visit.host('routes')
        const edge = await visit.make('/edges/https', { hostports: [`${host}:443`] })
        const made = (match_type: string, match: string, name: string) =>
          visit.make(`/edges/https/${edge.id}/routes`, {
            match_type,
            match,
            policies: { inbound: [{ name, actions: [deny] }] },
          })
        await made('exact_path', '/a/b', 'exact')
        await made('path_prefix', '/a', 'short')
        await made('path_prefix', '/a/b', 'long')
        for (const [path, wanted] of [
          ['/a/b', 'exact'],
          ['/a/b/c', 'long'],
          ['/a', 'short'],
          ['/a/x', 'short'],
        ] as const) {
          const answer = await decides(visit, http(host, path), 'deny')
          answer.same(answer.body.policy, wanted, `the policy of ${path}`)
        }
        for (const path of ['/ab', '/b']) await decides(visit, http(host, path), 'allow')
      },
    },
    {
      number: 802,
      page: 'policies.md#order-of-evaluation',
      says: "Policies of the edge come before those of the route; the module `ip_restriction` is the route's.",
      needs: ['writes'],
      check: async (visit) => {
        const host = visit.host('order')
        const inbound = [
          { name: 'of the edge', expressions: ["http.request.method == 'POST'"], actions: [deny] },
        ]
        const edge = await visit.make('/edges/https', { hostports: [`${host}:443`], policies: { inbound } })
        const policy = await policyOf(visit, 'allow 203.0.113.0/24')
        await visit.make(`/edges/https/${edge.id}/routes`, {
          match_type: 'path_prefix',
          match: '/',
          policies: { inbound: [{ name: 'of the route', actions: [deny] }] },
          ip_restriction: { ip_policy_ids: [policy.id] },
        })
        const routed = await decides(visit, http(host, '/'), 'deny')
        routed
          .same(routed.body.policy, 'of the route', 'policy')
          .same(routed.body.ip_policy.decision, 'allow', 'ip_policy')
        const posted = await asked(visit, http(host, '/', { method: 'POST' }))
        posted.same(posted.body.policy, 'of the edge', 'policy')
      },
    },
    {
      number: 803,
      page: 'ingress.md#wildcards',
      says: 'A wildcard serves every name below it and not its domain; the most specific hostport decides.',
      needs: ['writes'],
      check: async (visit) => {
        const domain = visit.host('wild')
        const edge = async (hostport: string): Promise<string> =>
          (await visit.make('/edges/https', { hostports: [hostport] })).id
        await edge(`*.${domain}:443`)
        await edge(`a.${domain}:443`)
        await edge(`*.b.${domain}:443`)
        for (const [name, hostport] of [
          [`x.${domain}`, `*.${domain}:443`],
          [`x.y.${domain}`, `*.${domain}:443`],
          [`a.${domain}`, `a.${domain}:443`],
          [`x.b.${domain}`, `*.b.${domain}:443`],
        ] as const) {
          const answer = await decides(visit, http(name, '/'), 'allow')
          answer.same(answer.body.explanation.hostport, hostport, `the hostport that serves ${name}`)
        }
        const apex = await asked(visit, http(domain, '/'))
        apex.same(apex.body.served, false, 'served')
      },
    },
    {
      number: 804,
      page: 'policies.md#readings-of-a-path',
      says: 'A request is judged in every reading of its target that a common server has, and refused if one of them is.',
      needs: ['writes'],
      check: async (visit) => {
        const { host } = await visit.once(shop)
        const disguised = [
          '/private/x',
          '/a/../private',
          '/a/..%2fprivate/x',
          '//private',
          '/%70rivate',
          '/a/..;/private',
          '\\private',
          '/./private',
        ]
        for (const target of disguised) {
          const answer = await asked(visit, http(host, target))
          answer.same(answer.body.decision, 'deny', `the decision about ${target}`)
        }
        const { explanation } = (await asked(visit, http(host, '/a/..%2fprivate/x'))).body
        visit.ask.last!.must(explanation.target.refused.path === '/private/x', 'the reading that was refused')
      },
    },
    {
      number: 805,
      page: 'policies.md#readings-of-a-path',
      says: 'A target that all servers read alike has one reading.',
      needs: ['writes'],
      check: async (visit) => {
        const { host } = await visit.once(shop)
        for (const target of ['/open', '/open/b%C3%BCcher/a%20b', '/open?next=/private', '/openprivate']) {
          const answer = await asked(visit, http(host, target))
          answer.same(answer.body.decision, 'allow', `the decision about ${target}`)
          answer.same(answer.body.explanation.target?.readings.length ?? 1, 1, `the readings of ${target}`)
        }
      },
    },
    {
      number: 806,
      page: 'policies.md#values-that-are-there-twice',
      says: 'A header or parameter that comes several times is judged with each of its values.',
      needs: ['writes'],
      check: async (visit) => {
        const { host } = await visit.once(shop)
        for (const request of [
          { headers: { 'X-Role': ['user', 'admin'] } },
          { headers: { 'X-Role': ['user'], 'x-role': ['admin'] } },
          { headers: { X_Role: ['admin'] } },
        ])
          (await asked(visit, http(host, '/open', request))).must(
            visit.ask.last!.body.decision === 'deny',
            'deny',
          )
        const twice = await asked(visit, http(host, '/open?role=user&role=admin'))
        twice.same(twice.body.decision, 'deny', 'decision')
        const once = await asked(visit, http(host, '/open?role=user', { headers: { 'X-Role': ['user'] } }))
        once.same(once.body.decision, 'allow', 'decision')
      },
    },
    {
      number: 807,
      page: 'ingress.md#how-the-edge-is-found',
      says: 'TCP connections belong to TCP edges and HTTP requests to HTTPS edges; a question may name the edge by its id.',
      needs: ['writes'],
      check: async (visit) => {
        const { edge, host } = await visit.once(shop)
        const crossed = await asked(visit, tcp(host, { server_port: 443 }))
        crossed.same(crossed.body.served, false, 'served')
        const named = await asked(visit, { ...http(visit.host('any'), '/private'), edge_id: edge.id })
        named.same([named.body.decision, named.body.served], ['deny', true], 'decision and served')
      },
    },
    {
      number: 808,
      page: 'policies.md#readings-of-a-path',
      says: '`"ambiguous_targets": "refuse"` of an HTTPS edge refuses every target that servers read differently.',
      needs: ['writes'],
      check: async (visit) => {
        const host = visit.host('strict')
        await visit.make('/edges/https', { hostports: [`${host}:443`], ambiguous_targets: 'refuse' })
        await decides(visit, http(host, '/plain'), 'allow')
        const answer = await decides(visit, http(host, '/a%2fb'), 'deny')
        answer.same(answer.body.explanation.decided_by.name, 'ambiguous target', 'decided_by.name')
      },
    },
    {
      number: 809,
      page: 'api.md#why-was-it-blocked',
      says: 'A question that is no record is refused, and the message names the member.',
      check: async ({ ask }) => {
        const wrong = (body: object, ...texts: string[]) =>
          ask
            .post('/decide', body)
            .then((answer) =>
              answer.must(answer.status === 400, 'status 400').refused(400, answer.body.error_code, ...texts),
            )
        await wrong(
          { type: 'tcp_connection', conn: { client_ip: '203.0.113' } },
          'conn.client_ip',
          '203.0.113',
        )
        await wrong({ type: 'udp', conn: { client_ip: client } }, 'type')
        await wrong(
          { type: 'tcp_connection', conn: { client_ip: client, server_port: 70_000 } },
          'conn.server_port',
        )
      },
    },
  ],
}
