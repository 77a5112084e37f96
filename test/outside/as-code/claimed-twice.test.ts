/** Names that two entries of the files want. */
import t from 'tap'
import { withTwinsRefused } from '../../../src/outside/as-code/claimed-twice.js'
import type { Difference } from '../../../src/outside/as-code/difference.js'
import { addressToBe } from '../../../src/outside/as-code/drawn-addresses.js'
import { managedKinds } from '../../../src/outside/as-code/managed-kinds.js'

const difference = (
  action: Difference['action'],
  name: string,
  body: Difference['body'],
  of = 'tcpEdge',
): Difference => ({
  action,
  name,
  place: undefined,
  fields: [],
  parts: { counts: {} },
  refusal: undefined,
  id: name,
  kind: managedKinds.find((kind) => kind.name === of)!,
  live: undefined,
  body,
  written: {},
})

const hostports = (...all: readonly string[]) => ({ hostports: all })
const [shop, mail] = ['shop.example.com:443', 'mail.example.com:25']

for (const { title, differences, expected } of [
  {
    title: 'two new edges of different kinds',
    differences: [
      difference('create', 'a', hostports(shop)),
      difference('create', 'b', hostports(mail, shop), 'httpsEdge'),
    ],
    expected: [undefined, `tcp_edges a, which is to be written as well, has the hostport ${shop}.`],
  },
  {
    title: 'one that changes and a new one',
    differences: [difference('update', 'a', hostports(shop)), difference('create', 'b', hostports(shop))],
    expected: [undefined, `tcp_edges a, which is to be written as well, has the hostport ${shop}.`],
  },
  {
    title: 'the address of a reservation that is to be made',
    differences: [
      difference('create', 'a', hostports(addressToBe('ra_1'))),
      difference('create', 'b', hostports(addressToBe('ra_1'))),
    ],
    expected: [undefined, 'tcp_edges a, which is to be written as well, has the same reserved address.'],
  },
  {
    title: 'domains',
    differences: ['a', 'b'].map((name) =>
      difference('create', name, { domain: 'www.example.com' }, 'domain'),
    ),
    expected: [
      undefined,
      'reserved_domains a, which is to be written as well, has the domain www.example.com.',
    ],
  },
  {
    title: 'one that is deleted gives its name up',
    differences: [difference('create', 'a', hostports(shop)), difference('delete', 'b', hostports(shop))],
    expected: [undefined, undefined],
  },
  {
    title: 'what the API said before stays',
    differences: [
      difference('create', 'a', hostports(shop)),
      { ...difference('create', 'b', hostports(shop)), refusal: 'It is wrong.' },
    ],
    expected: [undefined, 'It is wrong.'],
  },
  {
    title: 'edges without names, and kinds that claim nothing',
    differences: [
      difference('create', 'a', { hostports: null }),
      difference('create', 'b', {}),
      difference('create', 'c', {}, 'ipPolicy'),
      difference('create', 'd', {}, 'ipPolicy'),
    ],
    expected: [undefined, undefined, undefined, undefined],
  },
])
  t.test(title, async (t) =>
    t.strictSame(
      withTwinsRefused(differences, (_, msg) => msg).map(({ refusal }) => refusal),
      expected,
    ),
  )
