/**
 * Rules of IP policies that expire: what may be saved, what decides, how they are deleted, and what is known of them then.
 */
import t from 'tap'
import { isoSeconds, now } from '../../../src/ground/core/clock.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { ExpiredRules } from '../../../src/management/scheduled/expired-rules.js'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller, refused, statusOf } from '../../harness/caller.js'
import { total } from '../../harness/metrics.js'
import { until } from '../../harness/weir.js'

const inSeconds = (seconds: number): string => isoSeconds(now() + 1000 * seconds)
const passed = (time: string) => until('the time has come', () => now() >= Date.parse(time))
const day = 24 * 60 * 60

t.test('rules that expire', { timeout: 300_000 }, async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const registry = createRegistry()
  const occurrences = createOccurrences({ logger: createLogger('test', 'silent'), registry })
  /** As an API process has it. */
  const open = () => store.release.own(new ExpiredRules({ ...store.parts, occurrences, ages: { now } }))

  const policyOf = async (me: Caller) => (await me.ipPolicy.create({})).id
  const rulesIn = async (me: Caller, id: string) => all(me.rules(id))

  t.test('the time must be in the future, and within ten years', async (t) => {
    const me = await api.account()
    const ip_policy_id = await policyOf(me)
    const rule = { ip_policy_id, cidr: '192.0.2.1/32', action: 'deny' as const }
    const create = (expires_at: string | null) => me.ipPolicyRule.create({ ...rule, expires_at })
    t.match(await refused(400, create('2020-01-01T00:00:00Z')), /"expires_at" is .* later than now/)
    t.match(await refused(400, create(inSeconds(0))), /"expires_at"/)
    t.match(await refused(400, create(inSeconds(3651 * day))), /at most 3650 days/)
    t.match(await refused(400, create('tomorrow')), /"expires_at".*RFC 3339/)
    const made = await create('2030-01-01T01:00:00.7+01:00')
    t.equal(made.expires_at, '2030-01-01T00:00:00Z', 'in UTC, whole seconds')
    t.equal((await me.ipPolicyRule.get(made.id)).expires_at, made.expires_at)
    const later = inSeconds(day)
    t.equal((await me.ipPolicyRule.update(made.id, { expires_at: later })).expires_at, later)
    t.match(
      await refused(400, me.ipPolicyRule.update(made.id, { expires_at: '2020-01-01T00:00:00Z' })),
      /"expires_at"/,
    )
    t.equal((await me.ipPolicyRule.update(made.id, { expires_at: null })).expires_at, null)
    const rules = [{ cidr: '192.0.2.2/32', action: 'deny' as const, expires_at: inSeconds(4000 * day) }]
    t.match(await refused(400, me.replaceRules(ip_policy_id, rules)), /"rules\[0\]\.expires_at"/)
  })

  t.test('a list that is sent again may have rules that have expired', async (t) => {
    const me = await api.account()
    const id = await policyOf(me)
    const later = inSeconds(day)
    const list = [
      { cidr: '192.0.2.1/32', action: 'deny' as const, expires_at: later },
      { cidr: '192.0.2.2/32', action: 'deny' as const, expires_at: '2020-01-01T00:00:00Z' },
    ]
    const counts = await me.replaceRules(id, list)
    t.strictSame(counts, { added: 1, updated: 0, removed: 0, kept: 0, expired: 1 })
    t.match(await rulesIn(me, id), [{ cidr: '192.0.2.1/32', expires_at: later }])
    const again = await me.replaceRules(id, list)
    t.strictSame(again, { added: 0, updated: 0, removed: 0, kept: 1, expired: 1 })
    const longer = await me.replaceRules(id, [{ ...list[0]!, expires_at: null }])
    t.strictSame(longer, { added: 0, updated: 1, removed: 0, kept: 0, expired: 0 }, 'the id stays')
  })

  t.test('it decides until its time; then it is deleted, announced and known', async (t) => {
    const me = await api.account()
    const id = await policyOf(me)
    await me.tcpEdge.create({
      hostports: ['expiring-rules.example:22'],
      ip_restriction: { ip_policy_ids: [id] },
    })
    await me.ipPolicyRule.create({ ip_policy_id: id, cidr: '0.0.0.0/0', action: 'allow' })
    const expires_at = inSeconds(6)
    const rule = await me.ipPolicyRule.create({
      ip_policy_id: id,
      cidr: '203.0.113.9/32',
      action: 'deny',
      description: 'scans, for a while',
      expires_at,
    })
    const conn = { client_ip: '203.0.113.9', server_name: 'expiring-rules.example', server_port: 22 }
    const ask = (options = {}) => me.decide({ type: 'tcp_connection', conn, explain: true }, options)
    const before = await ask()
    t.match(before, {
      decision: 'block',
      explanation: { decided_by: { rule_id: rule.id } },
    })
    const won = before.explanation?.ip_policies[0]?.rules.find(({ won }) => won)
    t.match(won, { description: 'scans, for a while', expires_at, added: { by: /^ak_/ } })

    await passed(expires_at)
    const after = await ask()
    t.equal(after.decision, 'allow', 'also before it is deleted')
    t.equal(after.revision, before.revision, 'nothing was written for it')
    const again = await me.ipPolicyRule.create({
      ip_policy_id: id,
      cidr: '203.0.113.9/32',
      action: 'deny' as const,
      expires_at: inSeconds(day),
    })
    t.equal((await ask()).decision, 'block', 'a range may be there again at once')
    await me.ipPolicyRule.delete(again.id)

    const audits = await api.auditsOf(me.accountId, async () => {
      // Two API processes look at the same time.
      await Promise.all([open().look(), open().look()])
    })
    t.match(
      audits,
      [
        {
          event_type: 'ip_policy_rule_deleted.v0',
          principal: { id: me.accountId, source: 'EXPIRY', credential: null },
          object: { id: rule.id, description: 'scans, for a while', expires_at },
        },
      ],
      'it is announced once',
    )
    t.equal(await statusOf(me.ipPolicyRule.get(rule.id)), 404)
    const { changes } = await me.raw.get(`/ip_policy_rules/${rule.id}/changes`)
    t.match(changes, [
      {
        verb: 'delete',
        source: 'EXPIRY',
        by: 'expiry',
        by_description: 'the expiry of rules',
        tests_skipped: false,
      },
      { verb: 'create', source: 'API', by: /^ak_/ },
    ])
    const then = await ask({ revision: before.revision })
    t.match(then, { decision: 'block', explanation: { decided_by: { rule_id: rule.id } } }, 'as it was then')
    t.match(
      await refused(400, me.ipPolicyRule.restore(rule.id, changes[1].version)),
      /"expires_at" is .* later than now/,
      'it comes back with another end only',
    )
  })

  t.test('a rule that got more time stays', async (t) => {
    const me = await api.account()
    const ip_policy_id = await policyOf(me)
    const first = inSeconds(5)
    const rule = { ip_policy_id, action: 'deny' as const, expires_at: first }
    const { id } = await me.ipPolicyRule.create({ ...rule, cidr: '192.0.2.1/32' })
    const other = await me.ipPolicyRule.create({ ...rule, cidr: '192.0.2.2/32' })
    const later = inSeconds(day)
    await me.ipPolicyRule.update(id, { expires_at: later })
    await passed(first)
    await open().look()
    t.equal((await me.ipPolicyRule.get(id)).expires_at, later)
    t.equal(await statusOf(me.ipPolicyRule.get(other.id)), 404)
  })

  t.test('very many of a policy are deleted as one change', async (t) => {
    const me = await api.account()
    const id = await policyOf(me)
    const writeUntil = async (expires_at: string): Promise<string> => {
      const rules = Array.from({ length: 1_500 }, (_, index) => ({
        cidr: `10.0.${index >> 8}.${index & 255}/32`,
        action: 'deny' as const,
        expires_at: index % 3 === 0 ? null : expires_at,
      }))
      await me.replaceRules(id, rules)
      return expires_at
    }
    let expires_at = await writeUntil(inSeconds(4))
    // A busy machine may have needed all of that.
    if (now() > Date.parse(expires_at) - 1_000) expires_at = await writeUntil(inSeconds(30))
    const { changes: before } = await me.raw.get(`/ip_policies/${id}/changes`)
    await passed(expires_at)
    const audits = await api.auditsOf(me.accountId, () => open().look())
    t.equal(audits.length, 1_000)
    t.match(audits[0], { event_type: 'ip_policy_rule_deleted.v0', principal: { source: 'EXPIRY' } })
    t.equal((await rulesIn(me, id)).length, 500)
    const { changes } = await me.raw.get(`/ip_policies/${id}/changes`)
    t.equal(changes.length, before.length + 1)
    t.match(changes[0], { by: 'expiry', rules: { added: 0, updated: 0, removed: 1_000 } })
    const restored = await me.restoreRules(id, before[0].version)
    t.strictSame(restored, { added: 0, updated: 0, removed: 0, kept: 500, expired: 1_000 })
    t.equal(await open().look(), undefined, 'nothing is left to do')
    t.ok(total(await registry.metrics(), 'weir_ip_policy_rules_expired_total') >= 1)
  })

  t.test('policy tests judge without it, and do not keep it', async (t) => {
    const me = await api.account()
    const id = await policyOf(me)
    await me.tcpEdge.create({
      hostports: ['expiring-tests.example:22'],
      ip_restriction: { ip_policy_ids: [id] },
    })
    await me.ipPolicyRule.create({ ip_policy_id: id, cidr: '0.0.0.0/0', action: 'allow' })
    const expires_at = inSeconds(6)
    const rule = { ip_policy_id: id, cidr: '203.0.113.9/32', action: 'deny' as const, expires_at }
    const { id: ruleId } = await me.ipPolicyRule.create(rule)
    const conn = { client_ip: '203.0.113.9', server_name: 'expiring-tests.example', server_port: 22 }
    await me.policyTest.create({
      given: { type: 'tcp_connection', conn },
      expect: { decision: 'block' },
    })
    await passed(expires_at)
    const run = await me.raw.send('POST', '/policy_tests/run', { body: {} })
    t.match(JSON.parse(run.text), { passed: 0, failed: 1 })
    await open().look()
    t.equal(await statusOf(me.ipPolicyRule.get(ruleId)), 404, 'it decides nothing any more, so it is deleted')
  })
})
