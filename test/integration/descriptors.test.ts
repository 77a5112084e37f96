/**
 * Processes under `weir serve` that may open no more files or connections: readiness names them, and all goes on when they
 * may again. The nats-server is restarted for that.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { openNats } from '../../src/ground/nats/nats.js'
import { total } from '../harness/metrics.js'
import { isReady, metricsOf, untilNamed } from '../harness/pages.js'
import { tempDir } from '../harness/temp-dir.js'
import { processesBelow } from '../harness/tree.js'
import { startWeir, until } from '../harness/weir.js'
import { token, wideMessage, wideRecords } from './deployment.js'

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0
const skip = hasPrlimit ? false : 'there is no prlimit to take descriptors away'
/** A nats-server that may open nothing stores gigabytes before it must. */
const skipLong = process.argv.includes('--full') ? skip : 'it takes two minutes: --full runs it'

/**
 * From now on, the process can open nothing: the first number that is free is not allowed. The result gives back what it
 * had.
 */
function exhaust(pid: number): () => void {
  const setTo = (limit: string): void => {
    const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:`])
    if (status !== 0) throw new Error(String(stderr))
  }
  const [, usual = ''] = /^Max open files +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8')) ?? []
  const opened = new Set(readdirSync(`/proc/${pid}/fd`).map(Number))
  let free = 0
  while (opened.has(free)) free += 1
  setTo(String(free))
  return () => setTo(usual)
}

async function open(t: Test) {
  const weir = await startWeir(tempDir(t), { WEIR_BOOTSTRAP_TOKEN: token, WEIR_PIPELINES: '1' })
  t.teardown(() => weir.stop())
  const pidOf = (wanted: string): number =>
    processesBelow(weir.process.pid).find(({ role }) => role === wanted)!.pid
  return { weir, pidOf }
}

t.test('a role', { skip }, async (t) => {
  const { weir, pidOf } = await open(t)
  for (const role of ['pipeline', 'deliver']) {
    const giveBack = exhaust(pidOf(role))
    await untilNamed(weir, `${role}.process`, /can open no more files or connections .*ulimit -n/)
    t.ok(total(await metricsOf(weir.url), 'weir_write_failing', 'reason="descriptors"') >= 1, role)
    giveBack()
    await until('all roles are ready', () => isReady(weir.url))
  }
})

t.test('the nats-server', { skip: skipLong }, async (t) => {
  const { weir, pidOf } = await open(t)
  const node = await openNats({ servers: [weir.natsUrl], name: 'node', replicas: 1 })
  t.teardown(() => node.close())
  const message = wideMessage()
  let acknowledged = 0
  const publish = async (): Promise<void> => {
    await node.publish('weir.records.eu.node-1', message, { triesMax: 1 })
    acknowledged += 1
  }
  exhaust(pidOf('nats-server'))
  // Blocks that are read and removed give their descriptors to the next ones.
  await t.rejects(async () => {
    for (;;) await publish()
  }, 'nothing more is acknowledged')
  await untilNamed(weir, 'nats-server', /too many open files/)
  await until('a record is stored', () =>
    publish().then(
      () => true,
      () => false,
    ),
  )
  await until('all roles are ready', () => isReady(weir.url))
  t.ok(total(await metricsOf(weir.url), 'weir_nats_store_restarts_total') >= 1)
  await until('a change is made', () =>
    weir.api.ipPolicy.create({}).then(
      () => true,
      () => false,
    ),
  )
  const evaluated = async () => total(await metricsOf(weir.url), 'weir_records_evaluated_total')
  await until('nothing is lost', async () => (await evaluated()) >= acknowledged * wideRecords)
})
