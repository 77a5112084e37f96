/** Rules without effect: exactly those, among many and in any order. */
import fc from 'fast-check'
import t from 'tap'
import { yieldTurn } from '../../../src/ground/core/clock.js'
import { Slices } from '../../../src/ground/core/slices.js'
import { AccountPolicies } from '../../../src/management/access/account-policies.js'
import { Collected } from '../../../src/management/insight/findings/collected.js'
import { policyUsers } from '../../../src/management/insight/findings/policy-users.js'
import { ruleFindings } from '../../../src/management/insight/findings/rule-findings.js'
import { accountId, Configuration, type GivenRule, isoOf, links, nowMs } from './findings.js'

const kinds = ['allow_in_deny', 'rule_covered', 'rules_contradict'] as const
type Found = Readonly<Record<(typeof kinds)[number], readonly string[]>>

async function answerAbout({ state }: Configuration) {
  const slices = new Slices({ letOthers: yieldTurn })
  const collected = new Collected(links, Number.POSITIVE_INFINITY)
  const search = { state, accountId, nowMs, time: 'stored', slices, found: collected } as const
  const lists = await new AccountPolicies().of(state, accountId)
  await ruleFindings(search, (await policyUsers(search)).groups, lists)
  return collected.answer('')
}

async function found(configuration: Configuration): Promise<Found> {
  const { findings, kinds: all } = await answerAbout(configuration)
  const idsOf = (kind: string) =>
    findings
      .filter((each) => each.kind === kind)
      .map(({ about }) => about.id)
      .sort()
  if (all.some(({ unknown }) => unknown !== null)) throw new Error('Not all rules were compared.')
  return { allow_in_deny: idsOf(kinds[0]), rule_covered: idsOf(kinds[1]), rules_contradict: idsOf(kinds[2]) }
}

/** Ranges of lists, by the ids of these. */
type Lists = Readonly<Record<string, readonly Listed[]>>

interface Listed {
  readonly cidr: string
  readonly expires: boolean
}

/** Everything that `rule` is about is in `other`, and stays there. */
function contains(other: GivenRule, rule: GivenRule, lists: Lists): boolean {
  if (rule.list_id !== undefined && other.list_id !== undefined) return rule.list_id === other.list_id
  const isIn = (inner: string, outer: string) => bitsOf(inner).startsWith(bitsOf(outer))
  if (other.list_id !== undefined)
    return lists[other.list_id]!.some(({ cidr, expires }) => !expires && isIn(rule.cidr!, cidr))
  if (rule.list_id === undefined) return isIn(rule.cidr!, other.cidr!)
  const entries = lists[rule.list_id]!
  return entries.length > 0 && entries.every(({ cidr }) => isIn(cidr, other.cidr!))
}

const endOf = ({ expires_at }: GivenRule) => Date.parse(expires_at ?? '9999-01-01T00:00:00Z')

