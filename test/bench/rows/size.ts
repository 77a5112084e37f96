/**
 * A large configuration: 10,000 edges with five policies each, 100,000 rules and 1,000 subscriptions of one account. The
 * walk of records that are spread evenly over the edges, against the same with 10 edges. Every policy has an expression
 * of its own; each edge was evaluated before, so the walk does not compile.
 */
import { processMessage } from '../../../src/pipeline/process-record.js'
import { buildTrafficView, type TrafficView } from '../../../src/produce/traffic-view.js'
import { PackWriter } from '../../../src/wire/pack.js'
import { deny, noGeo, noYield, TestConfiguration } from '../../evaluate/configuration.js'
import type { BenchRow } from '../bench.js'
import { accountId, closedFields, messages, storedAtMs } from '../walk/input.js'

const rulesMax = 100_000
const subscriptionsMax = 1_000
const policyId = 'ipp_01K0WEIRBENCH0000000000009'
const edgeIdOf = (edge: number): string => `edgtcp_${String(edge).padStart(26, '0')}`

function configurationWith(edges: number): TestConfiguration {
  const given = new TestConfiguration(accountId)
  const denied = (n: number) => `!${224 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}.0/24`
  given.ipPolicy(policyId, '0.0.0.0/0', ...Array.from({ length: rulesMax - 1 }, (_, n) => denied(n)))
  for (let edge = 0; edge < edges; edge += 1)
    given.tcpEdge(edgeIdOf(edge), {
      account_id: accountId,
      ip_restriction: { enabled: true, ip_policy_ids: [policyId] },
      policies: {
        enabled: true,
        inbound: Array.from({ length: 5 }, (_, n) => ({
          name: `Closed port ${n}`,
          expressions: [`conn.server_port == ${10_000 + n} && conn.client_port > ${edge}`],
          actions: [deny],
        })),
        outbound: [],
      },
    })
  for (let n = 0; n < subscriptionsMax; n += 1)
    given.subscription(`esb_${String(n).padStart(26, '0')}`, {
      account_id: accountId,
      sources: [
        {
          type: 'tcp_connection_closed.v0',
          filter: n === 0 ? 'conn.server_port in [22, 443]' : `conn.server_name == 'host-${n}.example'`,
          fields: closedFields,
        },
      ],
    })
  return given
}

/** As many records as there can be edges, so that every edge has the same share. */
const recordCount = 10_000

function messagesFor(edges: number): readonly Buffer[] {
  const texts = messages.flatMap((message) => message.toString().split('\n'))
  const record = (n: number): string => {
    const {
      record_id: _,
      edge_id: __,
      ...rest
    } = JSON.parse(texts[n % texts.length]!) as Record<string, unknown>
    const record_id = `01K0WEIR${String(n).padStart(18, '0')}`
    return JSON.stringify({ record_id, edge_id: edgeIdOf((n * 7_919) % edges), ...rest })
  }
  return Array.from({ length: recordCount / 100 }, (_, message) =>
    Buffer.from(Array.from({ length: 100 }, (_, line) => record(message * 100 + line)).join('\n')),
  )
}

function walk(view: TrafficView, records: readonly Buffer[]): number {
  const writer = new PackWriter()
  let evaluated = 0
  for (const bytes of records) {
    const context = { view, geo: noGeo, buffers: { packOf: () => writer } }
    evaluated += processMessage({ bytes, storedAtMs }, context).counts.evaluated.tcp_connection
  }
  writer.take()
  if (evaluated !== recordCount) throw new Error(`Only ${evaluated} records were evaluated.`)
  return recordCount
}

export const row: BenchRow = {
  name: 'size',
  mustReach: 'with 10,000 edges, a record costs at most 1.2 times what it costs with 10',
  async run(bench) {
    const contender = async (edges: number) => {
      const view = await buildTrafficView(configurationWith(edges), undefined, noYield)
      const records = messagesFor(edges)
      return () => walk(view, records)
    }
    const times = await bench.compare({
      '10 edges': await contender(10),
      '10,000 edges': await contender(10_000),
    })
    const ratio = times['10,000 edges'] / times['10 edges']
    return {
      measures: [{ name: 'cost with 10,000 edges', ratio, bound: { atMost: 1.2 } }],
      nsPerOperation: times,
    }
  },
}
