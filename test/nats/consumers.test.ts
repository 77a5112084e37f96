/** Durable consumers whose stream was restored from a backup. */
import t from 'tap'
import type { ConsumerOptions } from '../../src/nats/consumers.js'
import { type Nats, openNats } from '../../src/nats/nats.js'
import type { StreamOptions } from '../../src/nats/streams.js'
import { messagesOf, OwnNats } from '../harness/own-nats.js'
import { tempDir } from '../harness/temp-dir.js'

t.setTimeout(300_000)

const kept: Omit<StreamOptions, 'name' | 'subjects' | 'retention'> = {
  bytesMax: 1024 * 1024,
  ageMaxMs: 60 * 60_000,
  duplicateWindowMs: 60_000,
  discard: 'new',
}

for (const retention of ['limits', 'workqueue'] as const) {
  t.test(
    `a consumer ahead of its stream (${retention}) is recreated and receives new messages`,
    async (t) => {
      const server = new OwnNats(tempDir(t))
      t.teardown(() => server.stop())
      const stream = { ...kept, name: 'work', subjects: ['work.>'], retention } as const
      const options = {
        stream: stream.name,
        name: 'worker',
        filter: 'work.one',
        ackWaitMs: 5_000,
        ackPendingMax: 10,
      }
      const session = async <T>(use: (nats: Nats) => Promise<T>): Promise<T> => {
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
      await session((nats) => work(nats, options, ['a', 'b']))
      const putBack = server.copy(messagesOf(stream.name))
      const first = await session((nats) => work(nats, options, ['c', 'd', 'e']))
      t.strictSame(first.heard, ['c', 'd', 'e'])
      putBack()
      await session(async (nats) => {
        const { delivered } = (await nats.consumerInfo(stream.name, options.name))!
        t.ok(delivered > (await nats.streamInfo(stream.name))!.state.last_seq, 'it is ahead')
        const looked = lookedAt(nats, stream.name)
        const opening = nats.openConsumer(options)
        // An ingress node does not wait until the consumer is recreated.
        await looked
        await nats.publish('work.one', 'meanwhile')
        await opening
        const again = await work(nats, options, ['f', 'g'], ['meanwhile'])
        t.strictSame(again.heard, ['meanwhile', 'f', 'g'])
        if (retention === 'limits') t.not(again.since, first.since, 'a run of sequences of its own')
      })
    },
  )
}

/** Resolves when this connection has asked for the state of the stream: the server answers before it takes anything else. */
const lookedAt = (nats: Nats, stream: string): Promise<void> =>
  new Promise((resolve, reject) => {
    nats.subscribe(`$JS.API.STREAM.INFO.${stream}`, () => resolve(), reject)
  })

/** Publishes, and acknowledges what the consumer receives: the texts, and those that were `waiting`. */
async function work(
  nats: Nats,
  options: ConsumerOptions,
  texts: readonly string[],
  waiting: readonly string[] = [],
): Promise<{ heard: string[]; since: string }> {
  const max_messages = waiting.length + texts.length
  const { consumer, since } = await nats.openConsumer(options)
  for (const text of texts) await nats.publish('work.one', text)
  const heard: string[] = []
  for await (const message of await consumer.fetch({ max_messages, expires: 5_000 })) {
    heard.push(message.string())
    // Confirmed, so that the server has it before it is stopped.
    await message.ackAck()
  }
  return { heard, since }
}
