/** Times that clients set. */
import t from 'tap'
import { compileCheck } from '../../../../src/ground/core/schema-check.js'
import {
  canonicalPastTime,
  canonicalTime,
  pastTimestamp,
  timestamp,
} from '../../../../src/words/resource/fields/timestamp-field.js'

t.test('times, in UTC with whole seconds', async (t) => {
  const check = compileCheck(timestamp)
  const cases = [
    ['2026-11-20T10:00:00Z', '2026-11-20T10:00:00Z'],
    ['2026-11-20T10:00:00.999Z', '2026-11-20T10:00:00Z'],
    ['2026-11-20T10:00:00+02:00', '2026-11-20T08:00:00Z'],
    ['2026-11-20t10:00:00z', '2026-11-20T10:00:00Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
  ]
  for (const [given = '', want] of cases) {
    t.equal(check(given, 'at'), undefined, given)
    t.equal(canonicalTime(given), want, given)
  }
  const refused = [
    '',
    '2026-11-20',
    '2026-11-20T10:00:00',
    '2026-02-30T10:00:00Z',
    '1969-12-31T23:59:59Z',
    '9999-12-31T23:59:59-01:00',
    '24h',
  ]
  for (const given of refused)
    t.match(check(given, 'at'), /an RFC 3339 time in the years 1970 to 9999/, given)
})

t.test('past times may be lengths of time before now', async (t) => {
  const check = compileCheck(pastTimestamp)
  for (const given of ['24h', '90s', '7d', '2026-11-20T10:00:00Z'])
    t.equal(check(given, 'at'), undefined, given)
  for (const given of ['', '24', 'yesterday', '-1h']) t.match(check(given, 'at'), /is needed/, given)
  t.equal(canonicalPastTime('2026-11-20T10:00:00.5+01:00'), '2026-11-20T09:00:00Z')
  const agoMs = Date.now() - Date.parse(canonicalPastTime('24h'))
  t.ok(agoMs >= 86_400_000 && agoMs < 86_400_000 + 60_000)
})
