/** Bodies parsed in pieces: exactly what is valid as a whole is valid in pieces, and has the same value. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { WeirError } from '../../../../src/ground/core/errors.js'
import { ipListEntriesMax, requestValuesMax } from '../../../../src/ground/core/limits.js'
import { Slices } from '../../../../src/ground/core/slices.js'
import { parseJsonBody } from '../../../../src/management/exchange/body/json-body.js'
import { parseLargeBody } from '../../../../src/management/exchange/body/large-body.js'

/** The value, or the message of the refusal. */
async function outcome(parse: () => unknown): Promise<unknown> {
  try {
    return { value: await parse() }
  } catch (error) {
    if (error instanceof WeirError) return { refused: error.message }
    throw error
  }
}

const whole = (text: string | Buffer) => outcome(() => parseJsonBody(Buffer.from(text as string)))
const inPieces = (text: string | Buffer, bytes = 1) =>
  outcome(() => parseLargeBody(Buffer.from(text as string), new Slices(), bytes))

const cases: Readonly<Record<string, string | Buffer>> = {
  'a list of objects': '{"rules": [{"a": 1}, {"a": [2, {"b": 3}]}], "more": true}',
  'several lists, and an empty one': '{"a":[1,2,3],"b":[],"c":["x","y"],"d":{"e":[4,5]}}',
  'names that are numbers': '{"2":[1,2],"1":[3]}',
  'a member named __proto__': '{"__proto__":[1,2],"constructor":[3]}',
  'brackets, commas and quotes in texts': '{"a":["],[","\\"","\\\\","{:,"],"b\\"[":[1,2]}',
  'characters of several bytes': '{"ä€":["ö","😀","𝒳"],"b":["\\ud83d\\ude00"]}',
  'white space everywhere': ' \n{ "a" : [ 1 , 2 ] , "b" : [ ] }\t',
  'white space alone': ' \n ',
  'a list as the body': '[[1,2],3,[4]]',
  'a byte order mark': '\ufeff{"a":[1,2]}',
  'a byte order mark inside': '{"a":[1,\ufeff2]}',
  'a comma at the end of a list': '{"a":[1,2,]}',
  'a comma at its beginning': '{"a":[,1]}',
  'two commas': '{"a":[1,,2]}',
  'only a comma': '{"a":[,]}',
  'a list that ends with a brace': '{"a":[1,2}}',
  'a list that does not end': '{"a":[1,2',
  'a text that does not end': '{"a":[1,"2]}',
  'more after the end': '{"a":[1,2]} x',
  'a wrong element': '{"a":[1,2,x,4]}',
  'a wrong name after a list': '{"a":[1,2],b:1}',
  'a repeated name': '{"a":[1,2],"a":[3]}',
  'a repeated name in an element': '{"a":[1,{"b":1,"b":2},3]}',
  'a number that cannot be stored': '{"a":[1,12345678901234567890]}',
  'NUL in an element': '{"a":[1,{"b":"x\\u0000"},3]}',
  'NUL in a name': '{"a":[1,{"b\\u0000":2},3]}',
  'NUL outside of lists': '{"a":[1],"b":"\\u0000"}',
  'half of a character': '{"a":["x","\\ud800"]}',
  'bytes that are no UTF-8': Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x5b, 0x22, 0xff, 0x22, 0x5d, 0x7d]),
  'too deep': `{"a":${'['.repeat(70)}${']'.repeat(70)}}`,
}

for (const [name, text] of Object.entries(cases)) {
  t.test(name, async (t) => {
    for (const bytes of [1, 3, 1000])
      t.ok(isDeepStrictEqual(await inPieces(text, bytes), await whole(text)), String(bytes))
  })
}

t.test('any body, and any that was damaged', async (t) => {
  const value = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())))
  const damage = fc.option(
    fc.tuple(fc.nat(), fc.constantFrom('', '[', ']', '{', '}', ',', ':', '"', '\\', '1')),
  )
  const property = fc.asyncProperty(
    value,
    fc.integer({ min: 1, max: 40 }),
    damage,
    async (sent, bytes, hit) => {
      let text = JSON.stringify(sent)
      if (hit !== null) {
        const at = hit[0] % text.length
        text = text.slice(0, at) + hit[1] + text.slice(at + 1)
      }
      const [expected, found] = [await whole(text), await inPieces(text, bytes)]
      // If a body has several faults, reading it in pieces may find another one first.
      const isValid = Object.hasOwn(found as object, 'value')
      t.equal(isValid, Object.hasOwn(expected as object, 'value'), text)
      if (isValid) t.ok(isDeepStrictEqual(found, expected), text)
    },
  )
  await fc.assert(property, { numRuns: 500 })
})

t.test('what is outside of lists, or one entry, must not be very large', async (t) => {
  const long = 'x'.repeat(1024 * 1024)
  const refused =
    /^The body is too large: outside of its lists, and in each entry of one, at most 1048576 bytes/
  for (const text of [`{"a":"${long}"}`, `{"a":[1,"${long}",2]}`]) t.match(await inPieces(text), { refused })
})

t.test('few bytes must not become many values', async (t) => {
  const many = (unit: string, count: number): string => `${`${unit},`.repeat(count - 1)}${unit}`
  const max = requestValuesMax
  const refused =
    /^The body has too many members and elements: at most 50000 are allowed, apart from those of long lists\.$/
  // A list is a value; so is each element but the first.
  for (const text of [
    `[${many('1', max)}]`,
    `{"a":{"b":[${many('1', max - 2)}]}}`,
    `{${many('"a":{}', max / 2)}}`,
  ]) {
    const more = text.replace(/(1|"a":{})(?=[\]}])/, '$1,$1')
    const asWhole = text.includes('"a":{}') ? { refused: /twice in one object/ } : { value: JSON.parse(text) }
    t.match(await whole(text), asWhole)
    t.match(await whole(more), { refused })
    t.match(await inPieces(more, 1000), { refused })
  }
  t.match(await inPieces(`{"a":[0,[${many('1', max)}]]}`, 1000), { value: {} }, 'an entry')
  t.match(await inPieces(`{"a":[0,[${many('1', max + 1)}]]}`, 1000), { refused }, 'an entry')
  t.match(await inPieces(`{${many('"a":[]', max / 2 + 1)}}`, 1000), { refused }, 'empty lists')
  t.match(await inPieces(`{"a":[${many('[]', max + 1)}]}`, 1000), { value: {} }, 'elements of a long list')
  t.match(await inPieces(`{"a":[${many('1', ipListEntriesMax + 1)}]}`, 64 * 1024), {
    refused: /more than 1000000 elements/,
  })
})

t.test('parsing ends when nobody waits for it any more', async (t) => {
  const gone = new AbortController()
  const body = Buffer.from(JSON.stringify({ a: Array.from({ length: 400_000 }, (_, n) => `text ${n}`) }))
  const parsing = parseLargeBody(body, new Slices({ signal: gone.signal }))
  gone.abort(new Error('gone'))
  await t.rejects(parsing, { message: 'gone' })
})
