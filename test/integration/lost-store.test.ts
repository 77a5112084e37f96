/**
 * NATS loses streams and buckets under running roles: one at a time, and all at once. They are made again, all roles are
 * ready, and what was acknowledged and still existed is not lost.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bucketNames } from '../../src/delivery/wire/names.js'
import { freeze } from '../harness/processes.js'
import { endNow, processesBelow } from '../harness/tree.js'
import { openDeployment } from './deployment.js'
import { Losses, streamsIn } from './losses.js'

const isFull = process.argv.includes('--full')
// One deployment for all tests, because starts take longest.
const deployment = await openDeployment(t)
const nats = await deployment.weir.nats()
const losses = new Losses(deployment, nats)
const all = await streamsIn(nats)

/** One of each kind: of the books, of the configuration, of one role alone, of the traffic. */
const some = ['KV_weir_books', `KV_${bucketNames.config}`, 'KV_weir_feeds', 'WEIR_DELIVERIES']
t.ok(
  some.every((stream) => all.includes(stream)),
  'these are names of streams',
)

for (const stream of isFull ? all : some) {
  if (isFull) t.test(`${stream}, idle`, (t) => losses.check(t, losses.one(stream), false))
  t.test(`${stream}, with traffic`, (t) => losses.check(t, losses.one(stream), true))
}

t.test('all deleted, idle', async (t) => losses.check(t, await losses.all(), false))
t.test('all deleted, with traffic', async (t) => losses.check(t, await losses.all(), true))

t.test('the store of nats-server removed, with traffic', async (t) => {
  const lose = async (): Promise<void> => {
    const server = processesBelow(deployment.weir.process.pid).find(({ role }) => role === 'nats-server')!
    freeze(server.pid)
    rmSync(join(deployment.dataDir, 'nats', 'store'), { recursive: true })
    endNow(server.pid)
  }
  await losses.check(t, { name: 'removed', streams: all, lose }, true)
})
