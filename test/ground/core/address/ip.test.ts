import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import t from 'tap'
import { cidrContains, compileCidr, formatCidr, parseCidr } from '../../../../src/ground/core/address/cidr.js'
import {
  canonicalAddress,
  familyOf,
  formatAddress,
  isAddress,
  isPeerAddress,
  parseAddress,
} from '../../../../src/ground/core/address/ip.js'

const addresses: readonly { name: string; text: unknown; want: string | undefined }[] = [
  { name: 'dotted decimal', text: '10.1.2.3', want: '10.1.2.3' },
  { name: 'the lowest and the highest IPv4 address', text: '0.0.0.0', want: '0.0.0.0' },
  { name: 'the highest IPv4 address', text: '255.255.255.255', want: '255.255.255.255' },
  { name: 'a leading zero, octal to some', text: '010.0.0.1', want: undefined },
  { name: 'two zeros', text: '10.00.0.1', want: undefined },
  { name: 'three parts', text: '1.2.3', want: undefined },
  { name: 'hexadecimal', text: '0x7f.1', want: undefined },
  { name: 'one number', text: '2130706433', want: undefined },
  { name: 'five parts', text: '1.2.3.4.5', want: undefined },
  { name: 'a part too large', text: '1.2.3.256', want: undefined },
  { name: 'a missing part', text: '1..2.3', want: undefined },
  { name: 'a dot at the end', text: '1.2.3.', want: undefined },
  { name: 'a sign', text: '+1.2.3.4', want: undefined },
  { name: 'white space', text: ' 1.2.3.4', want: undefined },
  { name: 'digits of another script', text: '١.٢.٣.٤', want: undefined },
  { name: 'a port', text: '1.2.3.4:80', want: undefined },
  { name: 'the IPv6 of nothing', text: '::', want: '::' },
  { name: 'loopback', text: '::1', want: '::1' },
  { name: 'all groups', text: '2001:DB8:0:0:1:0:0:1', want: '2001:db8::1:0:0:1' },
  { name: 'a gap at the end', text: 'fe80::', want: 'fe80::' },
  { name: 'leading zeros in groups', text: '0001:0002::0003', want: '1:2::3' },
  { name: 'a gap of one group', text: '1:2:3::5:6:7:8', want: '1:2:3:0:5:6:7:8' },
  { name: 'embedded IPv4', text: '64:ff9b::192.0.2.33', want: '64:ff9b::c000:221' },
  { name: 'six groups and IPv4', text: '1:2:3:4:5:6:1.2.3.4', want: '1:2:3:4:5:6:102:304' },
  { name: 'IPv4-mapped, dotted', text: '::ffff:198.51.100.7', want: '198.51.100.7' },
  { name: 'IPv4-mapped, hexadecimal', text: '::FFFF:c633:6407', want: '198.51.100.7' },
  { name: 'IPv4-mapped, written out', text: '0:0:0:0:0:ffff:198.51.100.7', want: '198.51.100.7' },
  { name: 'IPv4-compatible, which is not mapped', text: '::198.51.100.7', want: '::c633:6407' },
  { name: 'two gaps', text: '1::2::3', want: undefined },
  { name: 'a gap for nothing', text: '1:2:3:4::5:6:7:8', want: undefined },
  { name: 'nine groups', text: '1:2:3:4:5:6:7:8:9', want: undefined },
  { name: 'seven groups', text: '1:2:3:4:5:6:7', want: undefined },
  { name: 'a colon in front', text: ':1:2:3:4:5:6:7:8', want: undefined },
  { name: 'a colon behind', text: '1:2:3:4:5:6:7:', want: undefined },
  { name: 'a single colon', text: ':', want: undefined },
  { name: 'three colons', text: ':::', want: undefined },
  { name: 'five digits', text: '12345::', want: undefined },
  { name: 'no hexadecimal digit', text: '1::g', want: undefined },
  { name: 'IPv4 too early', text: '1.2.3.4::', want: undefined },
  { name: 'IPv4 behind seven groups', text: '1:2:3:4:5:6:7:1.2.3.4', want: undefined },
  { name: 'a bad embedded IPv4', text: '::ffff:1.2.3.04', want: undefined },
  { name: 'a zone', text: 'fe80::1%eth0', want: undefined },
  { name: 'brackets', text: '[::1]', want: undefined },
  { name: 'a prefix', text: '::1/128', want: undefined },
  { name: 'nothing', text: '', want: undefined },
  { name: 'no text', text: 2130706433, want: undefined },
  { name: 'no value', text: undefined, want: undefined },
]

