import t from 'tap'
import { brokenPattern, keyWithoutName, withName } from '../../../src/deliver/s3/object-key.js'

t.test('patterns of keys', (t) => {
  const good = [
    '{name}',
    'a/b=c/{date}/{hour}/{destination}/{kind}-{name}.gz',
    "!-_.*'()/{yyyy}{mm}{dd}{name}",
  ]
  for (const pattern of good) t.equal(brokenPattern(pattern), undefined, pattern)
  const bad: [pattern: string, says: RegExp][] = [
    ['weir/{kind}', /\{name\} is missing/],
    ['{name}/{account}', /"\{account\}" is not one of \{kind\}, \{date\}/],
    ['{name}/{}', /not one of/],
    ['{name}/{toString}', /not one of/],
    ['{name}{', /letters, digits/],
    ['a b/{name}', /letters, digits/],
    ['{name}?x', /letters, digits/],
    ['é/{name}', /letters, digits/],
    ['/{name}', /no part between slashes/],
    ['a//{name}', /no part between slashes/],
    ['{name}/', /no part between slashes/],
    ['../{name}', /no part between slashes/],
    [`${'{kind}'.repeat(8)}{name}`, /more than 1024 characters/],
  ]
  for (const [pattern, says] of bad) t.match(brokenPattern(pattern), says, pattern)
  t.end()
})

t.test('a key has the time in UTC, and the name of its events', (t) => {
  const hourMs = Date.parse('2026-03-04T05:00:00Z')
  const key = keyWithoutName(
    '{destination}/{kind}/{date}/{yyyy}-{mm}-{dd}T{hour}/{name}.gz',
    'ed_1',
    'log.v0',
    hourMs,
  )
  t.equal(key, 'ed_1/log.v0/2026-03-04/2026-03-04T05/{name}.gz')
  const event = (id: string, seconds: number) => ({ id, timestampMs: hourMs + seconds * 1000 + 7 })
  const [a, b, c] = [event('ev_a', 9), event('ev_b', 8), event('ev_c', 10)]
  const name = withName('{name}', [a, b])
  t.match(name, /^20260304T050008Z-[0-9a-f]{32}$/)
  t.equal(withName('{name}', [b, a]), name, 'in whatever order')
  t.not(withName('{name}', [b, a, c]), name)
  t.end()
})
