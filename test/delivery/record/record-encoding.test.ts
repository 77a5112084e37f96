import { gzipSync } from 'node:zlib'
import t from 'tap'
import { encodedRecords, recordBytes } from '../../../src/delivery/record/record-encoding.js'
import { inflatedBytesMax, recordLinesMax } from '../../../src/ground/core/limits.js'

const text = `${JSON.stringify({ record_id: 'r', note: 'x'.repeat(1_000) })}\n`.repeat(10)

/** Headers of a message, as the client of NATS has them: an empty text for one that is missing. */
const headersOf = (headers: Readonly<Record<string, string>> = {}) => ({
  get: (name: string) => headers[name] ?? '',
})
const decoded = async (data: Uint8Array | string, headers?: Readonly<Record<string, string>>) =>
  recordBytes({ data: Buffer.from(data), headers: headers && headersOf(headers) })
const textIn = async (
  data: Uint8Array | string,
  headers?: Readonly<Record<string, string>>,
): Promise<string> => {
  const result = await decoded(data, headers)
  return result.ok ? Buffer.from(result.value).toString() : result.problem.msg
}

t.test('what was encoded is decoded', async (t) => {
  const { data, headers } = encodedRecords(text)
  t.ok(data.length < text.length / 4, 'a quarter of the bytes at most')
  t.strictSame(headers, { 'Weir-Encoding': 'gzip' })
  t.equal(await textIn(data, headers), text)
})

t.test('a short message stays as it is', async (t) => {
  t.strictSame(encodedRecords('{}'), { data: '{}' })
  t.equal(await textIn('{}'), '{}')
  t.equal(await textIn('{}', {}), '{}')
  t.equal(await textIn('\n{}', {}), '\n{}', 'a blank line comes first')
})

t.test('a message that cannot be decoded has a reason', async (t) => {
  const zipped = gzipSync(text)
  t.match(
    await textIn(zipped, { 'Weir-Encoding': 'br' }),
    '"Weir-Encoding" is "br"; it must be gzip or zstd.',
  )
  t.match(await textIn(zipped, { 'Weir-Encoding': 'toString' }), '"Weir-Encoding" is "toString"; it must be')
  t.match(
    await textIn(zipped.subarray(0, 40), { 'Weir-Encoding': 'gzip' }),
    "can't be decoded as gzip: it is damaged",
  )
  t.match(await textIn('\0 no gzip', { 'Weir-Encoding': 'gzip' }), "can't be decoded as gzip: it is damaged")
  const bomb = gzipSync(Buffer.alloc(inflatedBytesMax + 1, ' '))
  t.ok(bomb.length < 20_000)
  t.match(await textIn(bomb, { 'Weir-Encoding': 'gzip' }), 'more than 16777216 bytes come of it')
  t.equal((await decoded(gzipSync(Buffer.alloc(inflatedBytesMax, ' ')), gzip)).ok, true)
})

const gzip = { 'Weir-Encoding': 'gzip' }
const linesOf = (count: number): string => '{}\n'.repeat(count)

t.test('a message has at most 20,000 lines, compressed or not', async (t) => {
  const tooMany = `The message has more than ${recordLinesMax} lines.`
  const cases = [
    { name: 'as many as may be', text: linesOf(recordLinesMax), isRead: true },
    { name: 'the last one has no end', text: `${linesOf(recordLinesMax - 1)}{}`, isRead: true },
    { name: 'one more', text: `${linesOf(recordLinesMax)}{}`, isRead: false },
    { name: 'blank ones', text: `{}${'\n'.repeat(recordLinesMax + 1)}`, isRead: false },
    { name: 'many more', text: linesOf(5_000_000), isRead: false },
  ]
  for (const { name, text, isRead } of cases) {
    const want = isRead ? text : tooMany
    t.equal(await textIn(text), want, name)
    t.equal(await textIn(` ${text}`), isRead ? ` ${text}` : tooMany, `${name}, after a space`)
    t.equal(await textIn(gzipSync(text), gzip), want, `${name}, compressed`)
  }
})

t.test('inflation stops at the bound of lines', async (t) => {
  // The end is damaged: it is never read.
  const bomb = gzipSync(linesOf(5_000_000))
  bomb.fill(0, bomb.length - 2_000)
  t.ok(bomb.length > 8_000)
  t.equal(await textIn(bomb, gzip), `The message has more than ${recordLinesMax} lines.`)
})

t.test('what inflates to far more than usual is read as well, to its last byte', async (t) => {
  const record = `${JSON.stringify({ record_id: 'r', note: 'x'.repeat(1_000) })}\n`
  const text = record.repeat(Math.floor(inflatedBytesMax / record.length))
  t.equal(await textIn(gzipSync(text), gzip), text)
  t.match(await textIn(gzipSync(text).subarray(0, -9), gzip), 'it is damaged')
})

const { zstdCompressSync } = (await import('node:zlib')) as {
  zstdCompressSync?: (data: string) => Uint8Array
}

t.test('zstd', async (t) => {
  if (zstdCompressSync === undefined)
    t.match(await textIn(Buffer.from([0x28, 0xb5]), { 'Weir-Encoding': 'zstd' }), 'needs Node 22.15 or later')
  else t.equal(await textIn(zstdCompressSync(text), { 'Weir-Encoding': 'zstd' }), text)
})
