/** Accounts are created, others write, and processes start again beside them: every start becomes ready. */
import t from 'tap'
import { randomFraction, sleep } from '../../../src/ground/core/clock.js'
import { openCaller } from '../../harness/caller.js'
import { isReady } from '../../harness/pages.js'
import type { StoreRole } from '../../harness/store-fixture.js'
import { until } from '../../harness/weir.js'
import { newAccount, openFixture } from './filled-store.js'

t.setTimeout(2_700_000)

/** `--full` takes as many as it takes to be sure. */
const [accounts, writers, restarts] = process.argv.includes('--full') ? [100, 20, 30] : [12, 4, 4]

/** Between writes: without it they only take the processor from the starts. */
const pauseMs = process.argv.includes('--full') ? 0 : 200

const roles = ['pipeline', 'api', 'deliver', 'decide'] as const

t.test('at random beside each other', { timeout: 2_400_000 }, async (t) => {
  const fixture = await openFixture(t)
  const { url } = await fixture.startApi()
  const consumersOf = async () =>
    (await (await fixture.nats()).streamInfo('KV_weir_config'))!.state.consumer_count
  const before = await consumersOf()
  let isOver = false

  const create = async () => openCaller({ base: url, token: await newAccount(fixture) })
  const write = async (client: ReturnType<typeof openCaller>): Promise<void> => {
    const policy = await client.ipPolicy.create({})
    for (let turn = 0; !isOver; turn += 1) {
      await client.ipPolicy.update(policy.id, { description: String(turn) })
      await client.ipPolicyRule.create({
        ip_policy_id: policy.id,
        cidr: `10.${turn >> 8}.${turn & 255}.0/24`,
        action: 'deny',
      })
      if (turn % 5 === 4) await client.ipPolicy.delete((await client.ipPolicy.create({})).id)
      await sleep(randomFraction() * pauseMs)
    }
  }
  const writing = Promise.all(Array.from({ length: writers }, async () => write(await create())))
  const creating = (async () => {
    for (let made = writers; made < accounts; made += 1) {
      await create()
      await sleep(randomFraction() * 200)
    }
  })()

  let running: StoreRole | undefined
  for (let restart = 0; restart < restarts; restart += 1) {
    const role = roles[restart % roles.length]!
    await sleep(randomFraction() * 500)
    await running?.process.kill()
    running = role === 'api' ? await fixture.startApi('another') : await fixture.startRole(role)
    const { url, process } = running
    const ready = () => isReady(url).catch(() => false)
    await until(`start ${restart}: ${role} is ready`, ready).catch((error: Error) => {
      throw new Error(`${error.message} ${process.output()}`)
    })
  }
  await creating
  isOver = true
  await writing
  await running?.process.kill()
  const last = await fixture.startRole('decide', 'last')
  await until('a start after all of them is ready', () => isReady(last.url).catch(() => false))
  // Each process that was killed leaves the consumer of its view, until its server notices.
  const most = before + restarts + 2
  await until('no creation left a consumer behind', async () => (await consumersOf()) <= most)
})
