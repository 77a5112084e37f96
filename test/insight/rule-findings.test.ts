/** Rules without effect: exactly those, among many and in any order. */
import fc from 'fast-check'
import t from 'tap'
import { yieldTurn } from '../../src/core/clock.js'
import { Slices } from '../../src/core/slices.js'
import { Collected } from '../../src/insight/findings/collected.js'
import { policyUsers } from '../../src/insight/findings/policy-users.js'
import { ruleFindings } from '../../src/insight/findings/rule-findings.js'
import { accountId, Configuration, type GivenRule, isoOf, links, nowMs } from './findings.js'

const kinds = ['allow_in_deny', 'rule_covered', 'rules_contradict'] as const
type Found = Readonly<Record<(typeof kinds)[number], readonly string[]>>

async function found({ state }: Configuration): Promise<Found> {
  const slices = new Slices({ letOthers: yieldTurn })
  const collected = new Collected(links, Number.POSITIVE_INFINITY)
  const search = { state, accountId, nowMs, slices, found: collected }
  await ruleFindings(search, (await policyUsers(search)).groups)
  const { findings, kinds: all } = collected.answer('')
  const idsOf = (kind: string) =>
    findings
      .filter((each) => each.kind === kind)
      .map(({ about }) => about.id)
      .sort()
  if (all.some(({ unknown }) => unknown !== null)) throw new Error('Not all rules were compared.')
  return { allow_in_deny: idsOf(kinds[0]), rule_covered: idsOf(kinds[1]), rules_contradict: idsOf(kinds[2]) }
}

/** The same, by comparing each rule with each other one, bit by bit. */
function slowlyFound(
  policies: Readonly<Record<string, readonly GivenRule[]>>,
  groups: readonly string[][],
): Found {
  const ids: Record<(typeof kinds)[number], Set<string>> = {
    allow_in_deny: new Set(),
    rule_covered: new Set(),
    rules_contradict: new Set(),
  }
  const isApplied = ({ enforced, expires_at }: GivenRule) =>
    enforced !== false && !(expires_at && Date.parse(expires_at) <= nowMs)
  const applied = (policy: string) => (policies[policy] ?? []).filter(isApplied)
  const takesEffect = (other: GivenRule, rule: GivenRule) =>
    other !== rule &&
    bitsOf(rule.cidr).startsWith(bitsOf(other.cidr)) &&
    Date.parse(other.expires_at ?? '9999-01-01T00:00:00Z') >=
      Date.parse(rule.expires_at ?? '9999-01-01T00:00:00Z')
  for (const policy of Object.keys(policies))
    for (const rule of applied(policy)) {
      const others = applied(policy).filter((other) => takesEffect(other, rule))
      if (rule.action === 'allow' && others.some(({ action }) => action === 'deny'))
        ids.allow_in_deny.add(rule.id)
      else if (others.some(({ action }) => action === rule.action)) ids.rule_covered.add(rule.id)
    }
  for (const group of groups)
    for (const policy of group)
      for (const rule of applied(policy)) {
        if (rule.action === 'deny' || ids.allow_in_deny.has(rule.id) || ids.rule_covered.has(rule.id))
          continue
        const others = group.filter((other) => other !== policy).flatMap(applied)
        if (others.some((other) => other.action === 'deny' && takesEffect(other, rule)))
          ids.rules_contradict.add(rule.id)
      }
  const sorted = (kind: (typeof kinds)[number]) => [...ids[kind]].sort()
  return {
    allow_in_deny: sorted('allow_in_deny'),
    rule_covered: sorted('rule_covered'),
    rules_contradict: sorted('rules_contradict'),
  }
}

/** The fixed bits of a range, after its family. */
function bitsOf(cidr: string): string {
  const [address = '', prefix] = cidr.split('/')
  const [family, numbers, width] = address.includes(':')
    ? [
        'six ',
        address
          .replace('::', '')
          .split(':')
          .map((part) => Number.parseInt(part, 16)),
        16,
      ]
    : ['four ', address.split('.').map(Number), 8]
  return (
    family +
    numbers
      .map((number) => number.toString(2).padStart(width, '0'))
      .join('')
      .slice(0, Number(prefix))
  )
}

