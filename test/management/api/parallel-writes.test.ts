/** Writes of one account that arrive at the same time are committed together, and each is answered for itself. */
import t from 'tap'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller } from '../../harness/caller.js'
import type { HttpAnswer } from '../../harness/raw-client.js'

const unknownPolicy = 'ipp_01M7Y46P1SGDTCFAVEJ96D4PD7'

const post = (me: Caller, path: string, body: object, headers = {}): Promise<HttpAnswer> =>
  me.raw.send('POST', path, { body, headers })

const statusesOf = (answers: readonly HttpAnswer[]): number[] => answers.map(({ status }) => status)

t.test('parallel writes', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()

  t.test('creates, updates, deletions and refused writes', async (t) => {
    const me = await api.account()
    const kept = await me.ipPolicy.create({ description: 'kept' })
    const gone = await me.ipPolicy.create({ description: 'gone' })
    const answers = await Promise.all([
      post(me, '/ip_policies', { description: 'first' }),
      post(me, '/ip_restrictions', { type: 'agent', ip_policy_ids: [unknownPolicy] }),
      post(me, '/ip_policies', { description: 'second' }),
      me.raw.send('PATCH', `/ip_policies/${kept.id}`, { body: { metadata: 'changed' } }),
      post(me, '/ip_policy_rules', { ip_policy_id: kept.id, cidr: '10.0.0.0/8', action: 'allow' }),
      post(me, '/ip_policies', { description: 'third' }),
      me.raw.send('DELETE', `/ip_policies/${gone.id}`),
      post(me, '/ip_policies', { description: 'fourth' }),
    ])
    t.strictSame(statusesOf(answers), [201, 404, 201, 200, 201, 201, 204, 201])
    const listed = await all(me.ipPolicy.list())
    t.strictSame(listed.map(({ description }) => description).sort(), [
      'first',
      'fourth',
      'kept',
      'second',
      'third',
    ])
    t.equal((await me.ipPolicy.get(kept.id)).metadata, 'changed')
    t.equal((await all(me.ipPolicyRule.list())).length, 1)
    const audits = (await api.audits(me.accountId)).map(
      ({ event_type: type, object }) => `${type} ${object.id}`,
    )
    t.equal(new Set(audits).size, audits.length, 'no event twice')
    for (const { body } of answers.filter(({ status, body }) => status === 201 && body?.description))
      t.ok(audits.includes(`ip_policy_created.v0 ${body.id}`), `${body.description} has its event`)
    t.ok(audits.includes(`ip_policy_updated.v0 ${kept.id}`))
    t.ok(audits.includes(`ip_policy_deleted.v0 ${gone.id}`))
    const { body } = await me.raw.send('GET', '/changes')
    const changes = body.changes as { version: number; kind: string }[]
    const versions = changes.flatMap(({ kind, version }) => (kind.startsWith('ip_') ? [version] : []))
    t.equal(new Set(versions).size, versions.length, 'each change has a version of its own')
  })

  t.test('the same name: one gets it', async (t) => {
    const me = await api.account()
    const hostports = ['parallel.example.com:22']
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(me, '/edges/tcp', { hostports })))
    t.strictSame(statusesOf(answers).sort(), [201, 400, 400, 400, 400])
  })

  t.test('the same idempotency key: one is done, and all get its answer', async (t) => {
    const me = await api.account()
    const headers = { 'Idempotency-Key': 'parallel' }
    const create = () => post(me, '/ip_policies', { description: 'once' }, headers)
    const answers = await Promise.all(Array.from({ length: 5 }, create))
    t.strictSame(statusesOf(answers), [201, 201, 201, 201, 201])
    t.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
    t.equal((await all(me.ipPolicy.list())).length, 1)
  })

  t.test('updates of one resource: each sees the one before', async (t) => {
    const me = await api.account()
    const { id } = await me.ipPolicy.create({})
    const texts = Array.from({ length: 10 }, (_, n) => `update ${n}`)
    await Promise.all(texts.map((description) => me.ipPolicy.update(id, { description })))
    const events = (await api.audits(me.accountId)).filter(
      ({ event_type: type }) => type === 'ip_policy_updated.v0',
    )
    t.strictSame(events.map(({ object }) => object.description).sort(), texts)
    t.equal(events.at(-1)?.object.description, (await me.ipPolicy.get(id)).description)
  })
})
