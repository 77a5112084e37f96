/**
 * From a published record to its event at Kinesis: the CPU of all processes, NATS included, per record. Records of 600
 * bytes, five conditions, 100 networks, one event of nine fields per record. A build, the floor (`floor/end-to-end.ts`),
 * and with `--against DIR` the build of another checkout, take turns, each with a nats-server and an emulator of its own.
 */
import type { EmulatorClient } from '../../../src/emulator/client.js'
import { type Nats, openNats } from '../../../src/nats/nats.js'
import { OwnNats } from '../../harness/own-nats.js'
import { run } from '../../harness/processes.js'
import { tempDir } from '../../harness/temp-dir.js'
import { processesBelow } from '../../harness/tree.js'
import { type Serve, startEmulator, startWeir, until } from '../../harness/weir.js'
import { settle, token } from '../../integration/deployment.js'
import { type BenchRow, type BenchTools, type Measure, median } from '../bench.js'
import { CpuMeter, type Turn, totalCpu } from '../cpu-meter.js'
import { serveOf } from '../serve-of.js'

const recordBytes = 600
const destination = { service: 'kinesis', name: 'all' } as const
const subject = 'weir.records.eu.node-1'
const publishedAtOnce = 64
/** Records per message. */
const shapes = { packed: 100, single: 1 }
type Shape = keyof typeof shapes

interface Closers {
  teardown(close: () => unknown): void
}

/** A contender; every record makes one event. */
class Contender {
  readonly #nats: Nats
  readonly #emulator: EmulatorClient
  readonly #meter: CpuMeter
  #published = 0

  constructor(nats: Nats, emulator: EmulatorClient, meter: CpuMeter) {
    this.#nats = nats
    this.#emulator = emulator
    this.#meter = meter
  }

  async warmUp(): Promise<void> {
    for (const shape of Object.keys(shapes) as Shape[]) await this.turn(shape, 10_000)
    await this.#meter.measureIdle()
  }

  turn(shape: Shape, records: number): Promise<Turn> {
    return this.#meter.turn(records, async () => {
      const from = this.#published
      this.#published += records
      await publishAll(this.#nats, messagesOf(from, this.#published, shapes[shape]))
      await until('all events have arrived', async () => {
        const { events } = await this.#emulator.counts(destination)
        return events >= this.#published
      })
    })
  }
}

function* messagesOf(from: number, to: number, records: number): Generator<string> {
  for (let n = from; n < to; n += records)
    yield Array.from({ length: records }, (_, at) => record(n + at)).join('\n')
}

/** As an ingress node does: without waiting for each answer. The publishers share the messages. */
async function publishAll(nats: Nats, messages: Iterable<string>): Promise<void> {
  const publishing = async (): Promise<void> => {
    for (const message of messages) await nats.publish(subject, message)
  }
  await Promise.all(Array.from({ length: publishedAtOnce }, publishing))
}

const record = (n: number): string => {
  const [minute, second] = [Math.floor(n / 60) % 60, n % 60].map((part) => String(part).padStart(2, '0'))
  const json = JSON.stringify({
    record_id: `01KAJ5T2Q8XN4RB6TZ${String(n).padStart(8, '0')}`,
    type: 'tcp_connection',
    conn: {
      client_ip: `10.${n % 120}.${n % 200}.${n % 250}`,
      client_port: 1_024 + (n % 60_000),
      server_ip: '192.0.2.10',
      server_name: 'ssh.example.com',
      server_port: 22,
      start_ts: `2026-01-01T00:${minute}:${second}.000Z`,
      end_ts: `2026-01-01T01:${minute}:${second}.000Z`,
      bytes_in: n,
      bytes_out: 7 * n,
    },
    ingress: '',
  })
  return json.replace('"ingress":""', `"ingress":"${'x'.repeat(recordBytes - json.length)}"`)
}

async function kinesis(closers: Closers) {
  const emulator = await startEmulator()
  closers.teardown(() => emulator.stop())
  const unlimited = { recordsPerSecond: null, bytesPerSecond: null, requestsPerSecond: null }
  const arn = await emulator.client.addResource({ ...destination, ...unlimited, keep: 'counts' })
  return { emulator, arn }
}

