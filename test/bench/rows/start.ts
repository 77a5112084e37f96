/**
 * How long `weir serve` takes with an empty data directory: until it is ready, and until the first event has arrived at
 * Kinesis; destination, subscription and edge are created as soon as it is ready. Compared with `node -e 0`, which takes
 * 40 ms on a quiet machine of two cores, in turns. With `--against DIR`, the build of another checkout takes turns, too.
 */
import { monotonicMs, sleep } from '../../../src/ground/core/clock.js'
import { tempDir } from '../../harness/temp-dir.js'
import { type Emulator, type Serve, startEmulator, startWeir } from '../../harness/weir.js'
import { token } from '../../integration/deployment.js'
import { type BenchRow, type Measure, median } from '../bench.js'
import { nodeStartMs } from '../node-start.js'
import { serveOf } from '../serve-of.js'

/** 3 s and 4 s of 40 ms. */
const readyMax = 75
const deliveredMax = 100

interface Start {
  readonly readyMs: number
  readonly deliveredMs: number
}

interface Closers {
  teardown(close: () => unknown): void
}

async function startOnce(emulator: Emulator, serve?: Serve): Promise<Start> {
  const closing: (() => unknown)[] = []
  const closers: Closers = { teardown: (close) => void closing.push(close) }
  const env = { AWS_ENDPOINT_URL: emulator.url, WEIR_BOOTSTRAP_TOKEN: token }
  const dataDir = tempDir(closers)
  const begunMs = monotonicMs()
  const weir = await startWeir(dataDir, env, '', serve)
  closers.teardown(() => weir.stop())
  try {
    const readyMs = monotonicMs() - begunMs
    await deliverOne(weir, emulator)
    return { readyMs, deliveredMs: monotonicMs() - begunMs }
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

/** Resolves when an event has arrived at a new stream. */
async function deliverOne({ api, nats }: Awaited<ReturnType<typeof startWeir>>, emulator: Emulator) {
  const stream = { service: 'kinesis', name: `first-${monotonicMs().toFixed()}` } as const
  const stream_arn = await emulator.client.addResource({ ...stream, keep: 'counts' })
  const { accessKeyId, secretAccessKey } = emulator.key
  const creds = { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey }
  const [{ id }] = await Promise.all([
    api.eventDestination.create({ target: { kinesis: { stream_arn, auth: { creds } } } }),
    api.tcpEdge.create({ hostports: ['ssh.example.com:22'] }),
  ])
  await api.eventSubscription.create({
    sources: [{ type: 'tcp_connection_closed.v0' }],
    destination_ids: [id],
  })
  const publisher = await nats()
  // A record that comes before the configuration causes no event.
  for (let n = 0; (await emulator.client.counts(stream)).events === 0; n += 1) {
    await publisher.publish('weir.records.eu.node-1', record(n))
    await sleep(50)
  }
}

const record = (n: number): string =>
  JSON.stringify({
    record_id: `01KAJ5T2Q8XN4RB6TZ${String(n).padStart(8, '0')}`,
    type: 'tcp_connection',
    conn: {
      client_ip: '203.0.113.7',
      client_port: 1_024,
      server_ip: '192.0.2.10',
      server_name: 'ssh.example.com',
      server_port: 22,
      start_ts: '2026-01-01T00:00:00.000Z',
      end_ts: '2026-01-01T01:00:00.000Z',
      bytes_in: 1,
      bytes_out: 1,
    },
  })

export const row: BenchRow = {
  name: 'start',
  mustReach: 'ready within 3 s and a first event within 4 s, if `node -e 0` takes 40 ms',
  async run({ quick, against }) {
    const emulator = await startEmulator()
    try {
      const contenders = new Map<string, Serve | undefined>([['weir', undefined]])
      if (against !== undefined) contenders.set(against, serveOf(against))
      const nodeMs: number[] = []
      const starts = new Map<string, Start[]>([...contenders.keys()].map((name) => [name, []]))
      for (let turn = 0; turn < (quick ? 2 : 5); turn += 1)
        for (const [name, serve] of contenders) {
          nodeMs.push(nodeStartMs())
          starts.get(name)!.push(await startOnce(emulator, serve))
        }
      return resultOf(median(nodeMs), starts)
    } finally {
      await emulator.stop()
    }
  },
}

function resultOf(nodeMs: number, starts: ReadonlyMap<string, readonly Start[]>) {
  const measures: Measure[] = []
  const nsPerOperation: Record<string, number> = { 'node -e 0': nodeMs * 1e6 }
  for (const [name, each] of starts) {
    const readyMs = median(each.map((start) => start.readyMs))
    const deliveredMs = median(each.map((start) => start.deliveredMs))
    measures.push(
      { name: `${name}: node -e 0, to ready`, ratio: readyMs / nodeMs, bound: { atMost: readyMax } },
      {
        name: `${name}: node -e 0, to the first event`,
        ratio: deliveredMs / nodeMs,
        bound: { atMost: deliveredMax },
      },
    )
    nsPerOperation[`${name}: to ready`] = readyMs * 1e6
    nsPerOperation[`${name}: to the first event`] = deliveredMs * 1e6
  }
  return { measures, nsPerOperation }
}
