/** Durable consumers whose stream was restored from a backup. */
import t, { type Test } from 'tap'
import type { ConsumerOptions, LastDone } from '../../../src/ground/nats/consumers.js'
import { type Nats, openNats } from '../../../src/ground/nats/nats.js'
import type { StreamOptions } from '../../../src/ground/nats/streams.js'
import { messagesOf, OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'

const kept: Omit<StreamOptions, 'name' | 'subjects' | 'retention'> = {
  bytesMax: 1024 * 1024,
  ageMaxMs: 60 * 60_000,
  duplicateWindowMs: 60_000,
  discard: 'new',
}

/** Publishes, and acknowledges what its consumer receives; it remembers the last message of each run. */
class Worker {
  readonly options: ConsumerOptions
  readonly #done = new Map<string, LastDone>()

  constructor(stream: string) {
    const lastDone = async (since: string) => this.#done.get(since)
    this.options = {
      stream,
      name: 'worker',
      filter: 'work.one',
      ackWaitMs: 5_000,
      ackPendingMax: 10,
      lastDone,
    }
  }

  /** Receives these texts, and those that were `waiting`. */
  async work(
    nats: Nats,
    texts: readonly string[],
    waiting: readonly string[] = [],
  ): Promise<{ heard: string[]; since: string; last: number }> {
    const max_messages = waiting.length + texts.length
    const { consumer, since } = await nats.openConsumer(this.options)
    for (const text of texts) await nats.publish('work.one', text)
    const heard: string[] = []
    let last = 0
    for await (const message of await consumer.fetch({ max_messages, expires: 5_000 })) {
      heard.push(message.string())
      // Confirmed, so that the server has it before it is stopped.
      await message.ackAck()
      last = message.seq
      this.#done.set(since, { sequence: last, storedAtMs: message.time.getTime() })
    }
    return { heard, since, last }
  }
}

const openServer = (t: Test) => {
  const server = new OwnNats(tempDir(t))
  t.teardown(() => server.stop())
  return server
}

/** Work while the server runs. */
async function session<T>(
  server: OwnNats,
  stream: StreamOptions,
  use: (nats: Nats) => Promise<T>,
): Promise<T> {
  await server.start()
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
  try {
    await nats.ensureStream(stream)
    return await use(nats)
  } finally {
    await nats.close()
    await server.stop()
  }
}

const lastSequence = async (nats: Nats, { name }: StreamOptions): Promise<number> =>
  (await nats.streamInfo(name))!.state.last_seq

/** Resolves when this connection has asked for the state of the stream: the server answers before it takes anything else. */
const lookedAt = (nats: Nats, stream: string): Promise<void> =>
  new Promise((resolve, reject) => {
    nats.subscribe(`$JS.API.STREAM.INFO.${stream}`, () => resolve(), reject)
  })

for (const retention of ['limits', 'workqueue'] as const) {
  t.test(`a stream put back behind its consumer (${retention}): new messages are received`, async (t) => {
    const server = openServer(t)
    const stream = { ...kept, name: 'work', subjects: ['work.>'], retention } as const
    const worker = new Worker(stream.name)
    await session(server, stream, (nats) => worker.work(nats, ['a', 'b']))
    const putBack = server.copy(messagesOf(stream.name))
    const first = await session(server, stream, (nats) => worker.work(nats, ['c', 'd', 'e']))
    t.strictSame(first.heard, ['c', 'd', 'e'])
    putBack()
    await session(server, stream, async (nats) => {
      t.ok((await lastSequence(nats, stream)) < first.last, 'it is put back')
      const looked = lookedAt(nats, stream.name)
      const opening = nats.openConsumer(worker.options)
      // An ingress node does not wait until the consumer is recreated.
      await looked
      await nats.publish('work.one', 'meanwhile')
      await opening
      const again = await worker.work(nats, ['f', 'g'], ['meanwhile'])
      t.strictSame(again.heard, ['meanwhile', 'f', 'g'])
      t.not(again.since, first.since, 'a run of sequences of its own')
    })
  })
}

t.test(
  'put back several times, and filled again before anyone looks: each time a run of its own',
  async (t) => {
    const server = openServer(t)
    const stream = { ...kept, name: 'work', subjects: ['work.>'], retention: 'limits' } as const
    const worker = new Worker(stream.name)
    const runs = [(await session(server, stream, (nats) => worker.work(nats, ['a']))).since]
    const putBack = server.copy(messagesOf(stream.name))
    await session(server, stream, (nats) => worker.work(nats, ['b', 'c']))
    for (let times = 1; times <= 3; times += 1) {
      putBack()
      const { since } = await session(server, stream, async (nats) => {
        for (const text of ['1', '2', '3', '4']) await nats.publish('work.one', text)
        await nats.openConsumer(worker.options)
        return await worker.work(nats, ['5'])
      })
      t.notOk(runs.includes(since), `${times}`)
      runs.push(since)
      const { since: later } = await session(server, stream, (nats) => worker.work(nats, ['6']))
      t.equal(later, since, 'a restart begins no run')
    }
    await session(server, stream, async (nats) => {
      await nats.deleteConsumer(stream.name, worker.options.name)
      const { since } = await nats.openConsumer(worker.options)
      t.equal(since, runs.at(-1), 'a consumer that is made again finds the last one')
    })
  },
)

t.test('a message that is done and was removed since is not taken for a lost one', async (t) => {
  const server = openServer(t)
  const stream = { ...kept, name: 'work', subjects: ['work.>'], retention: 'limits' } as const
  const worker = new Worker(stream.name)
  await session(server, stream, async (nats) => {
    const { since, last } = await worker.work(nats, ['a', 'b'])
    await nats.removeMessages(stream.name, [last])
    await nats.publish('work.two', 'c')
    t.equal((await nats.openConsumer(worker.options)).since, since)
  })
})
