/** Lists of addresses, addresses and names of hosts. */
import { gzipSync } from 'node:zlib'
import { parseHostPort, parseNatsServer } from '../../../src/delivery/deliver/kind/servers.js'
import { splitAddress } from '../../../src/delivery/ingest/lines/values.js'
import { hostOf, serverHost } from '../../../src/delivery/record/spelling.js'
import { boundsOf, formatCidr, parseCidr } from '../../../src/ground/core/address/cidr.js'
import { parseHost } from '../../../src/ground/core/address/host-name.js'
import { parseHostport, parseServed } from '../../../src/ground/core/address/hostport.js'
import { formatAddress, isAddress, parseAddress } from '../../../src/ground/core/address/ip.js'
import { entryOf, type ListEntry, lineOf, linesIn } from '../../../src/ground/core/address/list-entry.js'
import {
  entriesInText,
  isJsonFormat,
  type ListFormat,
  likelyFormat,
  listFormats,
} from '../../../src/ground/core/address/list-formats.js'
import { entriesInValue } from '../../../src/ground/core/address/list-json.js'
import { isoMillis } from '../../../src/ground/core/clock.js'
import { EntryFaults } from '../../../src/ground/core/entry-faults.js'
import { packText, unpackText } from '../../../src/ground/core/text/packed-text.js'
import { isTimestamp } from '../../../src/ground/core/text/timestamp.js'
import { FeedFault } from '../../../src/management/scheduled/feeds/feed-fault.js'
import { unzipped } from '../../../src/management/scheduled/feeds/fetched.js'
import { parseDomainName } from '../../../src/words/resource/domain.js'
import { parseBindRule } from '../../../src/words/resource/fields/bind-acl.js'
import {
  expectSame,
  expectThat,
  type FuzzedParser,
  type Outcome,
  ofResult,
  read,
  refused,
  refusedAt,
  triedLater,
} from '../engine/parser.js'
import { jsonIn } from './records.js'

const nowMs = 1_764_064_800_000

const samples: Readonly<Record<ListFormat, readonly string[]>> = {
  lines: [
    '203.0.113.0/24 # office\n2001:db8::/32 ; other\n198.51.100.7\n\n# comment\n',
    'create tor hash:net family inet hashsize 1024 maxelem 65536 timeout 300 comment\nadd tor 203.0.113.0/24 timeout 12 comment "a b"\nadd tor 198.51.100.7\n',
    'create m hash:ip netmask 24 bitmask 255.255.255.0\nadd m 203.0.113.0 packets 1 bytes 2\n',
  ],
  netset: ['# name\n#\n203.0.113.0/24\n198.51.100.7\n'],
  csv: [
    'cidr,comment,expires_at\n203.0.113.0/24,"a, ""b""",2030-01-01T00:00:00Z\n198.51.100.7,,\n',
    'comment,cidr\nx,::1\n',
  ],
  spamhaus_drop: [
    '{"cidr":"203.0.113.0/24","sblid":"SBL1","rir":"x"}\n{"type":"metadata","size":1}\n',
    '203.0.113.0/24 ; SBL1\n',
  ],
  json: [
    '{"entries":[{"cidr":"203.0.113.0/24","comment":"a","expires_at":"2030-01-01T00:00:00Z"},"198.51.100.7"]}',
    '{"nftables":[{"metainfo":{}},{"set":{"name":"s","type":"ipv4_addr","elem":["1.2.3.4",{"prefix":{"addr":"10.0.0.0","len":8}},{"range":["10.0.0.1","10.0.0.9"]},{"elem":{"val":"1.1.1.1","timeout":60,"expires":3}}]}}]}',
    '{"nftables":[{"set":{"name":"s","type":"ipv6_addr","elem":[{"range":["::1","ffff::"]}]}}]}',
  ],
  aws: [
    '{"syncToken":"1","prefixes":[{"ip_prefix":"3.5.140.0/22","region":"r","service":"S3"}],"ipv6_prefixes":[{"ipv6_prefix":"2600::/12"}]}',
  ],
  gcp: [
    '{"syncToken":"1","prefixes":[{"ipv4Prefix":"34.1.208.0/20","service":"s","scope":"x"},{"ipv6Prefix":"2600:1900::/28"}]}',
  ],
  azure: [
    '{"changeNumber":1,"values":[{"name":"n","properties":{"addressPrefixes":["13.64.0.0/16","2603::/24"]}}]}',
  ],
  cloudflare: ['103.21.244.0/22\n2400:cb00::/32\n'],
}

function entriesOf(text: string, format: ListFormat, isFed: boolean, bytes: Buffer): Outcome {
  const faults = new EntryFaults()
  const json = isJsonFormat(format) ? jsonIn(bytes) : undefined
  if (isJsonFormat(format) && json === undefined) return refused('It is not JSON.')
  const reading = { nowMs, isFed }
  const found =
    json === undefined
      ? entriesInText(text, format, faults, reading)
      : entriesInValue(json.value, format, faults, reading)
  const entries = [...found].filter((entry) => entry !== undefined)
  for (const entry of entries) checkEntry(entry)
  const { error } = faults
  if (error === undefined) return read(entries)
  const [place = placeIn(error.message)] = Object.keys(error.details ?? {})
  return refusedAt(error.message, place, bytes)
}

const placeIn = (sentence: string): string => /^(?:Line \d+|"[^"]+"|The list)/.exec(sentence)?.[0] ?? ''

