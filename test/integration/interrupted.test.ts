/** Ctrl-C in a terminal: it reaches npm, `weir serve` and its roles at once. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { processStart } from '../../src/delivery/nats-server/process-start.mjs'
import { openNats } from '../../src/ground/nats/nats.js'
import { recordsStream } from '../harness/first-partition.js'
import { type Running, runNpmStart, signalGroup } from '../harness/processes.js'
import { processesBelow } from '../harness/tree.js'
import { type Serve, startWeir, until } from '../harness/weir.js'
import {
  arrivedRecords,
  checkBooks,
  checkOnce,
  type Deployment,
  expectedEvents,
  openDeployment,
  publish,
  untilArrived,
} from './deployment.js'

const records = 2_000
const perMessage = 10
/** The ack wait of `ground/nats/durable-reader.ts`. */
const ackWaitMs = 10_000
/** The pause after which a second Ctrl-C no longer counts as the first one, forwarded by npm. */
const impatienceMs = 1_200

const ctrlC = ({ pid }: Running): void => signalGroup(pid, 'SIGINT')

/** Returns a function that lists the running processes below it, nats-server included. */
function watchBelow({ pid }: Running): () => string[] {
  const below = processesBelow(pid).map((each) => ({ ...each, start: processStart(each.pid) }))
  return () => below.filter((each) => processStart(each.pid) === each.start).map(({ role }) => role)
}

async function publishTo(deployment: Deployment, from: number, to: number): Promise<void> {
  const nats = await openNats({ servers: [deployment.weir.natsUrl], name: 'test', replicas: 1 })
  await publish(nats, 'run', from, to, perMessage)
  await nats.close()
}

async function startAgain(
  t: { teardown(close: () => unknown): unknown },
  deployment: Deployment,
  start?: Serve,
): Promise<Deployment> {
  const weir = await startWeir(deployment.dataDir, deployment.env, '', start)
  t.teardown(() => weir.stop())
  return { ...deployment, weir }
}

/** How often messages of records were delivered to a pipeline, repeats included. */
async function deliveriesOfRecords({ weir }: Deployment): Promise<number> {
  const nats = await weir.nats()
  const answer = await nats.request(`$JS.API.CONSUMER.LIST.${recordsStream}`, '', 30_000)
  const { consumers } = JSON.parse(Buffer.from(answer).toString())
  return consumers[0].delivered.consumer_seq
}

/** ClickHouse keeps this file while the directory is open; it stays after a kill. */
const isClickhouseOpen = ({ dataDir }: Deployment): boolean =>
  existsSync(join(dataDir, 'clickhouse', 'status'))

/** The longest time for which this process, and so most likely others, did not get its turn. */
function watchPauses(t: Test): () => number {
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 50)
  t.teardown(() => clearInterval(timer))
  return () => longest
}

t.test('Ctrl-C under load, then an immediate start on the same directory', async (t) => {
  const longestPauseMs = watchPauses(t)
  const deployment = await openDeployment(t, {}, runNpmStart)
  const npm = deployment.weir.process
  await publishTo(deployment, 0, records)
  t.ok(isClickhouseOpen(deployment), 'ClickHouse has its directory open')
  const left = watchBelow(npm)
  t.ok(left().includes('nats-server'), 'nats-server is one of them')
  ctrlC(npm)
  t.strictSame(await npm.ended, { code: 0, signal: null }, 'it ends with success')
  t.notOk(isClickhouseOpen(deployment), 'ClickHouse closed its directory')
  t.notMatch(npm.output(), /"level":(50|60)/, 'nothing is logged as an error')
  t.notMatch(npm.output(), 'server shutdown', 'nats-server runs until the end')
  await until('the watcher of nats-server has ended', () => left().length === 0)

  const again = await startAgain(t, deployment, runNpmStart)
  await publishTo(again, records, 2 * records)
  await untilArrived(again, expectedEvents(2 * records))
  t.equal((await arrivedRecords(again)).size, 2 * records, 'nothing is lost')
  await checkOnce(t, again)
  const deliveries = await deliveriesOfRecords(again)
  // A message that a process holds for longer without a word, because it was not its turn, is delivered again.
  if (longestPauseMs() < ackWaitMs / 4)
    t.equal(deliveries, (2 * records) / perMessage, 'each message of records was delivered once')
  else t.comment(`deliveries are not counted: nothing went on for ${Math.round(longestPauseMs())} ms`)
  await checkBooks(t, again, 2 * records)
  await t.test('a second Ctrl-C leaves no process behind and loses nothing', (t) => interruptTwice(t, again))
})

/** In a deployment that got the first `2 * records`. */
async function interruptTwice(t: Test, deployment: Deployment): Promise<void> {
  const npm = deployment.weir.process
  const { client } = deployment.emulator
  const requests = async () => (await client.stats())['kinesis.PutRecords']?.requests ?? 0
  const before = await requests()
  await client.addFault({ effect: { type: 'latency', ms: 8_000 }, service: 'kinesis' })
  await publishTo(deployment, 2 * records, 3 * records)
  await until('requests are under way', async () => (await requests()) > before)
  const left = watchBelow(npm)
  ctrlC(npm)
  await sleep(impatienceMs)
  t.equal(npm.child.exitCode, null, 'it waits for requests under way')
  ctrlC(npm)
  t.strictSame(await npm.ended, { code: 1, signal: null }, 'it ends at once')
  const again = await startAgain(t, deployment)
  // A role that lost its parent ends by itself, which may take longer than the next start.
  await until('no process is left behind', () => left().length === 0)
  t.strictSame(left(), [], 'no process is left behind')
  await client.clearFaults()
  await untilArrived(again, expectedEvents(3 * records))
  t.equal((await arrivedRecords(again)).size, 3 * records, 'nothing is lost')
  await checkBooks(t, again, 3 * records)
}
