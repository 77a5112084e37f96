/** The last use of each API key: noted in memory, written once a minute, known to every API process. */
import t from 'tap'
import { keyUseBucket } from '../../../src/delivery/wire/names.js'
import { now } from '../../../src/ground/core/clock.js'
import { streamOf } from '../../../src/ground/nats/bucket-stream.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { KeyUses, openKeyUses } from '../../../src/management/access/key-uses.js'
import { ipPolicy } from '../../../src/words/resource/ip-policy.js'
import { tunnelCredential } from '../../../src/words/resource/tunnel-credential.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

const bytesMax = 1024 * 1024
const minuteMs = 60_000

t.test('last uses of keys', async (t) => {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.kill())
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
  t.teardown(() => nats.close())
  const reasons: string[] = []
  const occurrences = {
    keyUsesUnsaved: ({ reason }: { readonly reason?: unknown }) => void reasons.push(String(reason)),
  }
  const deleted = new Set<string>()
  const open = async () => {
    const uses = await openKeyUses(nats, bytesMax, occurrences, (keyId) => deleted.has(keyId))
    t.teardown(() => uses.close())
    return uses
  }
  const [one, two] = [await open(), await open()]
  const bucket = (await nats.findBucket(keyUseBucket))!
  const put = (keyId: string, value: object | string) =>
    bucket.put(keyId, typeof value === 'string' ? value : JSON.stringify(value))

  t.test('many uses are one write, which other processes show', async (t) => {
    for (let uses = 0; uses < 1_000; uses += 1) one.note('ak_1', `192.0.2.${uses % 256}`)
    one.note('ak_1', '203.0.113.7')
    const use = one.lastUse('ak_1')!
    t.equal(use.from, '203.0.113.7')
    t.equal(two.lastUse('ak_1'), undefined, 'not written yet')
    const before = (await bucket.position()).lastRevision
    await one.save()
    await one.save()
    t.equal((await bucket.position()).lastRevision, before + 1)
    await until('the other process knows', async () => two.lastUse('ak_1') !== undefined)
    t.strictSame(two.lastUse('ak_1'), use)
    t.strictSame(one.lastUse('ak_1'), use)
  })

  t.test('of tunnel credentials, too; other kinds are shown as they are', async (t) => {
    one.note('cr_1', '203.0.113.8')
    const row = { id: 'cr_1', account_id: 'ac_1', version: 1, created_at: 1 }
    t.match(one.shown(tunnelCredential, row), { last_used_from: '203.0.113.8', last_used_at: /Z$/ })
    t.match(one.shown(tunnelCredential, { ...row, id: 'cr_2' }), { last_used_from: null, last_used_at: null })
    t.equal(one.shown(ipPolicy, row), row)
  })

  t.test('a process that starts knows what was written', async (t) => {
    t.equal((await open()).lastUse('ak_1')?.from, '203.0.113.7')
  })

  t.test('the latest use counts, whoever writes it first', async (t) => {
    two.note('ak_2', '192.0.2.2')
    await put('ak_2', { at: now() + minuteMs, from: '192.0.2.1' })
    await until('the later use is known', async () => one.lastUse('ak_2') !== undefined)
    await until('to both', async () => two.lastUse('ak_2')?.from === '192.0.2.1')
    await two.save()
    t.match(Buffer.from((await bucket.get('ak_2'))!.value!).toString(), '192.0.2.1', 'it is not overwritten')
  })

  t.test('malformed entries are ignored', async (t) => {
    for (const value of ['x', '[]', 'null', { at: 'now', from: '192.0.2.1' }, { at: 1e300, from: '' }])
      await put('ak_3', value)
    await put('ak_4', { at: 1, from: '192.0.2.4' })
    await until('the entry after them has arrived', async () => one.lastUse('ak_4') !== undefined)
    t.equal(one.lastUse('ak_3'), undefined)
  })

  t.test('entries of deleted keys are dropped after a while', async (t) => {
    await put('ak_5', { at: now() - 11 * minuteMs, from: '192.0.2.5' })
    await put('ak_6', { at: now(), from: '192.0.2.6' })
    await until('both are known', async () => one.lastUse('ak_6') !== undefined)
    for (const keyId of ['ak_5', 'ak_6']) deleted.add(keyId)
    await one.save()
    t.equal(await bucket.get('ak_5'), undefined)
    t.equal(one.lastUse('ak_5'), undefined)
    t.ok(await bucket.get('ak_6'), 'it may be a new key that this process has not heard of')
    t.ok(await bucket.get('ak_4'), 'it exists')
  })

  t.test('a lost bucket is created again', async (t) => {
    await nats.request(`$JS.API.STREAM.DELETE.${streamOf(keyUseBucket)}`, '', 5_000)
    one.note('ak_7', '192.0.2.7')
    await one.save()
    t.match(Buffer.from((await bucket.get('ak_7'))!.value!).toString(), '192.0.2.7')
    t.equal(one.lastUse('ak_1')?.from, '203.0.113.7', 'what was known stays known')
    t.strictSame(reasons, [])
  })

  t.test('what could not be written is written the next time, at the latest at the end', async (t) => {
    let isAway = true
    const third = new KeyUses({
      bucket: async () => {
        if (isAway) throw new Error('NATS is away.')
        return bucket
      },
      occurrences,
    })
    third.note('ak_8', '192.0.2.8')
    await third.save()
    t.strictSame(reasons, ['NATS is away.'])
    isAway = false
    await third.close()
    t.match(Buffer.from((await bucket.get('ak_8'))!.value!).toString(), '192.0.2.8')
  })
})
