/** Two hours at half load, with faults of all kinds, one after the other. */
import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../../../src/ground/core/clock.js'
import { residentOf } from '../../bench/memory-meter.js'
import { isReady } from '../../harness/pages.js'
import { until } from '../../harness/weir.js'
import type { Run, Scenario } from '../scenario.js'
import type { Role, Site, Worker } from '../site.js'

const lastsMs = 2 * 60 * 60_000
const perSecond = 400
const pauseMs = 3_000
const mebibyte = 1024 * 1024

type Fault = (site: Site, draw: (below: number) => number) => Promise<unknown>

const oneOf = (site: Site, draw: (below: number) => number, ...roles: Role[]): Worker => {
  const workers = roles.flatMap((role) => site.ofRole(role))
  return workers[draw(workers.length)]!
}

const faults: Readonly<Record<string, Fault>> = {
  'a process is killed': async (site, draw) => {
    const worker = oneOf(site, draw, 'pipeline', 'deliver', 'api')
    await worker.running.kill()
    await site.restart(worker)
  },
  'a process is stopped': async (site, draw) => {
    const worker = oneOf(site, draw, 'pipeline', 'deliver')
    await worker.running.stop()
    await site.restart(worker)
  },
  'nats-server is killed': async ({ servers: [server] }) => {
    await server!.kill()
    await server!.start()
  },
  'nats-server is frozen': async ({ servers: [server] }, draw) => {
    server!.freeze()
    await sleep(1_000 * (1 + draw(15)))
    server!.thaw()
  },
  'a connection is half open': async (site, draw) => {
    const { wire } = oneOf(site, draw, 'pipeline', 'deliver', 'api')
    wire.silence()
    await sleep(1_000 * (1 + draw(40)))
    wire.heal()
  },
  'connections break': async (site, draw) => oneOf(site, draw, 'pipeline', 'deliver', 'api').wire.cut(),
  'a destination is in trouble': async (site, draw) => {
    const troubled = site.destinations.filter(({ troubles }) => troubles.length > 0)
    const destination = troubled[draw(troubled.length)]!
    await destination.trouble(destination.troubles[draw(destination.troubles.length)])
    await sleep(1_000 * (1 + draw(20)))
    await destination.trouble(undefined)
  },
  'ClickHouse hangs, fails or answers short': async ({ clickhouse }, draw) => {
    await clickhouse.mode((['hang', 'fail', 'short'] as const)[draw(3)]!)
    await sleep(1_000 * (1 + draw(10)))
    await clickhouse.mode('ok')
  },
}

async function randomFaults(run: Run): ReturnType<Scenario['run']> {
  const traffic = await run.open({ workers: 2 })
  const { site, publisher } = traffic
  publisher.pace(perSecond)
  const names = Object.keys(faults)
  const met = new Map<string, number>()
  const endMs = monotonicMs() + Math.max(60_000, lastsMs * run.size.share)
  for (let count = 0; monotonicMs() < endMs; count += 1) {
    let drawn = 0
    const draw = (below: number): number => Math.floor(run.random(`${count} ${drawn++}`) * below)
    const name = names[draw(names.length)]!
    run.say(`${count}: ${name}`)
    await faults[name]!(site, draw)
    met.set(name, (met.get(name) ?? 0) + 1)
    await sleep(pauseMs)
  }
  await until('it is ready', () => isReady(site.apiUrl).catch(() => false))
  const memory = residentOf(
    site.workers.map(({ running, role }) => ({ pid: running.pid, role })),
  ).privateBytes
  const figures = {
    faults: [...met].map(([name, count]) => `${name} ${count} ×`).join(', '),
    'memory of all roles at the end': `${Math.round(memory / mebibyte)} MiB`,
  }
  return traffic.judge({ repeatsMax: () => Number.POSITIVE_INFINITY }, figures)
}

export const random: Scenario = {
  name: 'random',
  fault: 'two hours at half load with faults of all kinds, drawn by the seed',
  passesWhen: 'nothing is lost; the books balance exactly for each destination',
  partitions: [4],
  run: randomFaults,
}