/** The same, by comparing each rule with each other one, bit by bit. */
function slowlyFound(
  policies: Readonly<Record<string, readonly GivenRule[]>>,
  groups: readonly string[][],
  lists: Lists,
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
    contains(other, rule, lists) &&
    endOf(other) >= endOf(rule) &&
    // Of two with the same effect, one stays.
    (other.action !== rule.action ||
      endOf(other) > endOf(rule) ||
      !contains(rule, other, lists) ||
      other.id < rule.id)
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
  lists: Lists = {},
): Configuration {
  const configuration = new Configuration()
  for (const [id, entries] of Object.entries(lists))
    configuration.list(
      id,
      entries.map(({ cidr, expires }) => (expires ? `${cidr}\t${Date.parse('2099-01-01')}` : cidr)),
    )
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

const range = { bits: fc.nat(63), prefix: fc.nat(8), isSix: fc.boolean() }

const givenRule = fc.record({
  ...range,
  list: fc.constantFrom(undefined, undefined, 'ipl_0', 'ipl_1', 'ipl_2'),
  action: fc.constantFrom('allow' as const, 'deny' as const),
  expires: fc.constantFrom(undefined, undefined, -1, 1, 2, 3),
  enforced: fc.constantFrom(true, true, true, false),
})

t.test('as comparing each rule with each other one says', async (t) => {
  const given = fc.tuple(
    fc.array(fc.array(givenRule, { maxLength: 12 }), { minLength: 1, maxLength: 4 }),
    fc.array(fc.uniqueArray(fc.nat(3), { minLength: 1, maxLength: 4 }), { maxLength: 4 }),
    fc.array(fc.array(fc.record({ ...range, expires: fc.nat(3) }), { maxLength: 3 }), {
      minLength: 3,
      maxLength: 3,
    }),
  )
  let ofLists = 0
  let findings = 0
  await fc.assert(
    fc.asyncProperty(given, async ([given, chosen, entries]) => {
      const lists: Lists = Object.fromEntries(
        entries.map((list, index) => [
          `ipl_${index}`,
          list.map(({ bits, prefix, isSix, expires }) => ({
            cidr: rangeOf(bits, prefix, isSix),
            expires: expires === 0,
          })),
        ]),
      )
      const policies = Object.fromEntries(
        given.map((list, policy) => {
          const byRange = new Map<string, GivenRule>()
          for (const [
            index,
            { bits, prefix, isSix, action, expires, enforced, list: list_id },
          ] of list.entries()) {
            const cidr = rangeOf(bits, prefix, isSix)
            const expires_at = expires === undefined ? null : isoOf(expires)
            const about = list_id === undefined ? { cidr } : { cidr: null, list_id }
            // A range or a list may appear in a policy only once.
            byRange.set(list_id ?? cidr, {
              id: `ipr_${policy}_${index}`,
              ...about,
              action,
              expires_at,
              enforced,
            })
          }
          return [`ipp_${policy}`, [...byRange.values()]]
        }),
      )
      const groups = chosen.map((group) =>
        group.map((index) => `ipp_${index}`).filter((id) => id in policies),
      )
      const want = slowlyFound(policies, groups, lists)
      findings += Object.values(want).flat().length
      const rules = Object.values(policies).flat()
      for (const id of Object.values(want).flat())
        if (rules.find((rule) => rule.id === id)?.list_id !== undefined) ofLists += 1
      t.strictSame(await found(configured(policies, groups, lists)), want)
    }),
    { numRuns: 300 },
  )
  t.ok(findings > 150, `${findings} findings`)
  t.ok(ofLists > 30, `${ofLists} of rules about lists`)
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
  const add = (policy: string, cidr: string | null, action: 'allow' | 'deny', more: object = {}): string => {
    made += 1
    const id = `ipr_${made}`
    policies[policy]!.push({ id, cidr, action, ...more })
    return id
  }
  const lists: Record<string, Listed[]> = {}
  const listOf = (cidrs: readonly string[], expires = false): string => {
    const id = `ipl_${Object.keys(lists).length}`
    lists[id] = cidrs.map((cidr) => ({ cidr, expires }))
    return id
  }
  const addListed = (policy: string, cidrs: readonly string[], action: 'allow' | 'deny', more: object = {}) =>
    add(policy, null, action, { list_id: listOf(cidrs), ...more })
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
    // Rules that only look like a fault.
    if (index % 101 === 0 && ['ipp_c', 'ipp_d'].includes(policy))
      add(policy === 'ipp_c' ? 'ipp_d' : 'ipp_c', inside(13), 'allow')
    if (index % 103 === 0) add(policy, inside(15), action, { enforced: false })
    if (index % 107 === 0 && action === 'allow') add(policy, inside(17), 'deny')
    if (index % 109 === 0) add(policy, inside(19), action, { expires_at: isoOf(-1) })
    // Lists all of whose entries lie within one range, and some of which only do so nearly.
    const next = places[index + 4]?.inside ?? inside
    if (index % 487 === 0) planted.rule_covered.push(addListed(policy, [inside(21), inside(23)], action))
    if (index % 491 === 0 && action === 'deny')
      planted.allow_in_deny.push(addListed(policy, [inside(25), inside(27)], 'allow'))
    if (index % 499 === 0) addListed(policy, [inside(29), next(29), '198.51.100.1/32'], action)
    if (index % 503 === 0) addListed(policy, [inside(31)], action, { enforced: false })
    if (index % 509 === 0) addListed(policy, [], action)
  }
  // Ranges within lists, of which no other rule knows.
  for (const [index, policy] of [...names, ...names, ...names].entries()) {
    const within = `172.16.${index}`
    addListed(policy, [`${within}.0/25`, '2001:db8:ffff::/48'], 'deny')
    planted.rule_covered.push(add(policy, `${within}.7/32`, 'deny'))
    planted.allow_in_deny.push(add(policy, `${within}.8/31`, 'allow'))
    add(policy, `${within}.128/32`, 'allow')
    add(policy, `${within}.0/24`, 'deny', { enforced: false })
    // An entry that expires may be gone before the rule.
    add(policy, null, 'deny', { list_id: listOf([`172.17.${index}.0/24`], true) })
    add(policy, `172.17.${index}.1/32`, 'allow')
    // The same list, and a range in a list of another policy. a and b are used together, and c and d are not.
    const list_id = listOf([`172.18.${index}.0/24`, `172.19.${index}.0/24`])
    const other = { ipp_a: 'ipp_b', ipp_b: 'ipp_a', ipp_c: 'ipp_d', ipp_d: 'ipp_c' }[policy]!
    add(policy, null, 'deny', { list_id })
    addListed(policy, [`172.20.${index}.0/24`, `172.21.${index}.0/24`], 'deny')
    const contradicted = [add(other, null, 'allow', { list_id }), add(other, `172.21.${index}.9/32`, 'allow')]
    if (other === 'ipp_a' || other === 'ipp_b') planted.rules_contradict.push(...contradicted)
  }
  t.ok(made >= 10_000, `${made} rules`)
  for (const kind of kinds) t.ok(planted[kind].length > 10, `${planted[kind].length} of ${kind}`)
  const configuration = configured(policies, [['ipp_a', 'ipp_b'], ['ipp_c'], ['ipp_d']], lists)
  t.strictSame(await found(configuration), {
    allow_in_deny: planted.allow_in_deny.sort(),
    rule_covered: planted.rule_covered.sort(),
    rules_contradict: planted.rules_contradict.sort(),
  })
})

