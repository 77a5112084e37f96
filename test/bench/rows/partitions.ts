/**
 * The cost of partitions: the CPU of all processes per record, nats-server included, with 2, 4 and 8 partitions instead of
 * one, on one server, where they have no use. Records come from 64 nodes, as fast as they are stored, and at a rate at which
 * packs are stored before they are full. Deployments take turns.
 */
import type { BenchRow, Measure } from '../bench.js'
import { openWeir, withClosers } from '../systems/system.js'
import { costOf, nsPerRecord, publishingAs, Throughput, takeTurns } from '../systems/throughput.js'
import type { Publishing } from '../systems/traffic.js'

const partitions = [1, 2, 4, 8]
const nodes = 64
const rates: Readonly<Record<string, Publishing>> = {
  'at full speed': { nodes },
  '20,000 records/s': { nodes, messagesPerSecond: 200 },
}
const nameOf = (count: number): string => (count === 1 ? 'one partition' : `${count} partitions`)

export const row: BenchRow = {
  name: 'partitions',
  mustReach: '2, 4 and 8 partitions cost at most 1.1 times as much per record as one',
  run: (tools) =>
    withClosers(async (closers) => {
      const systems = new Map<string, Throughput>()
      for (const count of partitions) {
        const weir = await openWeir(closers, { env: { WEIR_PARTITIONS: String(count) } })
        systems.set(nameOf(count), new Throughput(weir))
      }
      for (const system of systems.values()) await system.warmUp(['packed'], tools)
      const measures: Measure[] = []
      const nsPerOperation: Record<string, number> = {}
      for (const [rate, publishing] of Object.entries(rates)) {
        const contenders = [...systems].map(([name, one]) => [name, publishingAs(one, publishing)] as const)
        const turns = await takeTurns(
          new Map(contenders),
          'packed',
          tools.quick ? { records: 50_000, turns: 3 } : { records: 100_000, turns: 5 },
        )
        const cost = (count: number): number => costOf(turns.get(nameOf(count))!)
        for (const count of partitions.slice(1))
          measures.push({
            name: `${nameOf(count)} instead of one, ${rate}`,
            ratio: cost(count) / cost(1),
            bound: { atMost: 1.1 },
          })
        for (const [name, ofOne] of turns)
          Object.assign(nsPerOperation, nsPerRecord(`${name}, ${rate}`, ofOne))
      }
      return { measures, nsPerOperation }
    }),
}