function checkEntry(entry: ListEntry): void {
  expectSame(entryOf(lineOf(entry)), entry, 'an entry that is stored and read again')
  expectSame([...linesIn(lineOf(entry))].length, 1, 'lines of a stored entry')
  const { cidr, expiresAt } = entry
  const again = parseCidr(cidr, { hostBits: 'refuse' })
  expectThat(again.ok && formatCidr(again.value) === cidr, `the range ${cidr} is not in its canonical form`)
  expectThat(expiresAt === null || isTimestamp(isoMillis(expiresAt)), `the time ${expiresAt} can't be shown`)
}

const formats: readonly FuzzedParser[] = listFormats.map((format) => ({
  name: `list format ${format}`,
  sources: ['list-formats', 'list-json', 'list-ipset', 'list-nft', 'list-entry', 'line-shapes'].map(
    (name) => `ground/core/address/${name}.ts`,
  ),
  seeds: () => samples[format],
  words: [
    'create s hash:net timeout 9999999999\n',
    'add s ',
    '"comment"',
    ' timeout ',
    'nomatch',
    '"expires":',
    '"range":["::","ffff::"]',
    '9999-12-31T23:59:60Z',
    '/0',
    '#',
    ';',
  ],
  // A range of a first and a last address becomes up to 254 entries.
  keptPerByte: 600,
  msPerKiB: 60,
  read: (bytes) => {
    const text = bytes.toString()
    likelyFormat(text)
    return entriesOf(text, format, (bytes.length & 1) === 1, bytes)
  },
}))

const fetched: FuzzedParser = {
  name: 'compressed lists',
  sources: ['management/scheduled/feeds/fetched.ts', 'ground/core/text/packed-text.ts'],
  seeds: () => [gzipSync('203.0.113.0/24\n'), gzipSync(Buffer.alloc(64 * 1024 * 1024)), 'S0osSVUAAA=='],
  // A bomb becomes what may become of it.
  msPerKiB: 200,
  read: async (bytes) => {
    const outcome = await triedLater(async () => (await unzipped(bytes)).length, FeedFault)
    const kept = bytes.toString('latin1')
    await packText(kept.slice(0, 4_096)).then((packed) =>
      expectSame(unpackText(packed, 1 << 20), kept.slice(0, 4_096), 'a text that is packed and unpacked'),
    )
    return outcome
  },
}

const addresses: FuzzedParser = {
  name: 'addresses and ranges',
  sources: ['ground/core/address/ip.ts', 'ground/core/address/cidr.ts', 'delivery/ingest/lines/values.ts'],
  seeds: () => [
    '203.0.113.7',
    '2001:db8::7',
    '::ffff:203.0.113.7',
    '203.0.113.0/24',
    '2001:db8::/32',
    '[2001:db8::1]:443',
    '1:2:3:4:5:6:1.2.3.4',
    '::',
  ],
  words: ['::', ':', '.', '/', 'ffff:', '0.0.0.0', '255'],
  bytesMax: 4_096,
  read: (bytes) => {
    const text = bytes.toString()
    const { family, words } = parseAddress(text)
    if (family !== 0) {
      const canonical = formatAddress(family, words)
      const again = parseAddress(canonical)
      expectSame(
        [again.family, [...again.words]],
        [family, [...words]],
        `the address ${canonical} that is written and read again`,
      )
      expectThat(isAddress(text), 'an address is one')
    }
    splitAddress(text)
    const cidr = parseCidr(text, { hostBits: 'allow' })
    if (!cidr.ok) return refused(cidr.problem.msg)
    const again = parseCidr(formatCidr(cidr.value), { hostBits: 'refuse' })
    expectSame(
      again.ok && again.value,
      cidr.value,
      `the range ${formatCidr(cidr.value)} that is written and read again`,
    )
    return read(boundsOf(cidr.value))
  },
}

const hosts: FuzzedParser = {
  name: 'names of hosts',
  sources: [
    'ground/core/address/host-name.ts',
    'ground/core/address/hostport.ts',
    'delivery/deliver/kind/servers.ts',
    'delivery/record/spelling.ts',
    'words/resource/domain.ts',
    'words/resource/fields/bind-acl.ts',
  ],
  seeds: () => [
    'www.example.com:443',
    '*.example.com',
    '[2001:db8::1]:22',
    'b\u00fccher.example',
    'xn--bcher-kva.example:1',
    'bind:*.example.com',
    'nats://h:4222',
    'WWW.Example.com.',
    'a.example:*',
  ],
  words: ['xn--', '*.', '.', ':443', '\u3002', '\u200d', '\u00ad', '\u212a', 'bind:', 'nats://', '['],
  bytesMax: 16 * 1024,
  keptPerByte: 100,
  read: (bytes) => {
    const text = bytes.toString()
    const found = [parseHost, parseHostport, parseServed, parseDomainName].map(
      (parse) => [parse, parse(text)] as const,
    )
    for (const [parse, result] of found)
      if (result.ok) expectSame(parse(result.value), result, `${parse.name} of what it wrote`)
    const spelled = serverHost(text)
    // One dot behind a name says nothing; of several, one is cut each time.
    if (!spelled.endsWith('.')) expectSame(serverHost(spelled), spelled, 'the one spelling of a host')
    hostOf(text)
    parseBindRule(text)
    const places = [parseHostPort(text), parseNatsServer(text)]
    const read1 = found.find(([, result]) => result.ok)?.[1]
    return read1?.ok ? read([read1.value, places]) : ofResult(found[1]![1])
  },
}

export const listParsers: readonly FuzzedParser[] = [...formats, fetched, addresses, hosts]