t.test('of a range and a list with the same addresses, the one that was made later can go', async (t) => {
  const listed = { id: 'ipr_1', cidr: null, list_id: 'ipl_1', action: 'deny', created_at: nowMs - 1 } as const
  const ranged = { id: 'ipr_2', cidr: '10.0.0.0/8', action: 'deny', created_at: nowMs } as const
  const lists = { ipl_1: [{ cidr: '10.0.0.0/8', expires: false }] }
  const coveredIn = async (...rules: GivenRule[]) =>
    (await found(configured({ ipp_1: rules }, [], lists))).rule_covered
  t.strictSame(await coveredIn(listed, ranged), ['ipr_2'])
  t.strictSame(await coveredIn({ ...listed, created_at: nowMs + 1 }, ranged), ['ipr_1'])
  t.strictSame(await coveredIn({ ...listed, expires_at: isoOf(1) }, ranged), ['ipr_1'], 'it ends sooner')
})

t.test('what a finding says of a rule about a list', async (t) => {
  const lists = { ipl_office: [{ cidr: '10.1.2.0/24', expires: false }] }
  const listed = { cidr: null, list_id: 'ipl_office' }
  const sentencesOf = async (...policies: GivenRule[][]) => {
    const ids = policies.map((_, index) => `ipp_${index}`)
    const named = Object.fromEntries(policies.map((rules, index) => [ids[index]!, rules]))
    return (await answerAbout(configured(named, [ids], lists))).findings.map(
      ({ kind, sentence, about, evidence }) => [kind, sentence, about.name, evidence.by?.name],
    )
  }
  const deny = { id: 'ipr_1', action: 'deny' } as const
  const allow = { id: 'ipr_2', action: 'allow' } as const
  t.strictSame(
    await sentencesOf([
      { ...deny, cidr: '10.0.0.0/8' },
      { ...allow, ...listed },
    ]),
    [
      [
        'allow_in_deny',
        'The rule that allows the list office lets no one in: 10.0.0.0/8, which contains all its entries, is denied by the same IP policy.',
        'office',
        '10.0.0.0/8',
      ],
    ],
  )
  t.strictSame(
    await sentencesOf([
      { ...deny, ...listed },
      { ...deny, id: 'ipr_3', cidr: '10.1.2.3/32' },
    ]),
    [
      [
        'rule_covered',
        'The rule for 10.1.2.3/32 changes nothing: the list office, which contains it, is denied by the same IP policy.',
        '10.1.2.3/32',
        'office',
      ],
    ],
  )
  t.strictSame(await sentencesOf([{ ...deny, ...listed }], [{ ...allow, ...listed }]), [
    [
      'rules_contradict',
      'The rule that allows the list office lets no one in at one place: there, its IP policy is used together with another one that denies the same list.',
      'office',
      'office',
    ],
  ])
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
  const uri = 'https://weir.example.com/ip_policy_rules'
  t.match((await answerAbout(configuration)).findings, [
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
