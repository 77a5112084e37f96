/**
 * Live traffic beside a replay: how long live records take from their publication to Kinesis, while recorded ones are
 * replayed to the same destination, and without. Both take turns in one deployment; replayed events have ids that have
 * arrived before, so ids that are new are those of live records.
 */
import { monotonicMs, sleep } from '../../../src/ground/core/clock.js'
import { until } from '../../harness/weir.js'
import { type Deployment, openDeployment, publish } from '../../integration/deployment.js'
import { type BenchRow, median } from '../bench.js'

const perMessage = 100
/** Until a replay has begun in the pipeline. */
const beginMs = 1_500

class Traffic {
  readonly #deployment: Deployment
  #published = 0

  constructor(deployment: Deployment) {
    this.#deployment = deployment
  }

  /** Records a second, from the first publish to the last arrival. */
  async rate(records: number): Promise<number> {
    const nats = await this.#deployment.weir.nats()
    const from = this.#published
    this.#published += records
    const begunMs = monotonicMs()
    await publish(nats, 'live', from, this.#published, perMessage)
    await until('all events have arrived', async () => {
      const { unique } = await this.#deployment.emulator.client.counts({ service: 'kinesis', name: 'all' })
      return unique >= this.#published
    })
    return (records / (monotonicMs() - begunMs)) * 1_000
  }

  /** While everything so far is replayed, which must take longer than that. */
  async rateBesideReplay(records: number): Promise<number> {
    const { weir, destinations } = this.#deployment
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString()
    const { id } = await weir.api.replay(destinations.all, { from: hourAgo })
    await sleep(beginMs)
    const rate = await this.rate(records)
    const { state } = await weir.api.getReplay(id)
    if (state !== 'running') throw new Error(`The replay is ${state} before the live records are done.`)
    await weir.api.cancelReplay(id)
    return rate
  }
}

export const row: BenchRow = {
  name: 'replay',
  mustReach: 'at least 95 % of the rate of live records while others are replayed',
  async run({ quick }) {
    const closers: (() => unknown)[] = []
    try {
      const test = { teardown: (close: () => unknown) => void closers.push(close) }
      const env = { WEIR_DECISION_LOG: 'off', WEIR_RATE_LIMIT: '0' }
      const deployment = await openDeployment(test, env)
      const traffic = new Traffic(deployment)
      const records = quick ? 20_000 : 100_000
      await traffic.rate(3 * records)
      const rates: Record<'alone' | 'beside', number[]> = { alone: [], beside: [] }
      for (let turn = 0; turn < (quick ? 2 : 5); turn += 1) {
        rates.alone.push(await traffic.rate(records))
        rates.beside.push(await traffic.rateBesideReplay(records))
      }
      const [alone, beside] = [median(rates.alone), median(rates.beside)]
      return {
        measures: [{ name: 'live records beside a replay', ratio: beside / alone, bound: { atLeast: 0.95 } }],
        nsPerOperation: { 'live record alone': 1e9 / alone, 'live record beside a replay': 1e9 / beside },
      }
    } finally {
      for (const close of closers.toReversed()) await close()
    }
  },
}
