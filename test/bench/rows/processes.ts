/**
 * Two pipelines, and two deliverers, instead of one each: the rate, and the CPU of these processes per record. A deployment
 * with one and a deployment with two take turns. In each turn they are stopped by a signal, a backlog is published, and
 * then they continue until all of it is done: the publisher costs nothing while the time runs.
 *
 * On two cores, the first process has a core of its own, and the second shares the other one with everything else. So the
 * work of the others must be small, or their core is what is measured:
 *
 * - Pipelines evaluate four hundred patterns of a long server name for each record, none of which matches, and make no
 *   events: a pipeline takes some 100 µs for a record, all others together a tenth of that. So the row says that
 *   pipelines share a stream without waiting for each other. Where a record is cheap, nats-server soon needs the second
 *   core: with p µs of a pipeline and o of all others, two pipelines on two cores are at best 2p / (p + o) times as fast.
 * - Deliverers wait for an AWS that answers after 200 ms, as one far away does: one deliverer has a few requests at once to
 *   each destination, two have twice as many. This shows that they share a destination, and not that they share its cores.
 *   With an AWS that answers at once, the emulator and nats-server keep the second core busy, so that it says nothing.
 */

import { inputConsumer } from '../../../src/delivery/wire/names.js'
import { monotonicMs, sleep } from '../../../src/ground/core/clock.js'
import { policiesPerDirectionMax } from '../../../src/ground/core/limits.js'
import { exprPatternsMax } from '../../../src/ground/expr/check.js'
import { recordsStream } from '../../harness/first-partition.js'
import { type BenchRow, type BenchTools, type Measure, median, type RowResult } from '../bench.js'
import { openWeir, withClosers } from '../systems/system.js'
import { messagesOf, publishAll } from '../systems/traffic.js'
import { canPin, pinAll, Workers } from '../systems/workers.js'

const recordsPerMessage = 100
const lookAgainMs = 20
const farAwsMs = 200

/** As many policies as an edge may have, each with as many patterns as an expression may have. */
const costlyConditions = Array.from({ length: policiesPerDirectionMax }, (_, policy) =>
  Array.from(
    { length: exprPatternsMax },
    (_, n) => `matches(conn.server_name, '[a-y]+${policy}x${n}[.]')`,
  ).join(' || '),
)

/** A pattern reads it to its end, so a long name is what makes one costly; DNS allows 253 characters. */
const longName = `${Array.from({ length: 9 }, (_, n) => `${'abcdefghi'[n]}-service-of-tenant`).join('.')}.example.com`

type System = Awaited<ReturnType<typeof openWeir>>

interface Turn {
  readonly nsPerRecord: number
  /** CPU of the workers. */
  readonly cpuNsPerRecord: number
}

interface Backlog {
  readonly records: number
  readonly workers: Workers
  /** Makes the work while the workers are stopped. */
  make(from: number, to: number): Promise<void>
  /** So many records, from the first turn on, are done. */
  isDone(records: number): Promise<boolean>
}

type Contenders = Readonly<Record<1 | 2, Backlog>>

/** `turn`: from 0 on. */
async function takeTurn({ records, workers, make, isDone }: Backlog, turn: number): Promise<Turn> {
  const [from, to] = [turn * records, (turn + 1) * records]
  workers.stop()
  try {
    await make(from, to)
  } finally {
    // A stopped process can't end.
    workers.continue()
  }
  const [cpuUs, begunMs] = [workers.cpuUs, monotonicMs()]
  while (!(await isDone(to))) await sleep(lookAgainMs)
  const [spentUs, ms] = [workers.cpuUs - cpuUs, monotonicMs() - begunMs]
  return { nsPerRecord: (ms * 1e6) / records, cpuNsPerRecord: (spentUs * 1e3) / records }
}

/** Lets them take turns, the first turn of each for the compiler. */
async function compare(contenders: Contenders, turns: number) {
  const taken: Record<1 | 2, Turn[]> = { 1: [], 2: [] }
  pinAll([contenders[1].workers, contenders[2].workers])
  for (let turn = 0; turn <= turns; turn += 1)
    for (const count of [1, 2] as const) {
      const one = await takeTurn(contenders[count], turn)
      if (turn > 0) taken[count].push(one)
    }
  return taken
}

