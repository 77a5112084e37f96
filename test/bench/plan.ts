/**
 * A model of a deployment that is larger than one machine, from service times: the CPU that each process takes for a record, and in a
 * second for each partition, however few records it has (states of consumers, entries of Raft, packs that are not full).
 * The row `model` measures both with one partition, at two rates. The model's assumption, which the row checks with 2 and 4
 * partitions: both are the same however many partitions there are, and a server of NATS does, of a partition that it leads, what
 * the only leader does of one partition, and of the others what a follower does.
 */

/** Of one process, in nanoseconds of CPU. */
export interface ServiceTime {
  readonly perRecord: number
  /** In a second, for each partition that has records. */
  readonly perPartition: number
}

/** With one partition and three copies. */
export interface ServiceTimes {
  /** Of the server that leads both streams. */
  readonly leader: ServiceTime
  /** Of each server that has only copies. */
  readonly follower: ServiceTime
  readonly pipeline: ServiceTime
  readonly deliver: ServiceTime
}

/** What is to be done by all processes of a kind. */
export interface Load {
  readonly recordsPerSecond: number
  readonly partitions: number
}

/** What was measured of one process with one partition at a rate: nanoseconds of CPU per record. */
export interface Measured {
  readonly perRecord: number
  readonly recordsPerSecond: number
}

const copies = 3

/** From measurements at two rates. */
export function serviceTimeOf(fast: Measured, slow: Measured): ServiceTime {
  const perPartition =
    (slow.perRecord - fast.perRecord) / (1 / slow.recordsPerSecond - 1 / fast.recordsPerSecond)
  return { perRecord: fast.perRecord - perPartition / fast.recordsPerSecond, perPartition }
}

/** Nanoseconds per record. */
export const timeAt = (
  { perRecord, perPartition }: ServiceTime,
  { partitions, recordsPerSecond }: Load,
): number => perRecord + (perPartition * partitions) / recordsPerSecond

/** Of all servers of NATS, per record. */
export const natsTime = ({ leader, follower }: ServiceTimes, load: Load): number =>
  timeAt(leader, load) + (copies - 1) * timeAt(follower, load)

/** Of the server that does most, per record, if partition n is led by server n, n + 3 … of three. */
export function busiestServerTime({ leader, follower }: ServiceTimes, load: Load): number {
  const led = Math.ceil(load.partitions / copies) / load.partitions
  return led * timeAt(leader, load) + (1 - led) * timeAt(follower, load)
}

/** What a plan takes for granted, besides the service times. */
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

/** What so many records per second need, each with one event. */
export function planFor(recordsPerSecond: number, times: ServiceTimes): Plan {
  const { coresOfServer, busy, diskBytes, bytesStored, price, retentionHours } = assumed
  const written = recordsPerSecond * (bytesStored.record + bytesStored.event) * copies
  let natsServers = Math.max(copies, Math.ceil(written / diskBytes))
  let load = { recordsPerSecond, partitions: partitionsFor(recordsPerSecond, times.leader, natsServers) }
  const coresFor = (time: number): number => (recordsPerSecond * time) / 1e9 / busy
  while (coresFor(natsTime(times, load)) > natsServers * coresOfServer) {
    natsServers += 1
    load = { recordsPerSecond, partitions: partitionsFor(recordsPerSecond, times.leader, natsServers) }
  }
  const pipelines = Math.ceil(coresFor(timeAt(times.pipeline, load)))
  const deliverers = Math.ceil(coresFor(timeAt(times.deliver, load)))
  const stored = recordsPerSecond * bytesStored.record * copies * retentionHours * 3_600
  const cores = natsServers * coresOfServer + pipelines + deliverers
  return {
    partitions: load.partitions,
    natsServers,
    pipelines,
    deliverers,
    cores,
    writtenPerServer: written / natsServers,
    stored,
    dollars: cores * price.core + (stored / 1e9) * price.gigabyte,
  }
}

/** So many that no leader has too much to do, and as many for each server: a multiple of their number. */
function partitionsFor(recordsPerSecond: number, leader: ServiceTime, natsServers: number): number {
  const forRecords = assumed.leaderBusy - leader.perPartition / 1e9
  const leaders = (recordsPerSecond * leader.perRecord) / 1e9 / forRecords
  return Math.ceil(leaders / natsServers) * natsServers
}
