import t from 'tap'
import { brokenPattern, objectsOf, withName } from '../../../../src/delivery/deliver/s3/object-key.js'
import { PackWriter, readPack } from '../../../../src/delivery/wire/pack.js'

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
  const timestampMs = Date.parse('2026-03-04T05:06:07Z')
  const pattern = '{destination}/{kind}/{date}/{yyyy}-{mm}-{dd}T{hour}/{name}.gz'
  const writer = new PackWriter()
  writer.append('ev_1', timestampMs, '{"event_id":"ev_1","event_type":"log.v0"}')
  writer.append('ev_2', timestampMs, '{"event_id":"ev_2"}')
  writer.append('ev_3', timestampMs + 60_000, '{"event_id":"ev_3","event_type":"log.v0"}')
  writer.append('ev_4', 1, '{"event_id":"ev_4","event_type":"log.v0"}')
  const objects = objectsOf(readPack(writer.take()).events, pattern, 'ed_1')
  t.same(
    [...objects].map(([key, { indices }]) => [key, indices]),
    [
      ['ed_1/log.v0/2026-03-04/2026-03-04T05/{name}.gz', [0, 2]],
      ['ed_1/unknown/2026-03-04/2026-03-04T05/{name}.gz', [1]],
      ['ed_1/log.v0/1970-01-01/1970-01-01T00/{name}.gz', [3]],
    ],
  )
  const event = (id: string, seconds: number) => ({
    id,
    timestampMs: Date.parse('2026-03-04T05:00:00Z') + seconds * 1000 + 7,
  })
  const [a, b, c] = [event('ev_a', 9), event('ev_b', 8), event('ev_c', 10)]
  const name = withName('{name}', [a, b])
  t.match(name, /^20260304T050008Z-[0-9a-f]{32}$/)
  t.equal(withName('{name}', [b, a]), name, 'in whatever order')
  t.not(withName('{name}', [b, a, c]), name)
  t.end()
})
