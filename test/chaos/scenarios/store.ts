/** ClickHouse is gone, hangs or answers short, and comes back. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isReady } from '../../harness/pages.js'
import { until } from '../../harness/weir.js'
import type { Run, Scenario, Traffic } from '../scenario.js'
import type { Site } from '../site.js'

const perSecond = 500
/** All three faults together, in the full form. */
const lastsMs = 600_000
const deliveredShareMin = 0.95

/** What the API answers to a write. */
async function writeAnswer(site: Site): Promise<{ status: number; retryAfter: string | null }> {
  const response = await site.request('POST', '/ip_policies', { description: 'while ClickHouse is away' })
  return { status: response.status, retryAfter: response.headers.get('retry-after') }
}

const least = async ({ site, publisher }: Traffic, delivered: readonly number[], published: number) => {
  const now = await deliveredNow(site)
  const owed = publisher.obligations - published
  return Math.min(
    ...site.destinations.map(
      (each, at) => (now[at]! - delivered[at]!) / (each.isNarrow ? owed * 0.75 : owed),
    ),
  )
}

const deliveredNow = (site: Site): Promise<number[]> =>
  Promise.all(site.destinations.map(async ({ id }) => (await site.api.deliveryStatus(id)).counts.delivered))

const faults: readonly [
  name: string,
  begin: (site: Site) => Promise<unknown>,
  end: (site: Site) => Promise<unknown>,
][] = [
  ['gone', (site) => site.clickhouse.process.kill(), (site) => site.restartClickhouse()],
  ['hanging', ({ clickhouse }) => clickhouse.mode('hang'), ({ clickhouse }) => clickhouse.mode('ok')],
  ['short', ({ clickhouse }) => clickhouse.mode('short'), ({ clickhouse }) => clickhouse.mode('ok')],
]

async function run(run: Run): ReturnType<Scenario['run']> {
  const traffic = await run.open()
  const { site, publisher } = traffic
  const kept = await site.api.ipPolicy.create({ description: 'before' })
  publisher.pace(perSecond)
  await sleep(3_000)
  const broken: string[] = []
  const shares: number[] = []
  for (const [name, begin, end] of faults) {
    const [delivered, published] = [await deliveredNow(site), publisher.obligations]
    await begin(site)
    try {
      let last = { status: 0, retryAfter: null as string | null }
      await until(`a write is refused while ClickHouse is ${name}`, async () => {
        last = await writeAnswer(site)
        return last.status === 503
      })
      if (last.retryAfter === null) broken.push(`${name}: a refused write says no Retry-After`)
      await sleep(Math.max(5_000, (lastsMs * run.size.share) / faults.length))
      const { description } = await site.api.ipPolicy.get(kept.id)
      if (description !== 'before') broken.push(`${name}: a policy changed to "${description}"`)
      shares.push(await least(traffic, delivered, published))
    } finally {
      await end(site)
    }
    await until(`it is ready after ClickHouse was ${name}`, () => isReady(site.apiUrl))
    await until('changes are made', async () => (await writeAnswer(site)).status === 201)
    run.say(`${name}: ${(shares.at(-1)! * 100).toFixed(0)} % were delivered meanwhile`)
  }
  const worst = Math.min(...shares)
  if (run.size.share === 1 && worst < deliveredShareMin) broken.push('traffic was affected')
  const figures = { 'delivered meanwhile': `at least ${(worst * 100).toFixed(0)} %` }
  return traffic.judge({ repeatsMax: () => 0 }, figures, broken)
}

export const clickhouseAway: Scenario = {
  name: 'clickhouse-away',
  fault: 'ClickHouse is gone, hangs, answers short; ten minutes in all',
  passesWhen:
    'traffic goes on; writes get 503 with Retry-After; nothing comes of a short answer; it recovers alone',
  run,
}
