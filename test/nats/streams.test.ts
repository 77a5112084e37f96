/** Streams whose limits change while they hold messages, and streams without a quorum. */
import t from 'tap'
import { openNats } from '../../src/nats/nats.js'
import { quorumProblem, type StreamOptions } from '../../src/nats/streams.js'
import { OwnNats } from '../harness/own-nats.js'
import { tempDir } from '../harness/temp-dir.js'

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
