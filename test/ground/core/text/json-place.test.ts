/** Places in JSON text: where it ends to be JSON, and where the value of a member begins. */
import fc from 'fast-check'
import t from 'tap'
import { placeIn, syntaxErrorIndex } from '../../../../src/ground/core/text/json-place.js'

const faults = [
  { name: 'an empty text', text: '', want: 0 },
  { name: 'a text that ends within a string', text: '{"a":"b', want: 7 },
  { name: 'a missing quote before a name', text: '{"a":1, b:2}', want: 8 },
  { name: 'a comma at the end', text: '[1, 2, ]', want: 7 },
  { name: 'a missing comma', text: '{"a":1 "b":2}', want: 7 },
  { name: 'a number that begins with zero', text: '[01]', want: 2 },
  { name: 'a tab within a string', text: '["a\tb"]', want: 3 },
  { name: 'an unknown escape', text: '["\\x"]', want: 2 },
  { name: 'two documents', text: '{} {}', want: 3 },
  { name: 'an unknown word', text: ' {"a": nil}', want: 7 },
]

t.test('the place at which a text ends to be JSON', async (t) => {
  for (const { name, text, want } of faults) {
    t.equal(syntaxErrorIndex(text), want, name)
    t.throws(() => JSON.parse(text), name)
  }
})

t.test('texts are JSON for it exactly if they are for JSON.parse', async (t) => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"',
    '\\',
    '1',
    '-',
    '.',
    'e',
    'true',
    ' ',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        fc.array(pieces).map((each) => each.join('')),
        fc.string(),
      ),
      (text) => {
        const isJson = (() => {
          try {
            JSON.parse(text)
            return true
          } catch {
            return false
          }
        })()
        return (syntaxErrorIndex(text) === undefined) === isJson
      },
    ),
  )
  t.equal(syntaxErrorIndex('['.repeat(100_000)), undefined, 'text that is nested too deep has no place')
})

const text = '{"type": "x", "conn": {"client_ip" : "203.0.113.256", "l": [1, {"a": null}]}}'

const members = [
  { name: 'a member', path: ['conn', 'client_ip'], begins: '"203', found: ['conn', 'client_ip'] },
  {
    name: 'an entry of a list',
    path: ['conn', 'l', '1', 'a'],
    begins: 'null',
    found: ['conn', 'l', '1', 'a'],
  },
  { name: 'a missing member: the object around it', path: ['conn', 'port'], begins: '{"cl', found: ['conn'] },
  { name: 'a missing member of the whole', path: ['edge_id'], begins: '{"type', found: [] },
]

t.test('the place of a member', async (t) => {
  for (const { name, path, begins, found } of members) {
    const place = placeIn(text, path)
    t.strictSame(place?.path, found, name)
    t.ok(text.slice(place?.index).startsWith(begins), name)
  }
  t.equal(placeIn('{', ['a']), undefined, 'none in a text that is not JSON')
})