t.test('An address of a peer may have a zone, which is dropped', async (t) => {
  const taken = [
    ['fe80::9%2', 'fe80::9'],
    ['FE80:0::9%eth0', 'fe80::9'],
    ['::1%lo', '::1'],
    ['::ffff:192.0.2.1%lo', '192.0.2.1'],
    ['fe80::9%25eth0%x', 'fe80::9'],
    ['fe80::9', 'fe80::9'],
    ['192.0.2.1', '192.0.2.1'],
  ] as const
  for (const [text, want] of taken) {
    t.ok(isPeerAddress(text), text)
    t.equal(canonicalAddress(text), want)
  }
  for (const text of [
    '192.0.2.1%eth0',
    'fe80::9%',
    '%eth0',
    'fe80::g%2',
    'x%fe80::9',
    '1:2%eth0',
    '',
    null,
  ]) {
    t.notOk(isPeerAddress(text), String(text))
    if (text !== null) t.equal(canonicalAddress(text), text)
  }
})

t.test('Addresses are read strictly', async (t) => {
  for (const { name, text, want } of addresses) {
    const { family, words } = parseAddress(text)
    t.equal(family === 0 ? undefined : formatAddress(family, words), want, name)
    t.equal(isAddress(text), want !== undefined, `${name}: the question`)
    t.equal(
      familyOf(text),
      want === undefined ? undefined : want.includes(':') ? 6 : 4,
      `${name}: the family`,
    )
  }
})

t.test('A parsed address stays as it is when others are parsed', async (t) => {
  const first = parseAddress('10.0.0.1')
  const wanted = { family: 4, words: [0, 0, 0, 0x0a000001] }
  for (const text of ['10.0.0.1', 'nonsense', undefined, '', '10.0.0.2', '2001:db8::1']) {
    parseAddress(text)
    t.strictSame(first, wanted, `after ${text}`)
    t.strictSame(parseAddress('10.0.0.1'), wanted, `parsed again after ${text}`)
  }
})

const ranges: readonly { text: unknown; want: string }[] = [
  { text: '10.0.0.0/8', want: '10.0.0.0/8' },
  { text: '0.0.0.0/0', want: '0.0.0.0/0' },
  { text: '1.2.3.4/32', want: '1.2.3.4/32' },
  { text: '10.1.2.3/8', want: 'write 10.0.0.0/8' },
  { text: '1.2.3.4/31', want: '1.2.3.4/31' },
  { text: '1.2.3.5/31', want: 'write 1.2.3.4/31' },
  { text: '1.2.3.4', want: '1.2.3.4/32' },
  { text: '2001:db8::1', want: '2001:db8::1/128' },
  { text: '2001:DB8::/32', want: '2001:db8::/32' },
  { text: '2001:db8::1/32', want: 'write 2001:db8::/32' },
  { text: '::/0', want: '::/0' },
  { text: '8000::/1', want: '8000::/1' },
  { text: '::ffff:10.0.0.0/104', want: '10.0.0.0/8' },
  { text: '::ffff:10.1.2.3/104', want: 'write 10.0.0.0/8' },
  { text: '::ffff:0:0/96', want: '0.0.0.0/0' },
  { text: '::/95', want: '::/95' },
  { text: '::ffff:10.0.0.0/95', want: 'write ::fffe:0:0/95' },
  { text: '10.0.0.0/33', want: 'it must be 0 to 32' },
  { text: '::/129', want: 'it must be 0 to 128' },
  { text: '10.0.0.0/08', want: 'it must be 0 to 32' },
  { text: '10.0.0.0/-1', want: 'it must be 0 to 32' },
  { text: '10.0.0.0/', want: 'it must be 0 to 32' },
  { text: '10.0.0.0/8/8', want: 'it must be 0 to 32' },
  { text: '10.0.0.0/8 ', want: 'it must be 0 to 32' },
  { text: '10.0.0.0/255.0.0.0', want: 'it must be 0 to 32' },
  { text: '010.0.0.0/8', want: 'not an IP address' },
  { text: '1.2.3/24', want: 'not an IP address' },
  { text: 'fe80::1%eth0/64', want: 'not an IP address' },
  { text: '', want: 'not an IP address' },
  { text: 10, want: '10 is not a range' },
]

t.test('Ranges are canonical, or the problem says how to write them', async (t) => {
  for (const { text, want } of ranges) {
    const cidr = parseCidr(text, { hostBits: 'refuse' })
    if (cidr.ok) t.equal(formatCidr(cidr.value), want, String(text))
    else t.ok(cidr.problem.msg.includes(want), `${text}: ${cidr.problem.msg}`)
  }
})

