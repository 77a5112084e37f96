/** Sources of subscriptions: what clients may send, and what is stored and shown. */
import t from 'tap'
import { compileCheck } from '../../../src/ground/core/schema-check.js'
import {
  eventSubscription,
  type Source,
  shownSourceOf,
} from '../../../src/words/resource/event-subscription.js'
import { links, lookupsIn, refusalOf, tools } from './lookups.js'

const type = 'tcp_connection_closed.v0'

t.test('sources that are sent', async (t) => {
  const check = compileCheck(eventSubscription.fields.sources.schema)
  const cases: [name: string, sources: unknown, refusal: RegExp | undefined][] = [
    ['none', [], undefined],
    ['a whole one', [{ type, fields: ['conn.client_ip'], filter: 'conn.server_port == 22' }], undefined],
    ['unset parts', [{ type, fields: null, filter: null }], undefined],
    ['as it was shown', [{ type, uri: `/event_subscriptions/esb_1/sources/${type}` }], undefined],
    [
      'the uri of another',
      [{ type, uri: '/event_subscriptions/esb_1/sources/log.v0' }],
      /must be the one of the source/,
    ],
    ['a type twice', [{ type }, { type: 'log.v0' }, { type }], /"tcp_connection_closed\.v0" appears twice/],
    ['a field twice', [{ type, fields: ['a', 'b', 'a'] }], /"a" appears twice/],
    ['no type', [{}], /"sources\[0\]" lacks "type"/],
    ['51 of them', Array.from({ length: 51 }, (_, index) => ({ type: `${index}` })), /at most 50/],
  ]
  for (const [name, sources, refusal] of cases) {
    const found = check(sources, 'sources')
    if (refusal === undefined) t.equal(found, undefined, name)
    else t.match(found, refusal, name)
  }
})

t.test('empty parts of a source are neither stored nor shown', async (t) => {
  const cases: [given: object, whole: object][] = [
    [{ type }, { type }],
    [{ type, fields: null, filter: '', uri: '/x' }, { type }],
    [
      { type, fields: ['a'], filter: 'b' },
      { type, fields: ['a'], filter: 'b' },
    ],
    [
      { type, fields: [] },
      { type, fields: [] },
    ],
  ]
  for (const [given, whole] of cases) {
    const [stored] = eventSubscription.fields.sources.complete([given as Source])
    t.strictSame(stored, whole)
    const uri = `/event_subscription/esb_1/sources/${type}`
    t.strictSame(shownSourceOf('esb_1', stored!, links), { ...whole, uri })
  }
})

t.test('a new subscription with a start has a replay for each destination', async (t) => {
  const replaysOf = (start_from: string | null, destination_ids: readonly string[], isNew = true) => {
    const draft = { start_from, destination_ids, replay_ids: null } as never
    return eventSubscription.derive?.(draft, isNew ? undefined : draft, tools).replay_ids
  }
  const start = '2026-11-20T10:00:00Z'
  t.match(replaysOf(start, ['ed_1', 'ed_2', 'ed_1']), [/^rp_/, /^rp_/])
  t.equal(replaysOf(start, ['ed_1', 'ed_2', 'ed_1'])?.length, 2)
  t.equal(replaysOf(null, ['ed_1']), null)
  t.equal(replaysOf(start, ['ed_1'], false), null, 'an update begins none')
})

t.test('problems of sources are named at their places', async (t) => {
  const sources = [{ type: 'one' }, { type: 'two' }]
  const lookups = {
    ...lookupsIn(),
    sourceProblems: (source: unknown) =>
      (source as Source).type === 'two'
        ? [
            { member: 'filter', msg: 'no.' },
            { member: 'fields[1]', msg: 'nor this.' },
          ]
        : [],
  }
  t.match(
    refusalOf(() => eventSubscription.check?.({ sources } as never, undefined, lookups)),
    '"sources[1].filter" is refused: no. 1 more entry is wrong',
  )
})
