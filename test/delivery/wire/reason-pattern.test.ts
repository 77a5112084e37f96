/** Reasons with the same fault have one pattern, which matches them and no others. */
import t from 'tap'
import { compileReasonPattern, reasonPattern } from '../../../src/delivery/wire/reason-pattern.js'

const patterns = [
  {
    name: 'the value of a member',
    reasons: [
      '"conn.client_ip" is "x; it must be y"; it must be an IPv4 or IPv6 address.',
      '"conn.client_ip" is 17; it must be an IPv4 or IPv6 address.',
    ],
    want: '"conn.client_ip" is …; it must be an IPv4 or IPv6 address.',
  },
  {
    name: 'a missing member is another fault than a wrong one',
    reasons: ['"record_id" is missing; it must be a string of 1 to 128 characters.'],
    want: '"record_id" is missing; it must be a string of 1 to 128 characters.',
  },
  {
    name: 'an unknown edge',
    reasons: ['"edge_id" is "edgtcp_1", but there is no such edge.'],
    want: '"edge_id" is …, but there is no such edge.',
  },
  {
    name: 'no JSON',
    reasons: ['It is not JSON: Unexpected token x in JSON at position 1.', 'It is not JSON: Oh.'],
    want: 'It is not JSON: …',
  },
  {
    name: 'sizes',
    reasons: ['It has 70001 bytes; at most 65536 are allowed.'],
    want: 'It has … bytes; at most … are allowed.',
  },
  {
    name: 'ids of requests and of destinations',
    reasons: ['InternalFailure: 1f0c3d2e-aaaa-4bbb-8ccc-0123456789ab of ed_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ.'],
    want: 'InternalFailure: … of ….',
  },
]

t.test('reasons and their patterns', async (t) => {
  for (const { name, reasons, want } of patterns)
    for (const reason of reasons) {
      t.equal(reasonPattern(reason), want, name)
      t.ok(compileReasonPattern(want)(reason), name)
    }
})

t.test('a pattern matches whole reasons only', async (t) => {
  const matches = (pattern: string, reason: string) => compileReasonPattern(pattern)(reason)
  t.ok(matches('It is bad.', 'It is bad.'))
  t.notOk(matches('It is bad.', 'It is bad. Very.'))
  t.ok(matches('…', 'anything'))
  t.ok(matches('a…b…c', 'a-b-b-c'))
  t.notOk(matches('a…b…c', 'a-c'))
  t.notOk(matches('ab…ba', 'aba'), 'a character is not used twice')
})
