/** `weir serve` while a disk of its data directory is read-only, and afterwards. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ApiError } from '../../src/words/client/client.js'
import { total } from '../harness/metrics.js'
import { isReady, metricsOf, untilNamed } from '../harness/pages.js'
import { makeReadOnly, mountFailingDisk } from '../harness/read-only-disk.js'
import { tempDir } from '../harness/temp-dir.js'
import { processesBelow } from '../harness/tree.js'
import { startWeir, until } from '../harness/weir.js'
import { record, token } from './deployment.js'

t.setTimeout(600_000)

const diskBytes = 1024 ** 3

/** With a disk for this part of the data directory; a reason instead, if this user may mount none. */
async function open(t: Test, part: string) {
  const dataDir = tempDir(t)
  const dir = join(dataDir, part)
  mkdirSync(dir)
  const disk = mountFailingDisk(t, diskBytes, dir)
  if (typeof disk === 'string') return disk
  const start = async () => {
    const weir = await startWeir(dataDir, { WEIR_BOOTSTRAP_TOKEN: token, WEIR_PIPELINES: '1' })
    t.teardown(() => weir.stop())
    return weir
  }
  const weir = await start()
  const untilReady = () => until('all roles are ready', () => isReady(weir.url))
  const refusal = async (): Promise<ApiError> => {
    const error = await weir.api.ipPolicy.create({}).catch((error: unknown) => error)
    if (error instanceof ApiError) return error
    throw new Error('The change was made.', { cause: error })
  }
  return { weir, disk, startAgain: start, untilReady, refusal }
}

t.test('that of the nats-server', async (t) => {
  const opened = await open(t, 'nats')
  if (typeof opened === 'string') return void t.pass(opened, { skip: opened })
  const { weir, disk, untilReady, refusal } = opened
  const nats = await weir.nats()
  let acknowledged = 0
  const publish = async (): Promise<void> => {
    const published = record('run', acknowledged)
    await nats.publish('weir.records.eu.node-1', published, { triesMax: 1 })
    acknowledged += 1
  }
  const evaluated = async () => total(await metricsOf(weir.url), 'weir_records_evaluated_total')
  const isFailing = async () => total(await metricsOf(weir.url), 'weir_nats_store_failing') === 1
  const restarts = async () => total(await metricsOf(weir.url), 'weir_nats_store_restarts_total')
  await publish()

  const makeWritable = makeReadOnly(t, disk.dir)
  await untilNamed(weir, 'nats-server', /Nothing can be written in .*read-only.* Mend that: it is restarted/)
  makeWritable()
  await untilReady()
  t.equal(await restarts(), 1, 'streams may have been out of service')
  await publish()

  await until('all is evaluated', async () => (await evaluated()) >= acknowledged)
  disk.fail()
  await t.rejects(publish(), 'no record is acknowledged')
  t.match(await refusal(), {
    status_code: 503,
    msg: /outcome of this change is unknown because NATS did not answer/,
  })
  await untilNamed(
    weir,
    'nats-server',
    /taken a stream out of service .*read-only.* end this process first \(\d+\)/,
  )
  t.ok(await isFailing())
  t.match(weir.process.output(), /local nats-server cannot store/)
  // As its operator does, to unmount the disk.
  process.kill(processesBelow(weir.process.pid).find(({ role }) => role === 'nats-server')!.pid)
  await untilNamed(
    weir,
    'nats-server',
    /does not run\. Nothing can be written in .*Mend that: it is started then/,
  )
  disk.mend()
  await untilReady()
  await publish()
  await weir.api.ipPolicy.create({})
  t.pass('a change is made')
  await until('nothing is lost', async () => (await evaluated()) >= acknowledged)
  await until('the metric says so', async () => !(await isFailing()))
})

t.test('that of ClickHouse', async (t) => {
  const opened = await open(t, 'clickhouse')
  if (typeof opened === 'string') return void t.pass(opened, { skip: opened })
  const { weir, disk, startAgain, untilReady, refusal } = opened
  const before = await weir.api.ipPolicy.create({ description: 'before' })
  const saysWhy = /ClickHouse stores nothing, because it can only read/
  const made: string[] = [before.id]

  const makeWritable = makeReadOnly(t, disk.dir)
  await untilNamed(weir, 'store', saysWhy)
  t.match(await refusal(), { status_code: 503, msg: saysWhy, details: { outcome: 'not_written' } })
  makeWritable()
  await untilReady()
  made.push((await weir.api.ipPolicy.create({ description: 'between' })).id)

  disk.fail()
  await untilNamed(weir, 'store', saysWhy)
  t.match(await refusal(), { status_code: 503, msg: saysWhy, details: { outcome: 'not_written' } })
  t.equal((await weir.api.ipPolicy.get(before.id)).description, 'before', 'reads go on')
  t.equal(total(await metricsOf(weir.url), 'weir_write_failing', 'reason="clickhouse"'), 1)
  const nats = await weir.nats()
  await nats.publish('weir.records.eu.node-1', record('run', 0))
  t.pass('records are stored')

  t.match(weir.process.output(), /stop Weir before its disk is unmounted/)
  await weir.stop()
  disk.mend()
  const again = await startAgain()
  made.push((await again.api.ipPolicy.create({ description: 'after' })).id)
  const found: string[] = []
  for await (const { id } of again.api.ipPolicy.list()) found.push(id)
  t.strictSame(found.sort(), made.sort(), 'every change that was made is there, and no other')
})
