/** `weir dead`: what a person reads about dead letters, and what a command must say before it changes any. */
import t from 'tap'
import { groupsText, letterText, selectionFor, totalsText } from '../../../src/outside/cli/dead-commands.js'
import {
  type DeadLetterGroups,
  deadLetterGroupsSchema,
  type WholeDeadLetter,
  wholeDeadLetterSchema,
} from '../../../src/words/shape/dead-letter.js'

const exampleOf = <T>(schema: object): T => (schema as { examples: T[] }).examples[0]!

t.test('a letter: the mark is below the place', (t) => {
  const lines = letterText(exampleOf<WholeDeadLetter>(wholeDeadLetterSchema)).split('\n')
  t.match(lines[0], /^record dl_\w+, set aside 2026/)
  t.match(lines[1], 'message 77, line 3, 104 bytes')
  t.match(lines[2], 'it must be an IPv4 or IPv6 address')
  t.match(lines[3], /^conn.client_ip: byte \d+, line 1, column \d+$/)
  t.equal(lines[4]?.slice(lines[5]?.indexOf('^')), '"203.0.113.256"}}')
  t.match(lines[6], /^\{"record_id"/)
  t.end()
})

t.test('groups, and what is not counted', (t) => {
  const groups = exampleOf<DeadLetterGroups>(deadLetterGroupsSchema)
  const text = groupsText(groups, {})
  t.match(text, /^ {5}12 {2}record {2}"conn\.client_ip" is …/)
  t.notMatch(text, 'left out')
  t.match(groupsText({ ...groups, groups_left_out: 3 }, {}), '3 smaller groups')
  t.match(groupsText({ ...groups, complete_since: '2026-11-20T00:00:00.000Z' }, {}), 'only those since 2026')
  const none = { groups: [], groups_left_out: 0, complete_since: null }
  t.equal(groupsText(none, { all: true }), 'There are no dead letters.')
  t.match(groupsText(none, {}), '--all')
  t.end()
})

t.test('totals', (t) => {
  t.equal(totalsText('dropped', { done: 3, refused: 0, refusals: [] }), '3 dropped.')
  const refusals = [{ id: 'dl_1', reason: 'Its destination was deleted.' }]
  t.equal(
    totalsText('sent again', { done: 3, refused: 1, refusals }),
    '3 sent again, 1 refused.\n  dl_1: Its destination was deleted.',
  )
  t.end()
})

const unclear = [
  { name: 'nothing is selected', id: undefined, options: {} },
  { name: 'an id and a selection', id: 'dl_1', options: { reason: 'x' } },
  { name: 'an id and all of the account', id: 'dl_1', options: { own: true as const } },
  { name: 'all of the account and a selection', id: undefined, options: { own: true as const, reason: 'x' } },
  {
    name: 'all of the account, and of others',
    id: undefined,
    options: { own: true as const, all: true as const },
  },
  { name: 'a corrected record for many', id: undefined, options: { reason: 'x', file: 'r.json' } },
]

t.test('a command changes nothing unless it says what', (t) => {
  for (const { name, id, options } of unclear) t.throws(() => selectionFor(id, options), name)
  t.strictSame(selectionFor(undefined, { all: true }), {})
  t.strictSame(selectionFor(undefined, { own: true }), {})
  t.strictSame(selectionFor('dl_1', { all: true }), {}, 'one of any account')
  t.strictSame(selectionFor(undefined, { all: true, reason: 'x' }), { reason: 'x' }, 'those of all accounts')
  t.strictSame(selectionFor(undefined, { type: 'event', destination: 'ed_1' }), {
    type: 'event',
    destinationId: 'ed_1',
  })
  t.strictSame(selectionFor('dl_1', { file: '-' }), {})
  t.end()
})
