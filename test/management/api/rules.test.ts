/** `PUT /ip_policies/{id}/rules`: all rules of an IP policy replaced at once. */
import fc from 'fast-check'
import t from 'tap'
import { rulesBodyBytesMax, rulesPerIpPolicyMax } from '../../../src/ground/core/limits.js'
import type { Resource } from '../../../src/words/client/kinds.js'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller, refusalOf, refused, statusOf } from '../../harness/caller.js'

type Shown = Resource<'ipPolicyRule'>

interface Rule {
  readonly cidr: string | null
  readonly action: 'allow' | 'deny'
  readonly description?: string | null
  readonly metadata?: string | null
}

const allow = (cidr: string): Rule => ({ cidr, action: 'allow' })
const deny = (cidr: string): Rule => ({ cidr, action: 'deny' })

t.test('replacing the rules of an IP policy', { timeout: 300_000 }, async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()

  /** A policy with these rules, and its path. */
  const policyWith = async (rules: readonly Rule[], client = me) => {
    const { id } = await client.ipPolicy.create({})
    const path = `/ip_policies/${id}/rules`
    if (rules.length > 0) await client.replaceRules(id, rules)
    return { id, path }
  }
  const rulesOf = async (policyId: string, client: Caller = me) => {
    const ip_policy_rules = await all(client.ipPolicyRule.list())
    return ip_policy_rules.filter(({ ip_policy }) => ip_policy.id === policyId)
  }

  t.test('each changed rule has an audit event that matches what GET shows', async (t) => {
    const { id, path } = await policyWith([])
    const first = [allow('10.0.0.0/8'), { ...deny('10.1.0.0/16'), description: 'd', metadata: 'm' }]
    const created = await api.auditsOf(me.accountId, async () => {
      t.strictSame(await me.replaceRules(id, first), {
        added: 2,
        updated: 0,
        removed: 0,
        kept: 0,
        expired: 0,
      })
    })
    const before = await rulesOf(id)
    t.strictSame(
      created.map(({ event_type }) => event_type),
      ['ip_policy_rule_created.v0', 'ip_policy_rule_created.v0'],
    )
    t.strictSame(
      created.map(({ object }) => object),
      [...before].reverse(),
      'the payload is the rule',
    )
    t.match(before, [
      { cidr: '10.1.0.0/16', action: 'deny', description: 'd', metadata: 'm' },
      { cidr: '10.0.0.0/8', action: 'allow' },
    ])
    for (const rule of before) t.strictSame(await me.ipPolicyRule.get(rule.id), rule)

    const second = [{ ...allow('10.0.0.0/8'), description: 'now described' }, allow('192.0.2.0/24')]
    const changed = await api.auditsOf(me.accountId, async () => {
      t.strictSame(await me.replaceRules(id, second), {
        added: 1,
        updated: 1,
        removed: 1,
        kept: 0,
        expired: 0,
      })
    })
    const after = await rulesOf(id)
    t.strictSame(
      changed.map(({ event_type, object }) => [event_type, object.cidr]),
      [
        ['ip_policy_rule_updated.v0', '10.0.0.0/8'],
        ['ip_policy_rule_deleted.v0', '10.1.0.0/16'],
        ['ip_policy_rule_created.v0', '192.0.2.0/24'],
      ],
    )
    t.strictSame(changed[0]?.object, after[1], 'as it is now')
    t.strictSame(changed[1]?.object, before[0], 'as it was last')
    t.equal(after[1]?.id, before[1]?.id, 'the same CIDR and action stay the same rule')
    t.equal(after[1]?.created_at, before[1]?.created_at)
    t.equal(await statusOf(me.ipPolicyRule.get(before[0]!.id)), 404)

    t.strictSame(
      await api.auditsOf(me.accountId, async () => {
        t.strictSame(await me.replaceRules(id, second), {
          added: 0,
          updated: 0,
          removed: 0,
          kept: 2,
          expired: 0,
        })
        await me.raw.expect(200, 'PUT', path, { rules: [...second].reverse(), id })
      }),
      [],
      'the same rules in any order change nothing',
    )
  })

  t.test('the rules as GET lists them', async (t) => {
    const { id, path } = await policyWith([allow('10.0.0.0/8'), { ...deny('10.1.0.0/16'), description: 'd' }])
    const [second, first] = (await rulesOf(id)) as [Shown, Shown]
    t.strictSame(
      await api.auditsOf(me.accountId, async () => {
        t.match(await me.replaceRules(id, [second, first]), { updated: 0, kept: 2, expired: 0 })
        const { id: _id, ...withoutId } = first
        t.match(await me.replaceRules(id, [withoutId, second]), { updated: 0, kept: 2, expired: 0 })
      }),
      [],
    )
    t.strictSame(await rulesOf(id), [second, first])

    const changed = { ...first, description: 'now described' }
    const rules = [changed, { ...second, action: 'allow' as const }, allow('192.0.2.0/24')]
    t.strictSame(await me.replaceRules(id, rules), { added: 2, updated: 1, removed: 1, kept: 0, expired: 0 })
    const after = await rulesOf(id)
    t.strictSame(
      after.find(({ cidr }) => cidr === first.cidr),
      changed,
      'only the changed member changes',
    )

    const other = await policyWith([allow('10.0.0.0/8')])
    const wrong: [object, RegExp][] = [
      [{ ...changed, id: 'ipr_1' }, /"rules\[0\]\.id" is "ipr_1", but the policy has no such rule/],
      [{ ...allow('10.9.0.0/16'), uri: first.uri }, /"rules\[0\]\.uri" is .*the policy has no such rule/],
      [{ ...changed, uri: second.uri }, /"rules\[0\]\.uri" is .*, but can't be changed: it is/],
      [
        { ...changed, created_at: '2020-01-01T00:00:00Z' },
        /"rules\[0\]\.created_at" is "2020.*", but can't be changed: it is/,
      ],
      [
        { ...changed, ip_policy: { id: other.id } },
        /"rules\[0\]\.ip_policy" is .*, but can't be changed: it is/,
      ],
    ]
    for (const [rule, message] of wrong)
      t.match(await me.raw.refused(400, 'PUT', path, { rules: [rule] }), message)
    const [elsewhere] = await rulesOf(other.id)
    t.match(
      await me.raw.refused(400, 'PUT', path, { rules: [elsewhere] }),
      /"rules\[0\]\.id" is .*no such rule/,
    )
    t.strictSame(await rulesOf(id), after, 'nothing has changed')
  })

  t.test('allow and deny swapped', async (t) => {
    const { id } = await policyWith([allow('10.0.0.0/8'), deny('192.0.2.0/24')])
    const before = await rulesOf(id)
    const answer = await me.replaceRules(id, [deny('10.0.0.0/8'), allow('192.0.2.0/24')])
    t.strictSame(answer, { added: 2, updated: 0, removed: 2, kept: 0, expired: 0 })
    const after: { id: string; cidr: string | null; action: string }[] = await rulesOf(id)
    t.strictSame(after.map(({ cidr, action }) => `${cidr} ${action}`).sort(), [
      '10.0.0.0/8 deny',
      '192.0.2.0/24 allow',
    ])
    for (const { id: ruleId } of before)
      t.notOk(
        after.some((rule) => rule.id === ruleId),
        'another rule',
      )
  })

  t.test('single changes before and after a replacement', async (t) => {
    const { id } = await policyWith([])
    await me.ipPolicyRule.create({ ip_policy_id: id, ...allow('10.0.0.0/8') })
    const many = Array.from({ length: 70 }, (_, at) => allow(`10.0.${at}.0/24`))
    t.strictSame(await me.replaceRules(id, many), { added: 70, updated: 0, removed: 1, kept: 0, expired: 0 })
    const own = await me.ipPolicyRule.create({ ip_policy_id: id, ...deny('10.0.200.0/24') })
    const [, second] = await rulesOf(id)
    await me.ipPolicyRule.update(second!.id, { cidr: '10.9.0.0/16' })
    await me.ipPolicyRule.delete(own.id)
    const taken = { ip_policy_id: id, ...deny('10.0.3.0/24') }
    t.match(await refused(400, me.ipPolicyRule.create(taken)), 'of the same IP policy has')
    t.strictSame(await me.replaceRules(id, many), { added: 1, updated: 0, removed: 1, kept: 69, expired: 0 })
    t.strictSame(await me.replaceRules(id, []), { added: 0, updated: 0, removed: 70, kept: 0, expired: 0 })
    t.strictSame(await rulesOf(id), [])
    await me.replaceRules(id, many)
    await me.ipPolicy.delete(id)
    t.strictSame(await rulesOf(id), [], 'they go with their policy')
    t.equal(await statusOf(me.replaceRules(id, [])), 404)
  })

  t.test('the body replaces any previous rules', async (t) => {
    const { id } = await policyWith([])
    const cidrs = Array.from({ length: 6 }, (_, at) => `10.${at}.0.0/16`)
    const rule = fc.record({
      cidr: fc.constantFrom(...cidrs),
      action: fc.constantFrom('allow' as const, 'deny' as const),
      description: fc.constantFrom(null, '', 'one', 'other'),
    })
    const bodies = fc.array(fc.uniqueArray(rule, { selector: ({ cidr }) => cidr }), {
      minLength: 1,
      maxLength: 4,
    })
    const textOf = ({ cidr, action, description }: Rule) => `${cidr} ${action} ${description || 'none'}`
    await fc.assert(
      fc.asyncProperty(bodies, async (sequence) => {
        for (const rules of sequence) {
          const before: (Rule & { id: string })[] = await rulesOf(id)
          const counts = await me.replaceRules(id, rules)
          const after: (Rule & { id: string })[] = await rulesOf(id)
          t.strictSame(after.map(textOf).sort(), rules.map(textOf).sort())
          const had = new Map(before.map((each) => [`${each.cidr} ${each.action}`, each]))
          const same = after.filter(({ cidr, action }) => had.has(`${cidr} ${action}`))
          for (const { id: ruleId, cidr, action } of same) t.equal(ruleId, had.get(`${cidr} ${action}`)?.id)
          const kept = same.filter((each) => textOf(each) === textOf(had.get(`${each.cidr} ${each.action}`)!))
          const [added, removed] = [after.length - same.length, before.length - same.length]
          t.strictSame(counts, {
            added,
            updated: same.length - kept.length,
            removed,
            kept: kept.length,
            expired: 0,
          })
        }
      }),
      { numRuns: process.argv.includes('--full') ? 50 : 5 },
    )
  })

  t.test('invalid bodies', async (t) => {
    const { id, path } = await policyWith([allow('10.0.0.0/8')])
    const before = await rulesOf(id)
    const wrong: [string, unknown, RegExp][] = [
      ['no rules', {}, /"rules" is required/],
      ['null', { rules: null }, /"rules" is null, but must be a list/],
      ['no list', { rules: {} }, /"rules" is \{\}, but must be a list/],
      [
        'another field',
        { rules: [], rule: 1 },
        /A list of IP policy rules has no field "rule": did you mean "rules"/,
      ],
      ['another policy', { rules: [], id: 'ipp_1' }, /"id" is "ipp_1", but the path says/],
      ['no rule', { rules: [allow('10.0.0.0/8'), 5] }, /"rules\[1\]" is 5, but must be an object/],
      ['no CIDR', { rules: [{ action: 'allow' }] }, /"rules\[0\]\.cidr" is required for an IP policy rule/],
      ['no action', { rules: [{ cidr: '10.0.0.0/8' }] }, /"rules\[0\]\.action" is required/],
      [
        'an unknown action',
        { rules: [{ cidr: '10.0.0.0/8', action: 'x' }] },
        /"rules\[0\]\.action" is "x", but must be one of "allow", "deny"/,
      ],
      [
        'host bits',
        { rules: [allow('10.0.0.0/8'), allow('10.1.2.3/8')] },
        /"rules\[1\]\.cidr" is "10\.1\.2\.3\/8": .*write 10\.0\.0\.0\/8/,
      ],
      [
        'an address twice',
        { rules: [allow('10.0.0.1'), allow('10.0.0.1/32')] },
        /"10\.0\.0\.1\/32", the same as/,
      ],
      [
        'an unknown field',
        { rules: [{ ...allow('10.0.0.0/8'), ip_policy_id: id }] },
        /An IP policy rule has no field "rules\[0\]\.ip_policy_id"/,
      ],
      [
        'a long description',
        { rules: [{ ...allow('10.0.0.0/8'), description: 'd'.repeat(256) }] },
        /"rules\[0\]\.description" is too long/,
      ],
      [
        'a CIDR twice',
        { rules: [allow('10.0.0.0/8'), allow('192.0.2.0/24'), deny('10.0.0.0/8')] },
        /"rules\[2\]\.cidr" is "10\.0\.0\.0\/8", the same as "rules\[0\]\.cidr"/,
      ],
      [
        'a CIDR twice, in another spelling',
        { rules: [allow('2001:DB8::/32'), deny('2001:0db8::/32')] },
        /"rules\[1\]\.cidr" is "2001:db8::\/32", the same as "rules\[0\]\.cidr"/,
      ],
      [
        'too many',
        { rules: Array.from({ length: rulesPerIpPolicyMax + 1 }, () => 0) },
        /"rules" has 100001 entries: at most 100000 are allowed/,
      ],
    ]
    const lines = Array.from({ length: 150 }, (_, index) =>
      allow(index % 2 === 0 ? `10.0.0.${index}` : `x${index}`),
    )
    const { body: few } = await me.raw.send('PUT', path, { body: { rules: lines.slice(0, 5) } })
    t.match(few.msg, /^"rules\[1\]\.cidr" is "x1": .* 1 more entry is wrong: see "details"\.$/)
    t.match(few.details, { 'rules[1].cidr': /"x1"/, 'rules[3].cidr': /"x3"/, operation_id: /^op_/ })
    t.equal(Object.keys(few.details).length, 3)
    const many = [...lines, ...lines.map(({ action }, index) => ({ action, cidr: `y${index}` }))]
    const { body: most } = await me.raw.send('PUT', `${path}?validate_only=true`, { body: { rules: many } })
    t.equal(Object.keys(most.details).length, 101, 'at most 100')
    t.match(most.msg, /at least 99 more entries are wrong/)
    const { body: edge } = await me.raw.send('POST', '/edges/tcp', {
      body: { hostports: ['a', 'b.example:1', 'c:0'] },
    })
    t.match(edge, { status_code: 400, details: { 'hostports[0]': /"a"/, 'hostports[2]': /"c:0"/ } })
    for (const [name, body, message] of wrong)
      t.match(await me.raw.refused(400, 'PUT', path, body), message, name)
    t.strictSame(await rulesOf(id), before, 'nothing has changed')
    t.equal((await me.raw.send('PUT', `${path}?x=1`, { body: { rules: [] } })).status, 400)
  })

  t.test('unknown policies, and policies of other accounts', async (t) => {
    const other = await api.account()
    const { id, path } = await policyWith([], other)
    for (const each of [id, 'ipp_1', 'rd_1']) t.equal(await statusOf(me.replaceRules(each, [])), 404)
    for (const method of ['POST', 'PATCH', 'DELETE']) {
      t.equal((await other.raw.send(method, path)).status, 404, method)
    }
  })

  t.test('the body limit is larger than elsewhere, and enforced', async (t) => {
    const { id, path } = await policyWith([])
    const rules = Array.from({ length: 400 }, (_, at) => ({
      ...allow(`10.${at >> 8}.${at & 255}.0/24`),
      metadata: 'm'.repeat(4096),
    }))
    t.match(await me.replaceRules(id, rules), { added: 400 })
    t.equal((await rulesOf(id)).length, 400)
    const answer = await me.raw.send('PUT', path, { body: Buffer.alloc(rulesBodyBytesMax + 1, ' ') })
    t.equal(answer.status, 413)
    t.match(answer.body.msg, `at most ${rulesBodyBytesMax} bytes are allowed`)
    const nobody = api.stranger()
    t.equal(
      (await nobody.raw.send('PUT', path, { body: Buffer.alloc(rulesBodyBytesMax + 1, ' ') })).status,
      401,
    )
    const plain = await me.raw.send('PUT', path, { body: 'x', headers: { 'content-type': 'text/plain' } })
    t.equal(plain.status, 415)
  })

  t.test('rules that would lock the caller out', async (t) => {
    const caller = await api.account()
    const { id } = await policyWith([allow('127.0.0.1/32'), deny('192.0.2.0/24')], caller)
    await caller.ipRestriction.create({ type: 'api', enforced: true, ip_policy_ids: [id] })
    for (const rules of [[], [allow('192.0.2.0/24')], [allow('0.0.0.0/0'), deny('127.0.0.0/8')]]) {
      const refusal = await refusalOf(caller.replaceRules(id, rules))
      t.match(refusal, { status_code: 400, error_code: 'ERR_LOCKOUT' })
    }
    t.match(await caller.replaceRules(id, [allow('127.0.0.0/8')]), { added: 1, removed: 2 })
  })
})
