/**
 * Weir on a nats-server of its operator that cannot store because its disk is full or read-only. Readiness names the stream
 * and the server, and all goes on when the operator has mended it.
 */
import t, { type Test } from 'tap'
import { openNats } from '../../src/ground/nats/nats.js'
import { total } from '../harness/metrics.js'
import { OwnNats } from '../harness/own-nats.js'
import { isReady, metricsOf, readyOf, untilNamed } from '../harness/pages.js'
import { mountFailingDisk } from '../harness/read-only-disk.js'
import { mountSmallDisk } from '../harness/small-disk.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'
import { token, wideMessage } from './deployment.js'

t.setTimeout(600_000)

const reservedEnough = { WEIR_BOOTSTRAP_TOKEN: token, WEIR_STORAGE_MAX: '64MiB', WEIR_PIPELINES: '1' }

async function open(t: Test, natsDir: string, settings = '') {
  const nats = new OwnNats(natsDir, [], settings)
  await nats.start()
  t.teardown(() => nats.kill())
  const weir = await startWeir(tempDir(t), { ...reservedEnough, NATS_URL: nats.url })
  t.teardown(() => weir.stop())
  const node = await openNats({ servers: [nats.url], name: 'node', replicas: 1 })
  t.teardown(() => node.close())
  const message = wideMessage()
  let acknowledged = 0
  const publish = async (): Promise<void> => {
    await node.publish('weir.records.eu.node-1', message, { triesMax: 1 })
    acknowledged += 1
  }
  const fill = async (): Promise<void> => {
    for (;;) await publish()
  }
  const untilReady = () =>
    until('all roles are ready', () => isReady(weir.url)).catch(async (error: Error) => {
      throw new Error(`${error.message} ${JSON.stringify(await readyOf(weir.url))}`)
    })
  const untilStored = () =>
    until('a record is stored', () =>
      publish().then(
        () => true,
        () => false,
      ),
    )
  const untilWritten = () =>
    until('a change is made', () =>
      weir.api.ipPolicy.create({}).then(
        () => true,
        () => false,
      ),
    )
  const untilWell = async (): Promise<void> => {
    await untilReady()
    await untilStored()
    await untilWritten()
  }
  const failing = async (reason: string): Promise<number> =>
    total(await metricsOf(weir.url), 'weir_write_failing', `reason="${reason}"`)
  const nothingLost = async (t: Test) => {
    const { messages } = (await node.streamInfo('WEIR_RECORDS'))!.state
    t.ok(messages >= acknowledged, `${messages} of ${acknowledged} acknowledged messages are there`)
  }
  return { nats, weir, publish, fill, untilWell, failing, nothingLost }
}

const outOfService = (fault: string) =>
  new RegExp(
    `nats-server at 127.0.0.1:\\d+ has taken the stream out of service .*${fault}.*restart this server`,
  )

t.test('a disk that is full while records come', async (t) => {
  const disk = mountSmallDisk(t, '24m')
  if (typeof disk === 'string') return void t.pass(disk, { skip: disk })
  const { nats, weir, fill, ...on } = await open(t, disk.dir)
  await t.rejects(fill(), 'no more records are acknowledged')
  await untilNamed(weir, 'WEIR_RECORDS', outOfService('no space left'))
  await until('the metric says so', async () => (await on.failing('stream')) >= 1)
  t.match(weir.process.output(), /"part":"WEIR_RECORDS".*cannot write what its role is for/)
  disk.resize('256m')
  await untilNamed(weir, 'WEIR_RECORDS', outOfService('no space left'))
  await nats.stop()
  await nats.start()
  await on.untilWell()
  await on.nothingLost(t)
  await until('the metric says so', async () => (await on.failing('stream')) === 0)
})

t.test('a disk that is full without traffic', async (t) => {
  const disk = mountSmallDisk(t, '24m')
  if (typeof disk === 'string') return void t.pass(disk, { skip: disk })
  const { weir, ...on } = await open(t, disk.dir)
  disk.fill()
  await untilNamed(weir, 'nats-store', /stores nothing: .*no space left/)
  disk.resize('256m')
  await on.untilWell()
})

t.test('a disk that becomes read-only', async (t) => {
  const disk = mountFailingDisk(t, 1024 ** 3)
  if (typeof disk === 'string') return void t.pass(disk, { skip: disk })
  const { nats, weir, publish, ...on } = await open(t, disk.dir)
  await publish()
  disk.fail()
  await untilNamed(weir, 'nats-store', /nats-server at 127\.0\.0\.1:\d+ stores nothing: /)
  await t.rejects(publish(), 'no record is acknowledged')
  await untilNamed(weir, 'WEIR_RECORDS', outOfService('read-only'))
  await until('the metric says so', async () => (await on.failing('stream')) >= 1)
  await t.rejects(weir.api.ipPolicy.create({}), { message: /NATS did not answer/ })
  await nats.stop()
  disk.mend()
  await nats.start()
  await on.untilWell()
  await on.nothingLost(t)
  await until('the metric says so', async () => (await on.failing('stream')) === 0)
})
