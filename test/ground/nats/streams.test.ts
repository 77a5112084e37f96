/** Streams whose limits change while they hold messages, and streams without a quorum. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bufferOf } from '../../../src/ground/core/bytes.js'
import { StartFault } from '../../../src/ground/core/errors.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { quorumProblem, type StreamOptions, streamConfig } from '../../../src/ground/nats/streams.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'

const mebibyte = 1024 * 1024
const stream: StreamOptions = {
  name: 'work',
  subjects: ['work.>'],
  retention: 'limits',
  bytesMax: 16 * mebibyte,
  ageMaxMs: 60 * 60_000,
  duplicateWindowMs: 60_000,
  discard: 'new',
}

t.test('a stream whose limit is set below its contents loses nothing', async (t) => {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.stop())
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
  t.teardown(() => nats.close())
  await nats.ensureStream(stream)
  for (let at = 0; at < 40; at += 1) {
    await nats.publish('work.one', new Uint8Array(100_000), { msgId: String(at) })
  }
  await nats.ensureStream({ ...stream, bytesMax: mebibyte })
  const full = (await nats.streamInfo(stream.name))!
  t.equal(full.state.messages, 40)
  t.equal(full.config.max_bytes, stream.bytesMax, 'it keeps its room')

  await nats.removeMessages(
    stream.name,
    Array.from({ length: 36 }, (_, at) => at + 1),
  )
  await nats.ensureStream({ ...stream, bytesMax: mebibyte })
  const emptied = (await nats.streamInfo(stream.name))!
  t.equal(emptied.state.messages, 4)
  t.equal(emptied.config.max_bytes, mebibyte, 'it shrinks once there is room in the smaller one')
})

t.test('a server whose room is exactly that of its streams, and a new one', async (t) => {
  const dir = tempDir(t)
  const settings = join(dir, 'small.conf')
  writeFileSync(settings, `jetstream { max_file_store: 16MB, store_dir: ${JSON.stringify(dir)} }`)
  const server = new OwnNats(dir, ['-c', settings])
  await server.start()
  t.teardown(() => server.stop())
  const started = async () => {
    const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
    t.teardown(() => nats.close())
    return nats
  }
  const nats = await started()
  await nats.ensureStream({ ...stream, bytesMax: 8 * mebibyte })
  const old = await nats.openBucket('old', 8 * mebibyte)
  await old.put('key', 'kept')

  const refused = {
    constructor: StartFault,
    message: /NATS has no room for KV_new \(2 MiB\).*WEIR_STORAGE_MAX/,
  }
  await t.rejects(nats.openBucket('new', 2 * mebibyte), refused, 'it says what does not fit')
  const more = { ...stream, name: 'more', subjects: ['more.>'], bytesMax: mebibyte }
  await t.rejects(nats.ensureStream(more), { message: /no room for more \(1 MiB\)/ })

  await (await started()).openBucket('old', 6 * mebibyte)
  await nats.openBucket('new', 2 * mebibyte)
  const { value } = (await old.get('key'))!
  t.equal(bufferOf(value!).toString(), 'kept', 'a bucket that holds little gives room to another one')
  const sizeOf = async (name: string) => (await nats.streamInfo(name))?.config.max_bytes
  t.strictSame([await sizeOf('KV_old'), await sizeOf('KV_new')], [6 * mebibyte, 2 * mebibyte])
  await old.put('large', new Uint8Array(600_000))
  await (await started()).openBucket('old', mebibyte)
  t.equal(await sizeOf('KV_old'), 6 * mebibyte, 'one that holds more than half of that keeps its room')
})

const second = 1e9
const replica = (active: number) => ({ name: 'n', current: true, active })
const quorums = [
  { name: 'a single server', cluster: undefined, problem: undefined },
  { name: 'one replica in a cluster', cluster: { leader: 'n0' }, problem: undefined },
  {
    name: 'all replicas are heard',
    cluster: { leader: 'n0', replicas: [replica(second), replica(0)] },
    problem: undefined,
  },
  {
    name: 'one of three is silent',
    cluster: { leader: 'n0', replicas: [replica(second), replica(9 * second)] },
    problem: undefined,
  },
  {
    name: 'two of three are silent, and the leader does not know yet',
    cluster: { leader: 'n0', replicas: [replica(3 * second), replica(3 * second)] },
    problem: "Of the stream's 3 servers 1 can be reached: nothing can be stored in it.",
  },
  {
    name: 'two of five are silent',
    cluster: { leader: 'n0', replicas: [replica(0), replica(0), replica(3 * second), replica(3 * second)] },
    problem: undefined,
  },
  {
    name: 'no leader, though the others were heard just now',
    cluster: { replicas: [replica(0), replica(0), replica(0)] },
    problem: 'The stream has no leader: nothing can be stored in it.',
  },
]

t.test('a stream without a quorum', (t) => {
  for (const { name, cluster, problem } of quorums)
    t.equal(quorumProblem({ cluster } as never), problem, name)
  t.end()
})

t.test('fast ingest is allowed by servers that have it', (t) => {
  const cases = [
    { title: 'alone', server: { version: '2.14.0' }, isAllowed: true },
    { title: 'older', server: { version: '2.12.12' }, isAllowed: false },
    { title: 'in a cluster', server: { version: '2.15.1', cluster: 'weir' }, isAllowed: false },
    { title: 'unknown', server: undefined, isAllowed: false },
  ]
  for (const { title, server, isAllowed } of cases) {
    const { allow_batched = false } = streamConfig({ ...stream, fastIngest: true }, 1, server)
    t.equal(allow_batched, isAllowed, title)
  }
  t.notOk('allow_batched' in streamConfig(stream, 1, { version: '2.15.1' }), 'only for streams of records')
  t.end()
})
