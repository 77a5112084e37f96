import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import t from 'tap'
import { cidrContains, formatCidr, parseCidr } from '../../../../src/ground/core/address/cidr.js'
import { buildCidrSet, compileCidrSet } from '../../../../src/ground/core/address/cidr-set.js'
import { formatAddress, parseAddress } from '../../../../src/ground/core/address/ip.js'
import { seededRandom } from '../../expr/generator.js'

const cases: readonly { name: string; ranges: string[]; inside: string[]; outside: string[] }[] = [
  { name: 'nothing', ranges: [], inside: [], outside: ['0.0.0.0', '::', '::ffff:1.2.3.4', 'nonsense', ''] },
  {
    name: 'everything of IPv4 is nothing of IPv6',
    ranges: ['0.0.0.0/0'],
    inside: ['0.0.0.0', '255.255.255.255', '::ffff:9.9.9.9'],
    outside: ['::', '::1', 'ffff::'],
  },
  {
    name: 'everything of IPv6 is nothing of IPv4',
    ranges: ['::/0'],
    inside: ['::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '::fffe:1.2.3.4'],
    outside: ['1.2.3.4', '::ffff:1.2.3.4'],
  },
  {
    name: 'a range within another, the inner one first',
    ranges: ['10.1.0.0/16', '10.0.0.0/8', '10.1.2.0/24'],
    inside: ['10.0.0.0', '10.1.2.3', '10.255.255.255'],
    outside: ['9.255.255.255', '11.0.0.0'],
  },
  {
    name: 'ranges with the same start',
    ranges: ['10.0.0.0/24', '10.0.0.0/8', '10.0.0.0/32'],
    inside: ['10.0.0.0', '10.200.0.0'],
    outside: ['11.0.0.0'],
  },
  {
    name: 'single addresses and the ends of the space',
    ranges: ['0.0.0.0/32', '255.255.255.255/32', '::/128', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128'],
    inside: ['0.0.0.0', '255.255.255.255', '::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    outside: ['0.0.0.1', '255.255.255.254', '::1', 'ffff::'],
  },
  {
    name: 'neighbours in every word of IPv6',
    ranges: ['2001:db8:1:2:3:4:5:6/128', '2001:db8:1:2::/96', '2001:db8::/48'],
    inside: ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::ffff:ffff', '2001:db8:0:ffff::'],
    outside: [
      '2001:db8:1:2:3:4:5:7',
      '2001:db8:1:2:3:4:5:5',
      '2001:db8:1:2:0:1::',
      '2001:db7:ffff::',
      '2001:db8:1::',
    ],
  },
  {
    name: 'mapped ranges are ranges of IPv4, and the same one twice is one',
    ranges: ['::ffff:198.51.100.0/120', '198.51.100.0/24'],
    inside: ['198.51.100.7', '::ffff:c633:6407'],
    outside: ['198.51.101.0', '::c633:6407'],
  },
]

t.test('A set contains what its ranges contain', async (t) => {
  for (const { name, ranges, inside, outside } of cases) {
    const set = compileCidrSet(ranges)
    for (const [addresses, want] of [
      [inside, true],
      [outside, false],
    ] as const) {
      for (const address of addresses) {
        t.equal(set.has(parseAddress(address)), want, `${name}: ${address}`)
      }
    }
  }
  t.equal(compileCidrSet([]).rangeCount, 0)
  t.equal(compileCidrSet(['10.0.0.0/8', '10.1.0.0/16', '::/0']).rangeCount, 2, 'inner ranges are left out')
})

t.test('A text that is no range is a defect of the caller', async (t) => {
  t.throws(() => compileCidrSet(['10.0.0.0/8', '1.2.3/24']), /1\.2\.3/)
})

/** Ranges of all lengths, crowded so that many overlap, and addresses at and next to their ends. */
function randomCase(seed: number, count: number, isIpv4: boolean) {
  const random = seededRandom(seed)
  const below = (limit: number): number => Math.floor(random() * limit)
  const ranges: string[] = []
  const addresses: string[] = []
  for (let index = 0; index < count; index++) {
    const words = [0x20010db8, 0, 0, 0].map((word) =>
      isIpv4 ? 0 : random() < 0.5 ? word : below(4) * 0x40000001,
    )
    words[3] = isIpv4 ? below(0x100000000) : below(0x10000)
    const prefix = isIpv4 ? 8 + below(25) : 16 + below(113)
    const range = parseCidr(`${formatAddress(isIpv4 ? 4 : 6, words)}/${prefix}`, {
      hostBits: 'allow',
    })
    if (!range.ok) throw new Error(range.problem.msg)
    ranges.push(`${formatAddress(range.value.family, range.value.words)}/${prefix}`)
    for (const step of [0, 1, -1]) {
      const next = [...range.value.words]
      next[3] = (next[3]! + step) >>> 0
      addresses.push(formatAddress(isIpv4 ? 4 : 6, next))
    }
    addresses.push(formatAddress(isIpv4 ? 4 : 6, words))
  }
  return { ranges, addresses }
}

t.test('Agrees with ipaddr.js, with and without the index', async (t) => {
  for (const [seed, count, isIpv4] of [
    [1, 5, true],
    [2, 300, true],
    [3, 700, true],
    [4, 5, false],
    [5, 300, false],
  ] as const) {
    const { ranges, addresses } = randomCase(seed, count, isIpv4)
    const set = compileCidrSet(ranges)
    const parsed = ranges.map((range) => ipaddr.parseCIDR(range))
    const wrong = addresses.filter((text) => {
      const theirs = ipaddr.parse(text)
      const address = parseAddress(text)
      const matching = parsed.filter((range) => theirs.match(range))
      const place = set.placeOf(address)
      const widest = Math.min(...matching.map(([, length]) => length))
      const isRight =
        place === undefined
          ? matching.length === 0
          : matching.includes(parsed[place]!) && parsed[place]![1] === widest
      return !isRight || set.has(address) !== matching.length > 0
    })
    t.same(wrong, [], `${count} ranges of ${isIpv4 ? 'IPv4' : 'IPv6'}`)
  }
})

t.test('Large sets, sorted by digits, agree with small ones of the same ranges', async (t) => {
  for (const isIpv4 of [true, false]) {
    const { ranges, addresses } = randomCase(6, 5000, isIpv4)
    const large = compileCidrSet(ranges)
    const small = Array.from({ length: 10 }, (_, part) =>
      compileCidrSet(ranges.slice(part * 500, part * 500 + 500)),
    )
    const wrong = addresses.filter((text) => {
      const address = parseAddress(text)
      return large.has(address) !== small.some((set) => set.has(address))
    })
    t.same(wrong, [], `${isIpv4 ? 'IPv4' : 'IPv6'}: ${addresses.length} addresses`)
    t.ok(large.rangeCount < ranges.length, 'some ranges lay within others')
  }
})

t.test('A build pauses many times on its way', async (t) => {
  const { ranges } = randomCase(7, 20_000, true)
  const build = buildCidrSet(ranges)
  let pauses = 0
  for (let step = build.next(); !step.done; step = build.next()) pauses++
  t.ok(pauses > 30, `${pauses} pauses for ${ranges.length} ranges`)
})

t.test('Ranges that share their first bits are found, and their neighbours are not', async (t) => {
  const random = seededRandom(8)
  const byte = () => Math.floor(random() * 256)
  const hex = () => (byte() * 256 + byte()).toString(16)
  const shapes = [
    { name: 'none', of: () => `${byte()}.${byte()}.${byte()}.0/24`, beyond: ['0.0.0.0', '255.255.255.255'] },
    { name: '16 of 32', of: () => `10.7.${byte()}.${byte()}/32`, beyond: ['10.6.255.255', '10.8.0.0'] },
    { name: '13 of 128', of: () => `2a0${byte() & 7}:${hex()}::/32`, beyond: ['29ff:ffff::', '2a08::'] },
    { name: '32 of 128', of: () => `2001:db8:${hex()}::/48`, beyond: ['2001:db7:ffff::', '2001:db9::'] },
    { name: '96 of 128', of: () => `2001:db8::${hex()}:${hex()}/128`, beyond: ['2001:db8::1:0:0', '::'] },
  ]
  for (const { name, of, beyond } of shapes) {
    const ranges = Array.from({ length: 1200 }, of)
    const indexed = compileCidrSet(ranges)
    const parts = [0, 300, 600, 900].map((start) => compileCidrSet(ranges.slice(start, start + 300)))
    const addresses = [...ranges, ...Array.from({ length: 1200 }, of)].map((text) => text.split('/')[0]!)
    const wrong = [...addresses, ...beyond].filter((text) => {
      const address = parseAddress(text)
      const place = indexed.placeOf(address)
      const isIn = parts.some((part) => part.has(address))
      return (
        indexed.has(address) !== isIn || (place === undefined ? isIn : ranges[place]!.split('/')[0] !== text)
      )
    })
    t.same(wrong, [], `${name} bits in common`)
    t.ok(indexed.rangeCount > 900, `${name}: ${indexed.rangeCount} ranges, so there is an index`)
  }
})

t.test('property: the range of an address is the widest given one that contains it', async () => {
  const range = fc
    .tuple(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat(128))
    .map(([address, bits]) => `${address}/${address.includes(':') ? bits : bits % 33}`)
  fc.assert(
    fc.property(fc.array(range, { minLength: 1, maxLength: 30 }), (texts) => {
      const cidrs = texts.map((text) => {
        const parsed = parseCidr(text, { hostBits: 'allow' })
        if (!parsed.ok) throw new Error(parsed.problem.msg)
        return parsed.value
      })
      const set = compileCidrSet(texts)
      return cidrs.every((cidr) => {
        const address = { family: cidr.family, words: cidr.words }
        const around = cidrs.filter((each) => cidrContains(each, address))
        const widest = around.toSorted((one, other) => one.prefix - other.prefix)[0]!
        const found = set.rangeOf(address)
        return found !== undefined && formatCidr(found) === formatCidr(widest)
      })
    }),
  )
})