t.test('Where it is allowed, bits behind the prefix are dropped and an address is a range', async (t) => {
  const cases = {
    '10.1.2.3/8': '10.0.0.0/8',
    '10.1.2.3': '10.1.2.3/32',
    '::1': '::1/128',
    '::ffff:1.2.3.4': '1.2.3.4/32',
  }
  for (const [text, want] of Object.entries(cases)) {
    const cidr = parseCidr(text, { hostBits: 'allow' })
    t.equal(cidr.ok && formatCidr(cidr.value), want, text)
  }
})

/** The 128 bits of an address, IPv4 in its mapped block. */
function bitsOf(text: string): bigint {
  const address = ipaddr.parse(text)
  const bytes =
    address instanceof ipaddr.IPv4 ? address.toIPv4MappedAddress().toByteArray() : address.toByteArray()
  return bytes.reduce((bits, byte) => (bits << 8n) | BigInt(byte), 0n)
}

// Not `::1.2.3.4`: ipaddr.js takes it for a mapped address, RFC 4291 (2.5.5.1) does not.
const addressText = fc
  .oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.ipV4().map((text) => `::ffff:${text}`),
    fc
      .tuple(fc.ipV4(), fc.constantFrom('64:ff9b::', '1:2:3:4:5:6:'))
      .map(([ipv4, front]) => `${front}${ipv4}`),
  )
  .filter((text) => !/^::\d+\.\d+\.\d+\.\d+$/.test(text))

t.test('Reads the same addresses as ipaddr.js', async (t) => {
  fc.assert(
    fc.property(addressText, (text) => {
      const theirs = ipaddr.process(text)
      const { family, words } = parseAddress(text)
      return (
        family === (theirs.kind() === 'ipv4' ? 4 : 6) && bitsOf(formatAddress(family, words)) === bitsOf(text)
      )
    }),
    { seed: 1, numRuns: 5000 },
  )
  t.pass('5,000 addresses')
})

t.test('Accepts nothing that ipaddr.js does not', async (t) => {
  const nearly = fc.array(fc.constantFrom(...'0123456789abcdef::..%/'), { minLength: 1, maxLength: 20 })
  let accepted = 0
  fc.assert(
    fc.property(nearly, (characters) => {
      const text = characters.join('')
      if (isAddress(text)) accepted++
      return !isAddress(text) || ipaddr.isValid(text)
    }),
    { seed: 2, numRuns: 50_000 },
  )
  t.ok(accepted > 0, `${accepted} of 50,000 random texts are addresses`)
})

/** The same address, written differently. */
function spellingsOf(text: string): string[] {
  if (!text.includes(':')) return [`::ffff:${text}`, `0:0:0:0:0:FFFF:${text}`]
  const { family, words } = parseAddress(text)
  if (family === 4) return [text.toUpperCase()]
  const digits = words.map((word) => word.toString(16).padStart(8, '0')).join('')
  const groups = digits.match(/..../g)!.join(':')
  return [text.toUpperCase(), groups, groups.toUpperCase()]
}

t.test('A range contains what arithmetic on its bits says', async (t) => {
  const counts = { inside: 0, outside: 0 }
  const near = fc.tuple(addressText, fc.nat({ max: 128 }), fc.nat({ max: 127 }), fc.boolean(), addressText)
  fc.assert(
    fc.property(near, ([base, length, flipped, isNear, other]) => {
      const parsed = parseAddress(base)
      const isIpv4 = parsed.family === 4
      const prefix = isIpv4 ? length % 33 : length
      const canonical = formatAddress(isIpv4 ? 4 : 6, parsed.words)
      const cidr = parseCidr(`${canonical}/${prefix}`, { hostBits: 'allow' })
      if (!cidr.ok) return false
      const words = [...parsed.words]
      const bit = isIpv4 ? 96 + (flipped % 32) : flipped
      words[bit >> 5] = (words[bit >> 5]! ^ (1 << (31 - (bit & 31)))) >>> 0
      const text = isNear ? formatAddress(isIpv4 ? 4 : 6, words) : other
      const shift = BigInt((isIpv4 ? 32 : 128) - prefix)
      const address = parseAddress(text)
      const sameFamily = address.family === cidr.value.family
      const want = sameFamily && bitsOf(text) >> shift === bitsOf(canonical) >> shift
      counts[want ? 'inside' : 'outside']++
      const contains = compileCidr(cidr.value)
      const isRight = cidrContains(cidr.value, address) === want && contains(text) === want
      return isRight && spellingsOf(text).every((spelling) => contains(spelling) === want)
    }),
    { seed: 3, numRuns: 10_000 },
  )
  t.ok(counts.inside > 1000 && counts.outside > 1000, `inside ${counts.inside}, outside ${counts.outside}`)
})
