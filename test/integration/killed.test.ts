/** Killed processes lose nothing, and the books still balance. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { readGreeting } from '../../src/delivery/nats-server/nats-probe.js'
import { deadRecords, lettersOf } from '../harness/dead-records.js'
import { hostileReplies, publishHostile } from '../harness/hostile-replies.js'
import { killAll, killRole } from '../harness/tree.js'
import { startWeir, until } from '../harness/weir.js'
import {
  arrivedRecords,
  checkBooks,
  checkRepeats,
  destinationNames,
  expectedEvents,
  openDeployment,
  publish,
  untilArrived,
} from './deployment.js'

const records = 3_000
/** The next process is killed while the one before still starts, or has just begun to work again. */
const underLoadMs = 700
const hostileMessages = 3
const floods = 2
const floodLines = 10_000

t.test('two pipelines and two deliverers, killed one role after the other under load', async (t) => {
  const deployment = await openDeployment(t, { WEIR_PIPELINES: '2', WEIR_DELIVERERS: '2' })
  const nats = await deployment.weir.nats()
  const publishing = publish(nats, 'run', 0, records, 20)
  for (let n = 0; n < floods; n += 1)
    await nats.publish('weir.records.eu.node-1', 'x\n'.repeat(floodLines), { msgId: `flood.${n}` })
  for (const role of ['pipeline', 'deliver', 'nats-server', 'pipeline', 'deliver']) {
    await sleep(underLoadMs)
    t.ok((await killRole(deployment.weir.process.pid, role)) > 0, `${role} is killed`)
  }
  await publishing
  await untilArrived(deployment, expectedEvents(records))
  t.equal((await arrivedRecords(deployment)).size, records, 'every record arrived')
  await checkRepeats(t, deployment)
  for (const name of destinationNames) {
    const { unique } = await deployment.emulator.client.counts({ service: 'kinesis', name })
    t.equal(unique, expectedEvents(records)[name], `nothing beyond the expected at ${name}`)
  }
  await checkBooks(t, deployment, records, floods * floodLines)
  const bad = floods * floodLines
  t.equal(lettersOf(await deadRecords(nats)), bad, 'each bad line is one dead letter')

  await t.test(
    'a client sends wildcards as reply subjects, on which an old nats-server crashes',
    async (t) => {
      const port = Number(new URL(deployment.weir.natsUrl).port)
      const publishing = publish(nats, 'run', records, 2 * records, 20)
      for (const reply of hostileReplies.slice(0, hostileMessages)) {
        await publishHostile(deployment.weir.natsUrl, 'weir.decide', reply)
        await until('a server answers on its port', async () => (await readGreeting(port)) !== undefined)
      }
      await publishing
      await untilArrived(deployment, expectedEvents(2 * records))
      t.equal((await arrivedRecords(deployment)).size, 2 * records, 'every acknowledged record arrived')
      await checkRepeats(t, deployment)
      await checkBooks(t, deployment, 2 * records, bad)
    },
  )

  await t.test('everything killed at once, then started again on the same directory', async (t) => {
    await publish(nats, 'run', 2 * records, 3 * records, 20)
    await nats.close()
    await killAll(deployment.weir.process.pid)
    const one = { ...deployment.env, WEIR_PIPELINES: '1', WEIR_DELIVERERS: '1' }
    deployment.weir = await startWeir(deployment.dataDir, one)
    await untilArrived(deployment, expectedEvents(3 * records))
    t.equal((await arrivedRecords(deployment)).size, 3 * records, 'every record arrived')
    await checkBooks(t, deployment, 3 * records, bad)
  })
})
