/**
 * `PUT` of 100,000 rules into an empty IP policy; the longest wait of other requests of the API meanwhile, which are sent
 * one after the other; and the same `PUT` again, which changes nothing. What must be reached was set in seconds on another
 * machine, so it is scaled by what `node -e 0` takes here.
 */
import { Agent, request } from 'node:http'
import { monotonicMs, sleep } from '../../../src/ground/core/clock.js'
import { rulesPerIpPolicyMax } from '../../../src/ground/core/limits.js'
import { tempDir } from '../../harness/temp-dir.js'
import { startWeir } from '../../harness/weir.js'
import { type BenchRow, median } from '../bench.js'
import { nodeStartMs, slowness } from '../slowness.js'

const putMs = 4_000
const pauseMs = 100
const unchangedMs = 1_000
const probeEveryMs = 2

interface Closers {
  teardown(close: () => unknown): void
}

type Send = (method: string, path: string, body?: Buffer) => Promise<void>

/** Rules of single addresses, as JSON. */
export const bodyOf = (count: number): Buffer => {
  const cidr = (n: number) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}/32`
  const rules = Array.from({ length: count }, (_, n) => ({ cidr: cidr(n), action: n % 2 ? 'deny' : 'allow' }))
  return Buffer.from(JSON.stringify({ rules }))
}

/** Sends requests as cheaply as it can: pauses of this process would be taken for pauses of the API. */
function sender(closers: Closers, url: string, token: string): Send {
  const agent = new Agent({ keepAlive: true })
  closers.teardown(() => agent.destroy())
  const headers = {
    authorization: `Bearer ${token}`,
    'service-version': '2',
    'content-type': 'application/json',
  }
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const sent = request(`${url}${path}`, { method, headers, agent }, (answer) => {
        answer.resume()
        answer.on('end', () => {
          if ((answer.statusCode ?? 500) < 300) resolve()
          else reject(new Error(`${method} ${path} was answered with ${answer.statusCode}.`))
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
}

/** Milliseconds of the work, and of the slowest of the probes meanwhile. */
async function timed(work: () => Promise<void>, probe: () => Promise<void>) {
  let isDone = false
  let longestMs = 0
  const probing = (async () => {
    while (!isDone) {
      const begunMs = monotonicMs()
      await probe()
      longestMs = Math.max(longestMs, monotonicMs() - begunMs)
      await sleep(probeEveryMs)
    }
  })()
  const begunMs = monotonicMs()
  await work()
  const ms = monotonicMs() - begunMs
  isDone = true
  await probing
  return { ms, longestMs }
}

export const row: BenchRow = {
  name: 'api-rules',
  mustReach: `PUT of 100,000 rules within ${putMs / 1e3} s, no other request waits over ${pauseMs} ms, unchanged again within ${unchangedMs / 1e3} s, scaled`,
  async run({ quick }) {
    const open: (() => unknown)[] = []
    const closers = { teardown: (close: () => unknown) => void open.push(close) }
    try {
      const weir = await startWeir(tempDir(closers), { WEIR_RATE_LIMIT: '0', WEIR_DECISION_LOG: 'off' })
      closers.teardown(() => weir.stop())
      const send = sender(closers, weir.url, weir.token)
      const body = bodyOf(quick ? rulesPerIpPolicyMax / 10 : rulesPerIpPolicyMax)
      const probed = await weir.api.ipPolicy.create({ description: 'probed' })
      const probe = () => send('GET', `/ip_policies/${probed.id}`)
      const [changed, unchanged, pauses]: [number[], number[], number[]] = [[], [], []]
      for (let turn = 0; turn < (quick ? 3 : 5); turn += 1) {
        const { id } = await weir.api.ipPolicy.create({ description: `policy ${turn}` })
        const put = () => send('PUT', `/ip_policies/${id}/rules`, body)
        const [first, second] = [await timed(put, probe), await timed(put, probe)]
        changed.push(first.ms)
        unchanged.push(second.ms)
        pauses.push(Math.max(first.longestMs, second.longestMs))
        await send('DELETE', `/ip_policies/${id}`)
      }
      const scale = slowness()
      const share = quick ? 0.1 : 1
      const of = (measured: readonly number[], boundMs: number) => median(measured) / scale / boundMs
      return {
        measures: [
          { name: 'PUT, of 4 s, scaled', ratio: of(changed, putMs * share), bound: { atMost: 1 } },
          { name: 'pause of the API, of 100 ms, scaled', ratio: of(pauses, pauseMs), bound: { atMost: 1 } },
          {
            name: 'unchanged again, of 1 s, scaled',
            ratio: of(unchanged, unchangedMs * share),
            bound: { atMost: 1 },
          },
        ],
        nsPerOperation: {
          PUT: median(changed) * 1e6,
          'pause of the API': median(pauses) * 1e6,
          'unchanged again': median(unchanged) * 1e6,
          'node -e 0': scale * nodeStartMs * 1e6,
        },
      }
    } finally {
      for (const close of open.toReversed()) await close()
    }
  },
}
