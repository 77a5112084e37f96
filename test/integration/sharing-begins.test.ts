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
const perMessage = 4
/** On either side of the border, events of so many messages arrive. */
const messagesOfSide = 4
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
      await publish(nats, 'flow', messages * perMessage, (messages + 1) * perMessage, perMessage)
      await sleep(messageEveryMs)
    }
  })()
  const delivered = async (consumer: string) =>
    (await nats.consumerInfo(deliveriesStream, consumer))?.delivered ?? 0
  const untilDelivered = async (consumer: string, before: number): Promise<void> =>
    until(`packs come from ${consumer}`, async () => (await delivered(consumer)) > before)
  const { all } = deployment.destinations
  /** Packs that a killed process had are not waited for: they come later. */
  const untilFlowing = async (): Promise<void> => {
    const arrived = async () => (await emulator.client.counts({ service: 'kinesis', name: 'all' })).unique
    const before = await arrived()
    await until('later events arrive', async () => (await arrived()) >= before + messagesOfSide * perMessage)
    const roles = () => processesBelow(weir.process.pid).map(({ role }) => role)
    const areThere = (role: string) => roles().filter((each) => each === role).length === 2
    await until('killed processes run again', () => areThere('deliver') && areThere('pipeline'))
  }
  for (let round = 0; round < rounds; round += 1) {
    const ids: string[] = []
    const before = await delivered(sharedConsumer)
    for (let n = 0; n < added; n += 1) {
      const arn = await stream(emulator, `added-${round}-${n}`)
      ids.push((await weir.api.eventDestination.create(target(arn, emulator))).id)
    }
    await untilDelivered(sharedConsumer, before)
    meanwhile(weir.process.pid)
    await untilFlowing()
    const ownBefore = await delivered(all)
    for (const id of ids) await weir.api.eventDestination.delete(id)
    await untilDelivered(all, ownBefore)
    meanwhile(weir.process.pid)
    await untilFlowing()
  }
  isOver = true
  await publishing
  await untilArrived(deployment, expectedEvents(messages * perMessage))
  const got = names.map(async (name) => {
    const counts = await emulator.client.counts({ service: 'kinesis', name })
    const { counts: books } = await statusOf(deployment, name)
    return { name, expected: expectedEvents(messages * perMessage)[name], ...counts, books }
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
