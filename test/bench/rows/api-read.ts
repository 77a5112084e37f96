/**
 * Reads of the API: one IP policy by its id, and a list of 100. The CPU of Weir's API for each, against that of a bare
 * fastify server which sends the same bytes from memory (`test/bench/floor/api-read.ts`). Both take turns, with the same
 * client.
 */
import { writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { run } from '../../harness/processes.js'
import { tempDir } from '../../harness/temp-dir.js'
import { processesBelow } from '../../harness/tree.js'
import { startWeir } from '../../harness/weir.js'
import { type BenchRow, median } from '../bench.js'
import { CpuMeter, totalCpu } from '../cpu-meter.js'

const connections = 16
const listed = 100
/** Reads in a turn, and before the first: until V8 has compiled what they need. */
const reads = { warmUp: 30_000, counted: 10_000 }
const quickReads = { warmUp: 5_000, counted: 2_000 }

interface Closers {
  teardown(close: () => unknown): void
}

/** A server that answers the same paths with the same bytes. */
interface Server {
  readonly url: string
  readonly meter: CpuMeter
}

interface Client {
  readonly headers: Readonly<Record<string, string>>
  readonly agent: Agent
}

const get = ({ headers, agent }: Client, url: string): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { headers, agent }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(Buffer.concat(chunks))
        else reject(new Error(`${url} was answered with ${answer.statusCode}.`))
      })
    })
    sent.on('error', reject)
    sent.end()
  })

/** CPU of the server in microseconds for each. */
async function cpuOf({ url, meter }: Server, client: Client, path: string, count: number): Promise<number> {
  const turn = await meter.turn(count, async () => {
    let begun = 0
    const connection = async (): Promise<void> => {
      while (begun++ < count) await get(client, `${url}${path}`)
    }
    await Promise.all(Array.from({ length: connections }, connection))
  })
  return totalCpu(turn.cpu)
}

async function openServers(closers: Closers) {
  const dir = tempDir(closers)
  const weir = await startWeir(dir, { WEIR_RATE_LIMIT: '0', WEIR_DECISION_LOG: 'off' })
  closers.teardown(() => weir.stop())
  const create = (n: number) =>
    weir.api.ipPolicy.create({ description: `policy ${n}`, metadata: '{"team":"a"}' })
  const [policy] = await Promise.all(Array.from({ length: listed }, (_, n) => create(n)))
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  closers.teardown(() => agent.destroy())
  const headers = { authorization: `Bearer ${weir.token}`, 'service-version': '2' }
  const client = { headers, agent }
  const paths = { resource: `/ip_policies/${policy!.id}`, list: `/ip_policies?limit=${listed}` }
  const files = { resource: join(dir, 'resource.json'), list: join(dir, 'list.json') }
  for (const name of ['resource', 'list'] as const)
    writeFileSync(files[name], await get(client, `${weir.url}${paths[name]}`))
  const floor = run('test/bench/floor/api-read.js', [files.resource, files.list])
  closers.teardown(() => floor.stop())
  const [, floorUrl = ''] = await floor.line(/^url: (\S+)$/)
  const apis = () => processesBelow(weir.process.pid).filter(({ role }) => role === 'api')
  const servers = {
    weir: { url: weir.url, meter: new CpuMeter(apis) },
    floor: { url: floorUrl, meter: new CpuMeter(() => [{ pid: floor.pid, role: 'floor' }]) },
  }
  for (const server of Object.values(servers)) await server.meter.measureIdle()
  return { client, paths, servers }
}

export const row: BenchRow = {
  name: 'api-read',
  mustReach: 'GET by id and a list of 100: at least half of a bare fastify route that sends the same bytes',
  async run({ quick }) {
    const open: (() => unknown)[] = []
    const closers = { teardown: (close: () => unknown) => void open.push(close) }
    try {
      const { client, paths, servers } = await openServers(closers)
      const { warmUp, counted } = quick ? quickReads : reads
      const measures = []
      const nsPerOperation: Record<string, number> = {}
      for (const name of ['resource', 'list'] as const) {
        const [weir, floor]: [number[], number[]] = [[], []]
        for (const server of [servers.weir, servers.floor]) await cpuOf(server, client, paths[name], warmUp)
        for (let turn = 0; turn < (quick ? 3 : 5); turn += 1) {
          weir.push(await cpuOf(servers.weir, client, paths[name], counted))
          floor.push(await cpuOf(servers.floor, client, paths[name], counted))
        }
        const ratio = median(floor) / median(weir)
        measures.push({ name: `bare fastify, of ours: ${name}`, ratio, bound: { atLeast: 0.5 } })
        nsPerOperation[`${name}: CPU of Weir's API`] = median(weir) * 1e3
        nsPerOperation[`${name}: CPU of bare fastify`] = median(floor) * 1e3
      }
      return { measures, nsPerOperation }
    } finally {
      for (const close of open.toReversed()) await close()
    }
  },
}
