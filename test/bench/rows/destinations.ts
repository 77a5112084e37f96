/**
 * The cost of a further destination: the CPU of all processes per record, if every record makes an event for each of three
 * Kinesis streams instead of one. Two deployments take turns.
 */
import type { BenchRow } from '../bench.js'
import { openWeir, withClosers } from '../systems/system.js'
import { costOf, nsPerRecord, Throughput, takeTurns } from '../systems/throughput.js'

export const row: BenchRow = {
  name: 'destinations',
  mustReach: 'three destinations cost at most 1.7 times as much per record as one',
  run: (tools) =>
    withClosers(async (closers) => {
      const systems = new Map([
        ['one destination', new Throughput(await openWeir(closers))],
        ['three destinations', new Throughput(await openWeir(closers, { destinations: 3 }))],
      ])
      for (const system of systems.values()) await system.warmUp(['packed'], tools)
      const turns = await takeTurns(
        systems,
        'packed',
        tools.quick ? { records: 20_000, turns: 2 } : { records: 100_000, turns: 5 },
      )
      const cost = (name: string): number => costOf(turns.get(name)!)
      const ratio = cost('three destinations') / cost('one destination')
      return {
        measures: [{ name: 'three destinations instead of one', ratio, bound: { atMost: 1.7 } }],
        nsPerOperation: Object.assign({}, ...[...turns].map(([name, ofOne]) => nsPerRecord(name, ofOne))),
      }
    }),
}
