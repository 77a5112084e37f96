/** An account in files: exported, made again in an empty deployment, changed, and left alone when nothing differs. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import {
  exampleCertificate,
  examplePrivateKey,
  exampleSshKey,
} from '../../src/words/resource/kind/examples.js'
import { run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { type RunningWeir, startWeir } from '../harness/weir.js'

const secrets = { AWS_SECRET: 'abcdefghij0123456789ABCDEFGHIJ0123456789', WEB_SECRET: 'a-secret-of-the-web' }

/** Every kind twice: with all that clients can set, and with as little as possible. */
const full = `
ip_lists:
  - {id: tor, name: tor-exits, category: proxy.tor, description: exits, entries: [203.0.113.9, {cidr: 2001:db8::/48, comment: guests}]}
  - {name: feed, source: {url: 'https://lists.example.com/drop.txt', format: lines, secret_headers: {x-key: '\${env:WEB_SECRET}'}}}
  - {name: empty}
backends:
  - {id: web, description: the website, labels: {app: web, zone: eu}, metadata: '{"cost": 1}'}
  - {}
certificate_authorities:
  - {description: our devices, ca_pem: '\${file:www.pem}'}
tls_certificates:
  - {id: www, description: www, certificate_pem: '\${file:www.pem}', private_key_pem: '\${file:www.key}'}
reserved_domains:
  - {domain: www.example.com, certificate_id: www, description: the shop}
  - {domain: other.example.com}
reserved_addrs:
  - {id: game, description: the game server, region: eu}
  - {}
ip_policies:
  - id: office
    description: the office
    rules:
      - {cidr: 203.0.113.0/24, action: allow, description: fourth floor}
      - {cidr: 203.0.113.128/25, action: deny, enforced: false}
      - {list_id: tor, action: deny}
  - {id: same-1, description: same}
  - {id: same-2, description: same, rules: [{cidr: '192.0.2.0/24', action: deny}]}
  - {id: nameless}
tcp_edges:
  - hostports: [ssh.example.com:22, '\${addr:game}']
    description: ssh
    backend: {backend_id: web}
    ip_restriction: {ip_policy_ids: [office, same-2]}
    policies:
      inbound:
        - {name: abroad, expressions: ["conn.geo.country_code != 'US'"], actions: [{type: log, config: {Metadata: {Message: 'costs $\${5}'}}}, {type: deny}]}
        - {actions: [{type: deny}], enforced: false}
  - {description: without a name}
https_edges:
  - id: shop
    hostports: [www.example.com:443]
    ambiguous_targets: refuse
    routes:
      - {match_type: path_prefix, match: /docs, ip_restriction: {ip_policy_ids: [same-1], enabled: false}}
      - {match_type: exact_path, match: /, backend: {backend_id: web}}
ip_restrictions:
  - {type: endpoints, enforced: false, ip_policy_ids: [nameless]}
policy_tests:
  - description: the office comes in
    given: {type: tcp_connection, conn: {client_ip: 203.0.113.9, server_name: ssh.example.com, server_port: 22}, country: US}
    expect: {decision: block, decided_by: {ip_policy_id: office, id: ssh.example.com:22}}
  - name: others do not
    given: {type: tcp_connection, conn: {client_ip: 198.51.100.1, server_name: ssh.example.com, server_port: 22}, country: US}
    expect: {decision: block}
ssh_certificate_authorities:
  - {id: hosts, description: hosts}
  - {description: curve, private_key_type: ecdsa, elliptic_curve: p384}
  - {description: large, private_key_type: rsa, key_size: 2048}
ssh_host_certificates:
  - {description: one, public_key: '${exampleSshKey}', ssh_certificate_authority_id: hosts, principals: [ssh.example.com]}
ssh_user_certificates:
  - {description: alice, public_key: '${exampleSshKey}', ssh_certificate_authority_id: hosts, principals: [alice], extensions: {permit-pty: ''}}
ssh_credentials:
  - {description: build server, public_key: '${exampleSshKey}', acl: ['bind:*.example.com']}
credentials:
  - {description: agents, acl: ['bind:*.example.com']}
  - {}
bouncers:
  - {description: the firewall, ip_policy_ids: [office], ip_list_ids: [tor]}
event_destinations:
  - {id: audit, description: the trail, target: {kinesis: {stream_arn: 'arn:aws:kinesis:eu-west-1:123456789012:stream/events', auth: {role: {role_arn: 'arn:aws:iam::123456789012:role/weir'}}}}, on_expiry: block}
  - {description: with a key, target: {firehose: {delivery_stream_arn: 'arn:aws:firehose:eu-west-1:123456789012:deliverystream/events', auth: {creds: {aws_access_key_id: AKIAABCDEFGHIJKLMNOP, aws_secret_access_key: '\${env:AWS_SECRET}'}}}}}
event_subscriptions:
  - {description: connections, sources: [{type: tcp_connection_closed.v0, fields: [conn.client_ip], filter: conn.server_port == 22}], destination_ids: [audit]}
  - {}
keys:
  - {description: reader, rights: [read], expires_at: '2030-01-01T00:00:00Z'}
`

