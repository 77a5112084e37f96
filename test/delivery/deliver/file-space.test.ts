/** The kind `file`: the space that an account has, and what rotations cost. */
import { createHook } from 'node:async_hooks'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { AccountSpace } from '../../../src/delivery/deliver/file/account-space.js'
import { EventFile } from '../../../src/delivery/deliver/file/event-file.js'
import { RotatedFiles } from '../../../src/delivery/deliver/file/rotated-files.js'
import type { Sender } from '../../../src/delivery/deliver/kind/sender.js'
import { kindNamed } from '../../../src/delivery/deliver/kinds.js'
import { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import { mountSmallDisk } from '../../harness/small-disk.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'
import { someEvents } from './events.js'
import { roomForAll } from './fake-lane.js'
import { fileConfig, openFile } from './file-sender.js'

const { signal } = new AbortController()
const kibibyte = 1024
const mebibyte = 1024 * kibibyte
const accepted = { outcome: 'accepted' }
const used = { class: 'transient', code: 'FileSpaceUsed', msg: /take the 1 MiB that the operator allows/ }

/** About 100 KiB. */
const send = (sender: Sender) => sender.send(someEvents(100, 'ev_', { padding: 'x'.repeat(1000) }), signal)

const bytesIn = (directory: string): number =>
  readdirSync(directory).reduce((bytes, file) => bytes + statSync(join(directory, file)).size, 0)

/** The directory of the account, in which a file of another program takes space. */
function accountDir(directory: string, otherBytes = 0): string {
  const path = join(directory, 'ac_test')
  mkdirSync(path)
  if (otherBytes > 0) writeFileSync(join(path, 'other'), Buffer.alloc(otherBytes))
  return path
}

const rotated = (place: number): string =>
  `events-20200101T000000${String(place).padStart(3, '0')}Z-00000000.ndjson`

t.test('finished files are not read again, however often files are rotated', async (t) => {
  const directory = tempDir(t)
  const text = (place: number) => readFileSync(join(directory, rotated(place)), 'utf8')
  for (let place = 0; place < 200; place += 1) writeFileSync(join(directory, rotated(place)), 'whole\ntorn')
  const rotation = { sizeMax: mebibyte, ageMaxMs: Number.POSITIVE_INFINITY, keep: 1_000, gzip: false }
  const files = new RotatedFiles(directory, 'events.ndjson', rotation)
  const areCut = () => readdirSync(directory).every((_, place) => text(place) === 'whole\n')
  files.tidySoon()
  await until('all are cut', async () => areCut())
  let requests = 0
  const hook = createHook({
    init: (_, type) => {
      if (type === 'FSREQPROMISE') requests += 1
    },
  }).enable()
  writeFileSync(join(directory, rotated(200)), 'whole\ntorn')
  appendFileSync(join(directory, rotated(0)), 'not looked at')
  for (let call = 0; call < 100; call += 1) files.tidySoon()
  await until('the new one is cut', async () => text(200) === 'whole\n')
  hook.disable()
  t.ok(requests < 100, `${requests} requests to the file system`)
  t.equal(text(0), 'whole\nnot looked at')
})

t.test('the files of an account take no more than the operator allows', async (t) => {
  const directory = tempDir(t)
  const account = accountDir(directory, 300 * kibibyte)
  const options = { size: 256 * kibibyte, keep: 1 }
  const senders = ['a', 'b', 'c'].map((name) => openFile(directory, options, name, mebibyte))
  let refused = 0
  for (let round = 0; round < 10; round += 1) {
    for (const outcome of await Promise.all(senders.map(send))) {
      if (outcome.outcome === 'accepted') continue
      t.match(outcome, { outcome: 'failed', fault: used })
      refused += 1
    }
    t.ok(bytesIn(account) <= mebibyte, `${bytesIn(account)} bytes`)
  }
  t.ok(refused > 0, 'some were refused')
  t.match(await senders[0]!.check!(someEvents(1, 'ev_', { padding: 'x'.repeat(mebibyte) })[0]!, signal), {
    ok: false,
    problem: used,
  })
  for (const sender of senders) sender.close()
})

t.test('events wait until there is space', async (t) => {
  const directory = tempDir(t)
  const account = accountDir(directory, mebibyte)
  const open = () => openFile(directory, { size: 64 * kibibyte, keep: 1 }, undefined, mebibyte)
  const deadLetter = async () => void t.fail('nothing is dead-lettered')
  const lane = new Lane(fileConfig(), { open, budget: roomForAll, deadLetter })
  t.teardown(() => lane.close())
  const delivered = lane.deliver(someEvents(5))
  await until('the lane waits', async () => lane.status().state === 'failing')
  rmSync(join(account, 'other'))
  await until('the lane does not wait', async () => {
    lane.hurry()
    return lane.status().state !== 'failing'
  })
  t.match(await delivered, { outcome: 'done', counts: { delivered: 5, dead_lettered: 0 } })
})

t.test('a lower `keep` makes space', async (t) => {
  const directory = tempDir(t)
  const before = openFile(directory, { size: 64 * kibibyte, keep: 15 }, undefined, mebibyte)
  await until('it is full', async () => (await send(before)).outcome === 'failed')
  before.close()
  const sender = openFile(directory, { size: 64 * kibibyte, keep: 2 }, undefined, mebibyte)
  await until('there is space', async () => (await send(sender)).outcome === 'accepted')
  sender.close()
})

t.test('the file and the rotated ones that are kept may fill the space: rotations go on', async (t) => {
  const directory = tempDir(t)
  const sender = openFile(directory, { size: mebibyte, keep: 3 }, undefined, 4 * mebibyte)
  for (let request = 0; request < 100; request += 1) {
    const events = someEvents(request % 2 === 0 ? 10 : 100, `ev_${request}_`, { padding: 'x'.repeat(1000) })
    t.match(await sender.send(events, signal), accepted)
    t.ok(bytesIn(join(directory, 'ac_test')) <= 4 * mebibyte)
  }
  t.equal(readdirSync(join(directory, 'ac_test')).length, 4)
  sender.close()
})

t.test('what cannot fit is refused before it takes the space', async (t) => {
  const directory = tempDir(t)
  const fault = {
    class: 'configuration',
    code: 'FilesTooLarge',
    msg: 'A file of 1 MiB ("size") and 16 rotated ones ("keep") need more space: the operator allows 16 MiB for all files of an account (WEIR_FILE_MAX).',
  }
  const open = (keep: number) => openFile(directory, { size: mebibyte, keep }, undefined, 16 * mebibyte)
  t.match(await send(open(16)), { outcome: 'failed', fault })
  t.match(await open(16).check!(someEvents(1)[0]!, signal), { ok: false, problem: fault })
  t.strictSame(readdirSync(directory), [])
  t.match(await send(open(15)), accepted)
})

t.test('a part of the disk stays free', async (t) => {
  const rotation = { sizeMax: mebibyte, ageMaxMs: Number.POSITIVE_INFINITY, keep: 1, gzip: false }
  const directory = join(tempDir(t), 'account')
  const all = { part: 1, bytesMax: Number.POSITIVE_INFINITY }
  const space = new AccountSpace(directory, Number.POSITIVE_INFINITY, all)
  const file = new EventFile(directory, 'events', rotation, space)
  await t.rejects(file.append(Buffer.from('{}\n'), signal), { code: 'DiskAlmostFull' })
  t.strictSame(readdirSync(directory), [])
})

t.test('a disk without inodes has room, but not for another file', async (t) => {
  const disk = mountSmallDisk(t, '64m,nr_inodes=4')
  if (typeof disk === 'string') return void t.pass(disk, { skip: disk })
  const filling = ['a', 'b'].map((name) => join(disk.dir, name))
  for (const path of filling) writeFileSync(path, '')
  const sender = openFile(disk.dir)
  // The last one becomes the directory of the account.
  t.match(await send(sender), { outcome: 'failed', fault: { class: 'transient', code: 'ENOSPC' } })
  t.match(await sender.check!(someEvents(1)[0]!, signal), {
    ok: false,
    problem: { code: 'DiskAlmostFull', msg: /no inodes left/ },
  })
  rmSync(filling[0]!)
  t.match(await send(sender), accepted)
  t.match(await sender.check!(someEvents(1)[0]!, signal), { ok: true })
  sender.close()
})

t.test('requests are not larger than files', async (t) => {
  const { limits } = kindNamed('file')
  const sender = openFile(tempDir(t), { size: mebibyte })
  t.equal(sender.limits().requestBytesMax, mebibyte)
  t.equal(sender.limits().eventBytesMax, limits.eventBytesMax)
})
