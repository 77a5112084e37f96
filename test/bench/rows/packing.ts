/**
 * The savings of packing: the CPU of the process that sends per event, from a full request to its answer over HTTP with the
 * real SDK, and what AWS bills. The server is another process, and accepts every record. A full request is what a lane makes
 * of a backlog: 500 events, or 2,000 if they are packed.
 */

import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import type { AwsDestination } from '../../../src/delivery/deliver/aws/aws-kind.js'
import { limitsOf } from '../../../src/delivery/deliver/aws/packed-limits.js'
import { type Packing, packings, recordsOf } from '../../../src/delivery/deliver/aws/packing.js'
import type { Sender } from '../../../src/delivery/deliver/kind/sender.js'
import { kindNamed, openSender } from '../../../src/delivery/deliver/kinds.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { someEvents } from '../../delivery/deliver/events.js'
import { run } from '../../harness/processes.js'
import { type BenchRow, type BenchTools, type Measure, median } from '../bench.js'
import { type Closers, withClosers } from '../systems/system.js'

const creds = { aws_access_key_id: 'AKIATEST', aws_secret_access_key: 'the secret' }
/** With their ids and the rest of the JSON, about as large as an event with all fields of a TCP connection. */
const eventsLike = (count: number) => someEvents(count, 'ev_', { padding: 'x'.repeat(420) })
/** For what is billed. */
const events = eventsLike(500)
const limits = (kind: string) => kindNamed(kind).limits

interface Service {
  readonly kind: string
  /** The size of a billed unit: each begun one of a record is billed, see `docs/scale.md`. */
  readonly stepBytes: number
  readonly answer: (records: number) => object
}

const services: readonly Service[] = [
  {
    kind: 'kinesis',
    stepBytes: 25_000,
    answer: (records) => ({
      FailedRecordCount: 0,
      Records: Array.from({ length: records }, () => ({
        SequenceNumber: '4'.repeat(56),
        ShardId: 'shardId-000000000000',
      })),
    }),
  },
  {
    kind: 'firehose',
    stepBytes: 5_000,
    answer: (records) => ({
      FailedPutCount: 0,
      RequestResponses: Array.from({ length: records }, () => ({ RecordId: 'x'.repeat(220) })),
    }),
  },
]

const recordsFor = (kind: string, packing: Packing, packed = events) =>
  recordsOf(packed, packing, kindNamed(kind).aws!.packing!)

interface Opened {
  readonly sender: Sender
  readonly events: readonly PackedEvent[]
}

/** A sender to a server that accepts everything, and the events of a full request. */
async function open({ kind, answer }: Service, packing: Packing, closers: Closers): Promise<Opened> {
  const { eventsMax } = limitsOf(
    { ...limits(kind), requestBytesMax: 0 },
    packing,
    kindNamed(kind).aws!.packing!,
  )
  const full = eventsLike(eventsMax)
  const server = run('test/bench/floor/accepting.js', [
    JSON.stringify(answer(recordsFor(kind, packing, full).length)),
  ])
  closers.teardown(() => server.stop())
  const [, port] = await server.line(/^port: (\d+)$/)
  const { address, requestBytes } = kindNamed(kind)
  const config: AwsDestination = {
    id: 'ed_1',
    accountId: 'ac_1',
    kind,
    address: address.example,
    auth: { creds },
    packing,
    options: {},
  }
  const sender = openSender(config, {
    aws: { endpointUrl: `http://127.0.0.1:${port}` },
    clock: new AwsClock(),
    requestTimeoutMs: 15_000,
    networks: new ReachableNetworks(),
    kinds: { [kind]: { requestBytesMax: requestBytes.max } },
  })
  closers.teardown(() => sender.close())
  return { sender, events: full }
}

/** This process's CPU, in nanoseconds per event. */
async function nsPerEvent({ sender, events: full }: Opened, count: number): Promise<number> {
  const before = process.cpuUsage()
  const { signal } = new AbortController()
  for (let sent = 0; sent < count; sent += full.length) {
    const { outcome } = await sender.send(full, signal)
    if (outcome !== 'accepted') throw new Error(`A request ended with ${outcome}.`)
  }
  const { user, system } = process.cpuUsage(before)
  return ((user + system) * 1e3) / count
}

async function compare(service: Service, { quick }: BenchTools): Promise<Record<Packing, number>> {
  const turns = quick ? 3 : 9
  const [warmUp, measured] = quick ? [40_000, 10_000] : [400_000, 40_000]
  return withClosers(async (closers) => {
    const taken: Record<Packing, number[]> = { none: [], ndjson: [] }
    const opened = await Promise.all(
      packings.map(async (packing) => ({ packing, ...(await open(service, packing, closers)) })),
    )
    for (const each of opened) await nsPerEvent(each, warmUp)
    for (let turn = 0; turn < turns; turn += 1)
      for (const each of opened) taken[each.packing].push(await nsPerEvent(each, measured))
    return { none: median(taken.none), ndjson: median(taken.ndjson) }
  })
}

const stepsBilled = ({ kind, stepBytes }: Service, packing: Packing): number =>
  recordsFor(kind, packing).reduce((sum, { dataBytes }) => sum + Math.ceil(dataBytes / stepBytes), 0)

export const row: BenchRow = {
  name: 'packing',
  inCi: true,
  mustReach: 'with several events in a record, 1.3 × the events per CPU, and a fraction of what is billed',
  async run(bench) {
    const measures: Measure[] = []
    const nsPerOperation: Record<string, number> = {}
    for (const service of services) {
      const { kind } = service
      const ns = await compare(service, bench)
      for (const packing of packings) nsPerOperation[`${kind}, packing ${packing}`] = ns[packing]
      const billed = stepsBilled(service, 'none') / stepsBilled(service, 'ndjson')
      measures.push(
        { name: `${kind}: events per CPU, packed`, ratio: ns.none / ns.ndjson, bound: { atLeast: 1.3 } },
        { name: `${kind}: less is billed`, ratio: billed, bound: { atLeast: kind === 'kinesis' ? 40 : 9 } },
      )
    }
    return { measures, nsPerOperation }
  },
}
