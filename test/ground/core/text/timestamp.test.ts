import fc from 'fast-check'
import t from 'tap'
import { JsonBytes } from '../../../../src/ground/core/text/json-bytes.js'
import {
  isTimestamp,
  millisOf,
  parseTimestamp,
  utcMicros,
  writeUtcMicros,
} from '../../../../src/ground/core/text/timestamp.js'

function writtenMicros(text: string): string {
  const out = new JsonBytes()
  writeUtcMicros(text, out)
  return Buffer.from(out.take()).toString()
}

t.test('times in every spelling of RFC 3339', async (t) => {
  const cases: [text: string, seconds: number][] = [
    ['1970-01-01T00:00:00Z', 0],
    ['1985-04-12t23:20:50.52z', 482_196_050],
    ['1996-12-19T16:39:57-08:00', 851_042_397],
    ['1990-12-31T23:59:60Z', 662_688_000],
    ['1990-12-31T15:59:60.7-08:00', 662_688_000],
    ['2000-02-29T00:00:00+00:00', 951_782_400],
    ['0000-02-29T00:00:00Z', -62_162_121_600],
    ['1970-01-01T00:00:00.99999999999999999999Z', 0],
    ['1969-12-31T23:59:59.9Z', -1],
    ['9999-12-31T23:59:59Z', 253_402_300_799],
  ]
  for (const [text, seconds] of cases) t.equal(parseTimestamp(text), seconds, text)
})

t.test('milliseconds of any spelling are those of the whole second and of its first digits', async (t) => {
  const fraction = fc.option(fc.stringMatching(/^\d{1,9}$/), { nil: '' })
  const zone = fc.constantFrom('Z', 'z', '+05:30', '-08:00')
  const date = fc.date({
    min: new Date('0000-01-02T00:00:00Z'),
    max: new Date('9999-12-30T00:00:00Z'),
    noInvalidDate: true,
  })
  fc.assert(
    fc.property(date, fraction, zone, (at, digits, end) => {
      const text = `${at.toISOString().slice(0, 19)}${digits === '' ? '' : `.${digits}`}${end}`
      t.equal(millisOf(text), parseTimestamp(text)! * 1000 + Number(digits.slice(0, 3).padEnd(3, '0')), text)
    }),
  )
  t.equal(millisOf('1990-12-31T23:59:60.5Z'), 662_688_000_500, 'a leap second is the next one')
})

t.test('what is no time', async (t) => {
  const texts = [
    '',
    'now',
    '1985-04-12',
    '1985-04-12T23:20:50',
    '1985-04-12 23:20:50Z',
    '1985-4-12T23:20:50Z',
    '1985-02-29T00:00:00Z',
    '1985-04-31T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '0100-02-29T00:00:00Z',
    '1985-13-01T00:00:00Z',
    '1985-04-12T24:00:00Z',
    '1985-04-12T23:60:00Z',
    '1985-04-12T23:20:61Z',
    '1985-04-12T23:20:50.Z',
    '1985-04-12T23:20:50+24:00',
    '+010000-01-01T00:00:00Z',
    ' 1985-04-12T23:20:50Z',
  ]
  for (const text of texts) {
    t.equal(isTimestamp(text), false, JSON.stringify(text))
    t.equal(parseTimestamp(text), undefined)
  }
})

/** The grammar of RFC 3339, without the days of months. */
const form =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

t.test('a time is what the grammar says', async (t) => {
  const spelled = fc
    .tuple(
      fc.constantFrom('2026-11-20', '0000-12-31', '2024-01-01', '9999-10-09'),
      fc.constantFrom('T', 't'),
      fc.constantFrom('10:00:00', '23:59:60', '00:00:59'),
      fc.constantFrom('', '.1', '.123456', '.1234567890'),
      fc.constantFrom('Z', 'z', '+01:00', '-23:59'),
    )
    .map((parts) => parts.join(''))
  const bit = fc.constantFrom(...'0123456789-+:.TtZz /\n\u00b2\u0154\u017a', '')
  const edits = fc.array(fc.tuple(fc.nat(35), fc.nat(2), bit), { maxLength: 2 })
  const edited = fc
    .tuple(spelled, edits)
    .map(([text, edits]) =>
      edits.reduce((text, [at, count, bit]) => text.slice(0, at) + bit + text.slice(at + count), text),
    )
  const isDay = (text: string) => new Date(text.slice(0, 10)).getUTCDate() === Number(text.slice(8, 10))
  const property = fc.property(edited, (text) => isTimestamp(text) === (form.test(text) && isDay(text)))
  t.doesNotThrow(() => fc.assert(property, { numRuns: 10_000 }))
})

