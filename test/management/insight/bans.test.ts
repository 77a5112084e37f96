/**
 * Bans against a plain model: a map of ranges, made of all rules and entries. Programs that apply the differences, each in
 * its own way, always have what the model has, also if answers were lost, or arrived without Weir knowing.
 */
import fc from 'fast-check'
import t from 'tap'
import { lineOf } from '../../../src/ground/core/address/list-entry.js'
import { type BansAt, differenceOf } from '../../../src/management/insight/bans/ban-difference.js'
import { BanParts, listPart, policyPart } from '../../../src/management/insight/bans/ban-part.js'
import { type Ban, type BanSource, Bans } from '../../../src/management/insight/bans/bans.js'

const never = Number.POSITIVE_INFINITY
const secondMs = 1_000

interface Item {
  readonly cidr: string
  /** Seconds. */
  readonly end: number | null
  readonly reason: string | null
}

interface Step {
  readonly seconds: number
  readonly rules: readonly (Item & { readonly action: 'allow' | 'deny'; readonly enforced: boolean })[]
  /** Of a list that a rule names, and when the rule ends. */
  readonly named: readonly Item[]
  readonly ruleEnd: number | null
  /** Of a list of the bouncer itself. */
  readonly own: readonly Item[]
  readonly fate: 'arrives' | 'is lost' | 'arrives unnoticed'
}

const end = fc.option(fc.integer({ min: 1, max: 12 }))
const item = fc.record({
  cidr: fc.integer({ min: 0, max: 5 }).map((n) => `192.0.2.${n}/32`),
  end,
  reason: fc.option(fc.constantFrom('one', 'two')),
})
const step: fc.Arbitrary<Step> = fc.record({
  seconds: fc.integer({ min: 0, max: 3 }),
  rules: fc.array(
    fc
      .tuple(item, fc.constantFrom('allow' as const, 'deny'), fc.boolean())
      .map(([each, action, enforced]) => ({
        ...each,
        action,
        enforced,
      })),
    { maxLength: 4 },
  ),
  named: fc.array(item, { maxLength: 4 }),
  ruleEnd: end,
  own: fc.array(item, { maxLength: 4 }),
  fate: fc.constantFrom('arrives', 'is lost', 'arrives unnoticed'),
})

const msOf = (seconds: number | null): number => (seconds === null ? never : seconds * secondMs)
const textOf = (items: readonly Item[]): string =>
  items
    .map(({ cidr, end, reason }) =>
      lineOf({ cidr, comment: reason, expiresAt: end === null ? null : msOf(end) }),
    )
    .join('\n')

async function bansOf({ rules, named, ruleEnd, own }: Step): Promise<Bans> {
  const rows = rules.map(({ cidr, end, reason, action, enforced }, index) => ({
    id: `ipr_${index}`,
    cidr,
    action,
    enforced,
    description: reason,
    expires_at: end === null ? null : new Date(msOf(end)).toISOString(),
  }))
  const list = (id: string, items: readonly Item[]) => listPart(id, JSON.stringify(items), [textOf(items)])
  const lasting = { endMs: never, hasOwnReasons: true }
  const sources: BanSource[] = [
    {
      origin: 'weir',
      reason: 'weir',
      ...lasting,
      part: await policyPart('policy', JSON.stringify(rows), rows),
    },
    {
      origin: 'weir',
      reason: 'named',
      hasOwnReasons: true,
      endMs: msOf(ruleEnd),
      part: await list('named', named),
    },
    {
      origin: 'lists',
      reason: 'own',
      hasOwnReasons: false,
      endMs: never,
      part: await list('own', own),
    },
  ]
  return new Bans(sources)
}

/** When each banned range ends. */
function model({ rules, named, ruleEnd, own }: Step, atMs: number): ReadonlyMap<string, number> {
  const all = [
    ...rules
      .filter(({ action, enforced }) => action === 'deny' && enforced)
      .map(({ cidr, end }) => ({ cidr, end: msOf(end) })),
    ...named.map(({ cidr, end }) => ({ cidr, end: Math.min(msOf(end), msOf(ruleEnd)) })),
    ...own.map(({ cidr, end }) => ({ cidr, end: msOf(end) })),
  ]
  const found = new Map<string, number>()
  for (const { cidr, end } of all) if (end > atMs) found.set(cidr, Math.max(end, found.get(cidr) ?? 0))
  return found
}

const inOrder = (ends: ReadonlyMap<string, number>) => [...ends].sort()

/** Programs, by how they apply an answer. */
class Programs {
  /** Takes deletions last. */
  readonly #byRange = new Map<string, number>()
  /** Keeps a set for each origin and list, as firewalls do. */
  readonly #sets = new Map<string, Map<string, number>>()

  apply(added: readonly Ban[], deleted: readonly Ban[]): void {
    for (const { cidr, endMs } of added) this.#byRange.set(cidr, endMs)
    for (const { cidr } of deleted) this.#byRange.delete(cidr)
    for (const ban of deleted) this.#setOf(ban).delete(ban.cidr)
    for (const ban of added) this.#setOf(ban).set(ban.cidr, ban.endMs)
  }

  byRange(atMs: number): [string, number][] {
    return inOrder(this.#byRange).filter(([, endMs]) => endMs > atMs)
  }

  inSets(atMs: number): string[] {
    const ranges = [...this.#sets.values()].flatMap((set) =>
      [...set].filter(([, endMs]) => endMs > atMs).map(([cidr]) => cidr),
    )
    return [...new Set(ranges)].sort()
  }

  #setOf({ origin, reason }: Ban): Map<string, number> {
    const name = origin === 'lists' ? `lists:${reason}` : origin
    const set = this.#sets.get(name) ?? new Map<string, number>()
    this.#sets.set(name, set)
    return set
  }
}

