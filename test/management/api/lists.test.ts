/** Lists: in pages, newest first, each entry once, during any writes. */
import t from 'tap'
import { base, openTestStore } from '../../harness/api.js'
import { all, type Caller, statusOf } from '../../harness/caller.js'

/** `--full` reads lists as long as those of real accounts. */
const longListEntries = process.argv.includes('--full') ? 10_000 : 300

/** All entries of a list, page by page. */
async function walk(me: Caller, path: string, list: string, onPage?: () => Promise<void>): Promise<string[]> {
  const ids: string[] = []
  for (let next: string | null = path; next !== null; ) {
    const page = await me.raw.get(next)
    ids.push(...page[list].map(({ id }: { id: string }) => id))
    next = page.next_page_uri
    await onPage?.()
  }
  return ids
}

t.test('lists', { timeout: 600_000 }, async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()

  t.test('pages', async (t) => {
    const me = await api.account()
    const made: string[] = []
    for (let count = 0; count < 7; count += 1) made.unshift((await me.ipPolicy.create({})).id)
    t.strictSame(await walk(me, '/ip_policies', 'ip_policies'), made, 'newest first')
    t.strictSame(await walk(me, '/ip_policies?limit=3', 'ip_policies'), made)
    const first = await me.raw.get('/ip_policies?limit=3')
    t.equal(first.uri, `${base}/ip_policies`, 'the list itself has no query')
    t.equal(first.next_page_uri, `${base}/ip_policies?limit=3&before_id=${made[2]}`)
    const exact = await me.raw.get('/ip_policies?limit=7')
    t.equal(exact.next_page_uri, null, 'the last page, filled to its end')
    const tail = await me.raw.get(`/ip_policies?before_id=${made[4]}`)
    t.strictSame(
      tail.ip_policies.map(({ id }: { id: string }) => id),
      made.slice(5),
    )
    await me.ipPolicy.delete(made[4]!)
    t.strictSame(await me.raw.get(`/ip_policies?before_id=${made[4]}`), tail, 'the id may be deleted')
    const never = await me.raw.get('/ip_policies?before_id=ipp_00000000000000000000000000')
    t.strictSame(never.ip_policies, [], 'or never have been')
  })

  t.test('a page has 100 entries by default', async (t) => {
    const me = await api.account()
    await Promise.all(Array.from({ length: 101 }, () => me.ipPolicy.create({})))
    const page = await me.raw.get('/ip_policies')
    t.equal(page.ip_policies.length, 100)
    t.match(page.next_page_uri, /\?limit=100&before_id=ipp_/)
    t.equal(new Set(await walk(me, '/ip_policies', 'ip_policies')).size, 101)
  })

  t.test('a page that is read again', async (t) => {
    const [me, other] = [await api.account(), await api.account()]
    const text = async (caller: Caller, path: string) => JSON.stringify(await caller.raw.get(path))
    const namesOf = async (path: string) =>
      (await me.raw.get(path)).ip_policies.map(({ description }: { description: string }) => description)
    const { id } = await me.ipPolicy.create({ description: 'first' })
    await me.ipPolicy.create({ description: 'second' })
    const before = await text(me, '/ip_policies')
    t.equal(await text(me, '/ip_policies'), before, 'is the same')
    t.strictSame((await other.raw.get('/ip_policies')).ip_policies, [], 'another account has its own')
    t.strictSame(await namesOf('/ip_policies?limit=1'), ['second'], 'so has another limit')
    t.strictSame(await namesOf(`/ip_policies?before_id=${id}`), [], 'another place')
    t.strictSame(await namesOf('/ip_policies?description=first'), ['first'], 'and a search')
    await me.ipPolicy.update(id, { description: 'third' })
    t.strictSame(await namesOf('/ip_policies'), ['second', 'third'], 'it shows an update')
    await me.ipPolicy.delete(id)
    t.strictSame(await namesOf('/ip_policies'), ['second'], 'and a deletion')
    await me.ipPolicy.create({ description: 'fourth' })
    t.strictSame(await namesOf('/ip_policies'), ['fourth', 'second'], 'and what is new')
    t.strictSame((await other.raw.get('/ip_policies')).ip_policies, [])
  })

  t.test('a long list, read in small pages during writes', { timeout: 600_000 }, async (t) => {
    const me = await api.account()
    const { id } = await me.ipPolicy.create({})
    const rules = Array.from({ length: longListEntries }, (_, at) => ({
      cidr: `10.${at >> 8}.${at & 255}.0/24`,
      action: 'allow' as const,
    }))
    await me.replaceRules(id, rules)
    const before = await walk(me, '/ip_policy_rules', 'ip_policy_rules')
    const goes = before.filter((_, at) => at % 50 === 25)
    let page = 0
    const seen = await walk(me, '/ip_policy_rules?limit=7', 'ip_policy_rules', async () => {
      page += 1
      if (page % 7 !== 0) return
      const cidr = `192.${page >> 8}.${page & 255}.0/24`
      await me.ipPolicyRule.create({ ip_policy_id: id, cidr, action: 'deny' })
      const gone = goes.pop()
      if (gone !== undefined) await me.ipPolicyRule.delete(gone)
    })
    t.equal(new Set(seen).size, seen.length, 'nothing twice')
    const stays = before.filter((_, at) => at % 50 !== 25)
    const untouched = new Set(stays)
    t.strictSame(
      seen.filter((each) => untouched.has(each)),
      stays,
      'every entry that existed all the time, in order',
    )
  })

  t.test('no entry is repeated or skipped during writes', async (t) => {
    const me = await api.account()
    const stays: string[] = []
    const goes: string[] = []
    for (let count = 0; count < 10; count += 1) {
      stays.unshift((await me.ipPolicy.create({})).id)
      goes.push((await me.ipPolicy.create({})).id)
    }
    const seen = await walk(me, '/ip_policies?limit=2', 'ip_policies', async () => {
      await Promise.all([me.ipPolicy.create({}), me.ipPolicy.delete(goes.pop()!)])
    })
    t.equal(new Set(seen).size, seen.length, 'nothing twice')
    t.strictSame(
      seen.filter((id) => stays.includes(id)),
      stays,
      'every entry that existed all the time, in order',
    )
  })

  t.test('concurrent writers lose nothing', async (t) => {
    const me = await api.account()
    const { id } = await me.eventSubscription.create({})
    const types = ['api_key', 'ip_policy', 'ip_policy_rule', 'ip_restriction', 'event_destination'].flatMap(
      (object) => ['created', 'updated', 'deleted'].map((verb) => `${object}_${verb}.v0`),
    )
    await Promise.all(types.map((type) => me.sources(id).create({ type })))
    const listed = await all(me.sources(id).list())
    t.strictSame(listed.map(({ type }) => type).toSorted(), types.toSorted())
    const { id: policy } = await me.ipPolicy.create({})
    const rule = { ip_policy_id: policy, cidr: '10.0.0.0/8', action: 'allow' } as const
    const racers = await Promise.all(Array.from({ length: 10 }, () => statusOf(me.ipPolicyRule.create(rule))))
    t.equal(racers.filter((status) => status === 'ok').length, 1, 'unique values stay unique')
  })
})