type Taken = Awaited<ReturnType<typeof compare>>

const timeOf = (turns: readonly Turn[]): number => median(turns.map(({ nsPerRecord }) => nsPerRecord))
const cpuOf = (turns: readonly Turn[]): number => median(turns.map(({ cpuNsPerRecord }) => cpuNsPerRecord))

const rateOfTwo = (name: string, taken: Taken): Measure => ({
  name: `${name}: rate of two, of one`,
  ratio: timeOf(taken[1]) / timeOf(taken[2]),
  bound: { atLeast: 1.7 },
})
const cpuOfTwo = (name: string, taken: Taken): Measure => ({
  name: `${name}: CPU per record of one, of two`,
  ratio: cpuOf(taken[1]) / cpuOf(taken[2]),
  bound: { atLeast: 0.85 },
})
const times = (name: string, taken: Taken): Record<string, number> => ({
  [`${name}, one, time per record`]: timeOf(taken[1]),
  [`${name}, two, time per record`]: timeOf(taken[2]),
  [`${name}, one, their CPU per record`]: cpuOf(taken[1]),
  [`${name}, two, their CPU per record`]: cpuOf(taken[2]),
})

const publishTo = (system: System, serverName?: string) => (from: number, to: number) =>
  publishAll(system.nats, messagesOf(from, to, recordsPerMessage, serverName))

const isRead = async ({ nats }: System): Promise<boolean> =>
  (await nats.consumerInfo(recordsStream, inputConsumer))?.unacknowledged === 0

const measurePipelines = ({ quick }: BenchTools): Promise<RowResult> =>
  withClosers(async (closers) => {
    const open = async (count: number): Promise<Backlog> => {
      const env = { WEIR_PIPELINES: String(count), WEIR_DELIVERERS: '1' }
      const system = await openWeir(closers, {
        destinations: 0,
        conditions: costlyConditions,
        serverName: longName,
        env,
      })
      return {
        records: quick ? 30_000 : 40_000,
        workers: new Workers(system.processes(), 'pipeline'),
        make: publishTo(system, longName),
        isDone: () => isRead(system),
      }
    }
    const taken = await compare({ 1: await open(1), 2: await open(2) }, quick ? 2 : 5)
    return {
      measures: [rateOfTwo('pipelines', taken), cpuOfTwo('pipelines', taken)],
      nsPerOperation: times('pipelines', taken),
    }
  })

const measureDeliverers = ({ quick }: BenchTools): Promise<RowResult> =>
  withClosers(async (closers) => {
    const open = async (count: number): Promise<Backlog> => {
      const env = { WEIR_PIPELINES: '1', WEIR_DELIVERERS: String(count) }
      const system = await openWeir(closers, { env })
      const { client } = system.emulator
      const name = system.streams[0]!
      await client.addFault({ effect: { type: 'latency', ms: farAwsMs }, service: 'kinesis' })
      return {
        // Many packs, so that the last ones, which can't be shared, are a small part.
        records: 80_000,
        workers: new Workers(system.processes(), 'deliver'),
        async make(from, to) {
          await publishTo(system)(from, to)
          while (!(await isRead(system))) await sleep(lookAgainMs)
        },
        isDone: async (records) => (await client.counts({ service: 'kinesis', name })).events >= records,
      }
    }
    const taken = await compare({ 1: await open(1), 2: await open(2) }, quick ? 2 : 5)
    return {
      measures: [rateOfTwo('deliverers', taken), cpuOfTwo('deliverers', taken)],
      nsPerOperation: times('deliverers', taken),
    }
  })

export const row: BenchRow = {
  name: 'processes',
  mustReach:
    'two pipelines, and two deliverers, are 1.7 times as fast as one where neither NATS nor AWS binds, and cost no more per record',
  async run(tools) {
    if (!canPin()) {
      console.log('  skipped: it needs two cores and taskset, of util-linux')
      return { measures: [], nsPerOperation: {} }
    }
    const [pipelines, deliverers] = [await measurePipelines(tools), await measureDeliverers(tools)]
    return {
      measures: [...pipelines.measures, ...deliverers.measures],
      nsPerOperation: { ...pipelines.nsPerOperation, ...deliverers.nsPerOperation },
    }
  },
}
