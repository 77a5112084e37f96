/** Sets that nft itself lists, in a network namespace of its own: no line of them is taken for an entry. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { entriesInText } from '../../../src/core/address/list-formats.js'
import { entriesInValue } from '../../../src/core/address/list-json.js'
import { EntryFaults } from '../../../src/core/entry-faults.js'

/** Undefined if nft is not installed, or the machine lets no one make a namespace. */
function listed(set: string, how: string): string | undefined {
  const script = `nft 'add table inet f' && nft 'add set inet f a { ${set} }' && nft ${how} list set inet f a`
  const { status, stdout } = spawnSync('unshare', ['-rn', 'sh', '-c', script], { encoding: 'utf8' })
  return status === 0 ? stdout : undefined
}

const sets = [
  'type ipv4_addr; flags timeout; elements = { 192.0.2.1 timeout 1h2m, 192.0.2.2 timeout 10d4h30m15s comment "timeout 5, b } c", 192.0.2.3 };',
  'type ipv4_addr; flags interval, timeout; timeout 1d; auto-merge; counter; elements = { 10.0.0.0/8, 192.0.2.5-192.0.2.9, 198.51.100.7 };',
  'type ipv6_addr; flags interval; elements = { 2001:db8::/32, 2001:db9::1, fe80::1-fe80::5 };',
  'type ipv4_addr . inet_service; elements = { 10.0.0.1 . 80, 10.0.0.2 . 443 };',
  'type ipv4_addr; elements = { 192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, 192.0.2.5 };',
]

const how = { nowMs: 0, isFed: false }

t.test(
  'what nft lists',
  { skip: listed(sets[0]!, '') === undefined && 'nft can not be run here' },
  async (t) => {
    for (const set of sets) {
      const text = listed(set, '')!
      t.match(text, /elements = \{/, set)
      for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
        const faults = new EntryFaults()
        t.strictSame([...entriesInText(line, 'lines', faults, how)].filter(Boolean), [], line)
        t.ok(faults.error, 'it is refused')
      }
      const faults = new EntryFaults()
      t.strictSame([...entriesInValue(JSON.parse(listed(set, '-j')!), 'json', faults, how)], [], 'its JSON')
      t.match(faults.error?.message, /not in the format "json"/)
    }
  },
)
