/**
 * Many subscriptions of one account: the walk of records that 1,000 or 10,000 filters are about, against three. Filters
 * are of the kinds that people write: equality, sets, ranges of addresses, beginnings and ends of names, bounds, and
 * combinations of these. On average a record matches one of them, however many there are; the few that match share the
 * records evenly. Every tenth filter is that of another subscription, too.
 */

import { PackWriter } from '../../../src/delivery/wire/pack.js'
import { processMessage } from '../../../src/judging/pipeline/process-record.js'
import { buildTrafficView, type TrafficView } from '../../../src/judging/produce/compiled-configuration.js'
import { noGeo, noYield } from '../../judging/evaluate/configuration.js'
import type { BenchRow } from '../bench.js'
import { accountId, closedFields, configuration, messages, recordCount, storedAtMs } from '../walk/input.js'

const matching = [
  'conn.server_port == 22',
  "conn.server_port == 443 && conn.server_name|endsWith('.eu.example')",
  'conn.server_port in [5432, 3306]',
  "conn.client_ip|inCidrRange('10.0.0.0/8') && conn.server_port != 22",
]

/** They match no record, which only their evaluation or the index finds out. */
const others: readonly ((n: number) => string)[] = [
  (n) => `conn.server_name == 'host-${n}.example'`,
  (n) => `conn.server_name in ['api-${n}.example', 'www-${n}.example', '${n}.example']`,
  (n) => `conn.client_ip|inCidrRange('224.${(n >> 8) & 255}.${n & 255}.0/24')`,
  (n) =>
    `inCidrRanges(conn.client_ip, ['230.${(n >> 8) & 255}.${n & 255}.0/28', '2001:db8:${n.toString(16)}::/48'])`,
  (n) => `conn.server_name|startsWith('tenant-${n}.')`,
  (n) => `conn.server_name.endsWith('.tenant-${n}.example')`,
  (n) => `conn.server_port == 443 && conn.server_name == 'shop-${n}.example'`,
  (n) =>
    `(conn.server_port == ${10_000 + (n % 5_000)} || conn.server_name == 'db-${n}.example') && conn.bytes_in > 100`,
  (n) =>
    `conn.server_port in [22, 443] && ip_policy.decision == 'allow' && conn.client_ip == '239.1.${(n >> 8) & 255}.${n & 255}'`,
  (n) => `conn.bytes_out > ${2_000_000 + n} && conn.server_port == 22`,
]

const filterOf = (index: number): string => {
  if (index < matching.length) return matching[index]!
  const n = index % 10 === 9 ? index - 9 : index
  return others[n % others.length]!(n)
}

async function viewWith(subscriptions: number): Promise<TrafficView> {
  const given = configuration()
  given.table('event_subscription').clear()
  for (let index = 0; index < subscriptions; index += 1)
    given.subscription(`esb_${String(index).padStart(26, '0')}`, {
      account_id: accountId,
      sources: [{ type: 'tcp_connection_closed.v0', filter: filterOf(index), fields: closedFields }],
      destination_ids: [`ed_${String(index % 10).padStart(26, '0')}`],
    })
  return buildTrafficView(given, undefined, noYield)
}

function walk(view: TrafficView): number {
  const writer = new PackWriter()
  for (const bytes of messages)
    processMessage({ bytes, storedAtMs }, { view, geo: noGeo, buffers: { packOf: () => writer } })
  return writer.take().length
}

export const row: BenchRow = {
  name: 'subscriptions',
  mustReach: '1,000 subscriptions cost at most 1.5 times what 3 cost, 10,000 at most 3 times',
  async run(bench) {
    const [few, many, most] = (await Promise.all([3, 1_000, 10_000].map(viewWith))) as [
      TrafficView,
      TrafficView,
      TrafficView,
    ]
    const contender = (view: TrafficView) => () => {
      walk(view)
      return recordCount
    }
    const times = await bench.compare({
      '3 subscriptions': contender(few),
      '1,000 subscriptions': contender(many),
      '10,000 subscriptions': contender(most),
    })
    const ratio = (name: keyof typeof times) => times[name] / times['3 subscriptions']
    return {
      measures: [
        { name: 'cost with 1,000', ratio: ratio('1,000 subscriptions'), bound: { atMost: 1.5 } },
        { name: 'cost with 10,000', ratio: ratio('10,000 subscriptions'), bound: { atMost: 3 } },
      ],
      nsPerOperation: times,
    }
  },
}
