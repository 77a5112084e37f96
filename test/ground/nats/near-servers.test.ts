/** Messages are read from the servers of a cluster that lead, and stored by them, without another server in between. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { connect } from '@nats-io/transport-node'
import t from 'tap'
import { AcknowledgedSequences, DurableReader } from '../../../src/ground/nats/durable-reader.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { pullBatch } from '../../../src/ground/nats/pull.js'
import { serverName, startNatsCluster } from '../../harness/nats-cluster.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

const streamOf = (name: string) => ({
  name,
  subjects: [subjectOf(name)],
  retention: 'limits' as const,
  bytesMax: 2 ** 20,
  ageMaxMs: 0,
  duplicateWindowMs: 60_000,
  discard: 'new' as const,
})
const subjectOf = (stream: string): string => `${stream}.a`
const consumerOf = (stream: string) => ({ stream, name: 'readers', ackWaitMs: 2_000, ackPendingMax: 10 })

t.test('a consumer is read from its leader, and from another server when that one dies', async (t) => {
  const cluster = await startNatsCluster(tempDir(t))
  t.teardown(() => cluster.close())
  const nats = await openNats({ servers: cluster.url.split(','), name: 'test', replicas: 3 })
  t.teardown(() => nats.close())
  // One of so many streams is led by a server to which the main connection does not go.
  const streams = Array.from({ length: 12 }, (_, n) => `STREAM_${n}`)
  for (const name of streams) await nats.ensureStream(streamOf(name))
  const opened = await Promise.all(
    streams.map(async (stream) => ({ stream, ...(await nats.openConsumer(consumerOf(stream))) })),
  )
  const far = opened.find(({ lost }) => lost !== undefined)
  t.ok(far, 'the first time, too')
  const { stream, consumer, lost } = far!
  const { sequence } = await nats.publish(subjectOf(stream), 'one', { storedBy: stream })
  t.equal(sequence, 1)
  t.equal(
    (await nats.publish(subjectOf(stream), 'two', { storedBy: stream })).sequence,
    2,
    'its leader is known',
  )
  const read = async (from: typeof consumer): Promise<readonly string[]> => {
    const texts: string[] = []
    for await (const { data, reply } of pullBatch(from, 3, AbortSignal.timeout(5_000))) {
      texts.push(Buffer.from(data).toString())
      await nats.acknowledgements.confirm(reply)
    }
    return texts
  }
  t.same(await read(consumer), ['one', 'two'])

  const leader = (await consumer.info()).cluster?.leader
  await cluster.servers.find((_, n) => serverName(n) === leader)!.kill()
  await until('the reader learns of it', () => lost!.aborted)
  t.equal((await nats.publish(subjectOf(stream), 'three', { storedBy: stream })).sequence, 3)
  // A server that dies may have told no other of the last acknowledgements.
  t.equal((await read((await nats.openConsumer(consumerOf(stream))).consumer)).at(-1), 'three')
})

t.test('servers hand a consumer to each other: its reader looks, and opens it again', async (t) => {
  const cluster = await startNatsCluster(tempDir(t))
  t.teardown(() => cluster.close())
  const nats = await openNats({ servers: cluster.url.split(','), name: 'test', replicas: 3 })
  t.teardown(() => nats.close())
  await nats.ensureStream(streamOf('STREAM'))
  let opened = 0
  let looks = 0
  const openConsumer: typeof nats.openConsumer = async (options) => {
    const { hasMoved, ...other } = await nats.openConsumer(options)
    const look = async (): Promise<boolean> => {
      const answer = await hasMoved!()
      looks += 1
      return answer
    }
    return { ...other, hasMoved: look }
  }
  const { acknowledgements } = nats
  const onReconnect = nats.onReconnect.bind(nats)
  const reader = new DurableReader({
    nats: { openConsumer, acknowledgements, onReconnect },
    consumer: { stream: 'STREAM', name: 'readers', ackPendingMax: 10 },
    acknowledged: new AcknowledgedSequences(10),
    pull: async (_, signal) => {
      opened += 1
      await once(signal, 'abort')
    },
    unavailable: () => {},
    stoppedEarly: () => t.fail('nothing was in flight'),
    leaderLookMs: 100,
  })
  reader.open()
  await until('it is read', () => opened === 1)
  await until('it has looked for its leader', () => looks >= 3)
  t.equal(opened, 1, 'it stays open while its leader stays')
  const connection = await connect({ servers: cluster.servers[0]!.url })
  t.teardown(() => connection.close())
  await connection.request('$JS.API.CONSUMER.LEADER.STEPDOWN.STREAM.readers')
  await until('it is opened again', () => opened > 1)
  await reader.stop()
  await reader.close()
})

t.test('one server: there is nothing nearer', async (t) => {
  const cluster = await startNatsCluster(tempDir(t))
  t.teardown(() => cluster.close())
  const nats = await openNats({ servers: [cluster.servers[0]!.url], name: 'test', replicas: 3 })
  t.teardown(() => nats.close())
  await nats.ensureStream(streamOf('STREAM'))
  t.equal((await nats.openConsumer(consumerOf('STREAM'))).lost, undefined, 'only one is named')
  t.equal((await nats.publish(subjectOf('STREAM'), 'one', { storedBy: 'STREAM' })).sequence, 1)
})

t.test('a server that is away is tried until the connection is closed, and not after that', async (t) => {
  const cluster = await startNatsCluster(tempDir(t))
  t.teardown(() => cluster.close())
  /** Servers that break every connection off at once, and how often each was tried. */
  const openAway = async () => {
    const away = { tries: 0, url: '' }
    const server = createServer((socket) => {
      away.tries += 1
      socket.destroy()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.teardown(() => server.close())
    away.url = `nats://127.0.0.1:${(server.address() as AddressInfo).port}`
    return away
  }
  const [one, two] = cluster.servers
  const open = async (away: string) => {
    const nats = await openNats({ servers: [one!.url, two!.url, away], name: 'test', replicas: 3 })
    t.teardown(() => nats.close())
    await nats.ensureStream(streamOf('STREAM'))
    await nats.openConsumer(consumerOf('STREAM'))
    return nats
  }
  const [away, other] = [await openAway(), await openAway()]
  const nats = await open(away.url)
  // As long as its connection is open, it is tried as often: it says how much time has passed.
  await open(other.url)
  const before = away.tries
  await until('it is tried again and again', () => away.tries > before + 2)
  await nats.close()
  const [atClose, otherAtClose] = [away.tries, other.tries]
  await until('the other one is tried again and again', () => other.tries > otherAtClose + 3)
  t.ok(away.tries <= atClose + 1, `${away.tries - atClose} more`)
})
