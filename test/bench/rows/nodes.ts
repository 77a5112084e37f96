/**
 * The cost of many ingress nodes: the CPU of all processes per record, nats-server included, if the records of one stream
 * come from 1,000 nodes instead of 10. Each node publishes on a subject of its own. Two deployments take turns.
 */
import type { BenchRow } from '../bench.js'
import { openWeir, withClosers } from '../systems/system.js'
import {
  costOf,
  nsPerRecord,
  publishingAs,
  type TakesTurns,
  Throughput,
  takeTurns,
} from '../systems/throughput.js'

const few = 10
const many = 1_000

const nameOf = (nodes: number): string => `${nodes.toLocaleString('en')} nodes`

export const row: BenchRow = {
  name: 'nodes',
  mustReach: 'records of 1,000 nodes cost at most 1.1 times as much as those of 10',
  run: (tools) =>
    withClosers(async (closers) => {
      const systems = new Map<string, TakesTurns>()
      for (const nodes of [few, many]) {
        const system = new Throughput(await openWeir(closers))
        await system.warmUp(['packed'], tools)
        systems.set(nameOf(nodes), publishingAs(system, { nodes }))
      }
      // Every node publishes in each turn: a message has 100 records.
      const turns = await takeTurns(systems, 'packed', { records: many * 100, turns: tools.quick ? 3 : 7 })
      const cost = (nodes: number): number => costOf(turns.get(nameOf(nodes))!)
      return {
        measures: [
          {
            name: `${nameOf(many)} instead of ${few}`,
            ratio: cost(many) / cost(few),
            bound: { atMost: 1.1 },
          },
        ],
        nsPerOperation: Object.assign({}, ...[...turns].map(([name, ofOne]) => nsPerRecord(name, ofOne))),
      }
    }),
}
