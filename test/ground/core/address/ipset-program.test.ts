/** Sets that ipset itself saves, in a network namespace of its own. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { entriesInText } from '../../../../src/ground/core/address/list-formats.js'
import { EntryFaults } from '../../../../src/ground/core/entry-faults.js'

/** Undefined if ipset is not installed, or the machine lets no one make a namespace. */
function saved(commands: readonly string[]): string | undefined {
  const script = [...commands, 'save'].map((command) => `ipset ${command}`).join(' && ')
  const { status, stdout } = spawnSync('unshare', ['-rn', 'sh', '-c', script], { encoding: 'utf8' })
  return status === 0 ? stdout : undefined
}

const nowMs = Date.parse('2026-11-26T12:00:00Z')

function read(text: string) {
  const faults = new EntryFaults()
  const entries = [...entriesInText(text, 'netset', faults, { nowMs, isFed: true })].flatMap(
    (each) => each ?? [],
  )
  return { entries, fault: faults.error?.message }
}

const probe = saved(['create probe hash:ip'])

t.test('sets of addresses', { skip: probe === undefined && 'ipset cannot be run here' }, (t) => {
  const text = saved([
    'create n hash:net timeout 600 counters comment skbinfo',
    "add n 10.0.0.0/8 timeout 0 comment 'a # b; c'",
    'add n 192.0.2.0/24 packets 3 bytes 9 skbmark 0x1/0xff skbprio 1:10 skbqueue 3',
    'create h hash:ip netmask 24',
    'add h 203.0.113.7',
    'create m hash:ip bitmask 255.255.240.0',
    'add m 198.51.100.7',
    'create s6 hash:net family inet6',
    'add s6 2001:db8::/32',
  ])
  const { entries, fault } = read(text ?? '')
  t.equal(fault, undefined)
  t.strictSame(entries.map(({ cidr }) => cidr).toSorted(), [
    '10.0.0.0/8',
    '192.0.2.0/24',
    '198.51.96.0/20',
    '2001:db8::/32',
    '203.0.113.0/24',
  ])
  const of = (range: string) => entries.find(({ cidr }) => cidr === range)
  t.match(of('10.0.0.0/8'), { comment: 'a # b; c', expiresAt: null })
  const seconds = ((of('192.0.2.0/24')?.expiresAt ?? 0) - nowMs) / 1000
  t.ok(seconds > 300 && seconds <= 600, `it ends in ${seconds} s`)
  t.end()
})

t.test('what a list cannot express', { skip: probe === undefined && 'ipset cannot be run here' }, (t) => {
  const cases = [
    { set: 'hash:net', entry: '10.1.0.0/16 nomatch', says: /taken out of its set/ },
    { set: 'hash:net,port', entry: '10.0.0.0/24,tcp:80', says: /of the type "hash:net,port"/ },
    {
      set: 'hash:ip bitmask 255.255.0.255',
      entry: '10.0.0.1',
      says: /bitmask "255.255.0.255", which is no prefix/,
    },
    { set: 'hash:net,iface', entry: '10.0.0.0/24,eth0', says: /of the type "hash:net,iface"/ },
    { set: 'hash:ip,port,ip', entry: '10.0.0.1,80,10.0.0.2', says: /of the type "hash:ip,port,ip"/ },
    {
      set: 'bitmap:ip,mac range 10.0.0.0/24',
      entry: '10.0.0.1,00:11:22:33:44:55',
      says: /of the type "bitmap:ip,mac"/,
    },
    { set: 'hash:ip,port', entry: '10.0.0.1,80', says: /of the type "hash:ip,port"/ },
  ]
  for (const { set, entry, says } of cases)
    t.match(read(saved([`create x ${set}`, `add x ${entry}`]) ?? '').fault, says, set)
  t.end()
})
