/** Partitions as a nats-server sees them: what it maps where, and which streams there are. */
import { randomBytes } from 'node:crypto'
import { connect } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import type { NatsAccess } from '../../../src/delivery/nats-server/nats-access.js'
import { openNatsServer } from '../../../src/delivery/nats-server/nats-server.js'
import { natsAccess } from '../../../src/delivery/nats-server/nats-users.js'
import { checkMapping } from '../../../src/delivery/wire/mapping-check.js'
import {
  homeOf,
  partitionNumbered,
  partitionsMax,
  partitionsUpTo,
  publishedSubject,
  recordsPartition,
  streamsOf,
  subjectMappings,
} from '../../../src/delivery/wire/partitions.js'
import { Partitions, partitionsWithStreams } from '../../../src/delivery/wire/partitions-in-use.js'
import { ensureStreams, restoreStreams } from '../../../src/delivery/wire/streams.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { type Nats, openNats } from '../../../src/ground/nats/nats.js'
import { localNatsServer } from '../../../src/management/process/settings.js'
import { tempDir } from '../../harness/temp-dir.js'

const mebibyte = 1024 * 1024
const bounds = { storageMaxBytes: 16 * mebibyte, retentionMs: 60 * 60_000 }
const occurrences = createOccurrences({
  logger: createLogger('test', 'silent'),
  registry: createRegistry(),
})

async function startServer(t: Test, mappings: Readonly<Record<string, string>>) {
  const { accounts, streamsOf: account } = natsAccess()
  const access: NatsAccess = {
    accounts: { ...accounts, [account]: { ...accounts[account]!, mappings } },
    streamsOf: account,
  }
  const options = { executable: localNatsServer(), dataDir: tempDir(t), port: 0, access, occurrences }
  const server = await openNatsServer({ ...options, storageMaxBytes: 256 * mebibyte })
  t.teardown(() => server.close())
  return server.urlOf('admin')
}

async function connected(t: Test, url: string): Promise<Nats> {
  const nats = await openNats({ servers: [url], name: 'test', replicas: 1, occurrences })
  t.teardown(() => nats.close())
  return nats
}

t.test('a record gets into the partition that is computed for its node', async (t) => {
  const counts = [2, 3, 4, 8, 37, partitionsMax]
  // Each count has subjects of its own, so that one server answers for all.
  const headOf = (count: number): string => `p${count}.`
  const own = (text: string, count: number): string => text.replace('weir.records.', headOf(count))
  const mappings = counts.flatMap((count) =>
    Object.entries(subjectMappings(count)).map(([from, to]) => [own(from, count), own(to, count)]),
  )
  const url = new URL(await startServer(t, Object.fromEntries(mappings)))
  const connection = await connect({ port: Number(url.port), user: url.username, pass: url.password })
  t.teardown(() => connection.close())
  const got = new Map<string, number>()
  connection.subscribe('>', {
    callback: (_, { subject, data }) =>
      void got.set(Buffer.from(data).toString(), Number(subject.split('.')[3])),
  })
  const wanted = new Map<string, number>()
  for (let number = 0; number < 200; number += 1) {
    const node = number % 4 === 0 ? `nöde-${number}` : randomBytes(1 + (number % 20)).toString('hex')
    const region = ['eu', 'us-east-1', 'weir', '日本'][number % 4]!
    for (const count of counts) {
      const subject = `${headOf(count)}${region}.${node}`
      wanted.set(subject, recordsPartition(region, node, count))
      connection.publish(subject, subject)
    }
  }
  await connection.flush()
  t.strictSame(got, wanted)
  for (const count of counts) {
    const used = new Set(
      [...wanted].filter(([subject]) => subject.startsWith(headOf(count))).map(([, n]) => n),
    )
    t.ok(used.size > count / 2, `${used.size} of ${count} partitions are used`)
  }
})

t.test('the number of a partition is no part of the subject that a node published on', async (t) => {
  t.equal(publishedSubject('weir.records.eu.node-1.63'), 'weir.records.eu.node-1')
  t.equal(publishedSubject('weir.records.weir.published.0'), 'weir.records.weir.published')
  t.equal(publishedSubject('weir.records.eu.7'), 'weir.records.eu.7', 'a node may be named like one')
  t.equal(publishedSubject('weir.records.node-1'), 'weir.records.node-1')
})

t.test('a destination has one home, and half of the homes stay when their number doubles', async (t) => {
  const ids = Array.from({ length: 1_000 }, (_, number) => `ed_${number}`)
  t.ok(ids.every((id) => homeOf(id, 1).number === 0))
  for (const count of [2, 4, 64]) {
    const homes = ids.map((id) => homeOf(id, count).number)
    t.equal(new Set(homes).size, count)
    t.ok(homes.every((home) => home < count))
  }
  const stay = ids.filter((id) => homeOf(id, 4) === homeOf(id, 8)).length
  t.ok(stay > 400 && stay < 600, `${stay} of 1000`)
})

// --- the mapping of a server ---

const checks: readonly {
  readonly server: string
  readonly mapped: number
  readonly count: number
  readonly isRefused: boolean
}[] = [
  { server: 'the same number', mapped: 4, count: 4, isRefused: false },
  { server: 'a lower number', mapped: 2, count: 4, isRefused: true },
  { server: 'a higher number, whose streams do not exist', mapped: 8, count: 4, isRefused: true },
  { server: 'no mapping', mapped: 1, count: 4, isRefused: true },
  { server: 'a mapping that was left over', mapped: 4, count: 1, isRefused: false },
]

