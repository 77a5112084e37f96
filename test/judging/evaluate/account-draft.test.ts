/** Drafts of an account that are refused: each message names the place and what is wrong there. */
import t from 'tap'
import { WeirError } from '../../../src/ground/core/errors.js'
import { withoutPauses } from '../../../src/ground/core/slices.js'
import { readAccountDraft } from '../../../src/judging/evaluate/portable/account-draft.js'
import { deny, TestConfiguration } from './configuration.js'

const configured = () =>
  new TestConfiguration('ac_1')
    .ipPolicy('ipp_1', '198.51.100.0/24')
    .ipPolicy('ipp_2', '198.51.100.0/24')
    .ipPolicy('ipp_3', '198.51.100.0/24')
    .ipList('ipl_1', { name: 'tor' }, '192.0.2.9/32')
    .restriction('ipx_1', { type: 'endpoints', ip_policy_ids: ['ipp_2'] })
    .tcpEdge('edgtcp_1', {
      hostports: ['ssh.example:22'],
      ip_restriction: { enabled: true, ip_policy_ids: ['ipp_1'] },
      policies: {
        enabled: true,
        inbound: [{ expressions: ["inList(conn.client_ip, 'tor')"], actions: [deny] }],
        outbound: [],
      },
    })

const messageOf = (draft: unknown): string => {
  try {
    withoutPauses(readAccountDraft(draft, configured()))
    return ''
  } catch (error) {
    if (error instanceof WeirError) return error.message
    throw error
  }
}

const named = (id: string) => ({ ip_restriction: { ip_policy_ids: [id] } })

const twice = [
  { cidr: '192.0.2.0/24', action: 'allow' },
  { cidr: '192.0.2.0/24', action: 'deny' },
]

const many = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    cidr: `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}/32`,
    action: 'deny',
  }))

t.test('what a draft may not say', async (t) => {
  const cases: [name: string, draft: unknown, says: RegExp | ''][] = [
    ['nothing', {}, ''],
    ['a policy that stays', { tcp_edges: [{ hostports: ['a.example:22'], ...named('ipp_1') }] }, ''],
    ['a policy that it brings', { ip_policies: [{ id: 'p' }], tcp_edges: [{ ...named('p') }] }, ''],
    ['a list that stays', { ip_policies: [{ id: 'p', rules: [{ list_id: 'ipl_1', action: 'deny' }] }] }, ''],
    [
      'the hostport of an edge that it gives',
      { tcp_edges: [{ id: 'edgtcp_1', hostports: ['ssh.example:22'] }] },
      '',
    ],
    ['an edge and its policy', { removes: ['edgtcp_1', 'ipp_1'] }, ''],
    ['an unknown section', { edges: [] }, /has no member "edges"/],
    [
      'an unknown policy',
      { tcp_edges: [{ ...named('ipp_9') }] },
      /^"tcp_edges\[0\]\.ip_restriction.*"ipp_9"/,
    ],
    [
      'a policy that it removes',
      { removes: ['ipp_3'], tcp_edges: [{ ...named('ipp_3') }] },
      /^"tcp_edges\[0\]\.ip_restriction.*"ipp_3", but/,
    ],
    [
      'the hostport of an edge that stays',
      { tcp_edges: [{ id: 'new', hostports: ['ssh.example:22'] }] },
      /^"tcp_edges\[0\]\.hostports\[0\]" is "ssh\.example:22", as is one of an edge that stays/,
    ],
    [
      'the name of a list that stays',
      { ip_lists: [{ name: 'tor' }] },
      /"tor", as is that of a list that stays/,
    ],
    [
      'the type of a restriction that stays',
      { ip_restrictions: [{ type: 'endpoints', ip_policy_ids: ['ipp_1'] }] },
      /"endpoints", as is that of a restriction that stays/,
    ],
    ['what there is not', { removes: ['ipp_9'] }, /^"removes\[0\]" is "ipp_9": the account has no such/],
    ['a policy of an edge that stays', { removes: ['ipp_1'] }, /"ipp_1": edgtcp_1 refers to it, and stays/],
    ['a policy of a restriction', { removes: ['ipp_2'] }, /"ipp_2": ipx_1 refers to it, and stays/],
    ['a list in an expression', { removes: ['ipl_1'] }, /"ipl_1": edgtcp_1 refers to it, and stays/],
    [
      'a rule twice',
      { ip_policies: [{ id: 'p', rules: twice }] },
      /rules\[1\]\.cidr" is "192\.0\.2\.0\/24", as is/,
    ],
    [
      'a wrong rule of many',
      { ip_policies: [{ id: 'p', rules: [...many(1_000), { cidr: 'x', action: 'deny' }] }] },
      /^"ip_policies\[0\]\.rules\[1000\]\.cidr" is "x"/,
    ],
    [
      'a wrong entry of many',
      { ip_lists: [{ name: 'l', entries: [...many(300).map(({ cidr }) => cidr), 'x'] }] },
      /^"ip_lists\[0\]\.entries\[300\]/,
    ],
    ['many rules', { ip_policies: [{ id: 'p', rules: many(1_000) }] }, ''],
    [
      'too many rules',
      { ip_policies: [{ id: 'p', rules: many(100_001) }] },
      /rules" has 100001 entries: at most/,
    ],
    ['a test without a name', { policy_tests: [{ given: {}, expect: {} }] }, /^"policy_tests\[0\]/],
  ]
  for (const [name, draft, says] of cases) {
    const message = messageOf(draft)
    if (says === '') t.equal(message, '', name)
    else t.match(message, says, name)
  }
})
