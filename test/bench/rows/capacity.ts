/**
 * The purpose of partitions: the rate that NATS sustains. Each nats-server is held to a small share of a core, so that it is
 * what binds while all others have room: on two cores, three whole ones could not be filled. Three servers with six
 * partitions, against three with one partition, of which two lead a stream each, and against one server. Six destinations
 * share the events, one at home in each of six partitions. One copy of each stream. A turn ends when every event has
 * arrived.
 */
import type { BenchRow } from '../bench.js'
import { holdToShare } from '../systems/cpu-share.js'
import { type Layout, openLayout } from '../systems/nats-cluster.js'
import { withClosers } from '../systems/system.js'
import { nsPerRecord, publishingAs, rateOf, type TakesTurns, takeTurns } from '../systems/throughput.js'

const destinations = 6
/** Of many nodes, each partition has about as many. */
const nodes = 600
/**
 * A server that waits for its share answers late: so many messages are on their way that none waits for that. With one
 * partition, more would not be stored within a second, after which publishers repeat what was not acknowledged.
 */
const atOnce = (partitions: number): number => (partitions === 1 ? 128 : 384)
/** Of a core, for each server: three of them then leave most of two cores to everything else. */
const share = 0.05

const layouts = {
  'one partition, one server': { servers: 1, replicas: 1, partitions: 1, destinations },
  'one partition, three servers': { servers: 3, replicas: 1, partitions: 1, destinations },
  '6 partitions, three servers': { servers: 3, replicas: 1, partitions: 6, destinations },
} satisfies Record<string, Layout>
type Name = keyof typeof layouts

export const row: BenchRow = {
  name: 'capacity',
  mustReach:
    'three servers with 6 partitions sustain 2.5 times the rate that they do with one, and that one server does',
  run: (tools) =>
    withClosers(async (closers) => {
      const systems = new Map<string, TakesTurns>()
      const held: number[] = []
      for (const [name, layout] of Object.entries(layouts)) {
        const { throughput, servers, ingress } = await openLayout(closers, layout)
        await throughput.warmUp(['packed'], tools)
        systems.set(
          name,
          publishingAs(throughput, { nodes, atOnce: atOnce(layout.partitions), through: ingress }),
        )
        held.push(...servers.map(({ pid }) => pid))
      }
      console.log(
        `  each nats-server has ${share * 100} % of a core, by ${holdToShare(closers, held, share)}`,
      )
      const size = tools.quick ? { records: 60_000, turns: 3 } : { records: 120_000, turns: 5 }
      const turns = await takeTurns(systems, 'packed', size)
      const ratio = (name: Name, of: Name): number => rateOf(turns.get(name)!) / rateOf(turns.get(of)!)
      return {
        measures: (['one partition, three servers', 'one partition, one server'] as const).map((of) => ({
          name: `rate with 6 partitions on three servers, of ${of}`,
          ratio: ratio('6 partitions, three servers', of),
          bound: { atLeast: 2.5 },
        })),
        nsPerOperation: Object.assign({}, ...[...turns].map(([name, ofOne]) => nsPerRecord(name, ofOne))),
      }
    }),
}
