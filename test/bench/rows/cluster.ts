/**
 * The cost of partitions on three servers with their leaders spread: the CPU of all processes per record, all nats-servers
 * included, at full speed, from 64 nodes to four destinations, one at home in each of four partitions.
 *
 * - One copy (R1): four partitions on three servers, against one partition on one server. More than one server costs
 *   what goes from one to another: a client is connected to one of them, and most leaders are elsewhere.
 * - Three copies (R3): four partitions against one, both on three servers. A server can't hold three copies, so there is no
 *   R3 on one server; and what the copies cost is the price of three copies, which a deployment with one partition pays,
 *   too. It is shown by the two systems of one partition, and has no bound.
 */
import type { BenchRow, Measure } from '../bench.js'
import { type Layout, openLayout } from '../systems/nats-cluster.js'
import { withClosers } from '../systems/system.js'
import { costOf, nsPerRecord, publishingAs, type TakesTurns, takeTurns } from '../systems/throughput.js'

const destinations = 4
const nodes = 64

const layouts = {
  'R1, one partition, one server': { servers: 1, replicas: 1, partitions: 1, destinations },
  'R1, 4 partitions, three servers': { servers: 3, replicas: 1, partitions: 4, destinations },
  'R3, one partition, three servers': { servers: 3, replicas: 3, partitions: 1, destinations },
  'R3, 4 partitions, three servers': { servers: 3, replicas: 3, partitions: 4, destinations },
} satisfies Record<string, Layout>
type Name = keyof typeof layouts

export const row: BenchRow = {
  name: 'cluster',
  mustReach:
    '4 partitions on three servers cost at most 1.15 times as much per record as one with as many copies',
  run: (tools) =>
    withClosers(async (closers) => {
      const systems = new Map<string, TakesTurns>()
      for (const [name, layout] of Object.entries(layouts)) {
        const { throughput, ingress } = await openLayout(closers, layout)
        await throughput.warmUp(['packed'], tools)
        systems.set(name, publishingAs(throughput, { nodes, through: ingress }))
      }
      const size = tools.quick ? { records: 50_000, turns: 3 } : { records: 100_000, turns: 5 }
      const turns = await takeTurns(systems, 'packed', size)
      const ratio = (name: Name, of: Name): number => costOf(turns.get(name)!) / costOf(turns.get(of)!)
      const measures: Measure[] = [
        {
          name: 'R1: 4 partitions on three servers, of one on one',
          ratio: ratio('R1, 4 partitions, three servers', 'R1, one partition, one server'),
          bound: { atMost: 1.15 },
        },
        {
          name: 'R3: 4 partitions, of one, on three servers',
          ratio: ratio('R3, 4 partitions, three servers', 'R3, one partition, three servers'),
          bound: { atMost: 1.15 },
        },
      ]
      return {
        measures,
        nsPerOperation: Object.assign({}, ...[...turns].map(([name, ofOne]) => nsPerRecord(name, ofOne))),
      }
    }),
}
