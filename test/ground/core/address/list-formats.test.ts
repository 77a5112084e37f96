/** Lists of addresses in the forms in which they are published. */
import fc from 'fast-check'
import t from 'tap'
import { formatCidr, parseCidr } from '../../../../src/ground/core/address/cidr.js'
import {
  commentCharsMax,
  entryOf,
  type ListEntry,
  lineOf,
} from '../../../../src/ground/core/address/list-entry.js'
import {
  entriesInText,
  type ListFormat,
  listLineBytesMax,
} from '../../../../src/ground/core/address/list-formats.js'
import { entriesInValue } from '../../../../src/ground/core/address/list-json.js'
import { EntryFaults } from '../../../../src/ground/core/entry-faults.js'

interface Read {
  readonly entries: readonly ListEntry[]
  readonly fault: string | undefined
}

const nowMs = Date.parse('2026-11-26T12:00:00Z')

function read(given: string | object, format: ListFormat, isFed = false): Read {
  const faults = new EntryFaults()
  const reading = { nowMs, isFed }
  const found =
    typeof given === 'string'
      ? entriesInText(given, format, faults, reading)
      : entriesInValue(given, format, faults, reading)
  const entries = [...found].flatMap((entry) => entry ?? [])
  return { entries, fault: faults.error?.message }
}

const plain = (cidr: string, comment: string | null = null, expiresAt: number | null = null): ListEntry => ({
  cidr,
  comment,
  expiresAt,
})

const right: readonly { name: string; format: ListFormat; given: string | object; want: ListEntry[] }[] = [
  {
    name: 'lines with comments of both sorts, blank lines and Windows line ends',
    format: 'lines',
    given: '# a list\r\n; of two\r\n\r\n203.0.113.0/24 # guests\r\n2001:DB8::/48;six\r\n',
    want: [plain('203.0.113.0/24', 'guests'), plain('2001:db8::/48', 'six')],
  },
  {
    name: 'an address alone, and bits after the prefix',
    format: 'lines',
    given: '203.0.113.7\n198.51.100.7/24',
    want: [plain('203.0.113.7/32'), plain('198.51.100.0/24')],
  },
  {
    name: 'what ipset save writes',
    format: 'netset',
    given:
      'create bad hash:net family inet\nadd bad 203.0.113.0/24 comment "a # b"\nadd bad 198.51.100.7 timeout 60\n',
    want: [plain('203.0.113.0/24', 'a # b'), plain('198.51.100.7/32', null, nowMs + 60_000)],
  },
  {
    name: 'CSV without a first line of names',
    format: 'csv',
    given: '203.0.113.0/24,"guests, ""all""",2026-11-26T12:00:00Z\n198.51.100.0/24,,\n',
    want: [
      plain('203.0.113.0/24', 'guests, "all"', Date.parse('2026-11-26T12:00:00Z')),
      plain('198.51.100.0/24'),
    ],
  },
  {
    name: 'CSV with names in another order, and a column that is not known',
    format: 'csv',
    given: 'Comment,score,CIDR\nguests,7,203.0.113.0/24\n',
    want: [plain('203.0.113.0/24', 'guests')],
  },
  {
    name: 'CSV whose names come after a comment and a blank line',
    format: 'csv',
    given: '# exported\n\ncomment,cidr\nguests,203.0.113.0/24\n',
    want: [plain('203.0.113.0/24', 'guests')],
  },
  {
    name: 'Spamhaus DROP as text',
    format: 'spamhaus_drop',
    given: '; Spamhaus DROP List\n203.0.113.0/24 ; SBL256894\n',
    want: [plain('203.0.113.0/24', 'SBL256894')],
  },
  {
    name: 'Spamhaus DROP as lines of JSON',
    format: 'spamhaus_drop',
    given:
      '{"cidr":"203.0.113.0/24","sblid":"SBL1","rir":"ripencc"}\n{"type":"metadata","timestamp":1,"size":1}\n',
    want: [plain('203.0.113.0/24', 'SBL1')],
  },
  {
    name: 'networks of Cloudflare',
    format: 'cloudflare',
    given: '173.245.48.0/20\n103.21.244.0/22',
    want: [plain('173.245.48.0/20'), plain('103.21.244.0/22')],
  },
  {
    name: "Weir's own form",
    format: 'json',
    given: { entries: [{ cidr: '203.0.113.0/24', comment: null }, '2001:db8::/32'] },
    want: [plain('203.0.113.0/24'), plain('2001:db8::/32')],
  },
  {
    name: 'ranges of AWS',
    format: 'aws',
    given: {
      syncToken: '1',
      prefixes: [{ ip_prefix: '3.5.140.0/22', region: 'ap-northeast-2', service: 'AMAZON' }],
      ipv6_prefixes: [{ ipv6_prefix: '2600:1f00::/40', region: 'eu-west-1', service: 'EC2' }],
    },
    want: [plain('3.5.140.0/22', 'AMAZON ap-northeast-2'), plain('2600:1f00::/40', 'EC2 eu-west-1')],
  },
  {
    name: 'ranges of Google Cloud, not named',
    format: 'json',
    given: { prefixes: [{ ipv4Prefix: '34.1.208.0/20', service: 'Google Cloud', scope: 'africa-south1' }] },
    want: [plain('34.1.208.0/20', 'Google Cloud africa-south1')],
  },
  { name: 'no ranges at all', format: 'aws', given: { prefixes: [] }, want: [] },
  { name: 'no ranges at all', format: 'gcp', given: { prefixes: [] }, want: [] },
  {
    name: 'service tags of Azure',
    format: 'azure',
    given: { values: [{ name: 'ActionGroup', properties: { addressPrefixes: ['4.232.0.0/16'] } }] },
    want: [plain('4.232.0.0/16', 'ActionGroup')],
  },
]

