/**
 * What partitions are for: the rate that NATS sustains. Each nats-server is held to a small share of a core, so that it is what
 * binds while all others have room: on two cores, three whole ones could not be filled. Three servers with one partition, of
 * which the leaders of its two streams do nearly all, against the same with six partitions; six destinations share the events,
 * one at home in each of six partitions. One copy of each stream. A turn ends when every event has arrived.
 */
import type { BenchRow } from '../bench.js'
import { holdToShare } from '../systems/cpu-share.js'
import { type Layout, openLayout } from '../systems/nats-cluster.js'
import { withClosers } from '../systems/system.js'
import { nsPerRecord, publishingAs, rateOf, type TakesTurns, takeTurns } from '../systems/throughput.js'

const destinations = 6
/** Of many nodes, each partition has about as many. */
const nodes = 600
/** A server that waits for its share answers late: enough must be on its way that none waits for that. */
const atOnce = 1_024
/** Of a core, for each server: three of them then leave most of two cores to everything else. */
const share = 0.05

const layouts = {
  'one partition': { servers: 3, replicas: 1, partitions: 1, destinations },
  '6 partitions': { servers: 3, replicas: 1, partitions: 6, destinations },
} satisfies Record<string, Layout>
type Name = keyof typeof layouts

export const row: BenchRow = {
  name: 'capacity',
  mustReach: 'three servers sustain 2.5 times the rate with 6 partitions that they do with one',
  run: (tools) =>
    withClosers(async (closers) => {
      const systems = new Map<string, TakesTurns>()
      const held: number[] = []
      for (const [name, layout] of Object.entries(layouts)) {
        const { throughput, servers } = await openLayout(closers, layout)
        await throughput.warmUp(['packed'], tools)
        systems.set(name, publishingAs(throughput, { nodes, atOnce }))
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
            name: 'rate with 6 partitions, of that with one',
            ratio: rate('6 partitions') / rate('one partition'),
            bound: { atLeast: 2.5 },
          },
        ],
        nsPerOperation: Object.assign({}, ...[...turns].map(([name, ofOne]) => nsPerRecord(name, ofOne))),
      }
    }),
}
