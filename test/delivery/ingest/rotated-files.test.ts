/**
 * Debian's logrotate rotates a log, in each of its ways, while it is not read, and while it is: each line is read, in order,
 * once.
 */
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { reading } from '../../harness/followed-reading.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

const program = '/usr/sbin/logrotate'

/** Each line is of a time of its own, as in a log. */
const line = (n: number): string => `2026-11-25T10:00:00 line ${n}\n`
const linesOf = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => line(from + at).trimEnd())

/** A log that logrotate rotates. */
function log(t: Test, ways: string) {
  const dir = tempDir(t)
  const path = join(dir, 'access.log')
  const config = join(dir, 'conf')
  writeFileSync(path, '')
  // Root's logrotate refuses directories that others may write to.
  chmodSync(dir, 0o755)
  writeFileSync(config, `${path} {\nrotate 20\nmissingok\nsu root root\n${ways}\n}\n`)
  let count = 0
  const write = (lines: number): void => {
    for (const end = count + lines; count < end; count += 1) appendFileSync(path, line(count))
  }
  const rotate = (): void => {
    const { status, stderr } = spawnSync(program, ['-f', '-s', join(dir, 'state'), config], {
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(stderr)
  }
  return { dir, path, write, rotate, written: () => count }
}

const ways = {
  'create, numbers': 'create',
  'create, numbers, gzip': 'create\ncompress',
  'create, numbers, gzip but the first': 'create\ncompress\ndelaycompress',
  'dates to the second': 'create\ndateext\ndateformat -%Y%m%d-%s',
  'dates to the second, gzip, before the extension':
    'create\ncompress\nextension .log\ndateext\ndateformat -%Y%m%d-%s',
  'copytruncate, numbers': 'copytruncate',
  'copytruncate, gzip': 'copytruncate\ncompress',
}

const secondNow = (): number => Math.floor(Date.now() / 1_000)

const skip =
  (!existsSync(program) && 'there is no logrotate') ||
  (process.getuid?.() !== 0 && 'logrotate needs to be root here')

for (const [name, way] of Object.entries(ways))
  t.test(`${name}, after a stop and while it is read`, { skip }, async (t) => {
    const { dir, path, write, rotate, written } = log(t, way)
    write(20)
    const first = reading(path)
    await until('the first lines', () => first.lines.length === 20)
    const position = await first.end()
    for (let n = 0; n < 3; n += 1) {
      write(15)
      rotate()
      const rotatedIn = secondNow()
      // Names have the second.
      if (way.includes('%s')) await until('it is another second', () => secondNow() !== rotatedIn)
    }
    write(5)
    const second = reading(path, position)
    await until('what was written meanwhile', () => second.lines.length >= written() - 20)
    t.strictSame(second.lines, linesOf(20, written()), readdirSync(dir).join(' '))
    write(3)
    await until('what is written now', () => second.lines.length >= written() - 20)
    rotate()
    write(4)
    await until('after a rotation', () => second.lines.length >= written() - 20)
    t.strictSame(second.lines, linesOf(20, written()), readdirSync(dir).join(' '))
    const later = await second.end()
    const third = reading(path, later)
    write(1)
    await until('the last one', () => third.lines.length > 0)
    await third.end()
    t.strictSame(third.lines, linesOf(written() - 1, written()), 'nothing is repeated')
  })

t.test('a link to a file with a date: no line is read under both names', async (t) => {
  for (const link of [symlinkSync, linkSync]) {
    const dir = tempDir(t)
    const path = join(dir, 'access.log')
    let count = 0
    const write = (name: string): void => appendFileSync(join(dir, name), line(count++))
    const links = (name: string): void => {
      rmSync(path, { force: true })
      link(join(dir, name), path)
    }
    write('access-20261126.log')
    links('access-20261126.log')
    const first = reading(path)
    await until('the first line', () => first.lines.length === 1)
    const position = await first.end()
    write('access-20261126.log')
    write('access-20261127.log')
    links('access-20261127.log')
    const second = reading(path, position)
    await until('what was written meanwhile', () => second.lines.length >= 2)
    write('access-20261127.log')
    write('access-20261128.log')
    links('access-20261128.log')
    await until('the third file', () => second.lines.includes(line(4).trimEnd()))
    write('access.log')
    await until('the last line', () => second.lines.includes(line(5).trimEnd()))
    await second.end()
    t.strictSame(second.lines, linesOf(1, 6), link.name)
  }
})

t.test('the file of the position was deleted: all that is newer is read, and nothing older', async (t) => {
  for (const names of [
    ['access.log.3.gz', 'access.log.2.gz', 'access.log.1'],
    ['access.log-20261123.gz', 'access.log-20261124.gz', 'access.log-20261125'],
  ]) {
    const path = join(tempDir(t), 'access.log')
    const add = (name: string, lines: string, ms: number): void => {
      const at = path.replace('access.log', name)
      writeFileSync(at, name.endsWith('.gz') ? gzipSync(lines) : lines)
      utimesSync(at, ms / 1_000, ms / 1_000)
    }
    add('access.log', line(1), 10_000_000)
    const first = reading(path)
    await until('it', () => first.lines.length === 1)
    const position = await first.end()
    rmSync(path)
    for (const [at, name] of names.entries())
      add(name, line(at === 0 ? 0 : at + 1), at === 0 ? 5_000_000 : 20_000_000 + at)
    add('access.log', line(4), 30_000_000)
    add('access.log.4.xz', line(1), 1_000_000)
    const second = reading(path, position)
    await until('the last line', () => second.lines.includes(line(4).trimEnd()))
    await second.end()
    t.strictSame(second.lines, linesOf(2, 5))
    t.match(second.notes, [/no longer there/])
    t.equal(second.notes.length, 1, 'what is older is not missed')
  }
})

t.test('files that cannot be read are named', async (t) => {
  const path = join(tempDir(t), 'access.log')
  writeFileSync(path, line(0))
  const first = reading(path)
  await until('it', () => first.lines.length === 1)
  const position = await first.end()
  const damaged = gzipSync(linesOf(0, 5_000).join('\n'))
  rmSync(path)
  writeFileSync(`${path}.3.gz`, damaged.subarray(0, damaged.length / 2))
  writeFileSync(`${path}.2.xz`, 'no gzip')
  writeFileSync(path, line(5_000))
  const soon = Date.now() / 1_000
  utimesSync(`${path}.3.gz`, soon + 1, soon + 1)
  utimesSync(`${path}.2.xz`, soon + 2, soon + 2)
  const second = reading(path, position)
  await until('the last line', () => second.lines.includes(line(5_000).trimEnd()))
  await second.end()
  t.match(second.notes.toSorted(), [
    /2\.xz is compressed in a form that is not read here/,
    /3\.gz is damaged/,
  ])
})

t.test('a clock that was set back: a rotated file of a later time is left like any other', async (t) => {
  const path = join(tempDir(t), 'access.log')
  writeFileSync(path, line(0))
  const first = reading(path)
  await until('the first line', () => first.lines.length === 1)
  const position = await first.end()
  appendFileSync(path, line(1))
  renameSync(path, `${path}.1`)
  const laterS = Date.now() / 1_000 + 2 * 3_600
  utimesSync(`${path}.1`, laterS, laterS)
  writeFileSync(path, line(2))
  const second = reading(path, position)
  await until('the line of the new file', () => second.lines.length === 2)
  await second.end()
  t.strictSame(second.lines, linesOf(1, 3))
})