function configured(
  policies: Readonly<Record<string, readonly GivenRule[]>>,
  groups: readonly (readonly string[])[],
): Configuration {
  const configuration = new Configuration()
  for (const [id, rules] of Object.entries(policies)) configuration.policy(id, rules)
  for (const [index, ids] of groups.entries())
    configuration.put('tcp_edge', `edgtcp_${index}`, {
      hostports: [`e${index}.example:22`],
      ip_restriction: { enabled: true, ip_policy_ids: ids },
    })
  return configuration
}

const rangeOf = (bits: number, prefix: number, isSix: boolean): string =>
  isSix
    ? `2001:db8:0:0:0:0:0:${((bits >>> (8 - prefix)) << (8 - prefix)).toString(16)}/${120 + prefix}`
    : `192.0.2.${(bits >>> (8 - prefix)) << (8 - prefix)}/${24 + prefix}`

const givenRule = fc.record({
  bits: fc.nat(63),
  prefix: fc.nat(8),
  isSix: fc.boolean(),
  action: fc.constantFrom('allow' as const, 'deny' as const),
  expires: fc.constantFrom(undefined, undefined, -1, 1, 2, 3),
  enforced: fc.constantFrom(true, true, true, false),
})

t.test('as comparing each rule with each other one says', async (t) => {
  const given = fc.tuple(
    fc.array(fc.array(givenRule, { maxLength: 12 }), { minLength: 1, maxLength: 4 }),
    fc.array(fc.uniqueArray(fc.nat(3), { minLength: 1, maxLength: 4 }), { maxLength: 4 }),
  )
  let findings = 0
  await fc.assert(
    fc.asyncProperty(given, async ([lists, chosen]) => {
      const policies = Object.fromEntries(
        lists.map((list, policy) => {
          const byRange = new Map<string, GivenRule>()
          for (const [index, { bits, prefix, isSix, action, expires, enforced }] of list.entries()) {
            const cidr = rangeOf(bits, prefix, isSix)
            const expires_at = expires === undefined ? null : isoOf(expires)
            // A range may appear in a policy only once.
            byRange.set(cidr, { id: `ipr_${policy}_${index}`, cidr, action, expires_at, enforced })
          }
          return [`ipp_${policy}`, [...byRange.values()]]
        }),
      )
      const groups = chosen.map((group) =>
        group.map((index) => `ipp_${index}`).filter((id) => id in policies),
      )
      const want = slowlyFound(policies, groups)
      findings += Object.values(want).flat().length
      t.strictSame(await found(configured(policies, groups)), want)
    }),
    { numRuns: 300 },
  )
  t.ok(findings > 150, `${findings} findings`)
})

