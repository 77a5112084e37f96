/**
 * The output of `journalctl -o export`, as bytes: text that a client put into a message is never a field, an entry or a line
 * of its own.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { LineSplitter, lineBytesMax, type RawLine } from '../../../src/delivery/ingest/lines/line-splitter.js'
import { LogEnvelopes } from '../../../src/delivery/ingest/log-envelope.js'
import { tempDir } from '../../harness/temp-dir.js'

const text = (name: string, value: string): Buffer => Buffer.from(`${name}=${value}\n`)

function binary(name: string, value: Buffer | string, size = Buffer.byteLength(value)): Buffer {
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(size))
  return Buffer.concat([Buffer.from(`${name}\n`), length, Buffer.from(value as string), Buffer.from('\n')])
}

const startMicros = 1_795_963_624_395_905
const boot = '971ea13a6d0b4964a06b9e2b9b84cb63'
const cursor = (index: number): string =>
  `__CURSOR=s=c8d3dfcf418f400da0ac19f80235d088;i=${index.toString(16)};b=${boot};m=5a6e3c80;t=6616b5ddc9481;x=9cb7e996a18a0675\n`
const heads = (index: number): Buffer =>
  Buffer.from(
    `${cursor(index)}__REALTIME_TIMESTAMP=${startMicros + index}\n__MONOTONIC_TIMESTAMP=${1_517_173_888 + index}\n_BOOT_ID=${boot}\n`,
  )

/** Entries of these fields. */
const exportOf = (...entries: readonly (readonly Buffer[])[]): Buffer =>
  Buffer.concat(
    entries.flatMap((fields, index) => [heads(index + 1), ...fields, Buffer.from('PRIORITY=6\n\n')]),
  )

/** `cut`: where the bytes are cut into chunks. */
function linesIn(bytes: Buffer, cut: readonly number[] = []): RawLine[] {
  const splitter = new LineSplitter()
  const places = [0, ...cut, bytes.length].sort((a, b) => a - b)
  const lines = places.flatMap((from, index) => [...splitter.push(bytes.subarray(from, places[index + 1]))])
  const last = splitter.rest()
  return last === undefined ? lines : [...lines, last]
}

function opened(bytes: Buffer, cut?: readonly number[]) {
  const envelopes = new LogEnvelopes<RawLine>()
  const inside = linesIn(bytes, cut).flatMap((line) => [...envelopes.open(line)])
  return [...inside, ...envelopes.rest()]
}

const textsIn = (bytes: Buffer, cut?: readonly number[]): string[] =>
  opened(bytes, cut).map(({ text }) => text)

/** The text that a client would write to forge an entry. */
const forging = `a\n\n${cursor(99)}MESSAGE=forged\n\nMESSAGE\n\u0001\0\0\0\0\0\0\0x\n${cursor(98)}`
const messages = ['plain', '\u001b[31mred\u001b[0m', 'two\nlines', forging, '9 bytes\n9', '', 'the last']
const fieldOf = (message: string): Buffer =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what makes a field binary
  /[\0-\x08\x0a-\x1f]/.test(message) ? binary('MESSAGE', message) : text('MESSAGE', message)
const sample = exportOf(
  ...messages.map((message) => [
    binary('NOTE', forging),
    fieldOf(message),
    binary('TEN_BYTES', '123456789\n'),
  ]),
)
const expected = messages.map((message) => message.replace(/\n$/, ''))

t.test('messages are read whole, and nothing within one is anything else', async (t) => {
  t.strictSame(textsIn(sample), expected)
  const times = opened(sample).map(({ loggedAt }) => loggedAt)
  t.strictSame(
    times,
    messages.map((_, index) => `1795963624.${395_905 + index + 1}`),
  )
  t.equal(
    linesIn(sample).reduce((sum, { byteLength }) => sum + byteLength, 0),
    sample.length,
    'every byte belongs to a line: positions are right',
  )
  t.equal(
    linesIn(sample).reduce((sum, { fieldLines = 1 }) => sum + fieldLines, 0),
    sample.toString().split('\n').length - 1,
    'and so are the numbers of lines',
  )
})

t.test('wherever the bytes are cut', async (t) => {
  const cuts = Array.from({ length: sample.length }, (_, at) => at)
  const wrong = cuts.filter((at) => JSON.stringify(textsIn(sample, [at])) !== JSON.stringify(expected))
  t.strictSame(wrong, [])
  const contents = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(contents, fc.array(fc.nat(400)), (contents, cuts) => {
      const bytes = exportOf(...contents.map((each) => [binary('MESSAGE', Buffer.from(each))]))
      const within = cuts.map((cut) => Math.min(cut, bytes.length))
      const found = linesIn(bytes, within).filter(({ fieldLines }) => fieldLines !== undefined)
      const wanted = contents.map((each) => `MESSAGE=${Buffer.from(each)}`)
      return JSON.stringify(found.map(({ text }) => text)) === JSON.stringify(wanted)
    }),
  )
})

t.test('as journald itself stores and writes it', async (t) => {
  const remote = '/lib/systemd/systemd-journal-remote'
  const missing = 'systemd-journal-remote is not installed'
  if (!existsSync(remote)) return void t.pass(missing, { skip: missing })
  const dir = tempDir(t)
  const [made, journal] = [join(dir, 'made'), join(dir, 'entries.journal')]
  writeFileSync(made, sample)
  execFileSync(remote, ['-o', journal, made], { stdio: 'ignore' })
  const written = execFileSync('journalctl', ['--file', journal, '-o', 'export'])
  t.strictSame(textsIn(written), expected)
})

t.test('a message that is too long is so, and what follows is read', async (t) => {
  const long = `\n${'x'.repeat(lineBytesMax)}`
  const found = opened(exportOf([binary('MESSAGE', long)], [text('MESSAGE', 'after')]))
  t.match(found, [{ isTooLong: true }, { isTooLong: false, text: 'after' }])
  t.ok(found[0]!.text.length <= lineBytesMax)
})

t.test('what ends within a field is refused by its name, and what has no size is text', async (t) => {
  const cut = exportOf([binary('MESSAGE', forging)])
  const end = cut.indexOf('forged')
  t.strictSame(textsIn(cut.subarray(0, end)), ['MESSAGE'])
  t.equal(
    linesIn(cut.subarray(0, end)).reduce((sum, { byteLength }) => sum + byteLength, 0),
    end,
  )
  const log = ['203.0.113.7 - - [x] "GET / HTTP/1.1"', '{"a": 1}', 'MESSAGE', 'more than 8 bytes', 'A=1']
  const lines = Buffer.from(`${cursor(1)}PRIORITY\n${log.join('\n')}\n`)
  t.strictSame(textsIn(lines), log, 'lines of a log behind what looks like an entry are not lost')
  t.strictSame(
    textsIn(Buffer.concat([Buffer.from(`${log[0]}\n`), binary('MESSAGE', 'a\nb')])).slice(0, 1),
    log.slice(0, 1),
    'outside of an entry, there are no fields',
  )
})
