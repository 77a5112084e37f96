/** Expressions of traffic policies that ask about IP lists. */
import t from 'tap'
import { openTestStore } from '../../harness/api.js'
import { all, refusalOf } from '../../harness/caller.js'

const server_name = 'asked.lists-in-expressions.example'

const denies = (expression: string) => ({
  inbound: [{ name: 'listed', expressions: ['true', expression], actions: [{ type: 'deny' as const }] }],
})

t.test('lists in expressions', { timeout: 180_000 }, async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  const list = await me.ipList.create({ name: 'exits', category: 'proxy.tor' })
  await me.listEntries.replace(list.id, [{ cidr: '203.0.113.0/24' }])
  const others = await api.account()
  await others.ipList.create({ name: 'theirs' })
  const edgeWith = (expression: string) => ({
    hostports: [`${server_name}:22`],
    policies: denies(expression),
  })
  const edge = await me.tcpEdge.create(edgeWith("inList(conn.client_ip, 'exits')"))
  const revisions: number[] = []
  const ask = async (client_ip: string, options: { revision?: number } = {}) => {
    const answer = await me.decide(
      { type: 'tcp_connection', conn: { client_ip, server_name, server_port: 22 } },
      options,
    )
    revisions.push(answer.revision)
    return answer.decision
  }

  t.test('a list that the account does not have is refused, with its place', async (t) => {
    for (const name of ['exit', 'theirs']) {
      const refusal = await refusalOf(
        me.tcpEdge.update(edge.id, { policies: denies(`inList(conn.client_ip, '${name}')`) }),
      )
      t.match(refusal, { status_code: 404, error_code: 'ERR_NOT_FOUND' })
      t.match(
        refusal?.msg,
        `"policies.inbound[0].expressions[1]" names what does not exist: There is no IP list "${name}"`,
      )
    }
  })

  t.test('a decision asks the list as it is', async (t) => {
    t.equal(await ask('203.0.113.7'), 'deny')
    t.equal(await ask('198.51.100.7'), 'allow')
    await me.policyTest.create({
      given: { type: 'tcp_connection', conn: { client_ip: '203.0.113.7', server_name, server_port: 22 } },
      expect: { decision: 'deny' },
    })
    t.match(await refusalOf(me.listEntries.replace(list.id, [])), { error_code: 'ERR_POLICY_TEST' })
  })

  t.test('a list that an expression asks about is neither deleted nor renamed', async (t) => {
    for (const [change, word] of [
      [() => me.ipList.delete(list.id), 'deleted'],
      [() => me.ipList.update(list.id, { name: 'other' }), 'renamed'],
    ] as const) {
      const refusal = await refusalOf(change())
      t.equal(refusal?.error_code, 'ERR_CONFLICT')
      t.match(
        refusal?.msg,
        `The IP list ${list.id} can't be ${word}: "policies.inbound[0].expressions[1]" of ${edge.id} asks about it as "exits".`,
      )
    }
    await me.ipList.update(list.id, { description: 'of Tor' })
  })

  t.test('a question about a category is one about every list below it', async (t) => {
    await me.tcpEdge.update(edge.id, { policies: denies("'proxy' in conn.ip.categories") })
    t.equal(await ask('203.0.113.7'), 'deny')
    t.equal(await ask('198.51.100.7'), 'allow')
    await me.ipList.update(list.id, { name: 'renamed' })
  })

  t.test('an earlier decision is explained with the lists of its time', async (t) => {
    const [byName] = revisions
    const byCategory = revisions.at(-1)
    for (const { id } of await all(me.policyTest.list())) await me.policyTest.delete(id)
    await me.listEntries.replace(list.id, [{ cidr: '198.51.100.0/24' }])
    for (const revision of [byName, byCategory] as number[]) {
      t.equal(await ask('203.0.113.7', { revision }), 'deny')
      t.equal(await ask('198.51.100.7', { revision }), 'allow')
    }
    t.equal(await ask('198.51.100.7'), 'deny')
  })
})
