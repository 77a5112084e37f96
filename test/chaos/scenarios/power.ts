/** The store of nats-server is put back to an earlier copy, as a power cut does that loses what was not synced. */
import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../../../src/ground/core/clock.js'
import { until } from '../../harness/weir.js'
import { recordsPerMessage } from '../publisher.js'
import type { Scenario } from '../scenario.js'

const perSecond = 1_000
const goesOnWithinMs = 30_000

export const storePutBack: Scenario = {
  name: 'store-put-back',
  fault: "nats-server's store is put back to a copy of some seconds before, consumers included",
  passesWhen: 'what is lost is what was stored after the copy, and no more; consumers go on within 30 s',
  run: async (run) => {
    const traffic = await run.open()
    const { site, publisher } = traffic
    const [server] = site.servers
    publisher.pace(perSecond)
    await sleep(5_000)
    await publisher.pause()
    await traffic.untilIdle()
    await server!.stop()
    const putBack = server!.copy()
    await server!.start()
    const kept = publisher.messages
    publisher.pace(perSecond)
    await sleep(10_000)
    await publisher.pause()
    await server!.kill()
    putBack()
    await server!.start()
    const begunMs = monotonicMs()
    const lost = publisher.messages - kept
    const before = await site.destinations[0]!.requests()
    publisher.pace(perSecond)
    await until('records arrive again', async () => (await site.destinations[0]!.requests()) > before + 5)
    const ms = monotonicMs() - begunMs
    const broken = ms > run.allowed(goesOnWithinMs) ? [`records arrived again after ${ms} ms`] : []
    const figures = {
      'went on': `after ${(ms / 1_000).toFixed(1)} s`,
      'stored after the copy': `${lost} messages`,
    }
    // As many of the first records after the cut as were lost before it are skipped (docs/guarantees.md).
    const isExcused = (n: number): boolean =>
      n >= kept * recordsPerMessage && n < (kept + 2 * lost) * recordsPerMessage
    const repeatsMax = () => Number.POSITIVE_INFINITY
    return traffic.judge({ repeatsMax, isExcused, isLedgerOld: true }, figures, broken)
  },
}
