/**
 * `GET /stats?by=asn` names autonomous systems: the geo database knows the names of addresses, and clients of the range have
 * those.
 */
import t from 'tap'
import { canonicalAddress } from '../../../src/ground/core/address/ip.js'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { openTestStore } from '../../harness/api.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'
import { geoOf } from '../../harness/geo.js'

const hourMs = 60 * 60_000
const day = Date.parse('2026-11-20T00:00:00Z')
const range = { since: '2026-11-20T00:00:00Z', until: '2026-11-21T00:00:00Z' }

t.test('names of autonomous systems', async (t) => {
  const known: Readonly<Record<string, object>> = {
    '198.51.100.7': { asn: 64_500, as_org: 'Größe & Söhne' },
    '198.51.100.8': { asn: 64_500, as_org: 'Größe & Söhne' },
    '2001:db8::7': { asn: 64_501, as_org: 'IPv6 only' },
    // The network of this client was another one when it was seen.
    '203.0.113.1': { asn: 64_999, as_org: 'since yesterday' },
    '203.0.113.2': { asn: 64_503 },
    '192.0.2.1': { asn: 64_504, as_org: 'on another day' },
  }
  const store = await openTestStore(t)
  // A database takes any spelling of an address.
  const api = await store.api({ geo: geoOf((ip) => known[canonicalAddress(ip)] ?? {}) })
  const [mine, theirs] = [await api.account('mine'), await api.account('theirs')]
  await shapeLogTables(store.parts.clickhouse, { retentionMs: 50 * 365 * 24 * hourMs, bytesMax: 2 ** 30 })
  const seen = (accountId: string, clientIp: string, asn: number, at = day + hourMs) =>
    decisionRow({ accountId, clientIp, asn, at })
  await store.parts.clickhouse.insertBlocks('decisions', [
    rowBytes([
      seen(mine.accountId, '198.51.100.7', 64_500),
      seen(mine.accountId, '198.51.100.7', 64_500, day + 2 * hourMs),
      seen(mine.accountId, '198.51.100.8', 64_500),
      seen(mine.accountId, '2001:db8::7', 64_501),
      seen(mine.accountId, '2001:db8::7', 64_501, day + 20 * hourMs + 7 * 60_000),
      seen(mine.accountId, '203.0.113.1', 64_502),
      seen(mine.accountId, '203.0.113.2', 64_503),
      seen(mine.accountId, '192.0.2.1', 64_504, day - hourMs),
      seen(mine.accountId, '192.0.2.2', 64_504),
      seen(mine.accountId, '192.0.2.3', 0),
      seen(theirs.accountId, '203.0.113.9', 64_502),
    ]),
  ])

  const { counts, names } = await mine.stats({ ...range, interval: 'day', by: 'asn' })
  t.strictSame(
    counts.map(({ value, allow }) => [value, allow]),
    [
      ['64500', 3],
      ['64501', 2],
      [null, 1],
      ['64502', 1],
      ['64503', 1],
      ['64504', 1],
    ],
  )
  t.strictSame(names, { 64500: 'Größe & Söhne', 64501: 'IPv6 only' }, 'those that the database has')

  const first = await mine.stats({ ...range, interval: 'day', by: 'asn', values: 1 })
  t.strictSame(first.names, { 64500: 'Größe & Söhne' }, 'only what is listed')
  const filtered = await mine.stats({ ...range, interval: 'day', by: 'asn', filter: 'asn == 64501' })
  t.strictSame(filtered.names, { 64501: 'IPv6 only' }, 'with a filter')
  const late = { since: '2026-11-20T20:05:00Z', until: '2026-11-20T20:10:00Z' }
  t.strictSame((await mine.stats({ ...late, interval: '5m', by: 'asn' })).names, { 64501: 'IPv6 only' })
  t.strictSame((await theirs.stats({ ...range, interval: 'day', by: 'asn' })).names, {})
  t.strictSame((await mine.stats({ ...range, interval: 'day', by: 'country' })).names, {}, 'other dimensions')
})
