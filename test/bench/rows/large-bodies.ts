/**
 * The effect on others while one key sends large bodies: twelve clients send 100,000 rules each, again and again, and go on
 * when they are refused. Two replace rules of one IP policy, the others try drafts, which leave nothing. How long `/healthz`
 * takes meanwhile, and how much memory the API keeps afterwards.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../../../src/ground/core/clock.js'
import { rulesPerIpPolicyMax } from '../../../src/ground/core/limits.js'
import { tempDir } from '../../harness/temp-dir.js'
import { processesBelow } from '../../harness/tree.js'
import { type RunningWeir, startWeir } from '../../harness/weir.js'
import { token } from '../../integration/deployment.js'
import { type BenchRow, median, percentile } from '../bench.js'
import { residentOf } from '../memory-meter.js'
import { slowness } from '../slowness.js'
import { type Closers, withClosers } from '../systems/system.js'
import { bodyOf } from './api-rules.js'

const clients = 12
const replacing = 2
const asDraft = '?validate_only=true'
const isDraft = (path: string): boolean => path.endsWith(asDraft)
const waitMs = 250
const givenBackAfterMs = 60_000
const mebibyte = 1024 ** 2
const keptBytesMax = 256 * mebibyte

/** Private memory of the API. */
const heldBy = ({ process }: RunningWeir): number =>
  residentOf(processesBelow(process.pid).filter(({ role }) => role === 'api')).privateBytes

async function send(weir: RunningWeir, path: string, body: Buffer, signal: AbortSignal): Promise<number> {
  const headers = {
    authorization: `Bearer ${weir.token}`,
    'service-version': '2',
    'content-type': 'application/json',
  }
  const options = { method: 'PUT', headers, body, signal }
  const answer = await fetch(`${weir.url}${path}`, options)
  await answer.arrayBuffer()
  return answer.status
}

/** The answers of each status. */
async function flood(weir: RunningWeir, paths: readonly string[], seconds: number) {
  const statuses = new Map<string, number>()
  const ends = AbortSignal.timeout(seconds * 1_000)
  // Two bodies in turn: one that changes nothing costs less.
  const bodies = [rulesPerIpPolicyMax, rulesPerIpPolicyMax - 1].map(bodyOf)
  const sending = async (path: string): Promise<void> => {
    for (let n = 0; !ends.aborted; n += 1) {
      const status = await send(weir, path, bodies[n % 2]!, ends).catch(() => 0)
      const kind = status === 200 && isDraft(path) ? 'of a draft' : ''
      const name = `${status || 'cut off'} ${kind}`.trimEnd()
      statuses.set(name, (statuses.get(name) ?? 0) + 1)
      if (status !== 200) await sleep(100)
    }
  }
  await Promise.all(paths.map(sending))
  return statuses
}

async function probe(weir: RunningWeir, until: { isOver: boolean }): Promise<number[]> {
  const waits: number[] = []
  while (!until.isOver) {
    const begunMs = monotonicMs()
    await fetch(`${weir.url}/healthz`).then((answer) => answer.arrayBuffer())
    waits.push(monotonicMs() - begunMs)
    await sleep(20)
  }
  return waits
}

async function open(closers: Closers): Promise<RunningWeir> {
  const env = { WEIR_BOOTSTRAP_TOKEN: token, WEIR_RATE_LIMIT: '0', WEIR_DECISION_LOG: 'off' }
  const weir = await startWeir(tempDir(closers), env)
  closers.teardown(() => weir.stop())
  return weir
}

export const row: BenchRow = {
  name: 'large-bodies',
  mustReach: `${clients} clients that send 100,000 rules at once: /healthz within ${waitMs} ms for 99 of 100, scaled; at most 256 MiB more a minute later`,
  run: ({ quick }) =>
    withClosers(async (closers) => {
      const factor = slowness()
      const weir = await open(closers)
      const path = `/ip_policies/${(await weir.api.ipPolicy.create({})).id}/rules`
      const paths = Array.from({ length: clients }, (_, n) => (n < replacing ? path : `${path}${asDraft}`))
      const heldBefore = heldBy(weir)
      const until = { isOver: false }
      const probing = probe(weir, until)
      const statuses = await flood(weir, paths, quick ? 15 : 60)
      until.isOver = true
      const waits = await probing
      const heldThen = heldBy(weir)
      await sleep(quick ? givenBackAfterMs / 3 : givenBackAfterMs)
      const kept = heldBy(weir) - heldBefore
      for (const [status, count] of statuses) console.log(`        ${count} answers ${status}`)
      const inMiB = (bytes: number): number => Math.round(bytes / mebibyte)
      console.log(
        `        API: ${inMiB(heldBefore)} MiB, then ${inMiB(heldThen)}, later ${inMiB(heldBefore + kept)}`,
      )
      const p99 = percentile(waits, 0.99)
      return {
        measures: [
          { name: 'p99 of /healthz, of 250 ms, scaled', ratio: p99 / waitMs / factor, bound: { atMost: 1 } },
          { name: 'memory kept, of 256 MiB', ratio: kept / keptBytesMax, bound: { atMost: 1 } },
        ],
        nsPerOperation: {
          '/healthz, median': median(waits) * 1e6,
          '/healthz, p99': p99 * 1e6,
          '/healthz, longest': Math.max(...waits) * 1e6,
        },
      }
    }),
}
