/**
 * How long after its publication a record's event is accepted by Kinesis, at 1,000 records per second, one per message. The
 * floor waits up to 100 ms for events that share a request. Both take turns, each with a nats-server and an emulator of
 * its own. The emulator notes when an event arrived, by the clock of the machine, which is also that of the publisher.
 */
import { type BenchRow, median } from '../bench.js'
import { Latencies, type Latency, type Share } from '../systems/latencies.js'
import { openFloor, openWeir, withClosers } from '../systems/system.js'

const recordsPerSecond = 1_000
const floorLingerMs = 100

export const row: BenchRow = {
  name: 'latency',
  mustReach: 'from publish to accepted at 1,000 records/s: p50 at most 3, p99 at most 4 times the floor',
  run: ({ quick }) =>
    withClosers(async (closers) => {
      const [keep, lingerMs] = ['all', floorLingerMs] as const
      const weir = new Latencies(await openWeir(closers, { keep }), recordsPerSecond)
      const floor = new Latencies(await openFloor(closers, { keep, lingerMs }), recordsPerSecond)
      const taken: Record<'weir' | 'floor', Latency[]> = { weir: [], floor: [] }
      const records = (quick ? 1 : 5) * recordsPerSecond
      // The first turn of each is for the compiler.
      for (let turn = 0; turn <= (quick ? 3 : 5); turn += 1)
        for (const [name, system] of [
          ['weir', weir],
          ['floor', floor],
        ] as const) {
          const latency = await system.turn(records)
          if (turn > 0) taken[name].push(latency)
        }
      const ms = (name: 'weir' | 'floor', share: Share) =>
        median(taken[name].map((latency) => latency[share]))
      const ratio = (share: Share) => ms('weir', share) / ms('floor', share)
      return {
        measures: [
          { name: 'p50 of the floor', ratio: ratio('p50'), bound: { atMost: 3 } },
          { name: 'p99 of the floor', ratio: ratio('p99'), bound: { atMost: 4 } },
        ],
        nsPerOperation: Object.fromEntries(
          (['weir', 'floor'] as const).flatMap((name) =>
            (['p50', 'p99'] as const).map((share) => [`${name}, ${share}`, ms(name, share) * 1e6]),
          ),
        ),
      }
    }),
}
