/** Each difference that `docs/from-ngrok.md` lists, by its row. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { importOf, type Json, lineAt, sectionOf } from './fixtures.js'

const page = readFileSync('docs/from-ngrok.md', 'utf8')
const [, table = ''] = /^\| At ngrok \| In Weir \|\n\|---\|---\|\n((?:\|.*\n)+)/m.exec(page) ?? []
const rows = table
  .trim()
  .split('\n')
  .map((row) => row.split(' | ')[0]!.slice(2).replaceAll('`', ''))

const named = (id: string): Json => ({ id, uri: `https://api.ngrok.example/${id}` })
const allow = (cidr: string, policy: string, id: string, action = 'allow'): Json => ({
  id,
  cidr,
  action,
  ip_policy: named(policy),
})
const edgeWith = (modules: Json): Json => ({
  ip_policies: [named('ipp_1')],
  ip_policy_rules: [allow('10.0.0.0/8', 'ipp_1', 'ipr_1')],
  tcp_edges: [{ ...named('edgtcp_1'), hostports: ['ssh.example.com:22'], ...modules }],
})
const policy = (phases: Json): Json => ({ traffic_policy: { enabled: true, value: JSON.stringify(phases) } })
const restricted = (...ids: string[]): Json => ({
  ip_restriction: { enabled: true, ip_policies: ids.map(named) },
})

/** The only edge, after the import. */
const edgeOf = (value: Json): Json => sectionOf(importOf('ngrok', value), 'tcp_edges')[0]!

function refuses(t: Test, value: Json, place: string, why: RegExp): void {
  const { outcome, notes } = lineAt(importOf('ngrok', value), place)
  t.equal(outcome, 'not_taken', place)
  t.match(notes.join(' '), why, place)
}

function changes(t: Test, value: Json, place: string, why: RegExp): ReturnType<typeof importOf> {
  const result = importOf('ngrok', value)
  const { outcome, notes } = lineAt(result, place)
  t.equal(outcome, 'changed', place)
  t.match(notes.join(' '), why, place)
  return result
}

const sshKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJbUTvJmSRLDZsPnpgyMwqiiGdMCzFdhCnjvVbcEiu8m'
const certificate = (issued_at: string | null): Json => ({
  ...named('cert_1'),
  certificate_pem: readFileSync('fixtures/certificates/ecdsa.pem', 'utf8'),
  issued_at,
})
const destination = (target: Json): Json => ({
  event_destinations: [{ ...named('ed_1'), format: 'json', target }],
})
const subscription = (types: readonly string[]): Json => ({
  event_subscriptions: [{ ...named('esb_1'), sources: types.map((type) => ({ type })), destinations: [] }],
})