interface Ended {
  readonly code: number | null
  readonly output: string
}

async function weir(
  { url, token }: RunningWeir,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const running = run('programs/main.js', args, { WEIR_API_URL: url, WEIR_API_KEY: token, ...env })
  const { code } = await running.ended
  return { code, output: running.output() }
}

/** The variables that an exported file names. */
const variablesOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/\$\{env:(\w+)\}/g)].map(([, name = '']) => [
      name,
      name.includes('PRIVATE_KEY')
        ? examplePrivateKey
        : name.includes('AWS')
          ? secrets.AWS_SECRET
          : secrets.WEB_SECRET,
    ]),
  )

const changesOf = async ({ api }: RunningWeir): Promise<string[]> => {
  const ids: string[] = []
  for await (const { id, version } of api.changes()) ids.push(`${id} ${version}`)
  return ids
}

async function changedByHand(
  t: Test,
  { api, ...running }: RunningWeir,
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const here = { api, ...running }
  const text = readFileSync(file, 'utf8')
  for await (const { id, hostports } of api.tcpEdge.list())
    if (hostports?.includes('ssh.example.com:22')) await api.tcpEdge.update(id, { description: 'by hand' })
  const extra = await api.ipPolicy.create({ description: 'made by hand' })
  const drift = await weir(here, ['plan', file])
  t.match(drift, {
    code: 2,
    output: /~ tcp_edges {2}ssh\.example\.com:22 {2}\S+ {2}\(changed last \S+ by \S/,
  })
  t.match(drift.output, /description: "by hand" -> "ssh"/)
  t.match(drift.output, /left as they are: 1 in ip_policies/)

  const policies = { inbound: [{ expressions: ['conn.nothing == 1'], actions: [{ type: 'deny' }] }] }
  const edges = ['ssh.example.com:22', 'new.example.com:22'].map((each) => ({ hostports: [each], policies }))
  writeFileSync(`${file}.json`, JSON.stringify({ tcp_edges: edges }))
  const refused = await weir(here, ['plan', `${file}.json`])
  const sentences = refused.output.match(/the API would refuse it now: .*conn\.nothing/g)
  t.equal(sentences?.length, 2, 'what would be refused is said, of what is there and of what is new')

  const { id: keyId, token } = await api.apiKey.create({ description: 'may read', rights: ['read'] })
  const read = await weir({ ...here, token: token! }, ['plan', `${file}.json`])
  t.match(read, { code: 2, output: /2 not checked by the API, because the key may not write/ }, read.output)
  await api.apiKey.delete(keyId)

  // A rule goes, one comes, a policy has another name, a certificate is another one, a test expects the new decision.
  const changed = text
    .replace(/ +- description: fourth floor\n +cidr: 203\.0\.113\.0\/24\n/, '      - cidr: 198.51.100.0/24\n')
    .replace('description: the office\n', 'description: HQ\n')
    .replace('curve: p384', 'curve: p256')
    .replace(/(others do not[\s\S]*?)block/, '$1allow')
  writeFileSync(file, changed)
  const plan = await weir(here, ['plan', file, '--prune', '--json'])
  const { differences } = JSON.parse(plan.output)
  t.same(
    differences.map(({ action, section, name }: Record<string, string>) => `${action} ${section} ${name}`),
    [
      'update ip_policies the-office',
      'update tcp_edges ssh.example.com:22',
      'replace ssh_certificate_authorities curve',
      'update policy_tests others-do-not',
      'delete ip_policies made-by-hand',
    ],
  )
  const applied = await weir(here, ['apply', file, '--prune'], env)
  t.equal(applied.code, 0, applied.output)
  const after = await weir(here, ['plan', file, '--prune'], env)
  t.match(after, { code: 0 }, after.output)
  await t.rejects(api.ipPolicy.get(extra.id), /There is no IP policy/)
}

t.test('files of every kind', async (t) => {
  const dir = tempDir(t)
  const [first, second] = await Promise.all([0, 1].map(() => startWeir(tempDir(t))))
  for (const each of [first!, second!]) t.teardown(() => each.stop())
  writeFileSync(join(dir, 'www.pem'), exampleCertificate)
  writeFileSync(join(dir, 'www.key'), examplePrivateKey)
  const file = join(dir, 'weir.yaml')
  writeFileSync(file, full)
  const tokens = join(dir, 'tokens')

  const without = await weir(first!, ['apply', file, '--tokens', tokens])
  t.match(without, { code: 1, output: /the environment has no WEB_SECRET/ }, 'a secret that is not there')
  const asked = await weir(first!, ['apply', file], secrets)
  t.match(asked, { code: 1, output: /--tokens FILE/ }, 'a token needs a place')
  writeFileSync(tokens, '', { mode: 0o644 })
  const before = await changesOf(first!)
  const planned = await weir(first!, ['plan', file])
  t.match(planned, { code: 2, output: /\+ ip_policies {2}office/ }, planned.output)
  t.same(await changesOf(first!), before, 'a plan writes nothing')
  const applied = await weir(first!, ['apply', file, '--tokens', tokens], secrets)
  t.equal(applied.code, 0, applied.output)
  t.equal(statSync(tokens).mode & 0o777, 0o600)
  t.equal(readFileSync(tokens, 'utf8').trim().split('\n').length, 4, 'two credentials, a bouncer, a key')

  const again = await weir(first!, ['plan', file], secrets)
  t.match(again, { code: 0 }, again.output)
  const versions = await changesOf(first!)
  const second1 = await weir(first!, ['apply', file], secrets)
  t.match(second1, { code: 0, output: /Nothing differs/ }, second1.output)
  t.same(await changesOf(first!), versions, 'a second apply writes nothing')

  const exported = await weir(first!, ['export', '--output', join(dir, 'export.yaml')])
  t.equal(exported.code, 0, exported.output)
  const text = readFileSync(join(dir, 'export.yaml'), 'utf8')
  for (const secret of Object.values(secrets)) t.notOk(text.includes(secret), 'no secret')
  const own = await weir(first!, ['plan', join(dir, 'export.yaml')])
  t.match(own, { code: 0 }, own.output)

  const json = await weir(first!, ['export', '--json'])
  t.same(JSON.parse(json.output), parse(text), 'the same as JSON')
  const tested = await weir(first!, ['test', join(dir, 'export.yaml')])
  t.match(tested, { code: 0, output: /2 passed, 0 failed/ }, tested.output)

  const env = variablesOf(text)
  const made = await weir(
    second!,
    ['apply', join(dir, 'export.yaml'), '--tokens', join(dir, 'tokens-2')],
    env,
  )
  t.equal(made.code, 0, made.output)
  const copied = await weir(second!, ['plan', join(dir, 'export.yaml')], env)
  t.match(copied, { code: 0 }, copied.output)
  const copy = await weir(second!, ['export'])
  t.equal(copy.output.trim(), text.trim(), 'the copy is described by the same text')

  await t.test('what was changed by hand', (t) => changedByHand(t, first!, join(dir, 'export.yaml'), env))
})

t.test('a run that is killed is finished by the next', async (t) => {
  const dir = tempDir(t)
  const here = await startWeir(tempDir(t))
  t.teardown(() => here.stop())
  const file = join(dir, 'many.json')
  const numbers = Array.from({ length: 60 }, (_, n) => n)
  const rules = [{ cidr: '203.0.113.0/24', action: 'allow' }]
  writeFileSync(
    file,
    JSON.stringify({
      ip_policies: numbers.map((n) => ({ id: `policy-${n}`, description: `policy ${n % 50}`, rules })),
      tcp_edges: numbers.map((n) => ({
        hostports: [`host-${n}.example.com:22`],
        ip_restriction: { ip_policy_ids: [`policy-${n}`] },
      })),
    }),
  )
  const env = { WEIR_API_URL: here.url, WEIR_API_KEY: here.token }
  let kills = 0
  for (const lines of [1, 10, 25, 40, 55, 70]) {
    const running = run('programs/main.js', ['apply', file], env)
    const said = (): number =>
      running
        .output()
        .split('\n')
        .filter((line) => line.startsWith('+')).length
    // Each run does what is left, so it may end before.
    const ended = running.ended.then(() => true)
    let made = 0
    for await (const _ of here.api.tcpEdge.list()) made += 1
    for await (const _ of here.api.ipPolicy.list()) made += 1
    while (made + said() < lines && !(await Promise.race([ended, sleep(2).then(() => false)])));
    await running.kill()
    if ((await running.ended).signal === 'SIGKILL') kills += 1
  }
  t.ok(kills >= 3, `${kills} runs were killed under way`)
  const last = await weir(here, ['apply', file])
  t.equal(last.code, 0, last.output)
  const plan = await weir(here, ['plan', file, '--prune'])
  t.match(plan, { code: 0, output: /120 as the files say/ }, plan.output)
  t.notMatch(plan.output, /left as they are: [^.]*(ip_policies|tcp_edges)/, 'nothing is there twice')
})
