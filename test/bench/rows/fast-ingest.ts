/**
 * Records that come one by one, a message each, at a rate at which nothing waits: the CPU of all processes per record if the
 * ingress node uses fast ingest, and if it publishes each message by itself, some dozens at a time; with `--against DIR`,
 * also to the build of another checkout. The deployments take turns. The node's own CPU is not counted.
 */
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import type { BenchRow, BenchTools, Measure } from '../bench.js'
import { serveOf } from '../serve-of.js'
import { type Closers, openWeir, withClosers } from '../systems/system.js'
import {
  costOf,
  nsPerRecord,
  publishingAs,
  type TakesTurns,
  Throughput,
  takeTurns,
} from '../systems/throughput.js'

const messagesPerSecond = 8_000
const fast = 'fast ingest'
const single = 'each by itself'

async function contendersFor(
  closers: Closers,
  { against, quick }: BenchTools,
): Promise<Map<string, TakesTurns>> {
  const weir = await openWeir(closers)
  const records = await weir.nats.streamInfo(onePartition.all[0]!.recordsStream)
  if (!('allow_batched' in (records?.config ?? {}))) throw new Error('This nats-server has no fast ingest.')
  const systems = new Map([[single, new Throughput(weir)]])
  if (against !== undefined)
    systems.set(against, new Throughput(await openWeir(closers, { serve: serveOf(against) })))
  for (const system of systems.values()) await system.warmUp(['single'], { quick })
  const paced = [...systems].map(
    ([name, system]) => [name, publishingAs(system, { messagesPerSecond })] as const,
  )
  const ingested: TakesTurns = {
    turn: (_, records) => systems.get(single)!.ingestTurn(records, messagesPerSecond),
  }
  return new Map<string, TakesTurns>([...paced, [fast, ingested]])
}

export const row: BenchRow = {
  name: 'fast-ingest',
  mustReach: 'CPU per record that comes in a message of its own, if the node uses fast ingest',
  run: (tools) =>
    withClosers(async (closers) => {
      const { against, quick } = tools
      const contenders = await contendersFor(closers, tools)
      const turns = await takeTurns(contenders, 'single', {
        records: quick ? 20_000 : 40_000,
        turns: quick ? 2 : 6,
      })
      const ratio = (name: string, other: string): number =>
        costOf(turns.get(name)!) / costOf(turns.get(other)!)
      const measures: Measure[] = [
        { name: `${fast}, of ${single}`, ratio: ratio(fast, single), bound: { atMost: 0.9 } },
      ]
      if (against !== undefined)
        measures.push(
          { name: `${fast}, of ${against}`, ratio: ratio(fast, against), bound: { atMost: 0.75 } },
          { name: `${single}, of ${against}`, ratio: ratio(single, against), bound: { atMost: 1.05 } },
        )
      const nsPerOperation = Object.assign({}, ...[...turns].map(([name, of]) => nsPerRecord(name, of)))
      return { measures, nsPerOperation }
    }),
}
