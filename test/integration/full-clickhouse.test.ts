/** `weir serve` while the disk of its ClickHouse is full, and afterwards: the API says that it takes no writes. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ApiError } from '../../src/words/client/client.js'
import { newest } from '../harness/caller.js'
import { total } from '../harness/metrics.js'
import { isReady, metricsOf, untilNamed } from '../harness/pages.js'
import { mountSmallDisk } from '../harness/small-disk.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'
import { record, token } from './deployment.js'

t.setTimeout(600_000)

const refused = /ClickHouse stores nothing, because its disk is full; nothing was written/

/** With its ClickHouse on a small disk; a reason instead, if this user may mount none. */
async function open(t: Test) {
  const dataDir = tempDir(t)
  const dir = join(dataDir, 'clickhouse')
  mkdirSync(dir)
  const disk = mountSmallDisk(t, '128m', dir)
  if (typeof disk === 'string') return disk
  const weir = await startWeir(dataDir, { WEIR_BOOTSTRAP_TOKEN: token })
  t.teardown(() => weir.stop())
  return { weir, fill: () => disk.fill(), makeRoom: () => rmSync(join(dir, 'filling')) }
}

t.test('full without any traffic, then with room again', async (t) => {
  const opened = await open(t)
  if (typeof opened === 'string') return void t.pass(opened, { skip: opened })
  const { weir, fill, makeRoom } = opened
  const before = await weir.api.ipPolicy.create({ description: 'before' })
  const nats = await weir.nats()

  fill()
  await untilNamed(weir, 'store', refused)
  const failing = async () => total(await metricsOf(weir.url), 'weir_write_failing', 'reason="clickhouse"')
  t.equal(await failing(), 1)
  t.match(weir.process.output(), /(not enough space|no space left).*ClickHouse cannot be written to/i)

  const error = await weir.api.ipPolicy.create({ description: 'meanwhile' }).catch((error: unknown) => error)
  t.ok(error instanceof ApiError)
  t.match(error, { status_code: 503, msg: refused, details: { outcome: 'not_written' } })
  t.notMatch((error as ApiError).msg, /clickhouse\//, 'clients see no paths')
  t.equal((await weir.api.ipPolicy.get(before.id)).description, 'before', 'reads go on')
  t.equal((await newest(weir.api.ipPolicy.list())).id, before.id, 'nothing was written')
  t.ok((await newest(weir.api.changes({ limit: 1 }))) !== undefined, 'also those of ClickHouse')
  await nats.publish('weir.records.eu.node-1', record('run', 0))
  t.pass('records are stored')

  makeRoom()
  await until('all roles are ready', () => isReady(weir.url))
  const after = await weir.api.ipPolicy.create({ description: 'after' })
  t.equal((await newest(weir.api.ipPolicy.list())).id, after.id, 'writes are taken')
  t.equal(await failing(), 0)
})

t.test('full while many write: each answer is true of its own change', async (t) => {
  const opened = await open(t)
  if (typeof opened === 'string') return void t.pass(opened, { skip: opened })
  const { weir, fill, makeRoom } = opened
  const outcomes = new Map<string, string>()
  const write = async (description: string): Promise<boolean> => {
    try {
      await weir.api.ipPolicy.create({ description })
      outcomes.set(description, 'done')
      return true
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      outcomes.set(description, String(error.details['outcome']))
      return error.details['outcome'] !== 'not_written'
    }
  }
  const writer = async (client: number): Promise<void> => {
    for (let turn = 0; await write(`${client}-${turn}`); turn += 1);
  }
  const writers = Promise.all([1, 2, 3].map(writer))
  await until('writes are made', () => outcomes.size > 10)
  fill()
  await writers
  makeRoom()
  await until('all roles are ready', () => isReady(weir.url))
  await weir.api.ipPolicy.create({ description: 'last' })
  const found = new Set<string | null>()
  for await (const { description } of weir.api.ipPolicy.list()) found.add(description ?? '')
  for (const [description, outcome] of outcomes)
    t.equal(found.has(description), outcome !== 'not_written', `${description}: ${outcome}`)
})
