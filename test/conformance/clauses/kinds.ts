/** What is particular to kinds of resources: names, ranges, certificates, secrets. */
import type { Chapter } from '../clause.js'

export const kinds: Chapter = {
  title: 'Kinds of resources',
  clauses: [
    {
      number: 301,
      page: 'api.md#resources',
      says: 'Hostports are `host:port` in lower case, and unique in the deployment.',
      needs: ['writes'],
      check: async (visit) => {
        const hostport = `${visit.host('taken')}:22`
        const made = await visit.made('/edges/tcp', { hostports: [hostport.toUpperCase()] })
        made.same(made.body.hostports, [hostport], 'hostports')
        const again = await visit.ask.post('/edges/tcp?validate_only=true', { hostports: [hostport] })
        again.refused(400, 'ERR_CONFLICT', hostport)
        ;(await visit.ask.delete(`/edges/tcp/${made.body.id}`)).is(204)
        ;(await visit.ask.post('/edges/tcp?validate_only=true', { hostports: [hostport] })).is(201)
      },
    },
    {
      number: 302,
      page: 'ingress.md#spelling-of-hostports',
      says: 'A hostport in any script is stored in the ASCII form of IDNA; a character that IDNA would make ASCII is refused.',
      check: async (visit) => {
        const rehearse = (host: string) =>
          visit.ask.post('/edges/tcp?validate_only=true', { hostports: [`${host}.${visit.host('idna')}:22`] })
        const made = (await rehearse('bücher')).is(201)
        made.same(made.body.hostports, [`xn--bcher-kva.${visit.host('idna')}:22`], 'hostports')
        ;(await rehearse('\u212aeller')).refused(400, 'ERR_INVALID_REQUEST', '"hostports[0]"')
      },
    },
    {
      number: 303,
      page: 'policies.md#ip-policies',
      says: 'A rule is shown with its prefix; bits behind it and odd spellings of IPv4 are refused, with the canonical form.',
      needs: ['writes'],
      check: async (visit) => {
        const { id } = await visit.make('/ip_policies')
        const rule = { ip_policy_id: id, action: 'allow' }
        const made = await visit.made('/ip_policy_rules', { ...rule, cidr: '203.0.113.7' })
        made.same(made.body.cidr, '203.0.113.7/32', 'cidr')
        const six = await visit.made('/ip_policy_rules', { ...rule, cidr: '2001:DB8:0::1' })
        six.same(six.body.cidr, '2001:db8::1/128', 'cidr')
        const refused = async (cidr: string, ...texts: string[]) =>
          (await visit.ask.post('/ip_policy_rules', { ...rule, cidr })).refused(
            400,
            'ERR_INVALID_REQUEST',
            '"cidr"',
            ...texts,
          )
        await refused('203.0.113.7/24', '203.0.113.0/24')
        for (const cidr of ['010.0.0.1', '1.2.3', '0x7f.1', '203.0.113.0/33']) await refused(cidr)
      },
    },
    {
      number: 304,
      page: 'policies.md#ip-policies',
      says: 'A range can be in a policy once, as an allow rule or as a deny rule.',
      needs: ['writes'],
      check: async (visit) => {
        const { id } = await visit.make('/ip_policies')
        const rule = { ip_policy_id: id, cidr: '203.0.113.0/24' }
        const { id: first } = await visit.make('/ip_policy_rules', { ...rule, action: 'allow' })
        const again = await visit.ask.post('/ip_policy_rules', { ...rule, action: 'deny' })
        again.refused(400, 'ERR_CONFLICT', '203.0.113.0/24', first)
      },
    },
    {
      number: 305,
      page: 'api.md#resources',
      says: 'A backend can not be deleted while a module names it; the message says which.',
      needs: ['writes'],
      check: async (visit) => {
        const backend = await visit.make('/backends/tunnel_group', { labels: { app: 'x' } })
        const edge = await visit.make('/edges/tcp', { backend: { backend_id: backend.id } })
        ;(await visit.ask.delete(`/backends/tunnel_group/${backend.id}`)).refused(
          400,
          'ERR_CONFLICT',
          edge.id,
        )
        ;(await visit.ask.delete(`/edges/tcp/${edge.id}/backend`)).is(204)
        ;(await visit.ask.delete(`/backends/tunnel_group/${backend.id}`)).is(204)
      },
    },
    {
      number: 306,
      page: 'api.md#resources',
      says: 'Routes live under their HTTPS edge and are shown in it; a prefix is of whole segments.',
      needs: ['writes'],
      check: async (visit) => {
        const edge = await visit.make('/edges/https')
        const path = `/edges/https/${edge.id}/routes`
        const route = await visit.made(path, { match_type: 'path_prefix', match: '/a' })
        route.same([route.body.edge_id, route.body.match], [edge.id, '/a'], 'edge_id and match')
        const shown = (await visit.ask.get(`/edges/https/${edge.id}`)).is(200)
        shown.same(shown.body.routes, [route.body], 'routes')
        ;(await visit.ask.delete(`${path}/${route.body.id}`)).is(204)
        ;(await visit.ask.post(path, { match_type: 'regex', match: '/a' })).refused(
          400,
          'ERR_INVALID_REQUEST',
          '"match_type"',
        )
      },
    },
    {
      number: 307,
      page: 'api.md#resources',
      says: 'A reserved address is `<n>.tcp.<region>.<domain>:<port>`, assigned and unique; its region is `us` by default and stays.',
      needs: ['writes'],
      check: async (visit) => {
        const addresses = new Set<string>()
        for (let at = 0; at < 2; at += 1) {
          const made = await visit.made('/reserved_addrs')
          made
            .same(made.body.region, 'us', 'region')
            .must(/^\d+\.tcp\.us\..+:\d+$/.test(made.body.addr), 'an addr in us')
          made.must(!addresses.has(made.body.addr), 'an addr of its own')
          made.same(made.body.endpoint_configuration, null, 'endpoint_configuration')
          addresses.add(made.body.addr)
          const moved = await visit.ask.patch(`/reserved_addrs/${made.body.id}`, { region: 'eu' })
          moved.refused(400, 'ERR_INVALID_REQUEST', '"region"')
        }
      },
    },
    {
      number: 308,
      page: 'api.md#resources',
      says: 'SSH host certificates are OpenSSH certificates for a year (365 days), user certificates for 24 hours with a principal.',
      needs: ['writes'],
      check: async (visit) => {
        const authority = await visit.made('/ssh_certificate_authorities')
        const { id, public_key } = authority.same(authority.body.key_type, 'ed25519', 'key_type').body
        authority.must(!authority.text.includes('PRIVATE'), 'no private key')
        const signed = { ssh_certificate_authority_id: id, public_key }
        const days = ({ valid_after, valid_until }: Record<string, string>): number =>
          (Date.parse(valid_until ?? '') - Date.parse(valid_after ?? '')) / 86_400_000
        const host = await visit.made('/ssh_host_certificates', {
          ...signed,
          principals: ['ssh.example.com'],
        })
        host.must(
          host.body.certificate.startsWith('ssh-ed25519-cert-v01@openssh.com '),
          'a certificate of OpenSSH',
        )
        host
          .same(days(host.body), 365, 'the validity in days')
          .same(host.body.principals, ['ssh.example.com'], 'principals')
        const user = await visit.made('/ssh_user_certificates', { ...signed, principals: ['root'] })
        user.same(days(user.body), 1, 'the validity in days')
        ;(await visit.ask.post('/ssh_user_certificates', signed)).refused(
          400,
          'ERR_INVALID_REQUEST',
          '"principals"',
        )
        ;(await visit.ask.delete(`/ssh_certificate_authorities/${id}`)).refused(400, 'ERR_CONFLICT')
      },
    },
    {
      number: 309,
      page: 'ingress.md#domains-and-certificates',
      says: 'A domain has a `cname_target`, and a wildcard an `acme_challenge_cname_target`, which is null for others.',
      needs: ['writes'],
      check: async (visit) => {
        const plain = await visit.made('/reserved_domains', { domain: visit.host('plain') })
        plain.must(/\.cname\./.test(plain.body.cname_target), 'a cname_target')
        plain.same(plain.body.acme_challenge_cname_target, null, 'acme_challenge_cname_target')
        const wild = await visit.made('/reserved_domains', { domain: `*.${visit.host('wild')}` })
        wild.must(/\.acme\./.test(wild.body.acme_challenge_cname_target), 'an acme_challenge_cname_target')
        const policy = `/reserved_domains/${plain.body.id}/certificate_management_policy`
        ;(await visit.ask.delete(policy)).is(204)
        ;(await visit.ask.delete(`/reserved_domains/${plain.body.id}/certificate`)).is(204)
      },
    },
    {
      number: 310,
      page: 'destinations/http.md#secrets',
      says: 'Secrets of a target are never shown; a target has exactly one kind, and the others are null.',
      needs: ['writes'],
      check: async (visit) => {
        const http = { url: `https://${visit.host('logs')}/in`, secret_headers: { 'X-Api-Key': 'hush-hush' } }
        const made = await visit.made('/event_destinations', {
          target: { http: { ...http, auth: { bearer: { token: 'hush-hush' } } } },
        })
        const read = (await visit.ask.get(`/event_destinations/${made.body.id}`)).is(200)
        for (const answer of [made, read]) {
          answer
            .must(!answer.text.includes('hush-hush'), 'no secret')
            .same(answer.body.format, 'json', 'format')
          const { http: shown, ...others } = answer.body.target
          answer.same(shown.auth.bearer.token, null, 'the token').same(
            Object.values(others).every((each) => each === null),
            true,
            'the other kinds are null',
          )
        }
        const none = await visit.ask.post('/event_destinations?validate_only=true', { target: {} })
        none.must(none.status === 400, 'status 400')
      },
    },
    {
      number: 311,
      page: 'api.md#abuse-reports',
      says: 'Only accounts with the right may create and read abuse reports.',
      check: async ({ ask }) => {
        const body = { urls: ['http://evil.example/x'] }
        const answer = await ask.post('/abuse_reports?validate_only=true', body)
        if (answer.status === 403) answer.refused(403, 'ERR_FORBIDDEN', 'abuse_reports')
        else
          answer
            .is(201)
            .same(answer.body.hostnames, [{ hostname: 'evil.example', status: 'PENDING' }], 'hostnames')
      },
    },
    {
      number: 312,
      page: 'ingress.md#names-of-several-accounts',
      says: 'What a wildcard of an edge keeps for its account is refused to another with 409.',
      needs: ['writes', 'other-key'],
      check: async (visit) => {
        const key = visit.target.otherKey ?? ''
        await visit.make('/edges/https', { hostports: [`*.${visit.host('kept')}:443`] })
        const rehearse = (hostport: string) =>
          visit.ask.post('/edges/https?validate_only=true', { hostports: [hostport] }, { key })
        for (const name of [visit.host('kept'), `a.${visit.host('kept')}`])
          (await rehearse(`${name}:443`)).refused(409, 'ERR_NAME_RESERVED')
        ;(await rehearse(`${visit.host('kept')}:444`)).is(201)
      },
    },
    {
      number: 313,
      page: 'ingress.md#tunnels-may-this-agent-bind-this-name',
      says: 'A tunnel credential has rules `*`, `bind:host` and `bind:*.host`; another rule is refused.',
      check: async (visit) => {
        const acl = [`bind:${visit.host('t')}`, `bind:*.${visit.host('t')}`, '*']
        const made = (await visit.ask.post('/credentials?validate_only=true', { acl })).is(201)
        made.same(made.body.acl, acl, 'acl').same(made.body.token, null, 'the token of a rehearsal')
        const wrong = await visit.ask.post('/credentials?validate_only=true', { acl: ['serve:x'] })
        wrong.refused(400, 'ERR_INVALID_REQUEST', '"acl[0]"')
      },
    },
  ],
}