for (const { name, format, given, want } of right)
  t.test(`${format}: ${name}`, async (t) => {
    t.strictSame(read(given, format), { entries: want, fault: undefined })
  })

const wrong: readonly { name: string; format: ListFormat; given: string | object; says: RegExp }[] = [
  {
    name: 'a word',
    format: 'lines',
    given: '203.0.113.0/24\nhello\n',
    says: /^Line 2: "hello" is not a range/,
  },
  { name: 'two ranges in a line', format: 'lines', given: '10.0.0.0/8 11.0.0.0/8', says: /^Line 1: / },
  { name: 'a prefix too long', format: 'netset', given: '10.0.0.0/33', says: /prefix length "33"/ },
  { name: 'a leading zero', format: 'lines', given: '010.0.0.1', says: /"010.0.0.1" is not an IP address/ },
  { name: 'an open quotation mark', format: 'csv', given: '10.0.0.0/8,"a', says: /Line 1: .*quotation mark/ },
  {
    name: 'a time that is none',
    format: 'csv',
    given: '10.0.0.0/8,,tomorrow',
    says: /"tomorrow" is not an RFC 3339/,
  },
  {
    name: 'a line of more bytes than characters',
    format: 'lines',
    given: `10.0.0.0/8\n11.0.0.0/8 # ${'ä'.repeat(listLineBytesMax / 2)}`,
    says: /^Line 2: It has 4109 bytes: at most 4096 are allowed/,
  },
  { name: 'no JSON', format: 'spamhaus_drop', given: '{"cidr"', says: /Line 1: .*not valid JSON/ },
  {
    name: 'an object without a range',
    format: 'spamhaus_drop',
    given: '{"a":1}',
    says: /has no member "cidr"/,
  },
  { name: 'another form', format: 'aws', given: { values: [] }, says: /not in the format "aws"/ },
  {
    name: 'a range that is none',
    format: 'json',
    given: { entries: [{ cidr: 7 }] },
    says: /^"entries\[0\].cidr": 7 is/,
  },
  {
    name: 'an unknown member of an entry',
    format: 'json',
    given: { entries: [{ cidr: '10.0.0.0/8', note: 'x' }, '11.0.0.0/8', 'y'] },
    says: /^"entries\[0\]": There is no field "note": .* 1 more entry is wrong/,
  },
  {
    name: 'a comment that is no text',
    format: 'json',
    given: { entries: [{ cidr: '10.0.0.0/8', comment: 7 }] },
    says: /^"entries\[0\].comment": 7 is given/,
  },
  {
    name: 'a prefix of AWS without a range',
    format: 'aws',
    given: { prefixes: [{ region: 'x' }] },
    says: /^"prefixes\[0\].ip_prefix"/,
  },
]

