/** Lists of Cloudflare: in one file and in several, with pages, names and comments. */
import t from 'tap'
import { imported, importedSystems } from '../../../src/outside/import/import.js'
import { importOf, type Json, lineAt, sectionOf } from './fixtures.js'

const answer = (result: readonly Json[]): Json => ({ result, success: true, errors: [], messages: [] })
const list = (name: string, members: Json = {}): Json => ({ id: `id-${name}`, name, kind: 'ip', ...members })
const both = (lists: readonly Json[], items: Record<string, Json[]>): Json => ({
  lists: answer(lists),
  items: Object.fromEntries(Object.entries(items).map(([key, own]) => [key, [answer(own)]])),
})

t.test('items are found by the id or the name of their list', (t) => {
  const lists = [list('one', { description: 'of ours' }), list('two')]
  const value = both(lists, {
    'id-one': [{ ip: '192.0.2.1', comment: 'a' }],
    two: [{ ip: '2001:db8::/48' }],
    three: [{ ip: '192.0.2.2' }],
  })
  const result = importOf('cloudflare-lists', value)
  t.same(sectionOf(result, 'ip_lists'), [
    { id: 'one', name: 'one', description: 'of ours', entries: [{ cidr: '192.0.2.1/32', comment: 'a' }] },
    { id: 'two', name: 'two', entries: ['2001:db8::/48'] },
  ])
  t.match(lineAt(result, 'items.three[0].result[0]').notes, ['The list three is not in the input.'])
  t.end()
})

t.test('files of a directory, by their names', (t) => {
  const documents = [
    { name: 'items/one.1.json ', value: answer([{ ip: '192.0.2.1' }]) },
    { name: 'items/one.2.json ', value: answer([{ ip: '192.0.2.2' }]) },
    { name: 'lists.json ', value: answer([list('one', { num_items: 2 })]) },
  ]
  const options = { atMs: 0, nowMs: 0 }
  const { file } = imported(importedSystems['cloudflare-lists']!, documents, options)
  t.match(file['ip_lists'], [{ entries: ['192.0.2.1/32', '192.0.2.2/32'] }])
  t.throws(() => imported(importedSystems['cloudflare-lists']!, documents.slice(1), options), {
    message: 'The list id-one has 2 items, and the input has 1 of them: a page is missing.',
  })
  t.end()
})

t.test('names, descriptions and comments that Weir has otherwise', (t) => {
  const value = both([list('_a_'), list('a', { description: 'é'.repeat(200) })], {
    'id-_a_': [{ ip: '192.0.2.1', comment: 'c'.repeat(300) }, { ip: '192.0.2.999' }],
  })
  const result = importOf('cloudflare-lists', value)
  t.match(sectionOf(result, 'ip_lists'), [{ name: 'a' }, { name: 'a-2', description: 'é'.repeat(127) }])
  t.match(lineAt(result, 'lists.result[0]').notes, ['It is called "a".'])
  t.match(lineAt(result, 'items.id-_a_[0].result[0]').notes, [/Its comment is cut/])
  t.match(lineAt(result, 'items.id-_a_[0].result[1]'), { outcome: 'not_taken' })
  t.end()
})

t.test('answers that failed, and what is no answer', (t) => {
  const failed = { success: false, errors: [{ code: 10000, message: 'Authentication error' }], result: null }
  t.throws(() => importOf('cloudflare-lists', { lists: failed }), { message: /^lists\.result is not there/ })
  t.throws(() => importOf('cloudflare-lists', { lists: answer([]), items: [] }), {
    message: /^items must be an object/,
  })
  t.end()
})
