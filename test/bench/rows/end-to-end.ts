/**
 * From a published record to its event at Kinesis: the CPU of all processes, NATS included, per record. A build, the floor
 * (`test/bench/floor/end-to-end.ts`), a floor that stores events as Weir does (`test/bench/floor/two-stages.ts`), and with
 * `--against DIR` the build of another checkout, take turns, each with a nats-server and an emulator of its own.
 */
import type { BenchRow, BenchTools, Measure } from '../bench.js'
import { serveOf } from '../serve-of.js'
import { openFloor, openWeir, type System, withClosers } from '../systems/system.js'
import {
  costOf,
  cpuOf,
  nsPerRecord,
  rateOf,
  type Shape,
  Throughput,
  takeTurns,
} from '../systems/throughput.js'

const titles = { packed: '100 records per message', single: 'one record per message' }
/** The storing floor makes packs of single records, which are too small to be the least. */
const floors = { packed: ['floor', 'storing floor'], single: ['floor'] }
const floorShare = { packed: 0.65, single: 0.6 }

async function measure(systems: ReadonlyMap<string, Throughput>, { quick, against }: BenchTools) {
  const nsPerOperation: Record<string, number> = {}
  const measures: Measure[] = []
  for (const shape of ['packed', 'single'] satisfies Shape[]) {
    const records = (shape === 'packed' ? 100_000 : 40_000) / (quick ? 5 : 1)
    const turns = await takeTurns(systems, shape, { records, turns: quick ? 2 : 6 })
    for (const [name, ofOne] of turns) Object.assign(nsPerOperation, nsPerRecord(`${shape}: ${name}`, ofOne))
    const cost = (name: string): number => costOf(turns.get(name)!)
    for (const floor of floors[shape])
      measures.push({
        name: `${floor}, of ours: ${titles[shape]}`,
        ratio: cost(floor) / cost('weir'),
        bound: { atLeast: floorShare[shape] },
      })
    if (against !== undefined)
      measures.push(
        {
          name: `of ${against}: ${titles[shape]}`,
          ratio: cost('weir') / cost(against),
          bound: { atMost: 1.05 },
        },
        {
          name: `pipeline, of ${against}: ${titles[shape]}`,
          ratio: cpuOf('pipeline', turns.get('weir')!) / cpuOf('pipeline', turns.get(against)!),
          bound: { atMost: 1.05 },
        },
        {
          name: `rate, of ${against}: ${titles[shape]}`,
          ratio: rateOf(turns.get('weir')!) / rateOf(turns.get(against)!),
          bound: { atLeast: 0.9 },
        },
      )
  }
  return { measures, nsPerOperation }
}

export const row: BenchRow = {
  name: 'end-to-end',
  mustReach: 'CPU per record of all processes near the floor; with --against DIR, near that of another build',
  run: (tools) =>
    withClosers(async (closers) => {
      const systems = new Map<string, System>([
        ['weir', await openWeir(closers)],
        ['floor', await openFloor(closers)],
        ['storing floor', await openFloor(closers, { stages: 2 })],
      ])
      const { against } = tools
      if (against !== undefined) systems.set(against, await openWeir(closers, { serve: serveOf(against) }))
      const contenders = new Map(
        [...systems].map(([name, system]) => [name, new Throughput(system, { name })]),
      )
      for (const contender of contenders.values()) await contender.warmUp(['packed', 'single'], tools)
      return await measure(contenders, tools)
    }),
}
