/** Lists in bodies, at any depth: every wrong entry is named at once, up to 100. */
import t from 'tap'
import { newId } from '../../../src/ground/core/ids.js'
import { errorText } from '../../../src/ground/core/text/terminal.js'
import { sshCredential } from '../../../src/words/resource/ssh-credential.js'
import { openTestStore } from '../../harness/api.js'
import { refusalOf } from '../../harness/caller.js'

const { public_key } = sshCredential.example
/** A member of details that says which characters of an expression are wrong. */
const isMark = (name: string): boolean => /\.(offset|length|line|column)$/.test(name)

const deny = { actions: [{ type: 'deny' }] }

t.test('wrong entries of lists', async (t) => {
  const api = await (await openTestStore(t)).api()
  const me = await api.account()
  const policy = await me.ipPolicy.create({})
  const edge = await me.tcpEdge.create({})
  const https = await me.httpsEdge.create({})
  const subscription = await me.eventSubscription.create({
    sources: [{ type: 'log.v0' }],
    destination_ids: [],
  })
  const authority = await me.sshCertificateAuthority.create({})
  const [one, two] = [newId('ipp_'), newId('ipp_')]
  const policies = {
    inbound: [
      { expressions: ['nothing == 1', 'conn.client_port == 1', '1 +'], ...deny },
      { actions: [{ type: 'deny' }, { type: 'log', config: { Metadata: {} } }] },
    ],
    outbound: [deny, { expressions: ['conn.x'], actions: [{ type: 'log', config: { Other: 1 } }] }],
  }
  const badShapes = {
    inbound: [{ actions: [{ type: 'block' }] }, { actions: [] }, { expressions: [1], ...deny }],
    outbound: [{ name: 'x', actions: [{ type: 'log', configuration: 1 }] }],
  }
  const ids = { ip_policy_ids: [one, policy.id, two, 'x'] }
  const cases = [
    [
      'PUT',
      `/edges/tcp/${edge.id}/policies`,
      policies,
      [
        'inbound[0].expressions[0]',
        'inbound[0].expressions[2]',
        'inbound[1].actions[1]',
        'outbound[0].actions[0].type',
        'outbound[1].expressions[0]',
        'outbound[1].actions[0].config',
      ],
    ],
    [
      'POST',
      '/edges/tcp',
      { policies: badShapes },
      [
        'policies.inbound[0].actions[0].type',
        'policies.inbound[1].actions',
        'policies.inbound[2].expressions[0]',
        'policies.outbound[0].actions[0]',
      ],
    ],
    [
      'POST',
      `/edges/tcp/${edge.id}/policies/try`,
      { outbound: [deny, deny] },
      ['outbound[0].actions[0].type', 'outbound[1].actions[0].type'],
    ],
    [
      'PATCH',
      `/edges/tcp/${edge.id}`,
      { ip_restriction: { ip_policy_ids: ['x', 'y'] } },
      ['ip_restriction.ip_policy_ids[0]', 'ip_restriction.ip_policy_ids[1]'],
    ],
    [
      'PUT',
      `/edges/tcp/${edge.id}/ip_restriction`,
      { ip_policy_ids: [one, policy.id, two] },
      ['ip_policy_ids[0]', 'ip_policy_ids[2]'],
    ],
    [
      'PUT',
      `/edges/tcp/${edge.id}/ip_restriction`,
      { ip_policies: [{ id: 'x' }, { id: policy.id, uri: 'y' }] },
      ['ip_policies[0].id', 'ip_policies[1]'],
    ],
    [
      'POST',
      '/ip_restrictions',
      { type: 'agent', ip_policy_ids: [one, two] },
      ['ip_policy_ids[0]', 'ip_policy_ids[1]'],
    ],
    [
      'POST',
      '/ip_restrictions',
      { type: 'agent', ...ids, ip_policy_ids: ['x', 'z'] },
      ['ip_policy_ids[0]', 'ip_policy_ids[1]'],
    ],
    [
      'POST',
      `/edges/https/${https.id}/routes`,
      {
        match_type: 'path_prefix',
        match: '/',
        ip_restriction: { ip_policy_ids: [one, two] },
      },
      ['ip_restriction.ip_policy_ids[0]', 'ip_restriction.ip_policy_ids[1]'],
    ],
    [
      'POST',
      '/event_subscriptions',
      {
        destination_ids: [],
        sources: [
          { type: 'log.v0', fields: ['metadata', 'x', 'y'], filter: '1 +' },
          { type: 'log.v1' },
          { type: 'ip_policy_created.v0', fields: ['x'], filter: 'true' },
        ],
      },
      [
        'sources[0].fields[1]',
        'sources[0].fields[2]',
        'sources[0].filter',
        'sources[1].type',
        'sources[2].fields',
        'sources[2].filter',
      ],
    ],
    [
      'POST',
      '/event_subscriptions/try',
      {
        destination_ids: [newId('ed_'), newId('ed_')],
        sources: [{ type: 'log.v0' }],
      },
      ['destination_ids[0]', 'destination_ids[1]'],
    ],
    [
      'POST',
      `/event_subscriptions/${subscription.id}/sources`,
      {
        type: 'tcp_connection_closed.v0',
        fields: ['x', 'conn.client_ip', 'y'],
      },
      ['fields[0]', 'fields[2]'],
    ],
    [
      'PATCH',
      `/event_subscriptions/${subscription.id}/sources/log.v0`,
      { fields: [1, 2] },
      ['fields[0]', 'fields[1]'],
    ],
    ['POST', '/credentials', { acl: ['x', 'bind:a.example', 'bind:'] }, ['acl[0]', 'acl[2]']],
    ['POST', '/ssh_credentials', { public_key, acl: ['x', 'y'] }, ['acl[0]', 'acl[1]']],
    [
      'POST',
      '/ssh_host_certificates',
      {
        ssh_certificate_authority_id: authority.id,
        public_key,
        principals: [1, 'a', 2],
      },
      ['principals[0]', 'principals[2]'],
    ],
    ['POST', '/api_keys', { rights: ['read', 'x', 'y'] }, ['rights[1]', 'rights[2]']],
  ] as const satisfies readonly (readonly [string, string, object, readonly string[]])[]
  for (const [method, path, body, places] of cases) {
    const answer = await me.raw.send(method, path, { body })
    const { operation_id, ...entries } = answer.body.details
    t.ok(operation_id)
    const named = Object.keys(entries).filter((name) => !isMark(name))
    t.strictSame(named.toSorted(), [...places].toSorted(), `${method} ${path}: ${answer.text}`)
    const more = places.length - 1
    t.match(answer.body.msg, new RegExp(`${more} more (entry is|entries are) wrong: see "details"`), path)
  }

  await t.test('at most 100, and what else is wrong if no entry is', async (t) => {
    const inbound = Array.from({ length: 20 }, () => ({ expressions: Array(10).fill('x'), ...deny }))
    const { body } = await me.raw.send('PUT', `/edges/tcp/${edge.id}/policies`, { body: { inbound } })
    t.equal(Object.keys(body.details).filter((name) => !isMark(name)).length, 101)
    t.match(body.msg, /at least 99 more entries are wrong/)
    const wrong = { ip_policy_ids: [policy.id, policy.id] }
    t.match(await me.raw.refused(400, 'PUT', `/edges/tcp/${edge.id}/ip_restriction`, wrong), /appears twice/)
  })

  await t.test('the command line prints a line for each', async (t) => {
    const refusal = await refusalOf(me.tcpEdge.create({ hostports: ['a', 'b.example:1', 'c:0'] }))
    const [head, ...lines] = errorText(refusal).split('\n')
    t.match(head, /^weir: POST \/edges\/tcp: "hostports\[0\]" is "a".*1 more entry is wrong/)
    t.strictSame(lines.length, 2)
    t.match(lines, [/^ {2}"hostports\[0\]" is "a"/, /^ {2}"hostports\[2\]" is "c:0"/])
    t.equal(errorText(await refusalOf(me.tcpEdge.get('x'))).split('\n').length, 1)
    t.equal(errorText(new Error('It failed.')), 'weir: It failed.')
  })
})
