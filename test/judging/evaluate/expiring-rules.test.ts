/** Rules that expire: left out of what is compiled from then on, which nothing but a new build notices. */
import t from 'tap'
import { parseAddress } from '../../../src/ground/core/address/ip.js'
import { decideAddress, denyRuleFor } from '../../../src/judging/evaluate/ip-policy.js'
import { buildPolicySet, type PolicySet } from '../../../src/judging/evaluate/policy-set.js'
import type { IpRule } from '../../../src/judging/evaluate/policy-source.js'
import { noYield, TestConfiguration } from './configuration.js'

const startMs = Date.parse('2026-11-20T10:00:00Z')
const timeAfter = (seconds: number): string =>
  new Date(startMs + 1000 * seconds).toISOString().replace('.000', '')

const everyone: IpRule = { id: 'ipr_all', cidr: '0.0.0.0/0', action: 'allow' }
const client = '203.0.113.9'

/** A policy with these rules, as built after so many seconds. */
class Expiring {
  readonly #configuration = new TestConfiguration('ac_1').ipPolicy('ipp_1').ipPolicy('ipp_2', '10.0.0.0/8')
  #current: PolicySet | undefined

  constructor(...rules: readonly IpRule[]) {
    const given = this.#configuration.rules.bind(this.#configuration)
    this.#configuration.rules = (id) => (id === 'ipp_1' ? { version: 7, rules: [...rules] } : given(id))
  }

  async after(seconds: number): Promise<PolicySet> {
    this.#current = await buildPolicySet(
      this.#configuration,
      this.#current,
      noYield,
      startMs + 1000 * seconds,
    )
    return this.#current
  }
}

const decisionOf = (policySet: PolicySet) => decideAddress(policySet, ['ipp_1'], parseAddress(client))

t.test('a rule counts until its time, and not from then on', async (t) => {
  const ban: IpRule = {
    id: 'ipr_ban',
    cidr: `${client}/32`,
    action: 'deny',
    expires_at: timeAfter(3),
  }
  const expiring = new Expiring(everyone, ban)
  const before = await expiring.after(0)
  t.equal(decisionOf(before), 'block')
  t.equal(denyRuleFor(before, ['ipp_1'], parseAddress(client))?.rule.id, 'ipr_ban')
  t.equal(before.contents.expiresMs, startMs + 3_000)

  const still = await expiring.after(2.999)
  t.equal(decisionOf(still), 'block', 'the last moment')
  t.equal(still.ipPolicy('ipp_1'), before.ipPolicy('ipp_1'), 'nothing was compiled again')

  const after = await expiring.after(3)
  t.equal(decisionOf(after), 'allow', 'without a change of the configuration')
  t.equal(after.contents.expiresMs, Number.POSITIVE_INFINITY)
  t.strictSame(
    after.ipPolicy('ipp_1')?.rules.map(({ id }) => id),
    ['ipr_all'],
    'explanations do not list it',
  )
  t.equal(after.ipPolicy('ipp_2'), before.ipPolicy('ipp_2'), 'other policies are taken over')
  t.equal(decisionOf(before), 'block', 'a set that is in use does not change')
})

t.test('an allow rule that expires lets no one in any more', async (t) => {
  const guest: IpRule = { id: 'ipr_g', cidr: `${client}/32`, action: 'allow', expires_at: timeAfter(1) }
  const expiring = new Expiring(guest)
  t.equal(decisionOf(await expiring.after(0)), 'allow')
  t.equal(decisionOf(await expiring.after(1)), 'block')
})

t.test('of several times the first one counts, then the next', async (t) => {
  const ruleOf = (last: number): IpRule => ({
    id: `ipr_${last}`,
    cidr: `10.0.0.${last}/32`,
    action: 'deny',
    expires_at: timeAfter(last),
  })
  const expiring = new Expiring(everyone, ruleOf(30), ruleOf(10), ruleOf(20))
  for (const [seconds, next] of [
    [0, 10],
    [10, 20],
    [25, 30],
  ] as const)
    t.equal((await expiring.after(seconds)).contents.expiresMs, startMs + 1000 * next)
  t.equal((await expiring.after(30)).contents.expiresMs, Number.POSITIVE_INFINITY)
})
