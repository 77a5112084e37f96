/** The API, everything at once, or the nats-server die while records and changes come. */
import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../../../src/ground/core/clock.js'
import { isReady, readyOf } from '../../harness/pages.js'
import { until } from '../../harness/weir.js'
import type { Run, Scenario, Traffic } from '../scenario.js'
import type { Site } from '../site.js'
import { Writers } from '../writers.js'

const perSecond = 300
const randomWithinMs = 400
/** Faults that end by themselves last so long in the full form. */
const frozenMs = 60_000
const noticedWithinMs = 10_000

const anyRepeats = () => Number.POSITIVE_INFINITY

async function withWrites(
  run: Run,
  kills: number,
  kill: (site: Site) => Promise<void>,
): ReturnType<Scenario['run']> {
  const traffic = await run.open()
  const { site, publisher } = traffic
  const writers = await Writers.open(site)
  publisher.pace(perSecond)
  for (let count = 1; count <= kills; count += 1) {
    await sleep(run.random(`${count}`) * randomWithinMs)
    await kill(site)
    if (count % 10 === 0) run.say(`${count} of ${kills} kills, ${writers.count} changes`)
  }
  const broken = await writers.judge()
  const figures = { kills: String(kills), 'changes answered': writers.count.toLocaleString('en') }
  return traffic.judge({ repeatsMax: anyRepeats }, figures, broken)
}

const apiKills = 100
const allKills = 50
const natsKills = 20

const untilAnswers = (site: Site): Promise<void> =>
  until('the API answers', () => isReady(site.apiUrl).catch(() => false))

export const apiKilled: Scenario = {
  name: 'api-kills',
  fault: `\`kill -9\` of the API during writes, ${apiKills}`,
  passesWhen: 'every answered change is there, as a whole; one audit event per change; traffic loses nothing',
  run: (run) =>
    withWrites(run, run.count(apiKills), async (site) => {
      const [api] = site.ofRole('api')
      await api!.running.kill()
      await site.restart(api!)
    }),
}

export const allKilled: Scenario = {
  name: 'all-kills',
  fault: `\`kill -9\` of every process at once, ClickHouse and nats-server too, ${allKills}`,
  passesWhen: 'the same; no record that was acknowledged is lost',
  run: (run) =>
    withWrites(run, run.count(allKills), async (site) => {
      const [server] = site.servers
      const dying = site.workers.map(({ running }) => running.kill())
      await Promise.all([...dying, server!.kill(), site.clickhouse.process.kill()])
      await Promise.all([server!.start(), site.restartClickhouse()])
      await Promise.all(site.workers.map((worker) => site.restart(worker)))
      await untilAnswers(site)
    }),
}

export const natsKilled: Scenario = {
  name: 'nats-kills',
  fault: `\`kill -9\` of the only nats-server while records are published, ${natsKills}`,
  passesWhen: 'nothing is lost; no acknowledged message is stored twice',
  partitions: [1, 4],
  run: async (run) => {
    const traffic = await run.open()
    const { site, publisher } = traffic
    const [server] = site.servers
    publisher.pace(perSecond * 3)
    const kills = run.count(natsKills)
    for (let count = 0; count < kills; count += 1) {
      await sleep(1_000 + run.random(`${count}`) * 2_000)
      await server!.kill()
      await server!.start()
      const before = publisher.messages
      await until('records are taken again', () => publisher.messages > before + 20)
    }
    return traffic.judge({ repeatsMax: anyRepeats }, { kills: String(kills) })
  },
}

/** Resolves with how long it took until readiness said so; afterwards, all is well again. */
async function noticed(
  { site }: Traffic,
  begin: () => void,
  lastsMs: number,
  end: () => void,
): Promise<number> {
  const begunMs = monotonicMs()
  begin()
  try {
    await until('readiness says so', async () => (await readyOf(site.apiUrl)).status === 503)
    const noticedMs = monotonicMs() - begunMs
    await sleep(Math.max(0, lastsMs - noticedMs))
    return noticedMs
  } finally {
    end()
  }
}

async function cutOff(
  run: Run,
  begin: (site: Site) => void,
  end: (site: Site) => void,
): ReturnType<Scenario['run']> {
  const traffic = await run.open()
  const { site, publisher } = traffic
  publisher.pace(perSecond)
  await sleep(2_000)
  const lastsMs = Math.max(noticedWithinMs, frozenMs * run.size.share)
  const noticedMs = await noticed(
    traffic,
    () => begin(site),
    lastsMs,
    () => end(site),
  )
  const endedMs = monotonicMs()
  await until('it is ready again', () => isReady(site.apiUrl))
  const wellMs = monotonicMs() - endedMs
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
  const broken =
    noticedMs > run.allowed(noticedWithinMs) ? [`readiness said so after ${seconds(noticedMs)} only`] : []
  const figures = {
    lasted: seconds(lastsMs),
    noticed: `after ${seconds(noticedMs)}`,
    'ready again': `after ${seconds(wellMs)}`,
  }
  return traffic.judge({ repeatsMax: anyRepeats }, figures, broken)
}

const cutPassesWhen = '`/readyz` says so within 10 s; nothing acknowledged is lost; it recovers alone'

export const natsFrozen: Scenario = {
  name: 'nats-frozen',
  fault: 'nats-server is stopped (SIGSTOP) for a minute',
  passesWhen: cutPassesWhen,
  run: (run) =>
    cutOff(
      run,
      ({ servers }) => servers[0]!.freeze(),
      ({ servers }) => servers[0]!.thaw(),
    ),
}

export const halfOpen: Scenario = {
  name: 'half-open',
  fault: 'connections between all roles and NATS stay open, and pass nothing for a minute',
  passesWhen: cutPassesWhen,
  run: (run) =>
    cutOff(
      run,
      ({ workers }) => {
        for (const { wire } of workers) wire.silence()
      },
      ({ workers }) => {
        for (const { wire } of workers) wire.heal()
      },
    ),
}
