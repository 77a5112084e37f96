/** No change may lock the caller's own address out of the API or of the web console, whichever it uses. */
import t, { type Test } from 'tap'
import { isoSeconds, now } from '../../../src/ground/core/clock.js'
import { fromConsole, openTestStore, type TestApi } from '../../harness/api.js'
import { all, type Caller, refusalOf, refused, statusOf } from '../../harness/caller.js'

const home = '127.0.0.1/32'
const elsewhere = '192.0.2.0/24'
const tomorrow = (): string => isoSeconds(now() + 24 * 60 * 60_000)

interface Locked {
  readonly me: Caller
  readonly policy: string
  readonly rule: string
  readonly restriction: string
}

t.test('the lock-out guard', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()

  const policyOf = async (me: Caller, cidr?: string): Promise<{ policy: string; rule: string }> => {
    const { id: policy } = await me.ipPolicy.create({})
    if (cidr === undefined) return { policy, rule: '' }
    const rule = await me.ipPolicyRule.create({ ip_policy_id: policy, cidr, action: 'allow' })
    return { policy, rule: rule.id }
  }
  const locked = async (enforced = true): Promise<Locked> => {
    const me = await api.account()
    const { policy, rule } = await policyOf(me, home)
    const body = { type: 'api' as const, enforced, ip_policy_ids: [policy] }
    return { me, policy, rule, restriction: (await me.ipRestriction.create(body)).id }
  }

  const refusals: [string, (locked: Locked) => Promise<unknown>][] = [
    ['the rule that lets in is deleted', ({ me, rule }) => me.ipPolicyRule.delete(rule)],
    ['it lets in others', ({ me, rule }) => me.ipPolicyRule.update(rule, { cidr: elsewhere })],
    [
      'a rule denies',
      ({ me, policy }) =>
        me.ipPolicyRule.create({ ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'deny' }),
    ],
    ['it is given an end', ({ me, rule }) => me.ipPolicyRule.update(rule, { expires_at: tomorrow() })],
    ['the policy is deleted', ({ me, policy }) => me.ipPolicy.delete(policy)],
    [
      'another policy is named',
      async ({ me, restriction }) => {
        const { policy } = await policyOf(me, elsewhere)
        return me.ipRestriction.update(restriction, { ip_policy_ids: [policy] })
      },
    ],
  ]
  for (const [name, request] of refusals) {
    t.test(name, async (t) => {
      const enforced = await locked()
      const refusal = await refusalOf(request(enforced))
      t.match(refusal, { status_code: 400, error_code: 'ERR_LOCKOUT', msg: '127.0.0.1' })
      await all(enforced.me.ipPolicy.list())
      t.equal(await statusOf(request(await locked(false))), 'ok', 'without being enforced it is taken')
    })
  }

  t.test('entries of a list that lets in or denies', async (t) => {
    const me = await api.account()
    const { policy, rule } = await policyOf(me, home)
    const list = await me.ipList.create({ name: 'office' })
    const replace = (...cidrs: string[]) =>
      me.listEntries.replace(
        list.id,
        cidrs.map((cidr) => ({ cidr })),
      )
    await replace(home, elsewhere)
    const listRule = { ip_policy_id: policy, list_id: list.id, action: 'allow' as const }
    const { id: named } = await me.ipPolicyRule.create(listRule)
    await me.ipRestriction.create({ type: 'api', enforced: true, ip_policy_ids: [policy] })
    await me.ipPolicyRule.delete(rule)
    t.match(await refusalOf(replace(elsewhere)), { error_code: 'ERR_LOCKOUT', msg: '127.0.0.1' })
    t.match(await refusalOf(replace()), { error_code: 'ERR_LOCKOUT' })
    t.match(await refusalOf(me.ipPolicyRule.delete(named)), { error_code: 'ERR_LOCKOUT' })
    await replace(home, '198.51.100.0/24')
    const statusFrom = async (from: string) => (await me.raw.send('GET', '/ip_lists', { from })).status
    t.equal(await statusFrom('198.51.100.7'), 200, 'new entries let in')
    t.equal(await statusFrom('192.0.2.7'), 403, 'and others no longer')
    const bans = await me.ipList.create({ name: 'bans' })
    await me.ipPolicyRule.create({ ip_policy_id: policy, list_id: bans.id, action: 'deny' })
    const ban = (cidr: string) => me.listEntries.replace(bans.id, [{ cidr }])
    t.match(await refusalOf(ban('127.0.0.0/8')), { error_code: 'ERR_LOCKOUT' })
    await ban('198.51.100.7/32')
    t.equal(await statusFrom('198.51.100.7'), 403)
  })

  t.test('an address that is let in for a while may make changes until then', async (t) => {
    const me = await api.account()
    const { policy } = await policyOf(me, elsewhere)
    const rule = { ip_policy_id: policy, action: 'allow' as const, expires_at: tomorrow() }
    await me.ipPolicyRule.create({ ...rule, cidr: home })
    const restriction = { type: 'api' as const, enforced: true, ip_policy_ids: [policy] }
    t.match(await refusalOf(me.ipRestriction.create(restriction)), {
      error_code: 'ERR_LOCKOUT',
      msg: /when its rules expire: allow it by a rule or an entry that does not expire/,
    })
    const enforced = await me.raw.send('POST', '/ip_restrictions', { body: restriction, from: '192.0.2.7' })
    t.equal(enforced.status, 201, 'someone else may do it')
    await me.ipPolicyRule.create({ ...rule, cidr: '198.51.100.0/24' })
    t.equal((await all(me.ipPolicyRule.list())).length, 3)
  })

  t.test('a restriction that would', async (t) => {
    const me = await api.account()
    const { policy } = await policyOf(me)
    const body = { type: 'api', enforced: true, ip_policy_ids: [policy] } as const
    const refusal = await refusalOf(me.ipRestriction.create(body))
    t.match(refusal, { status_code: 400, error_code: 'ERR_LOCKOUT' })
    const { id } = await me.ipRestriction.create({ ...body, enforced: false })
    await refused(400, me.ipRestriction.update(id, { enforced: true }))
    await me.ipPolicyRule.create({ ip_policy_id: policy, cidr: home, action: 'allow' })
    await me.ipRestriction.update(id, { enforced: true })
    t.equal((await me.raw.send('GET', '/ip_policies', { from: '192.0.2.1' })).status, 403, 'from elsewhere')
    await me.ipRestriction.update(id, { enforced: false })
    t.equal((await me.raw.send('GET', '/ip_policies', { from: '192.0.2.1' })).status, 200)
  })

  t.test('changes that keep a way in are allowed', async () => {
    const { me, policy, rule, restriction } = await locked()
    await me.ipPolicyRule.create({ ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'allow' })
    await me.ipPolicyRule.delete(rule)
    await me.ipRestriction.delete(restriction)
    await me.ipPolicy.delete(policy)
    const other = await policyOf(me, elsewhere)
    for (const type of ['agent', 'endpoints', 'dashboard'] as const)
      await me.ipRestriction.create({ type, enforced: true, ip_policy_ids: [other.policy] })
    await all(me.ipPolicy.list())
  })

  await ofConsole(t, api)
})

