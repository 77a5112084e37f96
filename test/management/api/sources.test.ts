/** The sources of an event subscription, one by one and as its list. */
import t from 'tap'
import { base, openTestStore } from '../../harness/api.js'
import { all, notFound, refused } from '../../harness/caller.js'

const tcp = 'tcp_connection_closed.v0'

t.test('event sources', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  const { eventSubscription, sources: sourcesOf } = me
  const { id } = await eventSubscription.create({})
  const typed = sourcesOf(id)
  const untyped = me.at(`/event_subscriptions/${id}/sources`)
  const subscription = `/event_subscriptions/${id}`
  const sources = `${subscription}/sources`
  const uri = `${base}${sources}`

  t.test('are added, read, changed and removed', async (t) => {
    t.strictSame(await me.raw.get(sources), { sources: [], uri, next_page_uri: null })
    const plain = { type: tcp, uri: `${uri}/${tcp}` }
    const added = await untyped.create({ type: tcp, fields: null, filter: '', subscription_id: id })
    t.strictSame(added, plain, 'unset fields are left out')
    t.strictSame(await typed.get(tcp), plain)
    const filter = 'ev.conn.server_port == 22'
    const fields = ['conn.client_ip', 'ip_policy.decision']
    const chosen = { ...plain, fields, filter }
    t.strictSame(await typed.update(tcp, { fields, filter }), chosen)
    t.strictSame(await untyped.update(tcp, { type: tcp }), chosen, 'absent is unchanged')
    t.strictSame((await eventSubscription.get(id)).sources, [chosen])
    t.strictSame(await typed.update(tcp, { fields: null }), { ...plain, filter })
    t.strictSame(await typed.update(tcp, { filter: '' }), plain)
    await typed.create({ type: 'ip_policy_created.v0' })
    await typed.delete(tcp)
    t.strictSame((await all(typed.list())).length, 1)
    for (const says of await notFound(typed, tcp)) t.match(says, tcp)
  })

  t.test('are refused with a hint', async (t) => {
    await typed.create({ type: tcp })
    const cases: [string, string, object, RegExp][] = [
      ['POST', sources, {}, /"type" is required/],
      ['POST', sources, { type: null }, /"type" is required/],
      ['POST', sources, { type: tcp }, /which the subscription already has/],
      ['POST', sources, { type: 'log.v1' }, /^"type" is refused: .*did you mean log.v0/],
      ['POST', sources, { type: 'log.v0', uri: 'x' }, /^"uri" is "x": .*source "log.v0"\.$/],
      ['POST', sources, { type: 'log.v0', subscription_id: 'esb_x' }, /the path says/],
      ['PATCH', `${sources}/${tcp}`, { type: 'log.v0' }, /the path says/],
      [
        'PATCH',
        `${sources}/${tcp}`,
        { fields: ['conn.client_ib'] },
        /^"fields\[0\]" is refused: .*conn.client_ip/,
      ],
      ['PATCH', `${sources}/${tcp}`, { filter: 'conn.end_ts > 1' }, /^"filter" is refused: .*not filterable/],
      ['PATCH', `${sources}/${tcp}`, { filter: 5 }, /"filter" is 5/],
    ]
    for (const [method, path, body, says] of cases)
      t.match(await me.raw.refused(400, method, path, body), says)
  })

  t.test('a refused filter has the same code everywhere', async (t) => {
    for (const filter of ['conn.client_ip ==', 'nobody == 1', 'conn.end_ts > 1', '(', 'a && b || c']) {
      const nested = { sources: [{ type: 'log.v0' }, { type: tcp, filter }] }
      const sent: [string, string, object | undefined, string][] = [
        ['POST', sources, { type: 'http_request_complete.v0', filter }, '"filter"'],
        ['PATCH', `${sources}/${tcp}`, { filter }, '"filter"'],
        ['POST', '/event_subscriptions', nested, '"sources[1].filter"'],
        ['PATCH', `/event_subscriptions/${id}`, nested, '"sources[1].filter"'],
        ['GET', `/ip_policies?filter=${encodeURIComponent(filter)}`, undefined, '"filter"'],
      ]
      for (const [method, path, body, place] of sent) {
        const answer = await me.raw.expect(400, method, path, body)
        t.equal(answer.error_code, 'ERR_INVALID_EXPRESSION', `${method} ${path} ${filter}`)
        t.ok(answer.msg.includes(place), answer.msg)
      }
    }
    const none = await me.raw.expect(400, 'POST', sources, { type: 'log.v0', filter: 'decision' })
    t.equal(none.error_code, 'ERR_INVALID_EXPRESSION', 'also for a name of another kind')
  })

  t.test('a list replaces all of them', async (t) => {
    const shown = await eventSubscription.update(id, {
      sources: [{ type: 'log.v0', fields: ['metadata'] }],
    })
    t.strictSame(shown.sources, [{ type: 'log.v0', uri: `${uri}/log.v0`, fields: ['metadata'] }])
    t.strictSame((await eventSubscription.update(id, { sources: null })).sources, [])
  })

  t.test('text is counted in characters', async (t) => {
    const body = { description: '😀'.repeat(255), metadata: 'é'.repeat(4096) }
    const { id: _, ...shown } = await me.eventSubscription.create(body)
    t.match(shown, body)
  })

  t.test('of another account', async () => {
    const other = await api.account()
    await refused(404, all(other.sources(id).list()))
    await refused(404, other.sources(id).create({ type: tcp }))
    await refused(404, other.sources(id).delete(tcp))
  })
})
