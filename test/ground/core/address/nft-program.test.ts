/** Sets that nft itself lists, in a network namespace of its own: no line of them is taken for an entry. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { entriesInText } from '../../../../src/ground/core/address/list-formats.js'
import { entriesInValue } from '../../../../src/ground/core/address/list-json.js'
import { EntryFaults } from '../../../../src/ground/core/entry-faults.js'

/** Undefined if nft is not installed, or the machine lets no one make a namespace. */
function listed(set: string, how: string): string | undefined {
  const script = `nft 'add table inet f' && nft 'add set inet f a { ${set} }' && nft ${how} list set inet f a`
  const { status, stdout } = spawnSync('unshare', ['-rn', 'sh', '-c', script], { encoding: 'utf8' })
  return status === 0 ? stdout : undefined
}

const nowMs = Date.parse('2026-11-26T12:00:00Z')
const how = { nowMs, isFed: true }

interface Case {
  readonly set: string
  /** Ranges with the seconds that they last, at most. */
  readonly want: Readonly<Record<string, number | null>> | RegExp
}

const cases: readonly Case[] = [
  {
    set: 'type ipv4_addr; flags timeout; elements = { 192.0.2.1 timeout 1h2m, 192.0.2.2 timeout 10d4h30m15s comment "timeout 5, b } c", 192.0.2.3 };',
    want: { '192.0.2.1/32': 3_720, '192.0.2.2/32': 880_215, '192.0.2.3/32': null },
  },
  {
    set: 'type ipv4_addr; flags interval, timeout; timeout 1d; auto-merge; counter; elements = { 10.0.0.0/8, 192.0.2.5-192.0.2.9, 198.51.100.7 timeout 30s };',
    want: {
      '10.0.0.0/8': 86_400,
      '192.0.2.5/32': 86_400,
      '192.0.2.6/31': 86_400,
      '192.0.2.8/31': 86_400,
      '198.51.100.7/32': 30,
    },
  },
  {
    set: 'type ipv6_addr; flags interval; elements = { 2001:db8::/32, 2001:db9::1, fe80::1-fe80::5 };',
    want: {
      '2001:db8::/32': null,
      '2001:db9::1/128': null,
      'fe80::1/128': null,
      'fe80::2/127': null,
      'fe80::4/127': null,
    },
  },
  {
    set: 'typeof ip saddr; elements = { 192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, 192.0.2.5 };',
    want: Object.fromEntries([1, 2, 3, 4, 5].map((last) => [`192.0.2.${last}/32`, null])),
  },
  { set: 'type ipv4_addr . inet_service; elements = { 10.0.0.1 . 80 };', want: /of the type \["ipv4_addr"/ },
  { set: 'type inet_service; elements = { 22, 80 };', want: /of the type "inet_service"/ },
  { set: 'type ipv4_addr; flags interval; elements = { 0.0.0.0-255.255.255.255 };', want: /every address/ },
]

t.test(
  'what nft lists',
  { skip: listed(cases[0]!.set, '') === undefined && 'nft cannot be run here' },
  async (t) => {
    for (const { set, want } of cases) {
      const text = listed(set, '')!
      t.match(text, /elements = \{/, set)
      for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
        const faults = new EntryFaults()
        t.strictSame([...entriesInText(line, 'lines', faults, how)].filter(Boolean), [], line)
        t.ok(faults.error, 'its text is refused')
      }
      const faults = new EntryFaults()
      const entries = [...entriesInValue(JSON.parse(listed(set, '-j')!), 'json', faults, how)].flatMap(
        (each) => each ?? [],
      )
      if (want instanceof RegExp) t.match(faults.error?.message, want, set)
      else {
        t.equal(faults.error, undefined)
        t.strictSame(entries.map(({ cidr }) => cidr).toSorted(), Object.keys(want).toSorted(), set)
        for (const { cidr, expiresAt } of entries) {
          const most = want[cidr] ?? null
          if (most === null) t.equal(expiresAt, null, cidr)
          else t.ok(expiresAt! > nowMs + (most - 20) * 1_000 && expiresAt! <= nowMs + most * 1_000, cidr)
        }
      }
    }
  },
)
