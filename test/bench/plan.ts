/**
 * A model of a deployment that is larger than one machine, from service times: the CPU that a record takes of each process.
 * It has two assumptions, which the row `model` checks with 2 and 4 partitions. A record takes as much of each process
 * however many partitions there are; and a server of NATS does, of a partition that it leads, what the only leader does of
 * one partition, and of the others what a follower does.
 */

/** Nanoseconds of CPU per record, with one partition and three copies. */
export interface ServiceTimes {
  /** Of the server that leads both streams. */
  readonly leader: number
  /** Of each server that has only copies. */
  readonly follower: number
  readonly pipeline: number
  readonly deliver: number
}

const copies = 3

/** Of all servers of NATS. */
export const natsTime = ({ leader, follower }: ServiceTimes): number => leader + (copies - 1) * follower

/** Of the server that does most, if partition n is led by server n, n + 3 … of three. */
export function busiestServerTime({ leader, follower }: ServiceTimes, partitions: number): number {
  const led = Math.ceil(partitions / copies) / partitions
  return led * leader + (1 - led) * follower
}

/** The assumptions of a plan, besides the service times. */
const assumed = {
  coresOfServer: 8,
  /** Cores are busy for so much of the time at the peak. */
  busy: 0.7,
  /** A leader works through the messages of its streams in order: of one core. */
  leaderBusy: 0.5,
  /** Of each server, which has one disk: bytes per second. */
  diskBytes: 500e6,
  /** Of a record, and of its event, as they are stored. */
  bytesStored: { record: 600, event: 160 },
  /** Dollars: a core of a general-purpose virtual machine for a month, a gigabyte of a network disk for a month. */
  price: { core: 30, gigabyte: 0.1 },
  /** How long records are kept, to replay them. */
  retentionHours: 1,
}

interface Plan {
  readonly partitions: number
  readonly natsServers: number
  readonly pipelines: number
  readonly deliverers: number
  readonly cores: number
  /** Written by each server of NATS, bytes per second. */
  readonly writtenPerServer: number
  /** Of all disks, bytes. */
  readonly stored: number
  /** Per month. */
  readonly dollars: number
}

/** The deployment that so many records per second need, each with one event. */
export function planFor(recordsPerSecond: number, times: ServiceTimes): Plan {
  const { coresOfServer, busy, leaderBusy, diskBytes, bytesStored, price, retentionHours } = assumed
  const cores = (ns: number): number => (recordsPerSecond * ns) / 1e9
  const natsCores = cores(natsTime(times)) / busy
  const pipelines = Math.ceil(cores(times.pipeline) / busy)
  const deliverers = Math.ceil(cores(times.deliver) / busy)
  const written = recordsPerSecond * (bytesStored.record + bytesStored.event) * copies
  const natsServers = Math.max(copies, Math.ceil(natsCores / coresOfServer), Math.ceil(written / diskBytes))
  // As many for each server: a multiple of their number.
  const leaders = Math.ceil(cores(times.leader) / leaderBusy / natsServers)
  const stored = recordsPerSecond * bytesStored.record * copies * retentionHours * 3_600
  const allCores = natsServers * coresOfServer + pipelines + deliverers
  return {
    partitions: leaders * natsServers,
    natsServers,
    pipelines,
    deliverers,
    cores: allCores,
    writtenPerServer: written / natsServers,
    stored,
    dollars: allCores * price.core + (stored / 1e9) * price.gigabyte,
  }
}
