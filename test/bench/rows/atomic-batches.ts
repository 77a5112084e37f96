/**
 * Whether it would pay to store packs as atomic batches (nats-server 2.12 and later), which Weir does not do: the CPU of
 * nats-server per message of a batch, beside messages that are published at the same time, each by itself. Of packs of a
 * hundred destinations, and of full ones.
 */
import { type JetStreamClient, jetstream, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'
import { type BenchRow, type Measure, median } from '../bench.js'
import { cpuUsed } from '../cpu-meter.js'
import { withClosers } from '../systems/system.js'

const shapes = [
  { title: '100 packs of 2 kB', count: 100, bytes: 2_000, groups: 30 },
  { title: '8 packs of 130 kB', count: 8, bytes: 130_000, groups: 100 },
]
const turns = 5
type Store = (client: JetStreamClient, subjects: readonly string[], data: Uint8Array) => Promise<unknown>

const single: Store = (client, subjects, data) =>
  Promise.all(subjects.map((subject) => client.publish(subject, data, { msgID: crypto.randomUUID() })))

const batched: Store = async (client, subjects, data) => {
  const batch = await client.startBatch(subjects[0]!, data)
  for (const subject of subjects.slice(1, -1)) batch.add(subject, data)
  return batch.commit(subjects.at(-1)!, data)
}

export const row: BenchRow = {
  name: 'atomic-batches',
  mustReach:
    'if an atomic batch costs nats-server clearly less than its messages by themselves, use them for packs',
  run: () =>
    withClosers(async (closers) => {
      const server = new OwnNats(tempDir(closers))
      await server.start()
      closers.teardown(() => server.stop())
      const nats = await connect({ servers: server.url })
      closers.teardown(() => nats.close())
      const [manager, client] = [await jetstreamManager(nats), jetstream(nats)]
      const [name, retention] = ['packs', RetentionPolicy.Workqueue]
      await manager.streams.add({ name, subjects: ['packs.*'], retention, allow_atomic: true })
      const cpuUs = (): number => cpuUsed([{ pid: server.pid, role: 'server' }])['server']!
      const measures: Measure[] = []
      const nsPerOperation: Record<string, number> = {}
      for (const { title, count, bytes, groups } of shapes) {
        const subjects = Array.from({ length: count }, (_, at) => `packs.${at}`)
        const data = new Uint8Array(bytes).fill(65)
        const spent: Record<'single' | 'batched', number[]> = { single: [], batched: [] }
        for (let turn = 0; turn < turns; turn += 1)
          for (const [way, store] of [['single', single] as const, ['batched', batched] as const]) {
            const before = cpuUs()
            for (let group = 0; group < groups; group += 1) await store(client, subjects, data)
            spent[way].push((cpuUs() - before) / (groups * count))
            await manager.streams.purge(name)
          }
        const [alone, together] = [median(spent.single), median(spent.batched)]
        Object.assign(nsPerOperation, {
          [`${title}: each by itself`]: alone * 1e3,
          [`${title}: a batch`]: together * 1e3,
        })
        measures.push({
          name: `a batch, of single ones: ${title}`,
          ratio: together / alone,
          bound: { atLeast: 0.95 },
        })
      }
      return { measures, nsPerOperation }
    }),
}