for (const { name, format, given, says } of wrong)
  t.test(`${format}: ${name} is refused`, async (t) => {
    t.match(read(given, format).fault, says)
  })

t.test('all wrong lines are named', async (t) => {
  t.match(read('a\n10.0.0.0/8\nb\n', 'lines').fault, /^Line 1: .* 1 more entry is wrong/)
})

const range = fc
  .tuple(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat(128))
  // A wider one must be exact.
  .map(([address, bits]) => `${address}/${address.includes(':') ? 16 + (bits % 113) : 8 + (bits % 25)}`)
  .filter((text) => parseCidr(text, { hostBits: 'allow' }).ok)
const comment = fc.option(fc.string({ maxLength: 3 * commentCharsMax, unit: 'binary' }))

t.test('property: an entry of JSON survives its stored line, with its comment on one line', async () => {
  fc.assert(
    fc.property(range, comment, fc.option(fc.nat(4_000_000_000)), (cidr, text, seconds) => {
      const expires_at = seconds === null ? null : new Date(seconds * 1000).toISOString()
      const { entries, fault } = read({ entries: [{ cidr, comment: text, expires_at }] }, 'json')
      const [entry] = entries
      if (fault !== undefined || entry === undefined) throw new Error(`${cidr} was refused: ${fault}`)
      const parsed = parseCidr(cidr, { hostBits: 'allow' })
      if (!parsed.ok || entry.cidr !== formatCidr(parsed.value))
        throw new Error(`${cidr} became ${entry.cidr}`)
      const line = lineOf(entry)
      if (/[\n\r]/.test(line)) throw new Error(`${JSON.stringify(line)} is not one line`)
      if ([...(entry.comment ?? '')].length > commentCharsMax) throw new Error('The comment is too long.')
      const again = entryOf(line)
      if (JSON.stringify(again) !== JSON.stringify(entry)) throw new Error(`${line} is another entry`)
      return seconds === null ? again.expiresAt === null : again.expiresAt === seconds * 1000
    }),
  )
})

t.test('property: any text is read to its end, in every form, and nothing is thrown', async () => {
  const formats = ['lines', 'netset', 'csv', 'spamhaus_drop', 'cloudflare'] as const
  const text = fc.array(fc.oneof(fc.string(), range, fc.constantFrom('{"cidr":1}', 'add x', '"', ',', '#')))
  fc.assert(
    fc.property(text, fc.constantFrom(...formats), (lines, format) => {
      const { entries } = read(lines.join('\n'), format)
      return entries.every(({ cidr }) => parseCidr(cidr, { hostBits: 'refuse' }).ok)
    }),
  )
})

