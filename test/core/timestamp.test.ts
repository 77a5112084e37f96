import t from 'tap'
import { isTimestamp, parseTimestamp } from '../../src/core/timestamp.js'

t.test('times in every spelling of RFC 3339', async (t) => {
  const cases: [text: string, seconds: number][] = [
    ['1970-01-01T00:00:00Z', 0],
    ['1985-04-12t23:20:50.52z', 482_196_050],
    ['1996-12-19T16:39:57-08:00', 851_042_397],
    ['1990-12-31T23:59:60Z', 662_688_000],
    ['1990-12-31T15:59:60.7-08:00', 662_688_000],
    ['2000-02-29T00:00:00+00:00', 951_782_400],
    ['1969-12-31T23:59:59.9Z', -1],
    ['9999-12-31T23:59:59Z', 253_402_300_799],
  ]
  for (const [text, seconds] of cases) t.equal(parseTimestamp(text), seconds, text)
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
