/** A graceful stop under load: everything that was asked for is done, nothing is done twice. */
import t from 'tap'
import { openNats } from '../../src/core/nats.js'
import { startWeir } from '../harness/weir.js'
import {
  arrivedRecords,
  checkBooks,
  checkOnce,
  expectedEvents,
  openWorld,
  publish,
  untilArrived,
} from './world.js'

t.setTimeout(300_000)

const stops = 3
const recordsPerRun = 3_000
const stopMsMax = 10_000

t.test('stopped under load and started again, several times', async (t) => {
  let world = await openWorld(t)
  for (let run = 0; run < stops; run += 1) {
    const nats = await openNats({ servers: [world.weir.natsUrl], name: 'test', replicas: 1 })
    const from = run * recordsPerRun
    const publishing = publish(nats, 'run', from, from + recordsPerRun, 10)
    await publishing
    await nats.close()
    const begun = Date.now()
    const { code } = await world.weir.process.stop()
    t.equal(code, 0, `stop ${run + 1} ends well`)
    t.ok(Date.now() - begun < stopMsMax, `stop ${run + 1} took ${Date.now() - begun} ms`)
    const weir = await startWeir(world.dataDir, world.env)
    t.teardown(() => weir.stop())
    world = { ...world, weir, api: weir.api }
  }
  const records = stops * recordsPerRun
  await untilArrived(world, expectedEvents(records))
  t.equal((await arrivedRecords(world)).size, records, 'nothing is lost')
  await checkOnce(t, world)
  await checkBooks(t, world, records)
})