const checks: Readonly<Record<string, (t: Test) => void>> = {
  'OAuth, OpenID Connect, SAML, mutual TLS, user agents, webhooks'(t) {
    for (const name of ['oauth', 'oidc', 'saml', 'mutual_tls', 'user_agent_filter', 'webhook_verification'])
      refuses(t, edgeWith({ [name]: { enabled: true } }), `tcp_edges[0].${name}`, /lets in what it refused/)
  },
  'Circuit breaker, compression, headers, TLS termination, websockets'(t) {
    for (const name of [
      'circuit_breaker',
      'compression',
      'request_headers',
      'tls_termination',
      'websocket_tcp_converter',
    ])
      refuses(t, edgeWith({ [name]: { enabled: true } }), `tcp_edges[0].${name}`, /your ingress does it/)
  },
  'TLS edge'(t) {
    const value = { tls_edges: [{ ...named('edgtls_1'), hostports: ['mail.example.com:993'] }] }
    const result = changes(t, value, 'tls_edges[0]', /It is a TCP edge/)
    t.match(sectionOf(result, 'tcp_edges'), [{ hostports: ['mail.example.com:993'] }])
  },
  'Route of a host'(t) {
    const routes = [{ ...named('edghtsrt_1'), match_type: 'path_prefix', match: 'example.com/blog' }]
    const value = { https_edges: [{ ...named('edghts_1'), hostports: ['www.example.com:443'], routes }] }
    refuses(t, value, 'https_edges[0].routes[0]', /begins with "\/"/)
  },
  'Traffic policy in CEL'(t) {
    const deny = [{ type: 'deny' }]
    const known = { on_tcp_connect: [{ expressions: ["conn.client_ip == '192.0.2.1'"], actions: deny }] }
    t.match(edgeOf(edgeWith(policy(known)))['policies'], { inbound: [{ actions: [{ type: 'deny' }] }] })
    for (const rule of [
      { expressions: ["'com.github' in conn.client_ip.categories"], actions: deny },
      {
        expressions: ['size(conn.client_ip) > 1 ? true : false'],
        actions: [{ type: 'rate-limit', config: {} }],
      },
    ]) {
      const value = edgeWith(policy({ on_tcp_connect: [...known.on_tcp_connect, rule] }))
      refuses(t, value, 'tcp_edges[0].traffic_policy', /can't be said in Weir/)
      t.notOk('policies' in edgeOf(value), 'a part of it could mean the opposite')
    }
  },
  'Answer of a deny action'(t) {
    const rule = { actions: [{ type: 'deny', config: { status_code: 404 } }] }
    changes(t, edgeWith(policy({ on_http_request: [rule] })), 'tcp_edges[0].traffic_policy', /"status_code"/)
  },
  'Action restrict-ips'(t) {
    const config = { enforce: true, deny: ['10.1.0.0/16'], ip_policies: ['ipp_1'] }
    const action = { type: 'restrict-ips', config }
    const result = importOf('ngrok', edgeWith(policy({ on_tcp_connect: [{ actions: [action] }] })))
    const [edge] = sectionOf(result, 'tcp_edges')
    t.equal((edge!['ip_restriction'] as { ip_policy_ids: unknown[] }).ip_policy_ids.length, 2)
    t.match(sectionOf(result, 'ip_policies').at(-1), { rules: [{ cidr: '10.1.0.0/16', action: 'deny' }] })
    const forSome = { expressions: ['conn.client_port > 1024'], actions: [action] }
    refuses(t, edgeWith(policy({ on_tcp_connect: [forSome] })), 'tcp_edges[0].traffic_policy', /restrict-ips/)
    const twice = { ...policy({ on_tcp_connect: [{ actions: [action] }] }), ...restricted('ipp_1') }
    refuses(t, edgeWith(twice), 'tcp_edges[0].traffic_policy', /on top of the module/)
  },
  'IP policy that does not exist'(t) {
    const result = importOf('ngrok', edgeWith(restricted('ipp_gone')))
    const [, missing] = sectionOf(result, 'ip_policies')
    t.notOk('rules' in missing!)
    t.match(sectionOf(result, 'tcp_edges'), [{ ip_restriction: { ip_policy_ids: [missing!['id']] } }])
    t.match(result.remarks.join(' '), /ipp_gone/)
  },
  'Two rules for the same range'(t) {
    const rules = [allow('10.0.0.0/8', 'ipp_1', 'ipr_1'), allow('10.0.0.0/8', 'ipp_1', 'ipr_2', 'deny')]
    const value = { ip_policies: [named('ipp_1')], ip_policy_rules: rules }
    const result = changes(t, value, 'ip_policy_rules[0]', /ipr_2 denies the same range/)
    t.same(sectionOf(result, 'ip_policies')[0]!['rules'], [{ cidr: '10.0.0.0/8', action: 'deny' }])
  },
  'Two restrictions of a type'(t) {
    const restriction = (id: string): Json => ({
      ...named(id),
      type: 'endpoints',
      enforced: true,
      ip_policies: [named('ipp_1')],
    })
    const value = {
      ip_policies: [named('ipp_1')],
      ip_restrictions: [restriction('ipx_1'), restriction('ipx_2')],
    }
    refuses(t, value, 'ip_restrictions[1]', /one restriction of the type endpoints/)
  },
  'Reserved address'(t) {
    const value = {
      reserved_addrs: [
        { ...named('ra_1'), description: 'game', addr: '1.tcp.ngrok.example:20017', region: 'us' },
      ],
    }
    const edges = edgeWith({ hostports: ['1.tcp.ngrok.example:20017'] })
    const result = changes(t, { ...value, ...edges }, 'reserved_addrs[0]', /Weir draws another one/)
    t.match(sectionOf(result, 'tcp_edges'), [{ hostports: [/^\$\{addr:game\}$/] }])
  },
  'Domain that belongs to ngrok'(t) {
    const value = {
      reserved_domains: [{ ...named('rd_1'), domain: 'shop.ngrok.example', region: '', cname_target: null }],
    }
    changes(t, value, 'reserved_domains[0]', /belongs to ngrok/)
  },
  'Certificate that ngrok had issued'(t) {
    refuses(
      t,
      { tls_certificates: [certificate('2026-05-04T09:00:00Z')] },
      'tls_certificates[0]',
      /private key/,
    )
    const own = changes(
      t,
      { tls_certificates: [certificate(null)] },
      'tls_certificates[0]',
      /PRIVATE_KEY_PEM/,
    )
    t.match(sectionOf(own, 'tls_certificates'), [{ private_key_pem: /^\$\{env:\w+_PRIVATE_KEY_PEM\}$/ }])
  },
  'Other backends than groups of tunnels'(t) {
    const value = {
      backends: [{ ...named('bkdst_1'), address: '10.0.0.1:80' }],
      ...edgeWith({ backend: { enabled: true, backend: named('bkdst_1') } }),
    }
    refuses(t, value, 'backends[0]', /groups of tunnels/)
    refuses(t, value, 'tcp_edges[0].backend', /bkdst_1 is not taken/)
  },
  'Authtoken of a tunnel credential'(t) {
    const result = changes(
      t,
      { credentials: [{ ...named('cr_1'), token: null, acl: ['bind:*.example.com'] }] },
      'credentials[0]',
      /another one/,
    )
    t.match(sectionOf(result, 'credentials'), [{ acl: ['bind:*.example.com'] }])
  },
  'API keys, users, vaults'(t) {
    for (const list of ['keys', 'bot_users', 'service_users', 'vaults', 'secrets'])
      refuses(t, { [list]: [named('x_1')] }, `${list}[0]`, /./)
  },
  'SSH certificate authority'(t) {
    const value = {
      ssh_certificate_authorities: [{ ...named('sshca_1'), public_key: sshKey, key_type: 'ed25519' }],
    }
    const result = changes(t, value, 'ssh_certificate_authorities[0]', /another key/)
    t.not(JSON.stringify(result.file).includes(sshKey.slice(20)), true, 'the key itself is not there')
  },
  'SSH certificate that has ended'(t) {
    const value = {
      ssh_certificate_authorities: [{ ...named('sshca_1'), public_key: sshKey }],
      ssh_host_certificates: [
        {
          ...named('shcrt_1'),
          ssh_certificate_authority_id: 'sshca_1',
          public_key: sshKey,
          valid_until: '2026-11-30T00:00:00Z',
        },
      ],
    }
    refuses(t, value, 'ssh_host_certificates[0]', /ended at 2026-11-30/)
  },
  'Datadog, Azure Logs Ingestion'(t) {
    for (const kind of ['datadog', 'azure_logs_ingestion'])
      refuses(
        t,
        destination({ [kind]: { api_key: null }, kinesis: null }),
        'event_destinations[0]',
        new RegExp(kind),
      )
  },
  'Role of a destination'(t) {
    const auth = { role: { role_arn: 'arn:aws:iam::123456789012:role/events' }, creds: null }
    const kinesis = { auth, stream_arn: 'arn:aws:kinesis:eu-west-1:123456789012:stream/events' }
    changes(t, destination({ kinesis, firehose: null }), 'event_destinations[0]', /external id/)
  },
  'Event kinds that Weir does not have'(t) {
    refuses(t, subscription(['endpoint_created.v0']), 'event_subscriptions[0]', /no source that Weir has/)
    const some = subscription(['endpoint_created.v0', 'ip_policy_created.v0'])
    refuses(t, some, 'event_subscriptions[0].sources[0]', /no event source/)
    t.match(sectionOf(importOf('ngrok', some), 'event_subscriptions'), [
      { sources: [{ type: 'ip_policy_created.v0' }] },
    ])
  },
}

t.test('the page lists what is tested here, and nothing else', (t) => {
  t.same(rows, Object.keys(checks))
  t.end()
})

for (const [row, check] of Object.entries(checks))
  t.test(row, (t) => {
    check(t)
    t.end()
  })

t.test('pages of a list that end before its last one are refused', (t) => {
  const next = 'https://api.ngrok.example/ip_policies?before_id=ipp_1'
  const first = { ip_policies: [named('ipp_1')], uri: '', next_page_uri: next }
  const last = { ip_policies: [named('ipp_2')], uri: '', next_page_uri: null }
  t.throws(() => importOf('ngrok', first), { message: /"ip_policies" goes on after ip_policies/ })
  t.equal(sectionOf(importOf('ngrok', [first, last]), 'ip_policies').length, 2)
  t.equal(sectionOf(importOf('ngrok', { 'by name': [first, last] }), 'ip_policies').length, 2)
  t.throws(() => importOf('ngrok', { error_code: 'ERR_NGROK_206', status_code: 401, msg: 'no' }), {
    message: /error_code is no answer/,
  })
  t.end()
})

t.test('a member that Weir does not know is named, and a list that it does not know as well', (t) => {
  changes(t, edgeWith({ pooling_enabled: true }), 'tcp_edges[0]', /^"pooling_enabled" is left out\.$/)
  refuses(t, { things: [named('x_1')] }, 'things[0]', /The list "things" is unknown/)
  t.end()
})

t.test('ranges of rules: another spelling, bits behind the prefix, and none at all', (t) => {
  const rules = ['10.1.2.3', '2001:DB8::/32', '10.9.0.0/8', null].map((cidr, index) => ({
    ...allow('', 'ipp_1', `ipr_${index}`),
    cidr,
  }))
  const value = { ip_policies: [named('ipp_1')], ip_policy_rules: rules }
  const result = importOf('ngrok', value)
  t.equal(lineAt(result, 'ip_policy_rules[0]').outcome, 'taken')
  t.match(lineAt(result, 'ip_policy_rules[1]').notes, [
    'Its range 2001:DB8::/32 is written as 2001:db8::/32.',
  ])
  t.match(lineAt(result, 'ip_policy_rules[2]').notes, ['Its range 10.9.0.0/8 is written as 10.0.0.0/8.'])
  t.equal(lineAt(result, 'ip_policy_rules[3]').outcome, 'not_taken')
  t.match(
    (sectionOf(result, 'ip_policies')[0]!['rules'] as Json[]).map(({ cidr }) => cidr),
    ['10.1.2.3/32', '2001:db8::/32', '10.0.0.0/8'],
  )
  t.end()
})
