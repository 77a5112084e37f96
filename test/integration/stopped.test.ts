/** A graceful stop under load: all accepted work is done, and nothing is done twice. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openNats } from '../../src/ground/nats/nats.js'
import { run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { isAlive, processesBelow } from '../harness/tree.js'
import { startWeir, until } from '../harness/weir.js'
import {
  arrivedRecords,
  checkBooks,
  checkOnce,
  type Deployment,
  expectedEvents,
  openDeployment,
  publish,
  record,
  statusOf,
  untilArrived,
} from './deployment.js'

t.setTimeout(1_800_000)

/** `--full` stops as often as it takes to be sure. Two stops follow in every run. */
const isFull = process.argv.includes('--full')
const stops = isFull ? 30 : 0
const recordsPerMessage = 10
/** Some hundreds of records a second, or a thousand. */
const publishPauseMs = 10
/** Time under load, a little longer for each stop, so that stops meet packs of every age. */
const loadMsMin = 500
const loadMsStep = 37
const stopMsMax = 60_000
/** More than packs that wait, or are under way, can hold: others of them are of records that were published later. */
const laterEvents = 200
/** With this latency, a destination needs longer for its packs in flight than a stop waits. */
const slowMs = 1_500
const slowRecords = 12_000

/**
 * Publishes records from number `from` on until it is stopped, also while Weir stops. Returns the first number that is
 * not known to be stored: stored or not, it is published again under the same id.
 */
function startPublishing({ weir }: Deployment, from: number): { stop(): Promise<number> } {
  const stopped = new AbortController()
  const publishing = (async () => {
    const nats = await openNats({ servers: [weir.natsUrl], name: 'test', replicas: 1 })
    let next = from
    try {
      for (; !stopped.signal.aborted; next += recordsPerMessage) {
        const lines = Array.from({ length: recordsPerMessage }, (_, index) => record('run', next + index))
        await nats.publish('weir.records.eu.node-1', lines.join('\n'), {
          msgId: `run.${next}`,
          signal: stopped.signal,
        })
        await sleep(publishPauseMs)
      }
    } catch (error) {
      if (!stopped.signal.aborted) throw error
    }
    await nats.close()
    return next
  })()
  return {
    stop: () => {
      stopped.abort()
      return publishing
    },
  }
}

t.test('stopped under load and started again', async (t) => {
  let deployment = await openDeployment(t)
  let records = 0
  const startAgain = async (): Promise<void> => {
    const weir = await startWeir(deployment.dataDir, deployment.env)
    t.teardown(() => weir.stop())
    deployment = { ...deployment, weir }
  }
  for (let run = 0; run < stops; run += 1) {
    const publisher = startPublishing(deployment, records)
    await sleep(loadMsMin + run * loadMsStep)
    const begun = Date.now()
    const { code } = await deployment.weir.process.stop()
    t.equal(code, 0, `stop ${run + 1} ends well`)
    t.ok(Date.now() - begun < stopMsMax, `stop ${run + 1} took ${Date.now() - begun} ms`)
    records = await publisher.stop()
    await startAgain()
  }

  await t.test('beside a destination that is paused, and resumed later: nothing is lost', async (t) => {
    const arrived = async () =>
      (await deployment.emulator.client.counts({ service: 'kinesis', name: 'all' })).events
    const paused = {
      state: 'paused',
      cause: 'paused by hand',
      advice: /^The API key ak_\w+ paused it at \S+ Its events wait as in an outage\.$/,
      actions: [{ action: 'resume', command: /^weir destination resume ed_\w+$/ }],
    }
    const publisher = startPublishing(deployment, records)
    await sleep(loadMsMin)
    await deployment.weir.api.pauseDestination(deployment.destinations.all)
    await until('the deliverer knows', async () => (await statusOf(deployment, 'all')).state === 'paused')
    // Requests that were under way arrive before those of later records to another destination.
    const ofOther = async () =>
      (await deployment.emulator.client.counts({ service: 'kinesis', name: 'filtered' })).events
    const otherBefore = await ofOther()
    await until('the other one gets later events', async () => (await ofOther()) > otherBefore + laterEvents)
    const before = await arrived()
    await sleep(loadMsMin)
    const begun = Date.now()
    const { code } = await deployment.weir.process.stop()
    t.equal(code, 0, 'the stop ends well')
    t.ok(Date.now() - begun < stopMsMax, `it took ${Date.now() - begun} ms`)
    records = await publisher.stop()
    await startAgain()
    const { weir } = deployment
    await publish(await weir.nats(), 'run', records, records + recordsPerMessage, recordsPerMessage)
    records += recordsPerMessage
    await untilArrived(deployment, expectedEvents(records), 90_000, ['filtered', 'logs'])
    t.match(await statusOf(deployment, 'all'), paused, 'also after a restart')
    t.equal(await arrived(), before, 'nothing was sent meanwhile')
    await weir.api.resumeDestination(deployment.destinations.all)
    await untilArrived(deployment, expectedEvents(records))
    t.equal((await arrivedRecords(deployment)).size, records, 'nothing is lost')
    await checkOnce(t, deployment)
    await checkBooks(t, deployment, records)
  })

  await t.test('stopped while a slow service has more in flight than it can accept in time', async (t) => {
    const { client } = deployment.emulator
    const requests = async () => (await client.stats())['kinesis.PutRecords']?.requests ?? 0
    const before = await requests()
    await client.addFault({ effect: { type: 'latency', ms: slowMs }, service: 'kinesis' })
    await publish(await deployment.weir.nats(), 'run', records, records + slowRecords, 100)
    await until('requests are under way', async () => (await requests()) > before)
    const { code } = await deployment.weir.process.stop()
    t.equal(code, 0, 'the stop ends with success')
    await client.clearFaults()
    const weir = await startWeir(deployment.dataDir, deployment.env)
    t.teardown(() => weir.stop())
    const again = { ...deployment, weir }
    await untilArrived(again, expectedEvents(records + slowRecords))
    await checkOnce(t, again)
  })
})

/** The report about a process that had to be killed. */
const killed = /did not stop in time/

t.test('stopped while it starts', async (t) => {
  for (const role of isFull ? ['api', 'deliver', 'decide'] : ['api', 'decide']) {
    const serving = run('programs/main.js', ['serve'], { WEIR_DATA_DIR: tempDir(t), WEIR_PORT: '0' })
    t.teardown(() => serving.kill())
    const below = () => processesBelow(serving.pid)
    await until(`${role} is there`, () => below().some((one) => one.role === role))
    const started = below()
    t.strictSame(await serving.stop(), { code: 0, signal: null }, role)
    t.notMatch(serving.output(), killed, role)
    t.strictSame(started.filter(isAlive), [], `${role}: no process is left`)
  }
})

t.test('one role cannot start: those that wait for it end with it', async (t) => {
  const dataDir = tempDir(t)
  writeFileSync(join(dataDir, 'clickhouse'), 'no directory')
  const serving = run('programs/main.js', ['serve'], { WEIR_DATA_DIR: dataDir, WEIR_PORT: '0' })
  t.teardown(() => serving.kill())
  t.strictSame(await serving.ended, { code: 1, signal: null })
  t.match(serving.output(), /api does not start/)
  t.notMatch(serving.output(), killed)
})
