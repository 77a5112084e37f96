import t from 'tap'
import {
  DerError,
  derBits,
  derContent,
  derMembers,
  derOid,
  derTags,
  derValues,
} from '../../../src/ground/pki/der.js'

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex')
const first = (text: string) => derValues(hex(text))[0]

t.test('consecutive values', (t) => {
  const values = derValues(hex('01 01 ff 04 02 61 62 30 00'))
  t.strictSame(
    values.map(({ tag, content }) => [tag, Buffer.from(content).toString('hex')]),
    [
      [derTags.boolean, 'ff'],
      [derTags.octetString, '6162'],
      [derTags.sequence, ''],
    ],
  )
  t.strictSame(derValues(hex('')), [])
  t.end()
})

t.test('a length of several bytes', (t) => {
  const long = Buffer.concat([hex('04 82 01 00'), Buffer.alloc(256, 7)])
  t.equal(derContent(derValues(long)[0], derTags.octetString).length, 256)
  t.end()
})

t.test('object identifiers', (t) => {
  const oids = [
    ['06 03 55 1d 11', '2.5.29.17'],
    ['06 08 2b 06 01 05 05 07 03 01', '1.3.6.1.5.5.7.3.1'],
    ['06 03 88 37 01', '2.999.1'],
    ['06 01 27', '0.39'],
  ]
  for (const [bytes = '', oid] of oids) t.equal(derOid(first(bytes)), oid)
  t.end()
})

t.test('bits are numbered from the first', (t) => {
  t.strictSame(derBits(first('03 02 01 06')), [5, 6])
  t.strictSame(derBits(first('03 03 07 08 80')), [4, 8])
  t.strictSame(derBits(first('03 01 00')), [])
  t.end()
})

const malformed = [
  { name: 'a tag alone', bytes: '30' },
  { name: 'a length beyond the end', bytes: '04 03 61 62' },
  { name: 'a long length that is cut off', bytes: '04 82 01' },
  { name: 'a length of five bytes', bytes: '04 85 00 00 00 00 01 61' },
  { name: 'an indefinite length', bytes: '30 80 00 00' },
  { name: 'a tag of several bytes', bytes: '1f 81 01 00' },
]

t.test('bytes that are not DER', (t) => {
  for (const { name, bytes } of malformed) t.throws(() => derValues(hex(bytes)), DerError, name)
  t.throws(() => derMembers(first('04 00'), derTags.sequence), DerError, 'another tag')
  t.throws(() => derContent(undefined, derTags.sequence), DerError, 'nothing')
  t.throws(() => derOid(first('06 00')), DerError, 'an object identifier of no bytes')
  t.end()
})