/** A way in that is open to this machine, or to others only. */
const policyFor = async (me: Caller, cidr: string): Promise<{ policy: string; rule: string }> => {
  const { id: policy } = await me.ipPolicy.create({})
  const { id: rule } = await me.ipPolicyRule.create({ ip_policy_id: policy, cidr, action: 'allow' })
  return { policy, rule }
}

async function ofConsole(t: Test, api: TestApi): Promise<void> {
  const reads = async (me: Caller, from: string): Promise<number> =>
    (await me.raw.send('GET', '/ip_policies', { from })).status
  const signsIn = async ({ raw, token }: Caller, from: string): Promise<number> =>
    (await raw.send('POST', '/console/session', { headers: fromConsole, body: { token }, from })).status

  t.test('which restriction applies to the console', async (t) => {
    const cases: [
      name: string,
      made: ['dashboard' | 'api', enforced: boolean, cidr: string][],
      console: [home: number, elsewhere: number],
    ][] = [
      ['none', [], [200, 200]],
      ['dashboard', [['dashboard', true, home]], [200, 403]],
      ['dashboard that only warns', [['dashboard', false, home]], [200, 200]],
      ['api, without one for the console', [['api', true, home]], [200, 403]],
      [
        'both: the one for the console',
        [
          ['dashboard', true, elsewhere],
          ['api', true, home],
        ],
        [403, 200],
      ],
      [
        'api, if the one for the console only warns',
        [
          ['dashboard', false, elsewhere],
          ['api', true, home],
        ],
        [200, 403],
      ],
    ]
    for (const [name, made, [atHome, atOther]] of cases) {
      const me = await api.account()
      const inside = await api.signedIn(me)
      for (const [type, enforced, cidr] of made) {
        const { policy } = await policyFor(me, cidr)
        await me.ipRestriction.create({ type, enforced, ip_policy_ids: [policy] })
      }
      t.equal(await reads(inside, '127.0.0.1'), atHome, `${name}: a session`)
      t.equal(await reads(inside, '192.0.2.1'), atOther, `${name}: a session from elsewhere`)
      t.equal(await signsIn(me, '127.0.0.1'), atHome === 200 ? 201 : 403, `${name}: signing in`)
      t.equal(await signsIn(me, '192.0.2.1'), atOther === 200 ? 201 : 403, `${name}: from elsewhere`)
    }
    const me = await api.account()
    const { policy } = await policyFor(me, elsewhere)
    await me.ipRestriction.create({ type: 'dashboard', enforced: true, ip_policy_ids: [policy] })
    t.equal(await reads(me, '127.0.0.1'), 200, 'a token does not use the console')
    const answer = await me.raw.send('POST', '/console/session', {
      headers: fromConsole,
      body: { token: me.token },
    })
    t.match(answer.body, { error_code: 'ERR_FORBIDDEN', msg: /127\.0\.0\.1 may not reach the web console/ })
  })

  interface Guarded {
    /** In the console. */
    readonly me: Caller
    readonly policy: string
    readonly rule: string
    readonly restriction: string
  }
  type Type = 'dashboard' | 'api'
  const guarded = async (type: Type): Promise<Guarded> => {
    const by = await api.account()
    const me = await api.signedIn(by)
    const { policy, rule } = await policyFor(by, home)
    const { id } = await by.ipRestriction.create({ type, enforced: true, ip_policy_ids: [policy] })
    return { me, policy, rule, restriction: id }
  }
  const refusals: [name: string, type: Type, path: (of: Guarded) => [string, string, object?]][] = [
    ...(['dashboard', 'api'] as const).flatMap((type): typeof refusals => [
      ['the rule that lets in is deleted', type, ({ rule }) => ['DELETE', `/ip_policy_rules/${rule}`]],
      ['it lets in others', type, ({ rule }) => ['PATCH', `/ip_policy_rules/${rule}`, { cidr: elsewhere }]],
      [
        'a rule denies',
        type,
        ({ policy }) => [
          'POST',
          '/ip_policy_rules',
          { ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'deny' },
        ],
      ],
      [
        'all rules are replaced',
        type,
        ({ policy }) => [
          'PUT',
          `/ip_policies/${policy}/rules`,
          { rules: [{ cidr: elsewhere, action: 'allow' }] },
        ],
      ],
      ['the policy is deleted', type, ({ policy }) => ['DELETE', `/ip_policies/${policy}`]],
    ]),
  ]
  for (const [name, type, path] of refusals)
    t.test(`in the console, with ${type}: ${name}`, async (t) => {
      const of = await guarded(type)
      const [method, at, body] = path(of)
      for (const query of ['?validate_only=true', '']) {
        const answer = await of.me.raw.send(method, `${at}${query}`, { body })
        t.match(answer.body, { error_code: 'ERR_LOCKOUT', msg: /127\.0\.0\.1 out of the web console/ })
        t.match(answer.body.msg, `"${type}" restriction`)
      }
      t.equal(await reads(of.me, '127.0.0.1'), 200)
    })

  t.test('in the console: restrictions that would', async (t) => {
    const by = await api.account()
    const me = await api.signedIn(by)
    const { policy } = await policyFor(by, elsewhere)
    const body = (type: Type) => ({ type, enforced: true, ip_policy_ids: [policy] })
    for (const type of ['dashboard', 'api'] as const) {
      const refusal = await refusalOf(me.ipRestriction.create(body(type)))
      t.match(refusal, { error_code: 'ERR_LOCKOUT', msg: 'out of the web console' }, type)
      const { id } = await me.ipRestriction.create({ ...body(type), enforced: false })
      await refused(400, me.ipRestriction.update(id, { enforced: true }))
      await me.ipRestriction.delete(id)
    }
  })

  t.test('in the console: api counts again without dashboard', async (t) => {
    const by = await api.account()
    const me = await api.signedIn(by)
    const [here, there] = [await policyFor(by, home), await policyFor(by, elsewhere)]
    const dashboard = { type: 'dashboard', enforced: true, ip_policy_ids: [here.policy] } as const
    const { id } = await me.ipRestriction.create(dashboard)
    await me.ipRestriction.create({ type: 'api', enforced: true, ip_policy_ids: [there.policy] })
    t.equal(await reads(me, '127.0.0.1'), 200, 'the way by which it came stays open')
    const changes = [
      () => me.ipRestriction.delete(id),
      () => me.ipRestriction.update(id, { enforced: false }),
      () => me.ipRestriction.update(id, { ip_policy_ids: [there.policy] }),
    ]
    for (const change of changes)
      t.match(await refusalOf(change()), { error_code: 'ERR_LOCKOUT', msg: 'out of the web console' })
    t.equal(await reads(me, '127.0.0.1'), 200)
  })

  t.test('with a token, the console may be closed: the API is open to open it again', async (t) => {
    const me = await api.account()
    const inside = await api.signedIn(me)
    const { policy } = await policyFor(me, elsewhere)
    const body = { type: 'dashboard', enforced: true, ip_policy_ids: [policy] } as const
    const { id } = await me.ipRestriction.create(body)
    t.equal(await reads(inside, '127.0.0.1'), 403)
    await me.ipRestriction.delete(id)
    t.equal(await reads(inside, '127.0.0.1'), 200)
  })
}
