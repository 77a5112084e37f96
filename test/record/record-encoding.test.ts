import { gzipSync } from 'node:zlib'
import t from 'tap'
import { encodedRecords, inflatedBytesMax, recordBytes } from '../../src/record/record-encoding.js'

const text = `${JSON.stringify({ record_id: 'r', note: 'x'.repeat(1_000) })}\n`.repeat(10)

/** Headers of a message, as the client of NATS has them: an empty text for one that is missing. */
const headersOf = (headers: Readonly<Record<string, string>> = {}) => ({
  get: (name: string) => headers[name] ?? '',
})
const decoded = (data: Uint8Array | string, headers?: Readonly<Record<string, string>>) =>
  recordBytes({ data: Buffer.from(data), headers: headers && headersOf(headers) })
const textIn = (data: Uint8Array | string, headers?: Readonly<Record<string, string>>): string => {
  const result = decoded(data, headers)
  return result.ok ? Buffer.from(result.value).toString() : result.problem.msg
}

t.test('what was encoded is decoded', (t) => {
  const { data, headers } = encodedRecords(text)
  t.ok(data.length < text.length / 4, 'a quarter of the bytes at most')
  t.strictSame(headers, { 'Weir-Encoding': 'gzip' })
  t.equal(textIn(data, headers), text)
  t.end()
})

t.test('a short message stays as it is', (t) => {
  t.strictSame(encodedRecords('{}'), { data: '{}' })
  t.equal(textIn('{}'), '{}')
  t.equal(textIn('{}', {}), '{}')
  t.equal(textIn('\n{}', {}), '\n{}', 'a blank line comes first')
  t.end()
})

t.test('a message that can not be decoded has a reason', (t) => {
  const zipped = gzipSync(text)
  t.match(textIn(zipped, { 'Weir-Encoding': 'br' }), '"Weir-Encoding" is "br"; it must be gzip or zstd.')
  t.match(textIn(zipped, { 'Weir-Encoding': 'toString' }), '"Weir-Encoding" is "toString"; it must be')
  t.match(
    textIn(zipped.subarray(0, 40), { 'Weir-Encoding': 'gzip' }),
    "can't be decoded as gzip: it is damaged",
  )
  t.match(textIn('\0 no gzip', { 'Weir-Encoding': 'gzip' }), "can't be decoded as gzip: it is damaged")
  const bomb = gzipSync(Buffer.alloc(inflatedBytesMax + 1, ' '))
  t.ok(bomb.length < 20_000)
  t.match(textIn(bomb, { 'Weir-Encoding': 'gzip' }), 'more than 16777216 bytes come of it')
  t.equal(decoded(gzipSync(Buffer.alloc(inflatedBytesMax, ' ')), { 'Weir-Encoding': 'gzip' }).ok, true)
  t.end()
})

const { zstdCompressSync } = (await import('node:zlib')) as {
  zstdCompressSync?: (data: string) => Uint8Array
}

t.test('zstd', (t) => {
  if (zstdCompressSync === undefined)
    t.match(textIn(Buffer.from([0x28, 0xb5]), { 'Weir-Encoding': 'zstd' }), 'needs Node 22.15 or later')
  else t.equal(textIn(zstdCompressSync(text), { 'Weir-Encoding': 'zstd' }), text)
  t.end()
})
