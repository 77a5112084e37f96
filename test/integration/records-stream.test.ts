/** The stream of records when it is full, recreated, or restored. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isStorageFull } from '../../src/nats/retry.js'
import { natsAccess } from '../../src/process/nats-users.js'
import { inputConsumer, recordsStream } from '../../src/wire/names.js'
import { isReady, readyOf } from '../harness/pages.js'
import { processesBelow } from '../harness/tree.js'
import { startWeir, until } from '../harness/weir.js'
import {
  arrivedRecords,
  checkBooks,
  type Deployment,
  expectedEvents,
  openDeployment,
  publish,
  record,
  untilArrived,
} from './deployment.js'

t.setTimeout(300_000)

// One deployment for all tests, because starts take longest. Each continues with the next record.
const deployment = await openDeployment(t, { WEIR_STORAGE_MAX: '16MiB' })
let records = 0

/** A pipeline that is stopped, as on an overloaded machine. */
function signalPipelines(deployment: Deployment, signal: 'SIGSTOP' | 'SIGCONT'): void {
  const pipelines = processesBelow(deployment.weir.process.pid).filter(({ role }) => role === 'pipeline')
  for (const { pid } of pipelines) process.kill(pid, signal)
}

/** A record of some 60 KiB, by means of an unknown member, which is ignored. */
const wideRecord = (n: number): string => record('run', n).replace('{', `{"note":"${'x'.repeat(60_000)}",`)

t.test('full: it refuses records, discards none, and accepts them again once there is room', async (t) => {
  const nats = await deployment.weir.nats()
  const state = async () => (await nats.streamInfo(recordsStream))!.state
  signalPipelines(deployment, 'SIGSTOP')
  const publishOnce = (n: number) =>
    nats.publish('weir.records.eu.node-1', wideRecord(n), { msgId: `run.${n}`, triesMax: 1 })
  let stored = 0
  const fill = async (): Promise<void> => {
    for (; ; stored += 1) await publishOnce(stored)
  }
  const refusal = await fill().then(
    () => undefined,
    (error: unknown) => error,
  )
  t.match(refusal, { message: /maximum bytes exceeded/ }, 'the ingress node gets the error')
  t.ok(isStorageFull(refusal), 'and may try again')
  t.match(await state(), { messages: stored, first_seq: 1, last_seq: stored }, 'nothing was discarded')
  await until('readiness says why', async () => {
    const { status, failing } = await readyOf(deployment.weir.url)
    return status === 503 && JSON.stringify(failing).includes(recordsStream)
  })
  t.match(await state(), { messages: stored, first_seq: 1 }, 'nothing is discarded later')

  signalPipelines(deployment, 'SIGCONT')
  const more = stored + 100
  for (let n = stored; n < more; n += 1)
    await until(`record ${n} is taken`, () => publishOnce(n).then(() => true, retryWhereFull), 60_000)
  await untilArrived(deployment, expectedEvents(more))
  t.equal((await arrivedRecords(deployment)).size, more, 'every accepted record arrived')
  t.ok((await state()).first_seq > 1, 'processed records made room')
  await until('it is ready', () => isReady(deployment.weir.url))
  await checkBooks(t, deployment, more)
  records = more
})

const retryWhereFull = (error: unknown): boolean => {
  if (!isStorageFull(error)) throw error
  return false
}

t.test('restored to a state behind its consumer: later records are processed', async (t) => {
  const messages = join(
    deployment.dataDir,
    'nats/store/jetstream',
    natsAccess.streamsOf,
    'streams',
    recordsStream,
    'msgs',
  )
  const saved = join(deployment.dataDir, 'saved')
  const restart = async (meanwhile: () => void): Promise<void> => {
    await deployment.weir.stop()
    meanwhile()
    deployment.weir = await startWeir(deployment.dataDir, deployment.env)
  }
  const publishAndWait = async (count: number): Promise<void> => {
    const from = records
    records += count
    await publish(await deployment.weir.nats(), 'run', from, records, 10)
    await untilArrived(deployment, expectedEvents(records))
    await checkBooks(t, deployment, records)
  }
  await publishAndWait(100)
  await restart(() => cpSync(messages, saved, { recursive: true }))
  await publishAndWait(200)
  await restart(() => {
    rmSync(messages, { recursive: true })
    cpSync(saved, messages, { recursive: true })
  })
  await publishAndWait(50)
})

t.test('recreated under a working pipeline: later records are processed', async (t) => {
  const nats = await deployment.weir.nats()
  const before = (await nats.streamInfo(recordsStream))!.config.description
  signalPipelines(deployment, 'SIGSTOP')
  await publish(nats, 'lost', 1_000_000, 1_000_300, 1)
  // By then the server has delivered some of them to the pipeline.
  await until('some are in flight', async () => {
    const position = await nats.consumerInfo(recordsStream, inputConsumer)
    return position!.delivered > position!.ackFloor
  })
  await nats.request(`$JS.API.STREAM.DELETE.${recordsStream}`, '', 2_000)
  await until('it is recreated', async () => {
    const info = await nats.streamInfo(recordsStream)
    return info !== undefined && info.config.description !== before
  })
  await publish(nats, 'run', records, records + 400, 1)
  signalPipelines(deployment, 'SIGCONT')
  await until(
    'later records are acknowledged',
    async () => (await nats.consumerInfo(recordsStream, inputConsumer))?.ackFloor === 400,
    60_000,
  )
  const after = Array.from({ length: 400 }, (_, n) => records + n)
  const arrived = async () => {
    const numbers = await arrivedRecords(deployment)
    return after.filter((n) => numbers.has(n)).length
  }
  await until('it is delivered', async () => (await arrived()) === after.length)
  t.equal(await arrived(), after.length)
})
