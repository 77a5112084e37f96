/** A service refuses everything for a while: for its credentials, its rights, or because the resource is missing. */
import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../../../src/ground/core/clock.js'
import type { FaultEffect } from '../../../src/outside/emulator/wire.js'
import { until } from '../../harness/weir.js'
import type { Scenario } from '../scenario.js'

const perSecond = 300
const refusedMs = 300_000
const visibleWithinMs = 60_000
const services = ['kinesis', 'firehose'] as const

const refusals: readonly [name: string, effect: FaultEffect][] = [
  ['expired tokens', { type: 'expired_token' }],
  ['no right', { type: 'access_denied' }],
  ['no such stream', { type: 'error', code: 'ResourceNotFoundException', message: 'It was deleted.' }],
]

export const serviceRefuses: Scenario = {
  name: 'refusals',
  fault: 'Kinesis, then Firehose: tokens expire, a right is missing, the stream is deleted and made again',
  passesWhen:
    'nothing is lost, nothing becomes a dead letter; the pause is visible within 60 s; it goes on alone',
  run: async (run) => {
    const traffic = await run.open()
    const { site, publisher } = traffic
    const { client } = site.emulator
    publisher.pace(perSecond)
    const seenMs: number[] = []
    const broken: string[] = []
    for (const [name, effect] of refusals)
      for (const service of services) {
        const { id } = site.destinations.find(({ kind }) => kind === service)!
        const fault = await client.addFault({ service, effect })
        const begunMs = monotonicMs()
        await until(
          `${service} with ${name} is paused`,
          async () => (await site.api.deliveryStatus(id)).state === 'paused',
        )
        const ms = monotonicMs() - begunMs
        seenMs.push(ms)
        if (ms > run.allowed(visibleWithinMs))
          broken.push(`${service}, ${name}: visible after ${Math.round(ms)} ms`)
        await sleep(Math.max(3_000, (refusedMs * run.size.share) / (refusals.length * services.length)))
        await client.clearFaults(fault)
        await until(
          `${service} goes on after ${name}`,
          async () => (await site.api.deliveryStatus(id)).state === 'healthy',
        )
        run.say(`${service}, ${name}: paused after ${Math.round(ms)} ms`)
      }
    const figures = { 'paused after': `at most ${(Math.max(...seenMs) / 1_000).toFixed(1)} s` }
    return traffic.judge({ repeatsMax: () => 0 }, figures, broken)
  },
}