for (const { server, mapped, count, isRefused } of checks) {
  t.test(`a server with ${server}: ${mapped} instead of ${count}`, async (t) => {
    const nats = await connected(t, await startServer(t, subjectMappings(mapped)))
    await ensureStreams(nats, { ...bounds, partitions: count })
    const [[from, to] = []] = Object.entries(subjectMappings(count))
    if (isRefused)
      await t.rejects(checkMapping(nats, count), { message: new RegExp(escaped(`"${from}": "${to}"`)) })
    else await checkMapping(nats, count)
    for (const { recordsStream } of partitionsUpTo(count))
      t.match(
        (await nats.streamInfo(recordsStream))?.state,
        { messages: 0, last_seq: 0 },
        'nothing is stored',
      )
  })
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

t.test('an API starts although its streams of records are full', async (t) => {
  const nats = await connected(t, await startServer(t, subjectMappings(2)))
  await ensureStreams(nats, { ...bounds, partitions: 2 })
  const data = Buffer.alloc(512 * 1024)
  const fill = async (node: string, bytes: Uint8Array): Promise<void> => {
    for (;;)
      try {
        await nats.publish(`weir.records.eu.${node}`, bytes, { triesMax: 1 })
      } catch (error) {
        t.match(error, { message: /maximum bytes/ })
        return
      }
  }
  for (const node of ['a', 'b', 'c', 'd'])
    for (const bytes of [data, data.subarray(0, 5_000), data.subarray(0, 0)]) await fill(node, bytes)
  await checkMapping(nats, 2)
})

// --- streams ---

const subjectsIn = async (nats: Nats, name: string) => (await nats.streamInfo(name))?.config.subjects

const deleteStreams = async (nats: Nats, names: readonly string[]): Promise<void> => {
  for (const name of names) await nats.request(`$JS.API.STREAM.DELETE.${name}`, '', 30_000)
}

const alone = ['weir.records.>']

t.test('streams are deleted by hand, and the next start makes what it needs', async (t) => {
  const nats = await connected(t, await startServer(t, {}))
  await ensureStreams(nats, { ...bounds, partitions: 4 })
  t.equal(await partitionsWithStreams(nats, 1), 4)
  await deleteStreams(nats, ['WEIR_RECORDS_2'])
  t.strictSame(await ensureStreams(nats, bounds), ['WEIR_RECORDS_2'], 'one that hides others is made again')
  t.equal(await partitionsWithStreams(nats, 1), 4)
  await deleteStreams(nats, ['WEIR_RECORDS_1', 'WEIR_RECORDS_2', 'WEIR_RECORDS_3'])
  await ensureStreams(nats, bounds)
  t.equal(await partitionsWithStreams(nats, 1), 4, 'packs alone are drained, too')
  await deleteStreams(nats, ['WEIR_RECORDS'])
  await ensureStreams(nats, bounds)
  t.notSame(
    await subjectsIn(nats, 'WEIR_RECORDS'),
    alone,
    'the first one leaves out the subjects of the others',
  )
  await deleteStreams(nats, streamsOf(partitionsUpTo(4).slice(1)))
  t.strictSame(await ensureStreams(nats, bounds), [])
  t.strictSame(await subjectsIn(nats, 'WEIR_RECORDS'), alone)
})

t.test('a lost stream of any partition is reported, and an added one is not', async (t) => {
  const nats = await connected(t, await startServer(t, {}))
  const losses: string[] = []
  const restore = (partitions: number) =>
    restoreStreams(nats, { ...bounds, partitions }, true, {
      natsStoreLost: ({ loss }) => void losses.push(String(loss)),
    })
  await ensureStreams(nats, bounds)
  await restore(2)
  await restore(4)
  t.strictSame(losses, [])
  await deleteStreams(nats, ['WEIR_DELIVERIES_3'])
  t.match(await restore(4), /^NATS lost what it stored \(WEIR_DELIVERIES_3\): undelivered events are gone\.$/)
  await deleteStreams(nats, ['WEIR_RECORDS_1', 'WEIR_DELIVERIES_1'])
  t.match(await restore(4), /unprocessed records are gone; undelivered events are gone/)
  t.equal(losses.length, 2)
})

t.test('a process finds partitions that are made, and forgets those that are deleted', async (t) => {
  const nats = await connected(t, await startServer(t, {}))
  await ensureStreams(nats, { ...bounds, partitions: 2 })
  const partitions = new Partitions(nats, 2)
  t.teardown(() => partitions.close())
  const open = new Set<number>()
  partitions.each(({ number }) => {
    open.add(number)
    return { close: () => open.delete(number) }
  })
  t.strictSame(open, new Set([0, 1]))
  await ensureStreams(nats, { ...bounds, partitions: 4 })
  await partitions.look()
  t.strictSame(open, new Set([0, 1, 2, 3]))
  t.strictSame(partitions.all, partitionsUpTo(4))
  t.ok(partitions.homeOf('ed_1').number < 2, 'nothing new gets there')
  await deleteStreams(nats, streamsOf([partitionNumbered(3)!]))
  await partitions.look()
  t.strictSame(open, new Set([0, 1, 2]))
  await deleteStreams(nats, streamsOf(partitionsUpTo(3)))
  await partitions.look()
  t.strictSame(open, new Set([0, 1]), 'its own stay: their streams will be made again')
  await partitions.close()
  t.strictSame(open, new Set(), 'what it opened is closed with it')
})
