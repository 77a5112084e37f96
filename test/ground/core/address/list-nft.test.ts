/** JSON of nft: elements, what is left of them, and what a list can't express. */
import fc from 'fast-check'
import t from 'tap'
import { cidrContains, parseCidr } from '../../../../src/ground/core/address/cidr.js'
import { formatAddress, parseAddress } from '../../../../src/ground/core/address/ip.js'
import { entriesInValue } from '../../../../src/ground/core/address/list-json.js'
import { EntryFaults } from '../../../../src/ground/core/entry-faults.js'

const nowMs = Date.parse('2026-11-26T12:00:00Z')

function read(value: unknown) {
  const faults = new EntryFaults()
  const entries = [...entriesInValue(value, 'json', faults, { nowMs, isFed: false })].flatMap(
    (each) => each ?? [],
  )
  return { entries, fault: faults.error?.message }
}

const setOf = (elem: unknown, more: object = {}) => ({
  nftables: [
    { metainfo: { version: '1.0.6' } },
    { table: { family: 'inet', name: 'f' } },
    { set: { family: 'inet', name: 'a', table: 'f', type: 'ipv4_addr', elem, ...more } },
    { chain: { name: 'in' } },
    { rule: { chain: 'in', expr: [{ match: { right: '192.0.2.200' } }] } },
  ],
})
const elementOf = (options: object) => setOf([{ elem: { val: '192.0.2.1', ...options } }])
const entry = (cidr: string, seconds: number | null = null, comment: string | null = null) => ({
  cidr,
  comment,
  expiresAt: seconds === null ? null : nowMs + seconds * 1_000,
})

t.test('elements', async (t) => {
  const cases = {
    'no element': [setOf(undefined), []],
    'what is left': [elementOf({ timeout: 3_720, expires: 3_719 }), [entry('192.0.2.1/32', 3_719)]],
    'what is left, of less than a second': [
      elementOf({ timeout: 0, expires: 0 }),
      [entry('192.0.2.1/32', 0)],
    ],
    'without what is left (nft -s)': [elementOf({ timeout: 60 }), [entry('192.0.2.1/32', 60)]],
    'the timeout of its set': [setOf(['192.0.2.1'], { timeout: 9 }), [entry('192.0.2.1/32', 9)]],
    'a comment and a counter': [
      elementOf({ comment: 'a # "b"', counter: { packets: 1, bytes: 2 } }),
      [entry('192.0.2.1/32', null, 'a # "b"')],
    ],
    'prefixes and ranges': [
      setOf([
        { prefix: { addr: '10.0.0.0', len: 8 } },
        { elem: { val: { range: ['192.0.2.255', '192.0.3.2'] }, expires: 5 } },
      ]),
      [entry('10.0.0.0/8'), entry('192.0.2.255/32', 5), entry('192.0.3.0/31', 5), entry('192.0.3.2/32', 5)],
    ],
  } as const
  for (const [name, [value, entries]] of Object.entries(cases))
    t.strictSame(read(value), { entries, fault: undefined }, name)
})

t.test('what cannot be read is refused with its place', async (t) => {
  const cases: readonly (readonly [object, RegExp])[] = [
    [setOf([{ concat: ['10.0.0.1', 80] }]), /^"nftables\[2\]\.set\.elem\[0\]": /],
    [setOf([22], { type: 'inet_service' }), /\.type": The set "a" is of the type "inet_service"/],
    [
      setOf(['192.0.2.1'], { type: ['ipv4_addr', 'inet_service'] }),
      /sets of the types ipv4_addr and ipv6_addr are read/,
    ],
    [setOf({ a: 1 }), /It is no list/],
    [setOf([{ range: ['192.0.2.9', '192.0.2.1'] }]), /"192\.0\.2\.9-192\.0\.2\.1" is not a range/],
    [setOf([{ range: ['192.0.2.9', '2001:db8::'] }]), /is not a range/],
    [setOf([{ prefix: { addr: '10.0.0.0' } }]), /"10\.0\.0\.0\/undefined"/],
    [setOf(['@other']), /"@other" is not a range/],
    [elementOf({ timeout: 0 }), /less than a second, or none/],
    [elementOf({ timeout: '1h' }), /The timeout "1h" is no number of seconds/],
    [elementOf({ expires: -1 }), /The expires -1 is no number/],
    [elementOf({ wormhole: 1 }), /"wormhole" of nft is not known/],
    [{ nftables: [] }, /^"nftables": It has no set/],
    [{ nftables: [{ metainfo: {} }, { table: { name: 't' } }] }, /^"nftables": It has no set/],
    [
      { nftables: [{ element: { name: 'a', elem: ['192.0.2.1'] } }] },
      /^"nftables\[0\]\.element": It is a command/,
    ],
    [
      { nftables: [{ add: { set: { name: 'a', elem: ['192.0.2.1'] } } }] },
      /^"nftables\[0\]\.add": It is a command/,
    ],
    [{ nftables: [{ map: { name: 'm', elem: [['1.2.3.4', 'drop']] } }] }, /It is a map/],
  ]
  for (const [value, fault] of cases) t.match(read(value).fault, fault, JSON.stringify(value).slice(0, 60))
})

t.test('a range is split into prefixes that have its addresses and no others', async () => {
  const address = fc
    .tuple(fc.boolean(), fc.array(fc.nat(0xffff_ffff), { minLength: 4, maxLength: 4 }))
    .map(([isIpv4, words]) => formatAddress(isIpv4 ? 4 : 6, words))
  fc.assert(
    fc.property(address, address, (one, other) => {
      const numbers = [one, other].map((text) =>
        parseAddress(text).words.reduce((sum, word) => (sum << 32n) + BigInt(word), 0n),
      )
      const [low, high] = numbers[0]! <= numbers[1]! ? [one, other] : [other, one]
      const { entries, fault } = read(setOf([{ range: [low, high] }]))
      if (parseAddress(one).family !== parseAddress(other).family) return fault !== undefined
      const cidrs = entries.map(({ cidr }) => parseCidr(cidr, { hostBits: 'refuse' }))
      const inside = (text: string): number =>
        cidrs.filter((cidr) => cidr.ok && cidrContains(cidr.value, parseAddress(text))).length
      const count = cidrs.reduce(
        (sum, cidr) =>
          cidr.ok ? sum + (1n << BigInt((cidr.value.family === 4 ? 32 : 128) - cidr.value.prefix)) : sum,
        0n,
      )
      const wanted = numbers[0]! > numbers[1]! ? numbers[0]! - numbers[1]! : numbers[1]! - numbers[0]!
      return (
        cidrs.every(({ ok }) => ok) &&
        cidrs.length <= 254 &&
        inside(one) === 1 &&
        inside(other) === 1 &&
        count === wanted + 1n
      )
    }),
  )
})