t.test('the one spelling of a time: UTC, six fractional digits', async (t) => {
  const cases: { name: string; text: string; want: string | undefined }[] = [
    { name: 'already so', text: '2026-11-20T10:00:00.123456Z', want: '2026-11-20T10:00:00.123456Z' },
    { name: 'no fraction', text: '2026-11-20T10:00:00Z', want: '2026-11-20T10:00:00.000000Z' },
    { name: 'a short fraction', text: '2026-11-20T10:00:00.5Z', want: '2026-11-20T10:00:00.500000Z' },
    {
      name: 'further digits are cut',
      text: '2026-11-20T10:00:00.1234569Z',
      want: '2026-11-20T10:00:00.123456Z',
    },
    { name: 'cut, not rounded', text: '2026-12-31T23:59:59.9999999Z', want: '2026-12-31T23:59:59.999999Z' },
    {
      name: 'cut before the epoch',
      text: '1969-12-31T23:59:59.9999999Z',
      want: '1969-12-31T23:59:59.999999Z',
    },
    { name: 'small letters', text: '2026-11-20t10:00:00.123456z', want: '2026-11-20T10:00:00.123456Z' },
    {
      name: 'small letters, with an offset',
      text: '2026-11-20t10:00:00-00:00',
      want: '2026-11-20T10:00:00.000000Z',
    },
    { name: 'east', text: '2026-11-20T10:00:00.123456+02:00', want: '2026-11-20T08:00:00.123456Z' },
    {
      name: 'west, into the next year',
      text: '2026-12-31T23:30:00-05:30',
      want: '2027-01-01T05:00:00.000000Z',
    },
    { name: 'into a 29th', text: '2024-03-01T00:30:00+01:00', want: '2024-02-29T23:30:00.000000Z' },
    { name: 'a leap second', text: '2016-12-31T23:59:60Z', want: '2017-01-01T00:00:00.000000Z' },
    {
      name: 'a leap second of that length',
      text: '2016-12-31T23:59:60.123456Z',
      want: '2017-01-01T00:00:00.123456Z',
    },
    {
      name: 'a leap second elsewhere',
      text: '2016-12-31T15:59:60.7-08:00',
      want: '2017-01-01T00:00:00.700000Z',
    },
    { name: 'the first year', text: '0000-01-01T00:00:00Z', want: '0000-01-01T00:00:00.000000Z' },
    { name: 'a year below 100', text: '0099-03-01T00:00:00+00:01', want: '0099-02-28T23:59:00.000000Z' },
    { name: 'before the first year', text: '0000-01-01T00:00:00+00:01', want: undefined },
    { name: 'the last year', text: '9999-12-31T23:59:59.999999999Z', want: '9999-12-31T23:59:59.999999Z' },
    { name: 'after the last year', text: '9999-12-31T23:59:59-00:01', want: undefined },
    { name: 'a leap second after the last year', text: '9999-12-31T23:59:60Z', want: undefined },
  ]
  for (const { name, text, want } of cases) {
    t.ok(isTimestamp(text), name)
    t.equal(utcMicros(text), want, name)
    if (want !== undefined) t.equal(writtenMicros(text), want, `${name}, written`)
  }
})

/** Microseconds since the year 0000, by whole numbers alone: days are counted in eras of 400 years. */
function microsOf(year: number, month: number, day: number): bigint {
  const inMarchYears = BigInt(month <= 2 ? year - 1 : year) + 400n
  const era = inMarchYears / 400n
  const ofEra = inMarchYears % 400n
  const dayOfYear = (153n * BigInt((month + 9) % 12) + 2n) / 5n + BigInt(day - 1)
  const days = era * 146_097n + ofEra * 365n + ofEra / 4n - ofEra / 100n + dayOfYear
  return days * 86_400_000_000n
}

t.test('whatever the spelling, the same instant as whole numbers have it', (t) => {
  const two = (value: number): string => String(value).padStart(2, '0')
  const part = (min: number, max: number) => fc.integer({ min, max })
  const time = fc.record({
    year: fc.oneof(part(0, 9999), fc.constantFrom(0, 1, 99, 100, 1970, 9999)),
    month: part(1, 12),
    day: part(1, 28),
    hour: part(0, 23),
    minute: part(0, 59),
    second: part(0, 60),
    fraction: fc.option(fc.stringMatching(/^\d{1,12}$/), { nil: '' }),
    offset: fc.option(part(-1439, 1439), { nil: undefined }),
    separator: fc.constantFrom('T', 't'),
    utc: fc.constantFrom('Z', 'z'),
  })
  fc.assert(
    fc.property(time, ({ year, month, day, hour, minute, second, fraction, offset, separator, utc }) => {
      const sign = (offset ?? 0) < 0 ? '-' : '+'
      const minutes = Math.abs(offset ?? 0)
      const zone = offset === undefined ? utc : `${sign}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
      const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
      const clock = `${two(hour)}:${two(minute)}:${two(second)}${fraction === '' ? '' : `.${fraction}`}`
      const seconds = BigInt(hour * 3600 + (minute - (offset ?? 0)) * 60 + second)
      const micros = BigInt(fraction.slice(0, 6).padEnd(6, '0'))
      const want = microsOf(year, month, day) + seconds * 1_000_000n + micros
      const text = `${date}${separator}${clock}${zone}`
      const got = utcMicros(text)
      const isOutside = want < microsOf(0, 1, 1) || want >= microsOf(10_000, 1, 1)
      if (got === undefined || isOutside) return got === undefined && isOutside
      const [, y, mo, d, h, mi, s, us] = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{6})Z$/.exec(got)!
      const clockMicros = BigInt(Number(h) * 3600 + Number(mi) * 60 + Number(s)) * 1_000_000n + BigInt(us!)
      return (
        microsOf(Number(y), Number(mo), Number(d)) + clockMicros === want &&
        utcMicros(got) === got &&
        writtenMicros(text) === got
      )
    }),
    { seed: 6, numRuns: 5_000 },
  )
  t.end()
})
