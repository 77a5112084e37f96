/**
 * Is the model of larger deployments right (`test/bench/plan.ts`)? Its service times are measured with one partition, on three
 * servers of which one leads everything, at full speed and at a low rate; it says from them what 2 and 4 partitions take, and these
 * are measured in the same run. Three copies of each stream, leaders spread, 64 nodes, four destinations with a quarter of the
 * events each.
 */
import type { BenchRow, Measure, RowResult } from '../bench.js'
import type { Turn } from '../cpu-meter.js'
import {
  busiestServerTime,
  type Load,
  natsTime,
  type ServiceTime,
  type ServiceTimes,
  serviceTimeOf,
  timeAt,
} from '../plan.js'
import { openLayout } from '../systems/nats-cluster.js'
import { withClosers } from '../systems/system.js'
import {
  cpuOf,
  nsPerRecord,
  publishingAs,
  rateOf,
  type TakesTurns,
  takeTurns,
} from '../systems/throughput.js'

const servers = 3
const destinations = 4
const nodes = 64
const layoutOf = (partitions: number) => ({ servers, replicas: 3, partitions, destinations }) as const
const nameOf = (partitions: number): string =>
  partitions === 1 ? 'one partition' : `${partitions} partitions`
/** One partition at a low rate, about that of one of four at full speed. */
const slow = 'one partition, slowly'
const messagesPerSecond = 100

/** Of each server of NATS. */
const serverTimes = (turns: readonly Turn[]): readonly number[] =>
  Array.from({ length: servers }, (_, server) => cpuOf(`nats-server ${server}`, turns))

const mean = (times: readonly number[]): number => times.reduce((sum, time) => sum + time, 0) / times.length

/** Of each process, nanoseconds of CPU per record. */
function timesOf(turns: readonly Turn[]): Record<keyof ServiceTimes, number> {
  const [leader = 0, ...followers] = serverTimes(turns)
  const [pipeline, deliver] = [cpuOf('pipeline', turns), cpuOf('deliver', turns)]
  return { leader, follower: mean(followers), pipeline, deliver }
}

const processKinds = ['leader', 'follower', 'pipeline', 'deliver'] as const

const forEachKind = (time: (kind: keyof ServiceTimes) => ServiceTime): ServiceTimes =>
  Object.fromEntries(processKinds.map((kind) => [kind, time(kind)])) as unknown as ServiceTimes

function serviceTimesOf(fast: readonly Turn[], slow: readonly Turn[]): ServiceTimes {
  const [ofFast, ofSlow] = [timesOf(fast), timesOf(slow)]
  return forEachKind((kind) =>
    serviceTimeOf(
      { perRecord: ofFast[kind], recordsPerSecond: rateOf(fast) },
      { perRecord: ofSlow[kind], recordsPerSecond: rateOf(slow) },
    ),
  )
}

/** The mean of servers that lead as many partitions: the largest of them would be larger by chance. */
function busiestTime(partitions: number, turns: readonly Turn[]): number {
  const times = serverTimes(turns)
  return mean(times.slice(0, partitions % times.length || times.length))
}

const parts = { perRecord: 'for a record', perPartition: 'in a second for a partition' } as const
const nameOfPart = (kind: keyof ServiceTimes, part: keyof ServiceTime): string =>
  `service time of ${kind}, ${parts[part]}`

/** As this row was recorded. */
export function serviceTimesIn({ nsPerOperation }: Pick<RowResult, 'nsPerOperation'>): ServiceTimes {
  const time = (kind: keyof ServiceTimes, part: keyof ServiceTime): number =>
    nsPerOperation[nameOfPart(kind, part)] ?? Number.NaN
  return forEachKind((kind) => ({
    perRecord: time(kind, 'perRecord'),
    perPartition: time(kind, 'perPartition'),
  }))
}

const recordedAs = (times: ServiceTimes): Record<string, number> =>
  Object.fromEntries(
    processKinds.flatMap((kind) => [
      [nameOfPart(kind, 'perRecord'), times[kind].perRecord],
      [nameOfPart(kind, 'perPartition'), times[kind].perPartition],
    ]),
  )

/** What the model says, in parts of what was measured. */
function errors(partitions: number, times: ServiceTimes, turns: readonly Turn[]): readonly Measure[] {
  const load: Load = { partitions, recordsPerSecond: rateOf(turns) }
  const compared: Readonly<Record<string, readonly [said: number, measured: number]>> = {
    'all nats-servers': [natsTime(times, load), servers * mean(serverTimes(turns))],
    'the busiest nats-server': [busiestServerTime(times, load), busiestTime(partitions, turns)],
    pipeline: [timeAt(times.pipeline, load), cpuOf('pipeline', turns)],
    deliverer: [timeAt(times.deliver, load), cpuOf('deliver', turns)],
  }
  return Object.entries(compared).map(([what, [said, measured]]) => ({
    name: `${nameOf(partitions)}: ${what}, the larger of said and measured to the other`,
    ratio: Math.max(said / measured, measured / said),
    bound: { atMost: 1.15 },
  }))
}

export const row: BenchRow = {
  name: 'model',
  mustReach: 'the model of larger deployments, from one partition, is right within 15 % with 2 and with 4',
  run: (tools) =>
    withClosers(async (closers) => {
      const systems = new Map<string, TakesTurns>()
      for (const partitions of [1, 2, 4]) {
        const { throughput, ingress } = await openLayout(closers, layoutOf(partitions))
        await throughput.warmUp(['packed'], tools)
        const publishing = { nodes, through: ingress }
        systems.set(nameOf(partitions), publishingAs(throughput, publishing))
        if (partitions === 1)
          systems.set(slow, publishingAs(throughput, { ...publishing, messagesPerSecond }))
      }
      const size = tools.quick ? { records: 50_000, turns: 3 } : { records: 100_000, turns: 7 }
      const turns = await takeTurns(systems, 'packed', size)
      const times = serviceTimesOf(turns.get(nameOf(1))!, turns.get(slow)!)
      return {
        measures: [2, 4].flatMap((partitions) => errors(partitions, times, turns.get(nameOf(partitions))!)),
        nsPerOperation: {
          ...recordedAs(times),
          ...Object.assign({}, ...[...turns].map(([name, ofOne]) => nsPerRecord(name, ofOne))),
        },
      }
    }),
}
