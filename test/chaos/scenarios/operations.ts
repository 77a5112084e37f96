/** What operators do to a deployment that works: stop roles, change the configuration, the number of partitions. */
import { setTimeout as sleep } from 'node:timers/promises'
import { subjectMappings } from '../../../src/delivery/wire/partitions.js'
import { monotonicMs } from '../../../src/ground/core/clock.js'
import { residentOf } from '../../bench/memory-meter.js'
import { revive } from '../revival.js'
import type { Scenario } from '../scenario.js'
import type { Site } from '../site.js'

const perSecond = 1_000
const stops = 30
const stopWithinMs = 10_000

export const stopped: Scenario = {
  name: 'stops',
  fault: `SIGTERM to pipeline and deliver under load, ${stops} each`,
  passesWhen: 'each ends within 10 s with code 0; nothing is lost, and nothing is repeated',
  partitions: [1, 4],
  run: async (run) => {
    const traffic = await run.open()
    const { site, publisher } = traffic
    publisher.pace(perSecond / 2)
    const tookMs: number[] = []
    const broken: string[] = []
    const count = run.count(stops)
    for (let n = 0; n < count; n += 1)
      for (const role of ['pipeline', 'deliver'] as const) {
        const workers = site.ofRole(role)
        const worker = workers[n % workers.length]!
        await sleep(500 + run.random(`${role} ${n}`) * 1_500)
        const begunMs = monotonicMs()
        const { code } = await worker.running.stop()
        const ms = monotonicMs() - begunMs
        tookMs.push(ms)
        if (code !== 0) broken.push(`a ${role} ended with ${code}`)
        if (ms > run.allowed(stopWithinMs)) broken.push(`a ${role} took ${Math.round(ms)} ms to end`)
        await revive(site, worker)
      }
    const figures = { stops: String(tookMs.length), longest: `${(Math.max(...tookMs) / 1_000).toFixed(1)} s` }
    return traffic.judge({ repeatsMax: () => 0 }, figures, broken)
  },
}

const flapsMs = 300_000
const changesPerSecond = 10
const mebibyte = 1024 * 1024
const flatBytes = 64 * mebibyte

const memoryOf = (site: Site): number =>
  residentOf(site.workers.map(({ running, role }) => ({ pid: running.pid, role }))).privateBytes

/** Edges, subscriptions and destinations of others come, change and go. */
async function changeOnce({ api }: Site, n: number): Promise<void> {
  const hostports = [`flapping-${n}.example:22`]
  const edge = await api.tcpEdge.create({ hostports })
  const expressions = [`conn.client_port % ${2 + (n % 7)} == 0`]
  await api.tcpEdge.update(edge.id, {
    policies: { inbound: [{ name: 'flapping', expressions, actions: [{ type: 'deny' }] }] },
  })
  const source = { type: 'log.v0' }
  const target = { http: { url: 'http://127.0.0.1:9/nobody' } }
  const { id } = await api.eventDestination.create({ target })
  const subscription = await api.eventSubscription.create({ sources: [source], destination_ids: [id] })
  await api.eventSubscription.delete(subscription.id)
  await api.eventDestination.delete(id)
  await api.tcpEdge.delete(edge.id)
}

/** Calls of `changeOnce`. */
const callsPerRound = 7

export const flappingConfiguration: Scenario = {
  name: 'configuration-flaps',
  fault: `${changesPerSecond} changes of the configuration a second for five minutes`,
  passesWhen: 'no process restarts; the subscriptions that were not changed lose nothing; memory stays flat',
  run: async (run) => {
    const traffic = await run.open()
    const { site, publisher } = traffic
    publisher.pace(perSecond / 2)
    const pids = site.workers.map(({ running }) => running.pid)
    let rounds = 0
    const endMs = monotonicMs() + Math.max(10_000, flapsMs * run.size.share)
    let warm = 0
    for (const beganMs = monotonicMs(); monotonicMs() < endMs; ) {
      await changeOnce(site, rounds)
      rounds += 1
      if (warm === 0 && monotonicMs() > (beganMs + endMs) / 2) warm = memoryOf(site)
      await sleep(Math.max(0, beganMs + (rounds * callsPerRound * 1_000) / changesPerSecond - monotonicMs()))
    }
    const grown = memoryOf(site) - warm
    const broken = [
      ...(site.workers.every(({ running }, at) => running.pid === pids[at] && running.child.exitCode === null)
        ? []
        : ['a process ended']),
      ...(run.size.share === 1 && grown > flatBytes
        ? [`memory grew by ${Math.round(grown / mebibyte)} MiB in the second half`]
        : []),
    ]
    const figures = {
      changes: (rounds * callsPerRound).toLocaleString('en'),
      memory: `grew by ${Math.max(0, Math.round(grown / mebibyte))} MiB in the second half`,
    }
    return traffic.judge({ repeatsMax: () => 0 }, figures, broken)
  },
}

export const partitionsChanged: Scenario = {
  name: 'partitions-change',
  fault:
    'P goes 4 → 8 → 2 under load, one destination fails, a pipeline and a deliverer are added and killed',
  passesWhen: 'nothing is lost; the books are exact in each partition and in all',
  partitions: [4],
  run: async (run) => {
    const traffic = await run.open({ env: { WEIR_STORAGE_MAX: '1GiB' } })
    const { site, publisher } = traffic
    publisher.pace(perSecond / 2)
    const [failing] = site.destinations
    await failing!.trouble('error')
    const lastsMs = Math.max(5_000, 60_000 * run.size.share)
    for (const partitions of [8, 2]) {
      await sleep(lastsMs)
      await site.spreadOver(partitions, `mappings: ${JSON.stringify(subjectMappings(partitions))}`)
      const added = [await site.start('pipeline'), await site.start('deliver')]
      await sleep(lastsMs)
      for (const { running } of added) await running.kill()
    }
    await failing!.trouble(undefined)
    return traffic.judge({ repeatsMax: () => Number.POSITIVE_INFINITY }, { partitions: '4 → 8 → 2' })
  },
}