t.test('what ipset 7.17 saves: each option means what the manual says, or its line is refused', (t) => {
  const net = 'create n hash:net family inet hashsize 1024 maxelem 65536'
  const ends = (seconds: number) => nowMs + seconds * 1000
  const cases: readonly { name: string; given: string; want: ListEntry[] | RegExp }[] = [
    {
      name: 'counters, marks and comments',
      given: `${net} timeout 600 counters comment skbinfo bucketsize 12 initval 0x8921eb38
add n 10.1.0.0/16 timeout 599 packets 3 bytes 9 skbmark 0x1/0xff skbprio 1:10 skbqueue 3 comment "timeout 5 nomatch"
add n 10.0.0.0/8 timeout 0 packets 0 bytes 0
add n 192.0.2.0/24
`,
      want: [
        plain('10.1.0.0/16', 'timeout 5 nomatch', ends(599)),
        plain('10.0.0.0/8'),
        plain('192.0.2.0/24', null, ends(600)),
      ],
    },
    {
      name: 'a netmask makes networks of addresses, in the set that has it alone',
      given: `create h hash:ip family inet hashsize 1024 maxelem 65536 netmask 24 bucketsize 12 initval 0x98df80ac
add h 192.0.2.0
create h6 hash:ip family inet6 hashsize 1024 maxelem 65536 netmask 64 bucketsize 12 initval 0x031ac351
add h6 2001:db8::
create b bitmap:ip range 192.168.0.0-192.168.0.255
add b 192.168.0.9
`,
      want: [plain('192.0.2.0/24'), plain('2001:db8::/64'), plain('192.168.0.9/32')],
    },
    { name: 'with -exist', given: `${net} -exist\nadd n 10.0.0.0/8 -exist\n`, want: [plain('10.0.0.0/8')] },
    {
      name: 'nomatch',
      given: `${net}\nadd n 10.1.0.0/16 timeout 9 nomatch\n`,
      want: /Line 2: .*taken out of its set/,
    },
    {
      name: 'an unknown option',
      given: `${net}\nadd n 10.0.0.0/8 wormhole 1\n`,
      want: /Line 2: .*"wormhole"/,
    },
    {
      name: 'a cut option',
      given: `${net}\nadd n 10.0.0.0/8 timeout`,
      want: /Line 2: .*"timeout".* no value/,
    },
    {
      name: 'a bitmask that is a prefix',
      given: `create h hash:ip family inet bitmask 255.255.0.0
add h 192.0.0.0
create h6 hash:ip family inet6 bitmask ffff:ffff::
add h6 2001:db8::
`,
      want: [plain('192.0.0.0/16'), plain('2001:db8::/32')],
    },
    {
      name: 'a bitmask with a gap',
      given: 'create h hash:ip family inet bitmask 255.255.0.255\n',
      want: /Line 1: The set "h" has the bitmask "255.255.0.255", which is no prefix/,
    },
    {
      name: 'a timeout of letters',
      given: 'add h 192.0.2.1 timeout soon\n',
      want: /Line 1: The timeout "soon"/,
    },
    {
      name: 'an element of nft',
      given: 'add element inet f a { 192.0.2.1 }\n',
      want: /Line 1: .*command of nft/,
    },
    ...['hash:net,port', 'hash:ip,mark', 'hash:net,iface', 'hash:mac', 'list:set', 'hash:net,net'].map(
      (type) => ({
        name: type,
        given: `create x ${type} family inet\n`,
        want: new RegExp(`Line 1: The set "x" is of the type "${type}"`),
      }),
    ),
  ]
  for (const { name, given, want } of cases) {
    const { entries, fault } = read(given, 'netset')
    if (want instanceof RegExp) t.match(fault, want, name)
    else t.strictSame({ entries, fault }, { entries: want, fault: undefined }, name)
  }
  t.end()
})

t.test('output of nft is refused, each of its lines', (t) => {
  const lines = [
    'table inet f {',
    '\tset a {',
    '\t\ttype ipv4_addr',
    '\t\tflags interval,timeout',
    '\t\telements = { 10.0.0.0/8 counter packets 0 bytes 0, 192.0.2.1-192.0.2.9 timeout 1h expires 59m2s984ms comment "x" }',
    '\t\telements = { 9.9.9.9 }',
    '\t\t\t     203.0.113.5 counter }',
    '\t\t\t     9.9.9.3, 9.9.9.4,',
    '\t\t\t     2001:db8::/32,',
    '\t\telements = { 1.2.3.4 . 80 }',
    '\t}',
  ]
  for (const line of lines) t.match(read(line, 'lines').fault, /^Line 1: /, line)
  t.end()
})

