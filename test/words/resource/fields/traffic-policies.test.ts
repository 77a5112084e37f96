/** The traffic policy module: what the schema can't check, and what is filled in. */
import t from 'tap'
import { trafficPoliciesModule } from '../../../../src/words/resource/fields/traffic-policies.js'
import { checkTrafficPolicies } from '../../../../src/words/resource/fields/traffic-policy-check.js'
import { refusalOf } from '../lookups.js'

const deny = { type: 'deny', config: null }
const log = { type: 'log', config: { Metadata: { a: 1 } } }

type Side = 'inbound' | 'outbound'

const refusal = (side: Side, policies: readonly object[]) => {
  const module = { inbound: [], outbound: [], [side]: policies }
  return refusalOf(() =>
    checkTrafficPolicies('tcp_edge', module as never, {
      nameInBody: (path) => path.replace('policies.', ''),
      all: () => [{ name: 'partners' }],
    }),
  )
}

t.test('actions', async (t) => {
  const cases: [name: string, side: Side, actions: object[], want: RegExp | undefined][] = [
    ['log, then deny', 'inbound', [log, deny], undefined],
    ['log twice', 'outbound', [log, log], undefined],
    ['deny of an outbound policy', 'outbound', [deny], /"outbound\[0\]\.actions\[0\]\.type" is "deny"/],
    ['log after deny', 'inbound', [deny, log], /"inbound\[0\]\.actions\[1\]" comes after a deny/],
    ['deny twice', 'inbound', [deny, deny], /comes after a deny/],
    ['a deny with a configuration', 'inbound', [{ type: 'deny', config: {} }], /has no configuration/],
    ['a log without one', 'inbound', [{ type: 'log', config: null }], /must be \{"Metadata"/],
    ['metadata in another letter case', 'inbound', [{ type: 'log', config: { metaDATA: {} } }], undefined],
    ['metadata twice', 'inbound', [{ type: 'log', config: { Metadata: {}, metadata: {} } }], /mean the same/],
    ['another field', 'inbound', [{ type: 'log', config: { Meta: {} } }], /has no field "Meta"/],
    [
      'metadata that is a list',
      'inbound',
      [{ type: 'log', config: { Metadata: [] } }],
      /a map for the log event/,
    ],
    [
      'much metadata',
      'inbound',
      [{ type: 'log', config: { Metadata: { a: 'x'.repeat(4096) } } }],
      /at most 4096/,
    ],
  ]
  for (const [name, side, actions, want] of cases) {
    const found = refusal(side, [{ expressions: [], actions }])
    if (want === undefined) t.equal(found, undefined, name)
    else t.match(found, want, name)
  }
})

t.test('expressions', async (t) => {
  const inbound = "conn.client_ip == '192.0.2.1'"
  const outbound = 'conn.bytes_in > 5'
  const cases: [name: string, side: Side, expressions: string[], want: RegExp | undefined][] = [
    ['valid ones', 'inbound', [inbound, inbound], undefined],
    ['a list of the account', 'outbound', ["inList(conn.client_ip, 'partners')"], undefined],
    [
      'a list that there is not',
      'inbound',
      [inbound, "true && conn.client_ip|inList('partner')"],
      /"inbound\[0\]\.expressions\[1\]" names what does not exist: There is no IP list "partner" at character 31; did you mean "partners"\?/,
    ],
    [
      'a name that is known at the end only',
      'inbound',
      [inbound, outbound],
      /"inbound\[0\]\.expressions\[1\]" is not a valid expression/,
    ],
    ['the same at the end', 'outbound', [outbound], undefined],
    [
      'too many bytes together',
      'outbound',
      Array.from({ length: 9 }, () => `'${'x'.repeat(8_000)}' == 'y'`),
      /bytes of expressions: at most 65536/,
    ],
  ]
  for (const [name, side, expressions, want] of cases) {
    const found = refusal(side, [{ expressions, actions: [log] }])
    if (want === undefined) t.equal(found, undefined, name)
    else t.match(found, want, name)
  }
})

t.test('all faults are named at once', async (t) => {
  const wrong = { expressions: ['nothing'], actions: [deny, log] }
  t.match(refusal('inbound', [wrong, wrong]), /3 more entries are wrong/)
})

t.test('omitted parts are filled in', async (t) => {
  const given = { inbound: [{ name: '', actions: [{ type: 'deny' }] }], outbound: null }
  t.strictSame(trafficPoliciesModule.complete(given as never), {
    enabled: true,
    inbound: [{ expressions: [], actions: [deny] }],
    outbound: [],
  })
})

t.test('a row that an earlier version stored has no such member', (t) => {
  const links = { uri: String, of: String }
  t.equal(trafficPoliciesModule.shown.render(undefined, links), null)
  t.equal(
    refusalOf(() => checkTrafficPolicies('https_edge', undefined, { nameInBody: String, all: () => [] })),
    undefined,
  )
  t.end()
})
