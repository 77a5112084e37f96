/** Answers of Elasticsearch's bulk API, from servers that an account chooses: nothing in them is taken on trust. */
import t from 'tap'
import { outcomeOfBulk } from '../../../../src/delivery/deliver/http/bulk-answer.js'
import type { HttpAnswer } from '../../../../src/delivery/outgoing/http-client.js'

const outcomeOf = (text: string, events = 2, extent: HttpAnswer['extent'] = 'whole') =>
  outcomeOfBulk(
    { status: 200, statusText: 'OK', headers: {}, body: Buffer.from(text), extent },
    events,
    (said) => said.replaceAll('hush', '…'),
  )

const items = (...of: unknown[]): string => JSON.stringify({ items: of.map((create) => ({ create })) })
const created = { status: 201 }

t.test('members of any type, and of none', async (t) => {
  const refused = (fault: object) => ({ outcome: 'partial', rejected: [{ index: 1, fault }] })
  const cases: [name: string, text: string, want: object][] = [
    ['both created', items(created, created), { outcome: 'accepted' }],
    ['no reason', items(created, { status: 400, error: null }), refused({ code: 'Http400' })],
    [
      'a reason that is a number',
      items(created, { status: 400, error: { type: {}, reason: 7 } }),
      refused({ code: 'Http400', msg: 'The item has the status 400.' }),
    ],
    [
      'a type with line breaks',
      items(created, { status: 400, error: { type: 'a\r\nb: c', reason: 'r' } }),
      refused({ code: 'Unknown', msg: 'The item has the status 400: r' }),
    ],
    [
      'a type of a million characters',
      items(created, { status: 400, error: { type: 'x'.repeat(1e6), reason: 'r'.repeat(1e6) } }),
      refused({ code: 'Unknown', msg: /^The item has the status 400: r{400,}$/ }),
    ],
    [
      'a secret',
      items(created, { status: 400, error: { type: 'hush', reason: 'a hush b' } }),
      refused({ msg: 'The item has the status 400: a … b' }),
    ],
    ['a status that is a text', items(created, { status: '201' }), { outcome: 'partial', retry: [1] }],
    ['an item that is null', items(created, null), { outcome: 'partial', retry: [1] }],
    ['items that are none', '{"items":[1,null]}', { outcome: 'failed' }],
    ['too few items', items(created), { fault: { code: 'NotBulkAnswer', class: 'configuration' } }],
    ['no items', '{"errors":false}', { fault: { code: 'NotBulkAnswer' } }],
    ['no JSON', 'OK', { fault: { code: 'NotBulkAnswer' } }],
    ['nothing', '', { fault: { code: 'NotBulkAnswer' } }],
    ['deep nesting', `{"items":${'['.repeat(1e5)}`, { fault: { code: 'NotBulkAnswer' } }],
  ]
  for (const [name, text, want] of cases) t.match(outcomeOf(text), want, name)
})

t.test('answers that are not whole: no event is dead-lettered for them', async (t) => {
  const both = items(created, created)
  t.match(outcomeOf(both, 2, 'cut'), { fault: { code: 'IncompleteAnswer', class: 'transient' } })
  t.match(outcomeOf(both, 2, 'long'), { fault: { code: 'LongAnswer', class: 'poison' } })
  t.match(outcomeOf(both, 1, 'long'), { fault: { code: 'NotBulkAnswer', class: 'configuration' } })
})
