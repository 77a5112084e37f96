/** IP lists, compiled: entries that expire, and lists whose parts are missing for a while. */
import t from 'tap'
import { type CidrSet, compileCidrSet } from '../../../src/ground/core/address/cidr-set.js'
import { parseAddress } from '../../../src/ground/core/address/ip.js'
import { lineOf } from '../../../src/ground/core/address/list-entry.js'
import { Slices } from '../../../src/ground/core/slices.js'
import { type IpList, IpLists, type ListContent } from '../../../src/judging/evaluate/ip-list.js'
import { decideAddress } from '../../../src/judging/evaluate/ip-policy.js'
import { buildListUnions } from '../../../src/judging/evaluate/list-unions.js'
import { buildPolicySet, type PolicySet, withoutExpired } from '../../../src/judging/evaluate/policy-set.js'
import type { ListRule } from '../../../src/judging/evaluate/policy-source.js'
import { noYield, TestConfiguration } from './configuration.js'

const startMs = Date.parse('2026-11-20T10:00:00Z')
const after = (seconds: number): number => startMs + 1000 * seconds

/** An entry that expires after so many seconds. */
const ending = (cidr: string, seconds: number, comment: string | null = null): string =>
  lineOf({ cidr, comment, expiresAt: after(seconds) })

const build = (configuration: TestConfiguration, seconds: number, previous?: PolicySet) =>
  buildPolicySet(configuration, previous, noYield, after(seconds))

const contentOf = (policySet: PolicySet): ListContent => policySet.ipList('ipl_1')!

const lasting = lineOf({ cidr: '203.0.113.0/24', comment: 'a network', expiresAt: null })

t.test('an entry counts until its time, and its expiry builds nothing but entries that expire', async (t) => {
  const configuration = new TestConfiguration('ac_1')
    .ipPolicy('ipp_1', '0.0.0.0/0', '!ipl_1')
    .ipPolicy('ipp_2', '10.0.0.0/8')
    .ipList(
      'ipl_1',
      { name: 'bad' },
      ending('198.51.100.7/32', 10, 'for a while'),
      lasting,
      ending('198.51.100.8/32', 20),
      '192.0.2.0/24',
    )
  let reads = 0
  const given = configuration.listText.bind(configuration)
  configuration.listText = (id) => () => {
    reads += 1
    return given(id)!()
  }
  const before = await build(configuration, 0)
  t.equal(reads, 1)
  const decide = (policySet: PolicySet, ip: string) => decideAddress(policySet, ['ipp_1'], parseAddress(ip))
  t.equal(decide(before, '198.51.100.7'), 'block')
  t.equal(before.contents.expiresMs, after(10))

  const next = await withoutExpired(before, noYield, after(10))
  t.equal(decide(next, '198.51.100.7'), 'allow')
  t.equal(decide(next, '198.51.100.8'), 'block', 'a later one counts still')
  t.equal(decide(next, '203.0.113.9'), 'block', 'one that never expires, too')
  t.equal(next.contents.expiresMs, after(20))
  t.equal(next.ipPolicy('ipp_1'), before.ipPolicy('ipp_1'))
  t.equal(next.contents.tcpById, before.contents.tcpById)
  t.equal(decide(before, '198.51.100.7'), 'block', 'a set that is in use does not change')

  const last = await build(configuration, 20, next)
  t.equal(decide(last, '198.51.100.8'), 'allow')
  t.equal(last.contents.expiresMs, Number.POSITIVE_INFINITY)
  t.equal(reads, 1, 'no part was read again')
  t.equal(
    await withoutExpired(last, noYield, after(99)).then(({ contents }) => contents.ipLists),
    last.contents.ipLists,
  )
})

t.test('a rule that expires leaves its policy, and the others as they are', async (t) => {
  const configuration = new TestConfiguration('ac_1').ipPolicy('ipp_1').ipPolicy('ipp_2', '10.0.0.0/8')
  const given = configuration.rules.bind(configuration)
  const guest = {
    id: 'ipr_1',
    cidr: '10.0.0.0/8',
    action: 'allow',
    expires_at: '2026-11-20T10:00:05Z',
  } as const
  configuration.rules = (id) => (id === 'ipp_1' ? { version: 7, rules: [guest] } : given(id))
  const before = await build(configuration, 0)
  const next = await withoutExpired(before, noYield, after(5))
  t.strictSame(next.ipPolicy('ipp_1')?.rules, [])
  t.equal(next.ipPolicy('ipp_2'), before.ipPolicy('ipp_2'))
  const rebuilt = await build(configuration, 6, next)
  t.equal(rebuilt.ipPolicy('ipp_1'), next.ipPolicy('ipp_1'), 'a later build takes it over')
})

t.test('an explanation finds the entry of the widest range', async (t) => {
  const configuration = new TestConfiguration('ac_1').ipList(
    'ipl_1',
    { name: 'bad' },
    ending('10.0.0.0/8', 10, 'wide'),
    ending('10.2.0.0/16', 20, 'inner'),
    lineOf({ cidr: '10.1.0.0/16', comment: 'narrow', expiresAt: null }),
    lasting,
    ending('203.0.113.9/32', 20, 'a host in it'),
    ending('2001:db8::/32', 20, 'six'),
  )
  const before = await build(configuration, 0)
  const next = await withoutExpired(before, noYield, after(10))
  const cases: readonly [ip: string, then: string | undefined, later: string | undefined][] = [
    ['10.1.2.3', 'wide', 'narrow'],
    ['10.2.2.3', 'wide', 'inner'],
    ['10.3.2.3', 'wide', undefined],
    ['203.0.113.9', 'a network', 'a network'],
    ['2001:db8::9', 'six', 'six'],
    ['192.0.2.1', undefined, undefined],
  ]
  for (const [ip, then, later] of cases) {
    const address = parseAddress(ip)
    for (const [policySet, want] of [
      [before, then],
      [next, later],
    ] as const) {
      const entry = contentOf(policySet).entryOf(address)
      t.equal(entry?.comment, want, ip)
      t.equal(contentOf(policySet).rangeOf(address), entry?.cidr, ip)
      t.equal(contentOf(policySet).has(address), want !== undefined, ip)
    }
  }
})