const ofFeeds: readonly { name: string; given: string | object; format?: ListFormat; why?: RegExp }[] = [
  { name: 'all of IPv4', given: '192.0.2.1\n0.0.0.0/0\n', why: /Line 2: "0.0.0.0\/0" is every address/ },
  { name: 'all of IPv6', given: '::/0 # all\n', why: /Line 1: "::\/0" is every address/ },
  { name: 'all with bits', given: '1.2.3.4/0\n', why: /Line 1: "1.2.3.4\/0" has bits set/ },
  {
    name: 'all in JSON',
    given: { entries: [{ cidr: '0.0.0.0/0' }] },
    format: 'json',
    why: /"entries\[0\].cidr": /,
  },
  {
    name: 'the last line of a cut one',
    given: '192.0.2.0/24\n198.51.100.0/2',
    why: /Line 2: .*write 192.0.0.0\/2/,
  },
  { name: 'the same in IPv6', given: '2001:db8::/3\n', why: /Line 1: .* has bits set after its prefix/ },
  {
    name: 'a prefix of IPv4 behind IPv6',
    given: '::ffff:203.0.113.0/24\n',
    why: /Line 1: .* has bits set after its prefix/,
  },
  { name: 'IPv4 in IPv6', given: '::ffff:203.0.113.0/120\n::1\n0.0.0.9/24\n' },
  { name: 'a wide one that is exact', given: '224.0.0.0/3\n0.0.0.0/8\n2000::/3\n' },
  {
    name: 'an address alone that is whole, because a comment follows',
    given: '192.0.2.0/24\n198.51.100.0/24\n203.0.113.9 # x',
  },
  { name: 'bits behind a narrow prefix', given: '198.51.100.7/24\n10.1.2.3/8\n2001:db8::1/32\n' },
  {
    name: 'cut in the prefix',
    given: '192.0.2.0/24\n198.51.100.0/24\n192.0.0.0/2',
    why: /digit of the prefix/,
  },
  {
    name: 'cut in a prefix of IPv6',
    given: '2001:db8::/32\n2001:db9::/48\n2000::/4',
    why: /digit of the prefix/,
  },
  { name: 'cut before the prefix', given: '192.0.2.0/24\n10.0.0.0/8\n198.51.100.0', why: /lacks a prefix/ },
  {
    name: 'cut before the comment',
    given: '192.0.2.0/24 ; A\n10.0.0.0/8 ; B\n198.51.100.0/24',
    why: /a comment/,
  },
  {
    name: 'cut in CSV',
    given: '192.0.2.0/24,a,\n10.0.0.0/8,b,\n198.51.100.0/24,c',
    format: 'csv',
    why: /lacks a column/,
  },
  {
    name: 'cut in what ipset saves',
    given: 'add n 10.0.0.0/8 timeout 7\nadd n 11.0.0.0/8 timeout 8\nadd n 12.0.0.0/8',
    format: 'netset',
    why: /lacks a word/,
  },
  {
    name: 'a last line without an end that is like others',
    given: '192.0.2.0/24\n192.0.2.7\n10.0.0.0/8\n192.0.3.7',
  },
  { name: 'no line to compare with', given: '192.0.2.0/24\n192.0.2.7' },
  { name: 'a last line with an end', given: '192.0.2.0/24\n10.0.0.0/8\n198.51.100.0\n' },
  { name: 'a prefix that is whole', given: '192.0.2.0/24\n198.51.100.0/24\n10.0.0.0/8' },
]

t.test('what a source must not send, although a person may', (t) => {
  for (const { name, given, format = 'lines', why } of ofFeeds) {
    const { fault } = read(given, format, true)
    if (why === undefined) t.equal(fault, undefined, name)
    else t.match(fault, why, name)
  }
  t.equal(read('0.0.0.0/0\n', 'lines').fault, undefined)
  t.match(read('198.51.100.0/2\n', 'lines').fault, /has bits set after its prefix/, 'no one means that')
  t.end()
})

t.test('a list of ranges that is cut anywhere covers no more than it did', (t) => {
  const octet = fc.integer({ min: 0, max: 255 })
  const range = fc
    .tuple(octet, octet, octet, fc.integer({ min: 10, max: 32 }))
    .map(([one, two, three, prefix]) => formatCidr(parsedRange(`${one}.${two}.${three}.0/${prefix}`)))
  const lists = fc.array(range, { minLength: 3, maxLength: 8 })
  fc.assert(
    fc.property(lists, fc.nat(), (ranges, at) => {
      const text = ranges.map((each) => `${each}\n`).join('')
      const kept = text.slice(0, at % text.length)
      const { entries, fault } = read(kept, 'lines', true)
      if (fault !== undefined || kept.split('\n').length < 4) return true
      return entries.every(({ cidr }) => Number(cidr.split('/')[1]) >= 10)
    }),
  )
  t.end()
})

function parsedRange(text: string) {
  const parsed = parseCidr(text, { hostBits: 'allow' })
  if (!parsed.ok) throw new Error(parsed.problem.msg)
  return parsed.value
}