async function openWeir(closers: Closers, serve?: Serve): Promise<Contender> {
  const { emulator, arn } = await kinesis(closers)
  const env = {
    AWS_ENDPOINT_URL: emulator.url,
    WEIR_BOOTSTRAP_TOKEN: token,
    WEIR_RATE_LIMIT: '0',
    // Measured by itself, in the row "decision-log".
    WEIR_DECISION_LOG: 'off',
  }
  const weir = await startWeir(tempDir(closers), env, '', serve)
  closers.teardown(() => weir.stop())
  const { api } = weir
  const policy = await api.ipPolicy.create({})
  const networks = Array.from({ length: 100 }, (_, n) => ({
    cidr: `10.${n}.0.0/16`,
    action: 'allow' as const,
  }))
  await api.replaceRules(policy.id, networks)
  const expressions = [
    'conn.server_port == 2222',
    'conn.client_port < 1024',
    "conn.server_name == 'closed.example.com'",
    "conn.server_ip == '198.51.100.1'",
    "inCidrRange(conn.client_ip, '127.0.0.0/8')",
  ]
  const policies = expressions.map((expression, n) => ({
    name: `condition ${n}`,
    expressions: [expression],
    actions: [{ type: 'deny' as const }],
  }))
  await api.tcpEdge.create({
    hostports: ['ssh.example.com:22'],
    ip_restriction: { ip_policy_ids: [policy.id] },
    policies: { inbound: policies },
  })
  const { accessKeyId, secretAccessKey } = emulator.key
  const creds = { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey }
  const { id } = await api.eventDestination.create({
    target: { kinesis: { stream_arn: arn, auth: { creds } } },
  })
  await api.eventSubscription.create({
    sources: [{ type: 'tcp_connection_closed.v0' }],
    destination_ids: [id],
  })
  await settle()
  const meter = new CpuMeter(() => processesBelow(weir.process.pid))
  return new Contender(await weir.nats(), emulator.client, meter)
}

async function openFloor(closers: Closers): Promise<Contender> {
  const { emulator, arn } = await kinesis(closers)
  const server = new OwnNats(tempDir(closers))
  await server.start()
  closers.teardown(() => server.stop())
  const { accessKeyId, secretAccessKey } = emulator.key
  const program = run('test/bench/floor/end-to-end.js', [
    server.url,
    emulator.url,
    arn,
    accessKeyId,
    secretAccessKey,
  ])
  closers.teardown(() => program.stop())
  await program.line(/^ready$/)
  const nats = await openNats({ servers: [server.url], name: 'bench', replicas: 1 })
  closers.teardown(() => nats.close())
  const processes = [
    { pid: program.pid, role: 'floor' },
    { pid: server.pid, role: 'nats-server' },
  ]
  return new Contender(nats, emulator.client, new CpuMeter(() => processes))
}

async function measure(contenders: ReadonlyMap<string, Contender>, { quick, against }: BenchTools) {
  const cpu: Record<string, number> = {}
  const measures: Measure[] = []
  for (const shape of Object.keys(shapes) as Shape[]) {
    const turns = new Map<string, Turn[]>([...contenders.keys()].map((name) => [name, []]))
    const records = (shape === 'packed' ? 100_000 : 20_000) / (quick ? 5 : 1)
    for (let turn = 0; turn < (quick ? 2 : 5); turn += 1)
      for (const [name, contender] of contenders) turns.get(name)!.push(await contender.turn(shape, records))
    const cost = (name: string): number => median(turns.get(name)!.map((turn) => totalCpu(turn.cpu)))
    for (const [name, ofOne] of turns) {
      cpu[`${shape}: ${name}, CPU per record`] = cost(name) * 1e3
      for (const role of Object.keys(ofOne[0]!.cpu))
        cpu[`${shape}: ${name}, ${role}`] = median(ofOne.map((turn) => turn.cpu[role] ?? 0)) * 1e3
      cpu[`${shape}: ${name}, time per record`] = 1e9 / median(ofOne.map((turn) => turn.recordsPerSecond))
    }
    const name = shape === 'packed' ? '100 records per message' : 'one record per message'
    const atLeast = shape === 'packed' ? 0.65 : 0.6
    measures.push({
      name: `floor, of ours: ${name}`,
      ratio: cost('floor') / cost('weir'),
      bound: { atLeast },
    })
    if (against !== undefined)
      measures.push({
        name: `of ${against}: ${name}`,
        ratio: cost('weir') / cost(against),
        bound: { atMost: 1.05 },
      })
  }
  return { measures, nsPerOperation: cpu }
}

export const row: BenchRow = {
  name: 'end-to-end',
  mustReach: 'CPU per record of all processes near the floor; with --against DIR, near that of another build',
  async run(tools) {
    const open: (() => unknown)[] = []
    const closers = { teardown: (close: () => unknown) => void open.push(close) }
    try {
      const contenders = new Map([
        ['weir', await openWeir(closers)],
        ['floor', await openFloor(closers)],
      ])
      const { against } = tools
      if (against !== undefined) contenders.set(against, await openWeir(closers, serveOf(against)))
      for (const contender of contenders.values()) await contender.warmUp()
      return await measure(contenders, tools)
    } finally {
      for (const close of open.toReversed()) await close()
    }
  },
}
