/** The kind `file`: lines in files, by several processes at once, over rotations, kills and faults. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import type { Sender } from '../../../src/delivery/deliver/kind/sender.js'
import { kindNamed } from '../../../src/delivery/deliver/kinds.js'
import { Lane } from '../../../src/delivery/deliver/lane/lane.js'
import { compiled, run } from '../../harness/processes.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'
import { eventJson, someEvents } from './events.js'
import { roomForAll } from './fake-lane.js'
import { fileConfig, openFile } from './file-sender.js'

const signal = new AbortController().signal
const accepted = { outcome: 'accepted' }
const smallest = 64 * 1024

const send = (sender: Sender, count: number, prefix?: string, padding?: string) =>
  sender.send(someEvents(count, prefix, padding === undefined ? {} : { padding }), signal)

const check = (sender: Sender) => sender.check!(someEvents(1)[0]!, signal)
const notAFile = { class: 'configuration', code: 'NotAFile' }

const accountDir = (directory: string): string => join(directory, 'ac_test')
/** Without what a process that was killed has left of its compression. */
const filesIn = (directory: string): string[] =>
  readdirSync(accountDir(directory))
    .filter((file) => !file.endsWith('.partial'))
    .sort()

function linesIn(directory: string, file: string): string[] {
  const bytes = readFileSync(join(accountDir(directory), file))
  const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

/** The ids in all files; a line that is not JSON throws. */
const idsIn = (directory: string): string[] =>
  filesIn(directory).flatMap((file) => linesIn(directory, file).map((line) => JSON.parse(line).event_id))

const areWhole = async (directory: string): Promise<boolean> => {
  try {
    return idsIn(directory).length > 0
  } catch {
    return false
  }
}

t.test('names are bounded', async (t) => {
  const { check } = kindNamed('file').address
  for (const name of ['events.ndjson', 'a', '_x', 'A-b_c.1']) t.equal(check(name), undefined, name)
  const bad = [
    '',
    '.',
    '..',
    '.hidden',
    '-x',
    'a/b',
    '../x',
    'a\\b',
    'a\0b',
    'a b',
    'ü',
    'x'.repeat(101),
    'a\n',
  ]
  for (const name of bad) t.match(check(name), { msg: /is not the name of a file/ }, JSON.stringify(name))
  for (const name of ['a.gz', 'a.partial']) t.match(check(name), { msg: /ends like a file that Weir/ }, name)
  // Another destination of the account would delete them.
  for (const end of ['', '.', '.ndjson'])
    t.match(check(`a-20000101T000000000Z-00000000${end}`), { msg: /is named like a rotated file/ }, end)
  for (const name of ['a-20000101T000000000Z-00000000.b.ndjson', 'a-20000101T000000Z-00000000.ndjson'])
    t.equal(check(name), undefined, name)
})

t.test('events become lines of a file of the account', async (t) => {
  const directory = tempDir(t)
  const sender = openFile(directory)
  t.strictSame(await send(sender, 3), accepted)
  t.strictSame(await send(sender, 1, 'more_', 'ü'), accepted)
  const want = [{ id: 'ev_0' }, { id: 'ev_1' }, { id: 'ev_2' }, { id: 'more_0', padding: 'ü' }].map(eventJson)
  t.strictSame(linesIn(directory, 'events.ndjson'), want)
  t.equal(statSync(join(accountDir(directory), 'events.ndjson')).mode & 0o777, 0o640)
})

t.test('without the setting, nothing is written, and the fault names it', async (t) => {
  const sender = openFile(undefined)
  const fault = { class: 'configuration', code: 'FilesNotAllowed', msg: /WEIR_FILE_DIRECTORY is not set/ }
  t.match(await send(sender, 1), { outcome: 'failed', fault })
  t.match(await check(sender), { ok: false, problem: fault })
})

t.test('a pipe is no file, and is not waited for', async (t) => {
  const directory = tempDir(t)
  mkdirSync(accountDir(directory))
  execFileSync('mkfifo', [join(accountDir(directory), 'events.ndjson')])
  t.match(await send(openFile(directory), 1), { fault: notAFile })
  t.match(await check(openFile(directory)), { ok: false, problem: notAFile })
})

t.test('no link leads out of the directory', async (t) => {
  const [directory, outside] = [tempDir(t), tempDir(t)]
  mkdirSync(accountDir(directory))
  writeFileSync(join(outside, 'secret'), '')
  symlinkSync(join(outside, 'secret'), join(accountDir(directory), 'events.ndjson'))
  t.match(await send(openFile(directory), 1), { fault: { class: 'configuration', code: 'ELOOP' } }, 'a file')
  t.match(await check(openFile(directory)), { ok: false, problem: notAFile })
  rmSync(accountDir(directory), { recursive: true })
  symlinkSync(outside, accountDir(directory))
  const fault = { class: 'configuration', code: 'NotADirectory' }
  t.match(await send(openFile(directory), 1), { fault }, 'the directory of the account')
  t.match(await check(openFile(directory)), { ok: false, problem: fault })
  t.strictSame(readdirSync(outside), ['secret'])
  t.equal(readFileSync(join(outside, 'secret'), 'utf8'), '')
})

t.test('faults pause the destination, or pass', async (t) => {
  const directory = tempDir(t)
  const missing = await send(openFile(join(directory, 'missing')), 1)
  t.match(missing, { fault: { class: 'configuration', code: 'ENOENT', msg: /no such file or directory\.$/ } })
  t.notMatch(JSON.stringify(missing), directory, 'the path is not shown')
  mkdirSync(join(accountDir(directory), 'events.ndjson'), { recursive: true })
  t.match(await send(openFile(directory), 1), { fault: { class: 'configuration', code: 'EISDIR' } })
  t.match(await check(openFile(directory)), { ok: false, problem: notAFile })
  const stopped = await openFile(directory).send(someEvents(1), AbortSignal.abort())
  t.match(stopped, { fault: { class: 'transient', code: 'Aborted' } })
})

t.test('a full disk is waited for', async (t) => {
  const directory = tempDir(t)
  mkdirSync(accountDir(directory))
  const sender = openFile(directory)
  let isFull = true
  const full = { class: 'transient', code: 'ENOSPC', msg: 'no space left on device' } as const
  const lane = new Lane(fileConfig(), {
    open: () => ({
      limits: () => sender.limits(),
      send: async (events, abort) =>
        isFull ? { outcome: 'failed', fault: full } : sender.send(events, abort),
      dropCredentials: () => {},
      close: () => sender.close(),
    }),
    budget: roomForAll,
    deadLetter: async () => void t.fail('nothing is dead-lettered'),
  })
  t.teardown(() => lane.close())
  const delivered = lane.deliver(someEvents(5))
  await until('the lane waits', async () => lane.status().state === 'failing')
  isFull = false
  lane.hurry()
  t.match(await delivered, { outcome: 'done', counts: { delivered: 5, dead_lettered: 0 } })
  t.equal(idsIn(directory).length, 5)
})

t.test('files are rotated at their size, compressed, and the oldest deleted', async (t) => {
  const directory = tempDir(t)
  const sender = openFile(directory, { size: smallest, keep: 2, gzip_rotated: true })
  const padding = 'x'.repeat(1000)
  for (let request = 0; request < 5; request += 1) {
    t.strictSame(await send(sender, 50, `r${request}_`, padding), accepted)
  }
  const form = /^events-\d{8}T\d{9}Z-[0-9a-f]{8}\.ndjson\.gz$/
  await until('two are compressed and kept', async () => {
    const [current, ...rotated] = filesIn(directory).reverse()
    return current === 'events.ndjson' && rotated.length === 2 && rotated.every((file) => form.test(file))
  })
  t.strictSame(new Set(idsIn(directory).map((id) => id.slice(0, 2))), new Set(['r2', 'r3', 'r4']))
})

t.test('files are rotated at their age', async (t) => {
  const directory = tempDir(t)
  const sender = openFile(directory, { age_seconds: 1 })
  await until('there is a second one', async () => {
    await send(sender, 1)
    return filesIn(directory).length > 1
  })
})

t.test('a request that is larger than a file has a file of its own', async (t) => {
  const directory = tempDir(t)
  const sender = openFile(directory, { size: smallest })
  for (const prefix of ['a_', 'b_']) t.strictSame(await send(sender, 100, prefix, 'x'.repeat(1000)), accepted)
  t.equal(filesIn(directory).length, 2)
  t.equal(idsIn(directory).length, 200)
})

t.test('a torn last line is cut off', async (t) => {
  const directory = tempDir(t)
  const sender = openFile(directory)
  await send(sender, 2)
  for (const torn of ['{"event_id":"ev_to', `{"event_id":"${'x'.repeat(200_000)}`]) {
    appendFileSync(join(accountDir(directory), 'events.ndjson'), torn)
    t.strictSame(await send(sender, 1, 'after_'), accepted)
    await until('all lines are whole', () => areWhole(directory))
  }
  t.strictSame(idsIn(directory).sort(), ['after_0', 'after_0', 'ev_0', 'ev_1'])
  const only = openFile(directory, {}, 'torn')
  appendFileSync(join(accountDir(directory), 'torn'), 'no line at all')
  t.strictSame(await send(only, 1), accepted)
  await until('it is empty', async () =>
    filesIn(directory).some((file) => file.startsWith('torn-') && linesIn(directory, file).length === 0),
  )
})

t.test('a write of which only a part succeeds is cut off, and sent again', async (t) => {
  const directory = tempDir(t)
  const program = [process.execPath, compiled('test/delivery/deliver/file-writer.js')]
  // Files end after 100 blocks of 512 bytes, in the middle of a request.
  const child = spawn('sh', ['-c', 'ulimit -f 100; exec "$@"', 'sh', ...program, directory, 'a', '20', '{}'])
  const [code] = await once(child, 'exit')
  t.equal(code, 0)
  await until('all lines are whole', () => areWhole(directory))
  t.ok(filesIn(directory).length > 2, 'rotated')
  t.equal(new Set(idsIn(directory)).size, 20 * 20)
})

t.test('several processes write to one file, and some are killed', async (t) => {
  const directory = tempDir(t)
  const options = { size: smallest, keep: 1_000, gzip_rotated: true }
  const writers = ['a', 'b', 'c', 'd'].map((prefix) =>
    run('test/delivery/deliver/file-writer.js', [directory, prefix, '60', JSON.stringify(options)]),
  )
  const [victim, other, ...rest] = writers
  await Promise.all([victim!, other!].map(({ line }) => line(/accepted ._10_/)))
  await Promise.all([victim!.kill(), other!.kill()])
  for (const { ended } of rest) t.match(await ended, { code: 0 })
  // The last one may have been torn by a kill.
  t.strictSame(await send(openFile(directory, options), 1, 'last_'), accepted)
  await until('all lines are whole', () => areWhole(directory))
  const ids = new Set(idsIn(directory))
  for (const { output } of writers) {
    for (const [, prefix] of output().matchAll(/^accepted (\S+)$/gm)) {
      for (let event = 0; event < 20; event += 1) {
        if (!ids.has(`${prefix}${event}`)) t.fail(`${prefix}${event} was accepted and is missing`)
      }
    }
  }
  t.ok(filesIn(directory).length > 5, 'rotated many times')
  t.ok(ids.size >= 2 * 60 * 20)
})

t.test('a check says what is proved, and writes nothing', async (t) => {
  const directory = tempDir(t)
  const sender = openFile(directory)
  const proved = (sentence: string) => ({ ok: true, value: { mayWrite: true, proved: [sentence] } })
  t.match(await check(sender), proved('The file can be created.'))
  t.strictSame(readdirSync(directory), [])
  await send(sender, 1)
  t.match(await check(sender), proved('The file exists and may be written.'))
  t.match(await check(openFile(join(directory, 'missing'))), {
    ok: false,
    problem: { class: 'configuration', code: 'ENOENT' },
  })
})
