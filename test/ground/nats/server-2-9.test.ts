/** After messages and keys are removed, every remaining one is still delivered. */
import t, { type Test } from 'tap'
import { type Nats, openNats } from '../../../src/ground/nats/nats.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

const mebibyte = 1024 * 1024

async function openServer(t: Test): Promise<{ server: OwnNats; nats: Nats }> {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.stop())
  return { server, nats: await connected(t, server) }
}

async function connected(t: Test, server: OwnNats): Promise<Nats> {
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
  t.teardown(() => nats.close())
  return nats
}

t.test('messages in flight are redelivered after acknowledged ones were removed', async (t) => {
  const { nats } = await openServer(t)
  const stream = 'RECORDS'
  await nats.ensureStream({
    name: stream,
    subjects: ['records.*'],
    retention: 'limits',
    bytesMax: mebibyte,
    ageMaxMs: 60_000,
    duplicateWindowMs: 1_000,
    discard: 'new',
  })
  for (let at = 0; at < 10; at += 1) await nats.publish('records.one', `${at}`)
  const { consumer } = await nats.openConsumer({ stream, name: 'one', ackWaitMs: 1_000, ackPendingMax: 10 })
  for await (const message of await consumer.fetch({ max_messages: 6, expires: 5_000 })) {
    if (message.seq <= 3) await message.ackAck()
  }
  await nats.removeMessages(stream, [1, 2, 3, 2, 99])
  t.equal((await nats.streamInfo(stream))?.state.messages, 7, 'those that are there are removed, once')
  const again = new Set<number>()
  await until('the others are delivered', async () => {
    for await (const message of await consumer.fetch({ max_messages: 7, expires: 1_500 })) {
      again.add(message.seq)
      await message.ackAck()
    }
    return again.size === 7
  })
  t.notOk(again.has(3))
})

t.test('a purge below the first sequence removes nothing', async (t) => {
  const { nats } = await openServer(t)
  const stream = 'LEDGER'
  await nats.ensureStream({
    name: stream,
    subjects: ['ledger'],
    retention: 'limits',
    bytesMax: mebibyte,
    ageMaxMs: 0,
    duplicateWindowMs: 1_000,
    discard: 'new',
  })
  for (let at = 0; at < 3; at += 1) await nats.publish('ledger', `${at}`)
  const left = async (sequence: number) => {
    await nats.purgeUpTo(stream, sequence)
    return (await nats.streamInfo(stream))?.state.messages
  }
  t.strictSame([await left(0), await left(1), await left(2), await left(3)], [3, 3, 2, 1])
})

t.test('a watcher of a bucket receives every remaining key while others are removed', async (t) => {
  const { server, nats } = await openServer(t)
  const bucket = await nats.openBucket('bucket', 64 * mebibyte)
  const rounds = 150
  const seen = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const watched = (await (await connected(t, server)).findBucket('bucket'))!
      const keys = new Set<string>()
      const watch = await watched.watch({
        entry: ({ key }) => keys.add(key),
        current: () => {},
        ended: (error) => t.fail(`The watch ended: ${error}`),
      })
      t.teardown(() => watch.close())
      return keys
    }),
  )
  const value = new Uint8Array(2_000)
  for (let round = 0; round < rounds; round += 1) {
    for (const part of [0, 1]) await bucket.put(`old.${round}.${part}`, value)
    await bucket.put(`kept.${round}`, value)
    await bucket.forget(`old.${round}.*`)
    await bucket.put(`done.${round}`, value)
  }
  const expected = Array.from({ length: rounds }, (_, round) => [`kept.${round}`, `done.${round}`]).flat()
  for (const keys of seen) {
    await until('it has seen the last one', () => keys.has(`done.${rounds - 1}`))
    t.strictSame(
      expected.filter((key) => !keys.has(key)),
      [],
    )
  }
  t.strictSame((await bucket.keys('old.>')).length, 0)
  t.equal((await bucket.keys('>')).length, expected.length)
})
