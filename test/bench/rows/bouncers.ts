/**
 * The API's cost of the bouncer of an IP policy of 100,000 deny rules: the whole pull, with which a bouncer starts, after a
 * rule has changed, so that nothing of the pull before can be used; a pull after which nothing has changed; and how long
 * after its answer a change is in a pull. CPU is that of the API's process.
 */

import { monotonicMs, sleep } from '../../../src/ground/core/clock.js'
import { rulesPerIpPolicyMax } from '../../../src/ground/core/limits.js'
import { openClient } from '../../../src/words/client/client.js'
import { tempDir } from '../../harness/temp-dir.js'
import { processesBelow, type TreeProcess } from '../../harness/tree.js'
import { type RunningWeir, startWeir } from '../../harness/weir.js'
import { type BenchRow, median } from '../bench.js'
import { cpuUsed, totalCpu } from '../cpu-meter.js'
import { nodeStartMs, slowness } from '../slowness.js'
import { withClosers } from '../systems/system.js'

const wholeMs = 1_000
const unchangedMs = 1
const visibleMs = 2_000
/** Enough for a clock of 10 ms. */
const unchangedPulls = 2_000
const pullEveryMs = 50
const idleMs = 2_000
const idleShareMax = 0.03
const idleWindowsMax = 60

interface Decisions {
  readonly new: readonly { readonly value: string }[] | null
  readonly deleted: readonly unknown[] | null
}

type Pull = (query?: string) => Promise<Decisions>

/** CPU of the API in milliseconds. */
class ApiMeter {
  readonly #processes: readonly TreeProcess[]

  constructor({ process }: RunningWeir) {
    this.#processes = processesBelow(process.pid).filter(({ role }) => role === 'api')
    if (this.#processes.length === 0) throw new Error('No process is the API.')
  }

  /** Resolves when what follows the writes of so many rows, such as merges of ClickHouse, is over. */
  async settled(): Promise<void> {
    for (let window = 0; window < idleWindowsMax; window += 1)
      if ((await this.of(() => sleep(idleMs))) < idleShareMax * idleMs) return
    throw new Error('The API does not come to rest.')
  }

  async of(work: () => Promise<unknown>): Promise<number> {
    const before = totalCpu(cpuUsed(this.#processes))
    await work()
    return (totalCpu(cpuUsed(this.#processes)) - before) / 1_000
  }
}

const cidrOf = (n: number): string => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}/32`

async function open(weir: RunningWeir) {
  // A busy machine takes long for so many rules.
  const api = openClient({ url: weir.url, token: weir.token, timeoutMs: 600_000 })
  const { id } = await api.ipPolicy.create({})
  // One less: the changes add one.
  const rules = Array.from({ length: rulesPerIpPolicyMax - 1 }, (_, n) => ({
    cidr: cidrOf(n),
    action: 'deny' as const,
    description: 'port scans',
  }))
  await api.replaceRules(id, rules)
  const { token } = await api.bouncer.create({ ip_policy_ids: [id] })
  const headers = { 'x-api-key': String(token) }
  const pull: Pull = async (query = '') => {
    const answer = await fetch(`${weir.url}/v1/decisions/stream${query}`, { headers })
    if (!answer.ok) throw new Error(`A pull was answered with ${answer.status}.`)
    return (await answer.json()) as Decisions
  }
  const rule = await api.ipPolicyRule.create({ ip_policy_id: id, cidr: '192.0.2.0/32', action: 'deny' })
  const change = async (value: string) =>
    void (await api.ipPolicyRule.update(rule.id, { cidr: `${value}/32` }))
  return { pull, change }
}

/** Until the range is in a pull: milliseconds from the answer of the change, and of CPU. */
async function untilPulled(meter: ApiMeter, pull: Pull, value: string): Promise<{ ms: number; cpu: number }> {
  const answeredMs = monotonicMs()
  const cpu = await meter.of(async () => {
    while (!(await pull()).new?.some((decision) => decision.value === value)) await sleep(pullEveryMs)
  })
  return { ms: monotonicMs() - answeredMs, cpu }
}

export const row: BenchRow = {
  name: 'bouncers',
  mustReach: `100,000 bans: a whole pull takes ${wholeMs} ms of CPU, one without changes ${unchangedMs} ms; a change is pulled within ${visibleMs} ms, scaled`,
  run: ({ quick }) =>
    withClosers(async (closers) => {
      const env = { WEIR_RATE_LIMIT: '0', WEIR_DECISION_LOG: 'off' }
      const weir = await startWeir(tempDir(closers), env)
      closers.teardown(() => weir.stop())
      const { pull, change } = await open(weir)
      const meter = new ApiMeter(weir)
      await meter.settled()
      const [wholes, waits, changed]: [number[], number[], number[]] = [[], [], []]
      for (let turn = 0; turn < (quick ? 3 : 9); turn += 1) {
        await change(`192.0.2.${2 * turn}`)
        wholes.push(await meter.of(() => pull('?startup=true')))
        const value = `192.0.2.${2 * turn + 1}`
        await change(value)
        const { ms, cpu } = await untilPulled(meter, pull, value)
        waits.push(ms)
        changed.push(cpu)
      }
      await meter.settled()
      // A change is in two pulls.
      await pull()
      const pulls = unchangedPulls / (quick ? 4 : 1)
      const unchanged =
        (await meter.of(async () => {
          for (let n = 0; n < pulls; n += 1) await pull()
        })) / pulls
      const scale = slowness()
      return {
        measures: [
          { name: 'CPU of a whole pull, of 1 s', ratio: median(wholes) / wholeMs, bound: { atMost: 1 } },
          {
            name: 'CPU of one without changes, of 1 ms',
            ratio: unchanged / unchangedMs,
            bound: { atMost: 1 },
          },
          {
            name: 'a change is pulled, of 2 s, scaled',
            ratio: median(waits) / scale / visibleMs,
            bound: { atMost: 1 },
          },
        ],
        nsPerOperation: {
          'whole pull: CPU': median(wholes) * 1e6,
          'the first whole pull: CPU': wholes[0]! * 1e6,
          'pull of a change: CPU': median(changed) * 1e6,
          'pull without changes: CPU': unchanged * 1e6,
          'from the answer of a change to its pull': median(waits) * 1e6,
          'node -e 0': scale * nodeStartMs * 1e6,
        },
      }
    }),
}
