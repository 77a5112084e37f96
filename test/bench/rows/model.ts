/**
 * Is the model of larger deployments right (`test/bench/plan.ts`)? Its service times are measured with one partition, on
 * three servers of which one leads everything; it says from them what 2 and 4 partitions take, and these are measured in the
 * same run. Three copies of each stream, leaders spread, 64 nodes, four destinations with a quarter of the events each.
 */
import type { BenchRow, Measure, RowResult } from '../bench.js'
import type { Turn } from '../cpu-meter.js'
import { busiestServerTime, natsTime, type ServiceTimes } from '../plan.js'
import { openLayout } from '../systems/nats-cluster.js'
import { withClosers } from '../systems/system.js'
import { cpuOf, nsPerRecord, publishingAs, type TakesTurns, takeTurns } from '../systems/throughput.js'

const servers = 3
const destinations = 4
const nodes = 64
/**
 * Partitions are for rates at which their packs are full. Two cores reach a quarter of these: with messages of a quarter of
 * the usual size, packs are a quarter as large, too, and full.
 */
const payloadBytesMax = 256 * 1024
const layoutOf = (partitions: number) =>
  ({ servers, replicas: 3, partitions, destinations, payloadBytesMax }) as const
const nameOf = (partitions: number): string =>
  partitions === 1 ? 'one partition' : `${partitions} partitions`

/** Of each server of NATS. */
const serverTimes = (turns: readonly Turn[]): readonly number[] =>
  Array.from({ length: servers }, (_, server) => cpuOf(`nats-server ${server}`, turns))

const sum = (times: readonly number[]): number => times.reduce((all, time) => all + time, 0)
const mean = (times: readonly number[]): number => sum(times) / times.length

function serviceTimesOf(turns: readonly Turn[]): ServiceTimes {
  const [leader = 0, ...followers] = serverTimes(turns)
  const [pipeline, deliver] = [cpuOf('pipeline', turns), cpuOf('deliver', turns)]
  return { leader, follower: mean(followers), pipeline, deliver }
}

/** The mean of servers that lead as many partitions: the largest of them would be larger by chance. */
function busiestTime(partitions: number, turns: readonly Turn[]): number {
  const times = serverTimes(turns)
  return mean(times.slice(0, partitions % times.length || times.length))
}

const partOf = (what: string): string => `service time, ${what}`

/** As this row was recorded. */
export function serviceTimesIn({ nsPerOperation }: Pick<RowResult, 'nsPerOperation'>): ServiceTimes {
  const time = (what: string): number => nsPerOperation[partOf(what)] ?? Number.NaN
  return {
    leader: time('leader'),
    follower: time('follower'),
    pipeline: time('pipeline'),
    deliver: time('deliver'),
  }
}

/** The values of the model against the measured ones, part by part. */
function errors(partitions: number, times: ServiceTimes, turns: readonly Turn[]): readonly Measure[] {
  const compared: Readonly<Record<string, readonly [said: number, measured: number]>> = {
    'all nats-servers': [natsTime(times), sum(serverTimes(turns))],
    'the busiest nats-server': [busiestServerTime(times, partitions), busiestTime(partitions, turns)],
    pipeline: [times.pipeline, cpuOf('pipeline', turns)],
    deliverer: [times.deliver, cpuOf('deliver', turns)],
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
        systems.set(nameOf(partitions), publishingAs(throughput, { nodes, through: ingress }))
      }
      const size = tools.quick ? { records: 50_000, turns: 3 } : { records: 100_000, turns: 7 }
      const turns = await takeTurns(systems, 'packed', size)
      const times = serviceTimesOf(turns.get(nameOf(1))!)
      return {
        measures: [2, 4].flatMap((partitions) => errors(partitions, times, turns.get(nameOf(partitions))!)),
        nsPerOperation: {
          ...Object.fromEntries(Object.entries(times).map(([what, ns]) => [partOf(what), ns])),
          ...Object.assign({}, ...[...turns].map(([name, ofOne]) => nsPerRecord(name, ofOne))),
        },
      }
    }),
}
