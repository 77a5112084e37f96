/** JSON objects that are edited as text, and the changes of one that are made to others. */
import t from 'tap'
import {
  changesBetween,
  changeText,
  objectIn,
  withChanges,
} from '../../../src/outside/console/data/drafts/json-object.js'

t.test('a text that is to be an object', async (t) => {
  t.same(objectIn('{"a": 1}', 'A record').object, { a: 1 })
  for (const text of ['[1]', '1', 'null', '"a"'])
    t.strictSame(objectIn(text, 'A record').fault, { text: 'A record is a JSON object.' }, text)
  t.match(objectIn('{"a": }', 'A record').fault?.text, /^This is not JSON: /)
  // As a dead letter may be: indented, it would have 200 million characters.
  const deep = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`
  t.match(objectIn(deep, 'A record').fault?.text, 'A record is nested at most 64 levels deep.')
})

interface Case {
  readonly situation: string
  readonly before: Readonly<Record<string, unknown>>
  readonly after: Readonly<Record<string, unknown>>
  readonly text: string
  readonly other: Readonly<Record<string, unknown>>
  readonly expected: Readonly<Record<string, unknown>>
}

t.test('the changes of one object, made to another', async (t) => {
  const cases: readonly Case[] = [
    {
      situation: 'a member below another',
      before: { type: 'a', conn: { client_ip: '203.0.113.256', port: 1 } },
      after: { type: 'a', conn: { client_ip: '203.0.113.25', port: 1 } },
      text: 'conn.client_ip = "203.0.113.25"',
      other: { type: 'b', conn: { client_ip: '203.0.113.999', port: 2 } },
      expected: { type: 'b', conn: { client_ip: '203.0.113.25', port: 2 } },
    },
    {
      situation: 'a member that is removed',
      before: { a: 1, b: { c: 2, d: 3 } },
      after: { a: 1, b: { d: 3 } },
      text: 'without b.c',
      other: { b: { c: 5, d: 6 } },
      expected: { b: { d: 6 } },
    },
    {
      situation: 'a member that is added, below one that is no object there',
      before: {},
      after: { a: { b: true } },
      text: 'a = {"b":true}',
      other: { a: 'text', z: 0 },
      expected: { a: { b: true }, z: 0 },
    },
    {
      situation: 'a list is a value',
      before: { a: [1, 2] },
      after: { a: [1] },
      text: 'a = [1]',
      other: { a: [7, 8, 9] },
      expected: { a: [1] },
    },
    {
      situation: 'a member with the name of a prototype is one like others',
      before: { x: 1 },
      after: { x: 1, toString: 'text' },
      text: 'toString = "text"',
      other: {},
      expected: { toString: 'text' },
    },
  ]
  for (const { situation, before, after, text, other, expected } of cases) {
    const changes = changesBetween(before, after)
    t.equal(changes.map(changeText).join(), text, situation)
    t.strictSame(withChanges(other, changes), expected, situation)
    t.strictSame(withChanges(before, changes), after, `${situation}: made to the same`)
  }
  t.strictSame(changesBetween({ a: { b: [1] } }, { a: { b: [1] } }), [], 'nothing was changed')
})
