/** Copies of whole streams, from one nats-server into another one. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { openNats } from '../../../src/ground/nats/nats.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'

const mebibyte = 1024 * 1024

t.test('a stream of more than the server sends at once, with removed messages and a position', async (t) => {
  const open = async () => {
    const server = new OwnNats(tempDir(t))
    await server.start()
    t.teardown(() => server.kill())
    const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
    t.teardown(() => nats.close())
    return nats
  }
  const from = await open()
  const into = await open()
  const options = {
    name: 'COPIED',
    subjects: ['copied.>'],
    retention: 'limits',
    bytesMax: 64 * mebibyte,
    ageMaxMs: 0,
    duplicateWindowMs: 60_000,
    discard: 'new',
  } as const
  await from.ensureStream(options)
  const count = 40
  const bodyOf = (n: number): Buffer =>
    Buffer.concat(
      Array.from({ length: 16_000 }, (_, part) => createHash('sha256').update(`${n} ${part}`).digest()),
    )
  for (let n = 1; n <= count; n += 1) await from.publish(`copied.${n}`, bodyOf(n), { msgId: `id ${n}` })
  await from.removeMessages('COPIED', [3, 17])
  const settings = { stream: 'COPIED', name: 'reader', ackWaitMs: 30_000, ackPendingMax: 10 }
  await from.openConsumer({ ...settings, firstSequence: 8 })

  t.equal(await from.copies.snapshot('MISSING'), undefined, 'a stream that is missing has no copy')
  t.equal(await from.copies.consumer('COPIED', 'missing'), undefined, 'nor has such a consumer')
  const consumer = (await from.copies.consumer('COPIED', 'reader'))!
  const { config, state, chunks } = (await from.copies.snapshot('COPIED'))!
  const bytes: Uint8Array[] = []
  for await (const chunk of chunks) bytes.push(chunk)
  t.ok(
    bytes.reduce((sum, { length }) => sum + length, 0) > 16 * mebibyte,
    'more than the window of the server',
  )

  await into.copies.restore(
    { config, state },
    1,
    (async function* () {
      yield* bytes
    })(),
  )
  await into.copies.makeConsumer('COPIED', consumer)
  t.same(await into.copies.named(/^COP/), ['COPIED'])
  t.same(await into.copies.named(/^WEIR/), [], 'of other names there is none')
  for (let n = 1; n <= count; n += 1) {
    const [stored, was] = [await into.messageAt('COPIED', n), await from.messageAt('COPIED', n)]
    if (n === 3 || n === 17) t.equal(stored, undefined, `${n} stays removed`)
    else
      t.match(
        stored,
        { subject: `copied.${n}`, storedAtMs: was?.storedAtMs },
        `${n} has its sequence and time`,
      )
    if (stored !== undefined && Buffer.compare(Buffer.from(stored.data), bodyOf(n)) !== 0)
      t.fail(`${n} is another message`)
  }
  t.equal((await into.consumerInfo('COPIED', 'reader'))?.ackFloor, 7, 'the position is the one from before')
  t.equal((await into.publish('copied.next', 'x')).sequence, count + 1, 'sequences go on')
  await t.rejects(
    into.copies.restore(
      { config, state },
      1,
      (async function* () {
        yield* bytes
      })(),
    ),
    /name already|exist/i,
    'a stream that is there is not replaced',
  )
})

t.test('bytes that are no copy are refused', async (t) => {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.kill())
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
  t.teardown(() => nats.close())
  const config = { name: 'BROKEN', subjects: ['broken'], storage: 'file', retention: 'limits' }
  const garbage = (async function* () {
    yield Buffer.alloc(300_000, 7)
  })()
  await t.rejects(nats.copies.restore({ config, state: {} } as never, 1, garbage))
  t.same(await nats.copies.named(/^BROKEN/), [], 'and leave no stream')
})
