/**
 * Destinations begin to share consumers, and stop, while events flow: nothing is lost, and nothing is sent twice without a
 * crash.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { sharedConsumer } from '../../src/delivery/wire/partitions.js'
import { deliveriesStream } from '../harness/first-partition.js'
import { endNow, processesBelow } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import {
  expectedEvents,
  openDeployment,
  publish,
  statusOf,
  stream,
  target,
  untilArrived,
} from './deployment.js'

/** More than the destinations of the deployment, and fewer than with those that the test adds. */
const env = {
  WEIR_OWN_CONSUMERS_MAX: '4',
  WEIR_DECISION_LOG: 'off',
  WEIR_DELIVERERS: '2',
  WEIR_PIPELINES: '2',
}
const added = 2
const rounds = 2
/** No destination is busy then: that alone would give it a consumer of its own. */
const messageEveryMs = 700
const names = ['all', 'filtered', 'logs'] as const

/** Crosses the border in both directions, several times; `meanwhile` is called with either side's processes at work. */
async function cross(t: Test, meanwhile: (pid: number) => void) {
  const deployment = await openDeployment(t, env)
  const { weir, emulator } = deployment
  const nats = await weir.nats()
  let isOver = false
  let messages = 0
  const publishing = (async () => {
    for (; !isOver; messages += 1) {
      await publish(nats, 'flow', messages * 4, messages * 4 + 4, 4)
      await sleep(messageEveryMs)
    }
  })()
  const shared = async () => (await nats.consumerInfo(deliveriesStream, sharedConsumer))?.delivered ?? 0
  for (let round = 0; round < rounds; round += 1) {
    const ids: string[] = []
    const before = await shared()
    for (let n = 0; n < added; n += 1) {
      const arn = await stream(emulator, `added-${round}-${n}`)
      ids.push((await weir.api.eventDestination.create(target(arn, emulator))).id)
    }
    await until('packs are shared', async () => (await shared()) > before)
    meanwhile(weir.process.pid)
    await sleep(5_000)
    for (const id of ids) await weir.api.eventDestination.delete(id)
    await sleep(2_500)
    meanwhile(weir.process.pid)
    await sleep(2_500)
  }
  isOver = true
  await publishing
  await untilArrived(deployment, expectedEvents(messages * 4))
  const got = names.map(async (name) => {
    const counts = await emulator.client.counts({ service: 'kinesis', name })
    const { counts: books } = await statusOf(deployment, name)
    return { name, expected: expectedEvents(messages * 4)[name], ...counts, books }
  })
  return Promise.all(got)
}

t.test('the number of destinations crosses the border in both directions', async (t) => {
  for (const { name, expected, unique, duplicates, books } of await cross(t, () => {})) {
    t.strictSame({ unique, duplicates }, { unique: expected, duplicates: 0 }, name)
    t.match(books, { produced: expected, delivered: expected, dropped: 0, dead_lettered: 0 }, name)
  }
})

t.test('the same while a deliverer and a pipeline are killed on either side', async (t) => {
  const kill = (pid: number): void => {
    const processes = processesBelow(pid)
    for (const role of ['deliver', 'pipeline']) endNow(processes.find((each) => each.role === role)!.pid)
  }
  for (const { name, expected, unique, books } of await cross(t, kill)) {
    t.equal(unique, expected, name)
    t.match(books, { produced: expected, delivered: expected, dropped: 0, dead_lettered: 0 }, name)
  }
})
