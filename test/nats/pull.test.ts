/** Requests for messages of a durable consumer, by nats-server itself: it refuses some combinations of their options. */
import t from 'tap'
import { openNats } from '../../src/nats/nats.js'
import { pullAll, pullBatch } from '../../src/nats/pull.js'
import { OwnNats } from '../harness/own-nats.js'
import { tempDir } from '../harness/temp-dir.js'

t.test('messages that are there are taken with one request, of one message and of several', async (t) => {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.stop())
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
  t.teardown(() => nats.close())
  await nats.ensureStream({
    name: 'work',
    subjects: ['work.>'],
    retention: 'limits',
    bytesMax: 1024 * 1024,
    ageMaxMs: 60 * 60_000,
    duplicateWindowMs: 60_000,
    discard: 'new',
  })
  const options = {
    stream: 'work',
    name: 'worker',
    filter: 'work.one',
    ackWaitMs: 60_000,
    ackPendingMax: 100,
  }
  const { consumer } = await nats.openConsumer(options)
  for (const text of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) await nats.publish('work.one', text)
  const textsOf = async (messagesMax: number): Promise<string[]> => {
    const texts: string[] = []
    for await (const { data } of pullBatch(consumer, messagesMax, new AbortController().signal))
      texts.push(Buffer.from(data).toString())
    return texts
  }
  t.strictSame(await textsOf(1), ['a'])
  t.strictSame(await textsOf(3), ['b', 'c', 'd'])
  const stop = new AbortController()
  const rest: string[] = []
  for await (const { data } of pullAll(consumer, () => 2, stop.signal)) {
    rest.push(Buffer.from(data).toString())
    if (rest.length === 3) stop.abort()
  }
  t.strictSame(rest, ['e', 'f', 'g'])
})
