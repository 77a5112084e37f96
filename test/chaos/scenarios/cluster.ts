/** Three nats-servers with three copies of each stream: one is away, then two; one is wiped; all are restarted in turn. */
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../../../src/ground/core/clock.js'
import { isReady, readyOf } from '../../harness/pages.js'
import { until } from '../../harness/weir.js'
import { deleteStream } from '../../integration/losses.js'
import type { Run, Scenario, Traffic } from '../scenario.js'

const perSecond = 500
const gapMaxMs = 10_000
const saidWithinMs = 30_000
const awayMs = 60_000

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

/** A server that leads the records. */
async function leader({ site }: Traffic) {
  const info = await site.nats.streamInfo(site.partitions[0]!.recordsStream)
  const index = Number((info?.cluster?.leader ?? 'nats-0').replace('nats-', ''))
  return { server: site.servers[index]!, index }
}

/** Each stream of traffic has a leader, and three copies that are as new as one another. */
const untilWhole = ({ site }: Traffic): Promise<void> =>
  until('each stream has three copies', async () => {
    const streams = site.partitions.flatMap((each) => [each.recordsStream, each.deliveriesStream])
    const infos = await Promise.all(streams.map((each) => site.nats.streamInfo(each).catch(() => undefined)))
    return infos.every((info) => {
      const { leader: led = '', replicas = [] } = info?.cluster ?? {}
      return led !== '' && replicas.length === 2 && replicas.every(({ current }) => current)
    })
  })

/** The longest time without an acknowledgement while `fault` runs. */
async function gapOf(traffic: Traffic, fault: () => Promise<void>): Promise<number> {
  const { publisher } = traffic
  publisher.pace(perSecond)
  publisher.forgetGap()
  await fault()
  return publisher.longestGapMs
}

async function oneAway(traffic: Traffic, run: Run, way: 'kill' | 'freeze' | 'wipe'): Promise<number> {
  const lastsMs = Math.max(15_000, awayMs * run.size.share)
  const gapMs = await gapOf(traffic, async () => {
    await sleep(2_000)
    const { server, index } = await leader(traffic)
    if (way === 'freeze') server.freeze()
    else await server.kill()
    await sleep(lastsMs)
    if (way === 'wipe') rmSync(traffic.site.storeOf(index), { recursive: true, force: true })
    if (way === 'freeze') server.thaw()
    else await server.start()
    await untilWhole(traffic)
  })
  run.say(`a leader: ${way}, no acknowledgement for ${seconds(gapMs)}`)
  return gapMs
}

async function rolled(traffic: Traffic, run: Run): Promise<number> {
  const gapMs = await gapOf(traffic, async () => {
    for (const server of traffic.site.servers) {
      await server.stop()
      await server.start()
      await untilWhole(traffic)
    }
  })
  run.say(`restarted in turn, no acknowledgement for ${seconds(gapMs)}`)
  return gapMs
}

/** Two of three are gone: nothing is acknowledged, and readiness says so. */
async function twoAway(traffic: Traffic, run: Run): Promise<string[]> {
  const { site, publisher } = traffic
  const [, second, third] = site.servers
  publisher.pace(perSecond)
  await Promise.all([second!.kill(), third!.kill()])
  // What was on its way is answered or not by now.
  await sleep(2_000)
  const before = publisher.messages
  const begunMs = monotonicMs()
  await until('readiness says so', async () => (await readyOf(site.apiUrl)).status === 503)
  const saidMs = monotonicMs() - begunMs
  await sleep(Math.max(5_000, awayMs * run.size.share))
  const falsely = publisher.messages - before
  await Promise.all([second!.start(), third!.start()])
  await untilWhole(traffic)
  await until('it is ready again', () => isReady(site.apiUrl))
  return [
    ...(falsely > 0 ? [`${falsely} messages were acknowledged by one server of three`] : []),
    ...(saidMs > run.allowed(saidWithinMs) ? [`readiness said so after ${seconds(saidMs)} only`] : []),
  ]
}

const anyRepeats = () => Number.POSITIVE_INFINITY

export const clusterFaults: Scenario = {
  name: 'cluster',
  fault:
    'of three nats-servers, the leader is killed, frozen, wiped, for a minute each; all restart in turn; two of three are killed',
  passesWhen:
    'nothing acknowledged is lost; without an answer for ≤ 10 s if one is away; with two away, none is acknowledged',
  partitions: [1, 4],
  run: async (run) => {
    const traffic = await run.open({ isCluster: true, workers: 2 })
    const gaps = {
      killed: await oneAway(traffic, run, 'kill'),
      frozen: await oneAway(traffic, run, 'freeze'),
      wiped: await oneAway(traffic, run, 'wipe'),
      'restarted in turn': await rolled(traffic, run),
    }
    const broken = Object.entries(gaps).flatMap(([name, ms]) =>
      ms > run.allowed(gapMaxMs) ? [`${name}: no acknowledgement for ${seconds(ms)}`] : [],
    )
    broken.push(...(await twoAway(traffic, run)))
    const figures = Object.fromEntries(
      Object.entries(gaps).map(([name, ms]) => [`gap, ${name}`, seconds(ms)]),
    )
    return traffic.judge({ repeatsMax: anyRepeats }, figures, broken)
  },
}

export const streamForgotten: Scenario = {
  name: 'stream-forgotten',
  fault: 'three nats-servers forget the stream of records while all are up',
  passesWhen: 'the stream is there again within 30 s, and what is acknowledged from then on arrives',
  run: async (run) => {
    const traffic = await run.open({ isCluster: true })
    const { site, publisher } = traffic
    publisher.pace(perSecond)
    await sleep(3_000)
    await publisher.pause()
    await traffic.untilIdle()
    const stream = site.partitions[0]!.recordsStream
    const forgotten = publisher.messages
    await deleteStream(site.nats, stream)
    const begunMs = monotonicMs()
    await until(
      'the stream is there again',
      async () => (await site.nats.streamInfo(stream).catch(() => undefined)) !== undefined,
    )
    const backMs = monotonicMs() - begunMs
    const broken =
      backMs > run.allowed(saidWithinMs) ? [`the stream was there again after ${seconds(backMs)}`] : []
    const figures = { 'there again': `after ${seconds(backMs)}` }
    return traffic.judge({ repeatsMax: anyRepeats, forgotten }, figures, broken)
  },
}