t.test('faults planted among 10,000 rules: all are found, and no other', async (t) => {
  const planted: Record<(typeof kinds)[number], string[]> = {
    allow_in_deny: [],
    rule_covered: [],
    rules_contradict: [],
  }
  const policies: Record<string, GivenRule[]> = { ipp_a: [], ipp_b: [], ipp_c: [], ipp_d: [] }
  const names = Object.keys(policies)
  let made = 0
  const add = (policy: string, cidr: string, action: 'allow' | 'deny', more: object = {}): string => {
    made += 1
    const id = `ipr_${made}`
    policies[policy]!.push({ id, cidr, action, ...more })
    return id
  }
  /** Disjoint ranges: IPv4 and IPv6, a quarter in each policy. */
  const places: { policy: string; action: 'allow' | 'deny'; inside: (bits: number) => string }[] = []
  for (let index = 0; index < 9_500; index += 1) {
    const policy = names[index % 4]!
    const action = index % 3 === 0 ? 'deny' : 'allow'
    const beginning = index % 5 === 0 ? `2001:db8:${index.toString(16)}` : `10.${index >> 8}.${index & 255}`
    const inside = (bits: number) =>
      beginning.includes(':') ? `${beginning}::${bits.toString(16)}/128` : `${beginning}.${bits}/32`
    add(policy, beginning.includes(':') ? `${beginning}::/48` : `${beginning}.0/24`, action)
    places.push({ policy, action, inside })
  }
  for (const [index, { policy, action, inside }] of places.entries()) {
    if (index % 47 === 0) planted.rule_covered.push(add(policy, inside(7), action))
    if (index % 53 === 0 && action === 'deny') planted.allow_in_deny.push(add(policy, inside(9), 'allow'))
    // a and b are used together, and c and d are not.
    if (index % 59 === 0 && action === 'deny' && ['ipp_a', 'ipp_b'].includes(policy))
      planted.rules_contradict.push(add(policy === 'ipp_a' ? 'ipp_b' : 'ipp_a', inside(11), 'allow'))
    // What only looks like a fault.
    if (index % 101 === 0 && ['ipp_c', 'ipp_d'].includes(policy))
      add(policy === 'ipp_c' ? 'ipp_d' : 'ipp_c', inside(13), 'allow')
    if (index % 103 === 0) add(policy, inside(15), action, { enforced: false })
    if (index % 107 === 0 && action === 'allow') add(policy, inside(17), 'deny')
    if (index % 109 === 0) add(policy, inside(19), action, { expires_at: isoOf(-1) })
  }
  t.ok(made >= 10_000, `${made} rules`)
  for (const kind of kinds) t.ok(planted[kind].length > 10, `${planted[kind].length} of ${kind}`)
  const configuration = configured(policies, [['ipp_a', 'ipp_b'], ['ipp_c'], ['ipp_d']])
  t.strictSame(await found(configuration), {
    allow_in_deny: planted.allow_in_deny.sort(),
    rule_covered: planted.rule_covered.sort(),
    rules_contradict: planted.rules_contradict.sort(),
  })
})

t.test('a rule that ends sooner takes the effect of no other', async (t) => {
  const policies = {
    ipp_1: [
      { id: 'ipr_soon', cidr: '10.0.0.0/8', action: 'deny' as const, expires_at: isoOf(1) },
      { id: 'ipr_later', cidr: '10.1.0.0/16', action: 'allow' as const },
      { id: 'ipr_sooner', cidr: '10.2.0.0/16', action: 'allow' as const, expires_at: isoOf(0.5) },
    ],
  }
  t.strictSame((await found(configured(policies, []))).allow_in_deny, ['ipr_sooner'])
})

t.test('a bouncer takes no rule that allows, so none contradicts another there', async (t) => {
  const configuration = configured(
    {
      ipp_1: [{ id: 'ipr_1', cidr: '10.1.0.0/16', action: 'allow' }],
      ipp_2: [{ id: 'ipr_2', cidr: '10.0.0.0/8', action: 'deny' }],
    },
    [],
  )
  configuration.put('bouncer', 'bnc_1', { ip_policy_ids: ['ipp_1', 'ipp_2'] })
  t.strictSame((await found(configuration)).rules_contradict, [])
})

t.test('a finding names the rule that causes it, where both are used, and a draft', async (t) => {
  const configuration = configured(
    {
      ipp_1: [{ id: 'ipr_1', cidr: '10.1.0.0/16', action: 'allow' }],
      ipp_2: [{ id: 'ipr_2', cidr: '10.0.0.0/8', action: 'deny' }],
    },
    [['ipp_1', 'ipp_2'], ['ipp_2', 'ipp_1'], ['ipp_1']],
  )
  const collected = new Collected(links)
  const search = { state: configuration.state, accountId, nowMs, slices: new Slices(), found: collected }
  await ruleFindings(search, (await policyUsers(search)).groups)
  const uri = 'https://weir.example.com/ip_policy_rules'
  t.match(collected.answer('').findings, [
    {
      kind: 'rules_contradict',
      severity: 'attention',
      about: { kind: 'ip_policy_rule', id: 'ipr_1', name: '10.1.0.0/16', uri: `${uri}/ipr_1` },
      sentence: /10\.1\.0\.0\/16 lets no one in at 2 places.*10\.0\.0\.0\/8/,
      evidence: { uses: 2, by: { id: 'ipr_2' }, used_by: { kind: 'tcp_edge', name: /^e[01]\.example:22$/ } },
      draft: { method: 'PATCH', uri: `${uri}/ipr_1`, body: { enforced: false } },
    },
  ])
})
