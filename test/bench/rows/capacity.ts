/**
 * What partitions are for: the rate that NATS sustains. Each nats-server is held to a small share of a core, so that it is what
 * binds while all others have room: on two cores, three whole ones could not be filled. One server with one partition, as a
 * deployment begins, against three servers with six partitions; six destinations share the events, one at home in each of six
 * partitions. One copy of each stream, because one server has no more. A turn ends when every event has arrived.
 *
 * One partition on three servers is no partner: it is two streams, which the cluster may put on one server or on two.
 */
import type { BenchRow } from '../bench.js'
import { holdToShare } from '../systems/cpu-share.js'
import { type Layout, openLayout } from '../systems/nats-cluster.js'
import { withClosers } from '../systems/system.js'
import { nsPerRecord, publishingAs, rateOf, type TakesTurns, takeTurns } from '../systems/throughput.js'

const destinations = 6
/** Of many nodes, each partition has about as many. */
const nodes = 600
/** Of a core, for each server: three of them then leave most of two cores to everything else. */
const share = 0.05

const layouts = {
  'one server, one partition': { servers: 1, replicas: 1, partitions: 1, destinations },
  'three servers, 6 partitions': { servers: 3, replicas: 1, partitions: 6, destinations },
} satisfies Record<string, Layout>
type Name = keyof typeof layouts

export const row: BenchRow = {
  name: 'capacity',
  mustReach: 'three servers with 6 partitions sustain 2.5 times the rate of one server with one',
  run: (tools) =>
    withClosers(async (closers) => {
      const systems = new Map<string, TakesTurns>()
      const held: number[] = []
      for (const [name, layout] of Object.entries(layouts)) {
        const { throughput, servers } = await openLayout(closers, layout)
        await throughput.warmUp(['packed'], tools)
        systems.set(name, publishingAs(throughput, { nodes }))
        held.push(...servers.map(({ pid }) => pid))
      }
      console.log(
        `  each nats-server has ${share * 100} % of a core, by ${holdToShare(closers, held, share)}`,
      )
      const size = tools.quick ? { records: 60_000, turns: 3 } : { records: 120_000, turns: 5 }
      const turns = await takeTurns(systems, 'packed', size)
      const rate = (name: Name): number => rateOf(turns.get(name)!)
      return {
        measures: [
          {
            name: 'rate of three servers with 6 partitions, of one with one',
            ratio: rate('three servers, 6 partitions') / rate('one server, one partition'),
            bound: { atLeast: 2.5 },
          },
        ],
        nsPerOperation: Object.assign({}, ...[...turns].map(([name, ofOne]) => nsPerRecord(name, ofOne))),
      }
    }),
}