t.test('a list that was built without its parts is built again when they are there', async (t) => {
  const configuration = new TestConfiguration('ac_1').ipList('ipl_1', { name: 'bad' }, lasting)
  const given = configuration.listText.bind(configuration)
  configuration.listText = () => undefined
  const address = parseAddress('203.0.113.9')
  const repaired = await build(configuration, 0)
  t.notOk(contentOf(repaired).has(address))
  configuration.listText = given
  const complete = await build(configuration, 1, repaired)
  t.ok(contentOf(complete).has(address))
  configuration.listText = () => undefined
  t.ok(contentOf(await build(configuration, 2, complete)).has(address), 'the last content is kept')
})

t.test('lists of a policy are one set, which is kept until one of them changes', async (t) => {
  const configuration = new TestConfiguration('ac_1')
    .ipPolicy('ipp_1', '0.0.0.0/0', '::/0', '!ipl_1', '!ipl_2', '~!ipl_3')
    .ipPolicy('ipp_2', '0.0.0.0/0', '!ipl_2', '!ipl_1')
    .ipPolicy('ipp_3', 'ipl_2', 'ipl_3', 'ipl_4')
    .ipList('ipl_1', { name: 'a' }, '203.0.113.0/24', '2001:db8::/64', ending('198.51.100.7/32', 10))
    .ipList('ipl_2', { name: 'b' }, '203.0.112.0/23', '2001:db8::7/128', ending('192.0.2.0/24', 20))
    .ipList('ipl_3', { name: 'c' }, '10.0.0.0/8')
  const before = await build(configuration, 0)
  const decide = (policySet: PolicySet, id: string, ip: string) =>
    decideAddress(policySet, [id], parseAddress(ip))
  const check = (policySet: PolicySet, blocked: readonly string[], allowed: readonly string[]) => {
    for (const id of ['ipp_1', 'ipp_2']) {
      for (const ip of blocked) t.equal(decide(policySet, id, ip), 'block', `${id} ${ip}`)
      for (const ip of allowed) t.equal(decide(policySet, id, ip), 'allow', `${id} ${ip}`)
    }
  }
  const lasting = ['203.0.113.9', '203.0.112.9', '203.0.112.0', '203.0.113.255']
  check(before, [...lasting, '198.51.100.7', '192.0.2.9'], ['10.1.2.3', '203.0.114.0', '198.51.100.8'])
  t.equal(decide(before, 'ipp_1', '2001:db8::8'), 'block')
  t.equal(decide(before, 'ipp_1', '2001:db8:0:1::8'), 'allow')
  t.strictSame(
    ['10.1.2.3', '192.0.2.9', '198.51.100.7'].map((ip) => decide(before, 'ipp_3', ip)),
    ['allow', 'allow', 'block'],
  )
  const policyOf = (policySet: PolicySet, id = 'ipp_1') => policySet.ipPolicy(id)!
  const unionOf = (policySet: PolicySet, id?: string) =>
    policySet.listUnion(policyOf(policySet, id).denyLists)!
  t.equal(unionOf(before, 'ipp_2'), unionOf(before), 'policies with the same lists share it')
  const inShadow = before.listUnion(policyOf(before).shadow!.denyLists)!
  t.equal(inShadow.sets[0]?.union.has(parseAddress('10.1.2.3')), true)

  const next = await withoutExpired(before, noYield, after(10))
  check(next, [...lasting, '192.0.2.9'], ['198.51.100.7'])
  t.equal(unionOf(next).sets[0], unionOf(before).sets[0], 'an expiry builds the other set alone')
  const last = await withoutExpired(next, noYield, after(20))
  check(last, lasting, ['198.51.100.7', '192.0.2.9'])
  t.equal(unionOf(last).sets.length, 1)

  configuration.ipList('ipl_2', { name: 'b' }, '10.0.0.0/8')
  const changed = await build(configuration, 21, last)
  check(changed, ['203.0.113.9', '10.1.2.3'], ['203.0.112.9'])
})

t.test('lists with more ranges than the sets of an account may have are asked one by one', async (t) => {
  const listOf = (id: string, accountId: string, set: Partial<CidrSet>) =>
    ({ id, accountId, name: id, categories: [], content: { sets: [set] } }) as unknown as IpList
  const large = { rangeCount: 2_500_001 }
  const small = compileCidrSet(['203.0.113.0/24'])
  const lists = new IpLists([
    listOf('ipl_1', 'ac_1', large),
    listOf('ipl_2', 'ac_1', large),
    listOf('ipl_3', 'ac_1', small),
    listOf('ipl_4', 'ac_1', small),
  ])
  const policyOn = (...ids: string[]) => ({
    allowLists: [],
    denyLists: ids.map((list_id) => ({ list_id })) as unknown as readonly ListRule[],
    shadow: undefined,
  })
  const [beyond, within] = [policyOn('ipl_1', 'ipl_2'), policyOn('ipl_3', 'ipl_4')]
  const unions = await buildListUnions([beyond, within], lists, undefined, new Slices())
  t.equal(unions.of(beyond.denyLists), undefined)
  t.equal(unions.of(within.denyLists)?.sets[0]?.union.rangeCount, 1)
})
