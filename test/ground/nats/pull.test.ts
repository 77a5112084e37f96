/** Requests for messages of a durable consumer, by nats-server itself: it refuses some combinations of their options. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsMsg } from '@nats-io/jetstream'
import t, { type Test } from 'tap'
import type { Consumer } from '../../../src/ground/nats/consumers.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { pullAll, pullBatch } from '../../../src/ground/nats/pull.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'

/** As `ground/nats/pull.ts` has it. */
const silenceMs = 60
/** A server that is alone on a machine has sent six messages by then. */
const busyMs = 100
/** A message that is given back while others are asked for has come again by then. */
const againMs = 20

/** A stream on a server of its own, and a consumer of it. */
async function openWork(t: Test) {
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
  return { nats, ...(await nats.openConsumer(options)) }
}

t.test('messages that are there are taken with one request, of one message and of several', async (t) => {
  const { nats, consumer } = await openWork(t)
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
  for await (const { data } of eachOf(pullAll(consumer, () => 2, stop.signal))) {
    rest.push(Buffer.from(data).toString())
    if (rest.length === 3) stop.abort()
  }
  t.strictSame(rest, ['e', 'f', 'g'])

  await t.test(
    'a stop ends at once when it is told to, although what is given back comes again',
    async (t) => {
      const stop = new AbortController()
      const now = new AbortController()
      const given: number[] = []
      for (const text of ['h', 'i', 'j']) await nats.publish('work.one', text)
      const pulling = pullAll(consumer, () => 100, stop.signal, { endNow: now.signal })
      for await (const { reply, deliveries } of eachOf(pulling)) {
        stop.abort()
        now.abort()
        given.push(deliveries)
        nats.acknowledgements.again(reply)
        await sleep(againMs)
      }
      t.ok(given.length <= 3, `${given.length} messages were given back`)
      t.ok(Math.max(...given) === 1, 'each once')
      const { deliveries } = await firstOf(pullBatch(consumer, 1, new AbortController().signal))
      t.equal(deliveries, 2, 'and it waits for whoever comes next')
    },
  )
})

t.test('a stop takes a message that is late, as long as the server has not answered', async (t) => {
  const { nats, consumer } = await openWork(t)
  const slow: Consumer = Object.assign(Object.create(consumer), {
    fetch: (options: object) => consumer.fetch(options),
    info: async () => {
      await sleep(silenceMs * 3)
      if (asked === 0) await nats.publish('work.one', 'late')
      asked += 1
      return consumer.info()
    },
  })
  let asked = 0
  const stop = new AbortController()
  await nats.publish('work.one', 'a')
  const taken: string[] = []
  for await (const { data, reply } of eachOf(pullAll(slow, () => 4, stop.signal))) {
    nats.acknowledgements.done(reply)
    taken.push(Buffer.from(data).toString())
    stop.abort()
  }
  t.strictSame(taken, ['a', 'late'], 'it is not left to be delivered again')
  t.ok(asked >= 2, 'and the end is asked for once more')
})

t.test('messages that come in one turn are given together', async (t) => {
  const { nats, consumer } = await openWork(t)
  for (const text of ['a', 'b', 'c', 'd', 'e', 'f']) await nats.publish('work.one', text)
  const stop = new AbortController()
  const lists: string[][] = []
  const pulling = pullAll(consumer, () => 6, stop.signal)
  const first = pulling.next()
  // The request is on its way by then. Meanwhile, the process is busy, and all six come.
  await nats.flush()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyMs)
  for (let list = await first; !list.done; list = await pulling.next()) {
    lists.push(list.value.map(({ data }) => Buffer.from(data).toString()))
    stop.abort()
  }
  t.strictSame(lists.flat(), ['a', 'b', 'c', 'd', 'e', 'f'])
  t.ok(lists.length <= 3, `in ${lists.length} lists`)
})

t.test('messages come past the parser of the library, and the last one of each request by it', async (t) => {
  const { nats, consumer } = await openWork(t)
  const texts = [...'abcdefghij']
  for (const text of texts) await nats.publish('work.one', text, text < 'd' ? {} : { headers: { text } })
  const byLibrary: string[] = []
  const listened: Consumer = Object.assign(Object.create(consumer), {
    fetch: ({ callback, ...options }: { callback: (message: JsMsg) => void }) => {
      const listen = (message: JsMsg): void => {
        byLibrary.push(message.string())
        callback(message)
      }
      return consumer.fetch({ ...options, callback: listen } as object)
    },
  })
  const stop = new AbortController()
  const taken: string[] = []
  for await (const { data, headers } of eachOf(pullAll(listened, () => 5, stop.signal))) {
    const text = Buffer.from(data).toString()
    t.equal(headers?.get('text'), text < 'd' ? undefined : text)
    taken.push(text)
    if (taken.length === texts.length) stop.abort()
  }
  t.strictSame(taken, texts)
  t.ok(byLibrary.includes('e') && byLibrary.includes('j'), `by the library: ${byLibrary}`)
  t.notOk(byLibrary.includes('b'), 'others are not')
})

t.test('the end of a consumer is an error, after what it had delivered', async (t) => {
  const { nats, consumer } = await openWork(t)
  const taken: string[] = []
  await nats.publish('work.one', 'a')
  const reading = (async () => {
    for await (const { data } of eachOf(pullAll(consumer, () => 100, new AbortController().signal))) {
      taken.push(Buffer.from(data).toString())
      await consumer.delete()
    }
  })()
  await t.rejects(reading, /consumer deleted/i)
  t.strictSame(taken, ['a'])
})

t.test('headers of a message are read by their names', async (t) => {
  const { nats, consumer } = await openWork(t)
  await nats.publish('work.one', 'a')
  await nats.publish('work.one', 'b', {
    msgId: 'Weir-Other',
    headers: { 'Weir-One': 'é: 1', 'Weir-None': '' },
  })
  const read: unknown[] = []
  for await (const { headers } of pullBatch(consumer, 2, new AbortController().signal))
    read.push(['Weir-One', 'Weir-None', 'Weir-Other', 'Nats-Msg-Id'].map((name) => headers?.get(name)))
  t.strictSame(read, [
    [undefined, undefined, undefined, undefined],
    ['é: 1', '', '', 'Weir-Other'],
  ])
})

t.test('messages that gathered while none waited are asked for by their number', async (t) => {
  const { nats, consumer } = await openWork(t)
  const asked: number[] = []
  const counted: Consumer = Object.assign(Object.create(consumer), {
    fetch: (options: { max_messages: number }) => {
      asked.push(options.max_messages)
      return consumer.fetch(options)
    },
  })
  const stop = new AbortController()
  await nats.publish('work.one', 'a')
  const taken: string[] = []
  const pulling = pullAll(counted, () => 4, stop.signal, { gatherMs: () => 50 })
  for await (const { data, reply } of eachOf(pulling)) {
    nats.acknowledgements.done(reply)
    taken.push(Buffer.from(data).toString())
    if (taken.length === 1) for (const text of 'bcdefghi') await nats.publish('work.one', text)
    if (taken.length === 9) stop.abort()
  }
  t.strictSame(taken, [...'abcdefghi'])
  t.strictSame(asked, [1, 1, 4, 3], 'no more than are wanted at a time, and none that is not there')
})

async function firstOf<T>(messages: AsyncGenerator<T>): Promise<T> {
  const { value } = await messages.next()
  await messages.return(undefined)
  return value as T
}

async function* eachOf<T>(lists: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const list of lists) yield* list
}
