/** A log that is written, rotated, truncated and read again after a stop: each line comes, with a position to go on from. */
import { appendFileSync, copyFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { followFile } from '../../../src/delivery/ingest/followed-file.js'
import type { Position } from '../../../src/delivery/ingest/log-file.js'
import { reading } from '../../harness/followed-reading.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

/** The clock of a file system may stand still for so long; files that are written after it are newer. */
const fileClockMs = 15
const tick = () => sleep(fileClockMs)

t.test('lines as they are written, also across a rename', async (t) => {
  const path = join(tempDir(t), 'access.log')
  const log = reading(path)
  writeFileSync(path, 'one\ntw')
  await until('a line', () => log.lines.length === 1)
  appendFileSync(path, 'o\n')
  await until('the rest of one', () => log.lines.length === 2)
  renameSync(path, `${path}.1`)
  appendFileSync(`${path}.1`, 'three, by a writer that has not noticed\nand no end')
  writeFileSync(path, 'four\n')
  await until('the new file', () => log.lines.includes('four'))
  t.strictSame(log.lines, ['one', 'two', 'three, by a writer that has not noticed', 'and no end', 'four'])
  copyFileSync(path, `${path}.2`)
  truncateSync(path)
  await until('the truncation', () => log.notes.length === 1)
  appendFileSync(path, 'five\n')
  await until('what follows', () => log.lines.includes('five'))
  await log.end()
  t.match(log.notes, [/was truncated/])
})

t.test('after a stop, reading goes on in whatever file has the rest', async (t) => {
  const path = join(tempDir(t), 'access.log')
  writeFileSync(path, 'one\ntwo\n')
  const first = reading(path)
  await until('both', () => first.lines.length === 2)
  const position = await first.end()
  appendFileSync(path, 'three\n')
  renameSync(path, `${path}.2`)
  await tick()
  writeFileSync(`${path}.1`, 'four\n')
  await tick()
  writeFileSync(path, 'five\n')
  const second = reading(path, position)
  await until('the rest', () => second.lines.includes('five'))
  await second.end()
  t.strictSame(second.lines, ['three', 'four', 'five'])
})

t.test('rotated twice while no line is taken, nothing is missing', async (t) => {
  const path = join(tempDir(t), 'access.log')
  const stop = new AbortController()
  writeFileSync(path, 'one\n')
  const how = { from: undefined, fromEnd: false, signal: stop.signal, lingerMs: 200 }
  const lines = followFile(path, { ...how, note: t.fail, begins: () => {} })
  t.match(await lines.next(), { value: [{ text: 'one' }] })
  for (const [at, text] of ['two', 'three'].entries()) {
    await tick()
    renameSync(path, `${path}.${at + 1}`)
    await tick()
    writeFileSync(path, `${text}\n`)
  }
  t.match(await lines.next(), { value: [{ text: 'two' }] })
  t.match(await lines.next(), { value: [{ text: 'three' }] })
  stop.abort()
  t.match(await lines.next(), { done: true })
})

t.test('names that rotation makes are known, and no others', async (t) => {
  const dir = tempDir(t)
  const path = join(dir, 'access.log')
  writeFileSync(path, 'one\n')
  const first = reading(path)
  await until('it', () => first.lines.length === 1)
  const position = await first.end()
  await tick()
  renameSync(path, join(dir, 'access-2026-11-25T10-00-00.000.log'))
  for (const [name, text] of Object.entries({
    'access.log-20261125': 'two',
    'access.log.rejects': 'no',
    'access.log.2.bz2': 'no',
    'access_log.1': 'no',
    'accessory-1.log.1': 'no',
    // Logs of other hosts.
    'access-api2.log': 'no',
    'access.log-ssl1': 'no',
    'access-2026-11-25T10-30-00.000-size.log': 'two, too',
    'access.log_20261126': 'and so',
    'access.log20261127': 'and more',
    'access.log': 'three',
  })) {
    await tick()
    writeFileSync(join(dir, name), `${text}\n`)
  }
  const second = reading(path, position)
  await until('the rest', () => second.lines.includes('three'))
  await second.end()
  t.strictSame(second.lines, ['two', 'two, too', 'and so', 'and more', 'three'])
})

t.test('files that begin alike are told apart by their numbers', async (t) => {
  const path = join(tempDir(t), 'access.log')
  writeFileSync(path, 'banner\none\n')
  const first = reading(path)
  await until('it', () => first.lines.length === 2)
  const position = await first.end()
  appendFileSync(path, 'two\n')
  await tick()
  renameSync(path, `${path}.1`)
  await tick()
  writeFileSync(path, 'banner\none\nthree\n')
  const second = reading(path, position)
  await until('the last line', () => second.lines.includes('three'))
  await second.end()
  t.strictSame(second.lines, ['two', 'banner', 'one', 'three'])
})

t.test('from the end, but only without a position', async (t) => {
  const path = join(tempDir(t), 'access.log')
  writeFileSync(path, 'old\n')
  const log = reading(path, { offset: 5, head: 'of a file that is gone', inode: 0 }, true)
  await until('what was written meanwhile', () => log.lines.length === 1)
  const position = await log.end()
  const fresh = reading(path, undefined, true)
  await until('it is read', fresh.hasBegun)
  appendFileSync(path, 'new\n')
  await until('the new line', () => fresh.lines.length === 1)
  t.strictSame(fresh.lines, ['new'])
  t.ok(position)
  await fresh.end()
})

t.test('a file that is gone is said to be', async (t) => {
  const path = join(tempDir(t), 'access.log')
  writeFileSync(path, 'another file\n')
  const log = reading(path, { offset: 5, head: 'of something else', inode: 0 })
  await until('the line', () => log.lines.length === 1)
  await log.end()
  t.match(log.notes, [/no longer there/])
})

t.test('stopped anywhere, in any sequence of writes and rotations, nothing is missing', async (t) => {
  const step = fc.constantFrom('write', 'rename', 'copy and truncate', 'stop')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 10 }), async (steps) => {
      const path = join(tempDir(t), 'access.log')
      writeFileSync(path, '')
      let position: Position | undefined
      let seen: string[] = []
      const written: string[] = []
      let rotations = 0
      for (const [at, each] of [...steps, 'stop'].entries()) {
        await tick()
        if (each === 'write') {
          written.push(`line ${at} ${'x'.repeat(at)}`)
          appendFileSync(path, `${written.at(-1)}\n`)
        } else if (each === 'stop') {
          const log = reading(path, position)
          await until('all', () => seen.length + log.lines.length >= written.length)
          position = await log.end()
          seen = [...seen, ...log.lines]
        } else if (position !== undefined) {
          // Before the first line was read, there is nothing to go on from.
          rotations += 1
          // The copy of a file of which nothing was read can't be told from others.
          if (each === 'rename' || position.offset === 0)
            renameSync(path, `${path}.${String(rotations).padStart(3, '0')}`)
          else {
            copyFileSync(path, `${path}.${String(rotations).padStart(3, '0')}`)
            truncateSync(path)
          }
          appendFileSync(path, '')
        }
      }
      return JSON.stringify(seen) === JSON.stringify(written)
    }),
    { numRuns: process.argv.includes('--full') ? 100 : 12 },
  )
  t.pass()
})