const all = () => true
const banned = (bans: Iterable<Ban | undefined>): Ban[] => [...bans].filter((ban) => ban !== undefined)

t.test('whatever happens, programs have what rules and entries ban', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
      const programs = new Programs()
      let before: BansAt[] = [{ bans: new Bans([]), atMs: 0 }]
      let atMs = 0
      for (const each of steps) {
        atMs += each.seconds * secondMs
        const after = { bans: await bansOf(each), atMs }
        const expected = model(each, atMs)
        const whole = banned(after.bans.all(atMs, all))
        t.strictSame(inOrder(new Map(whole.map(({ cidr, endMs }) => [cidr, endMs]))), inOrder(expected))
        t.equal(whole.length, expected.size, 'each range once')
        for (const ban of whole) t.strictSame(after.bans.find(ban.cidr, atMs, all), ban)
        const { added, deleted } = await differenceOf(before, after, all)
        if (each.fate !== 'is lost') programs.apply(banned(added), deleted)
        before = each.fate === 'arrives' ? [after] : [...before, after]
        if (each.fate === 'is lost') continue
        t.strictSame(programs.byRange(atMs), inOrder(expected))
        t.strictSame(programs.inSets(atMs), [...expected.keys()].sort())
      }
    }),
    { seed: 35, numRuns: 150 },
  )
})

t.test('what is not wanted is not there, whatever bans longer', async (t) => {
  const one = { cidr: '192.0.2.1/32', end: null, reason: 'scans', action: 'deny' as const, enforced: true }
  const own = [{ cidr: one.cidr, end: 9, reason: null }]
  const bans = await bansOf({ seconds: 0, rules: [one], named: [], ruleEnd: null, own, fate: 'arrives' })
  const ofLists = ({ origin }: Ban) => origin === 'lists'
  const expected = { cidr: one.cidr, origin: 'lists', reason: 'own', endMs: msOf(9) }
  t.strictSame(bans.find(one.cidr, 0, ofLists), expected)
  t.strictSame(banned(bans.all(0, ofLists)), [expected])
  t.match(banned(bans.all(0, all)), [{ origin: 'weir', reason: 'scans' }])
})

/** Lists of the bouncer itself, each with ranges of its own and some that all have. */
const listsOf = (count: number, ranges: number, shared: number, name = 'list') =>
  Promise.all(
    Array.from({ length: count }, async (_, list): Promise<BanSource> => {
      const text = Array.from({ length: ranges }, (_, n) => {
        const number = n < shared ? n : (list + 1) * ranges + n
        return `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}/32`
      }).join('\n')
      const id = `${name}_${list}`
      const part = await listPart(id, id, [text])
      return { part, origin: 'lists', reason: id, hasOwnReasons: false, endMs: never }
    }),
  )

t.test('work grows with the ranges, not with the lists that have the same', async (t) => {
  const [lists, ranges, shared] = [40, 50, 30]
  const bans = new Bans(await listsOf(lists, ranges, shared))
  const yielded = [...bans.all(0, all)]
  t.equal(banned(yielded).length, shared + lists * (ranges - shared))
  t.ok(yielded.length <= 2 * lists * ranges, `${yielded.length} steps`)
  t.strictSame(bans.sourcesOf('10.0.0.1/32').length, lists)
  t.match(
    bans.find('10.0.0.1/32', 0, all),
    { reason: 'list_0' },
    'the first of those that end at the same time',
  )
  t.match(
    bans.find('10.0.0.1/32', 0, ({ reason }) => reason === 'list_7'),
    { reason: 'list_7' },
  )
})

t.test('more deletions than a bouncer can have bans go to the sets that had the range', async (t) => {
  const [gone, kept] = [await listsOf(2, 5_000, 3, 'gone'), await listsOf(40, 2, 2, 'kept')]
  const before = { bans: new Bans([...gone, ...kept]), atMs: 0 }
  const { deleted } = await differenceOf([before], { bans: new Bans(kept), atMs: 1 }, all)
  const setsOf = (cidr: string) => deleted.filter((ban) => ban.cidr === cidr).map(({ reason }) => reason)
  t.strictSame(setsOf('10.0.0.1/32'), [], 'others ban it')
  t.strictSame(setsOf('10.0.0.2/32'), ['gone_0', 'gone_1'])
  t.equal(deleted.length, 2 * 5_000 - 2 * 2)
  const single = { bans: new Bans([...gone.slice(1), ...kept]), atMs: 0 }
  const few = await differenceOf([single], { bans: new Bans(kept.slice(1)), atMs: 1 }, all)
  t.equal(few.deleted.length, 41 * (5_000 - 2), 'of fewer, each to all sets')
})

t.test('parts in memory are bounded by their bans, and built once at a time', async (t) => {
  const parts = new BanParts(4)
  let built = 0
  const get = (key: string, ranges: number) =>
    parts.getOrBuild(key, () => {
      built += 1
      const lines = Array.from({ length: ranges }, (_, n) => `192.0.2.${n}/32`)
      return listPart(key, key, [lines.join('\n')])
    })
  await Promise.all([get('a', 2), get('a', 2)])
  await get('b', 2)
  t.equal(built, 2)
  await get('a', 2)
  await get('c', 1)
  t.strictSame(
    ['a', 'b', 'c'].map((key) => parts.get(key)?.banned.size),
    [2, undefined, 1],
    'b was used longest ago',
  )
  await get('d', 9)
  t.equal(parts.get('d')?.banned.size, 9, 'one part is kept, however large: a bouncer needs it')
})
