/** Lists: their order, their pages, and what finds entries. */
import type { Json } from '../answer.js'
import type { Chapter } from '../clause.js'
import type { Visit } from '../visit.js'

/** Seven policies that no other check changes, the newest first. */
async function sevenPolicies(visit: Visit): Promise<{ ids: string[]; query: string }> {
  const description = visit.name('listed')
  const ids: string[] = []
  for (let at = 0; at < 7; at += 1)
    ids.unshift((await visit.make('/ip_policies', { description, metadata: String(at) })).id)
  return { ids, query: `description=${encodeURIComponent(description)}` }
}

/** Follows `next_page_uri` to the end; `between` runs after each page. */
async function pagesOf(
  visit: Visit,
  first: string,
  between = async (): Promise<void> => {},
): Promise<Json[][]> {
  const pages: Json[][] = []
  for (let path: string | null = first; path !== null && pages.length < 50; ) {
    const answer = (await visit.ask.get(path)).is(200)
    const { ip_policies, next_page_uri } = answer.body
    answer.must(Array.isArray(ip_policies), 'a list ip_policies')
    pages.push(ip_policies)
    if (next_page_uri === null) break
    const { pathname, search }: URL = new URL(
      answer.must(typeof next_page_uri === 'string', 'next_page_uri').body.next_page_uri,
    )
    path = `${pathname}${search}`
    await between()
  }
  return pages
}

const idsOf = (pages: Json[][]): string[] => pages.flat().map(({ id }) => id)

export const lists: Chapter = {
  title: 'Lists',
  clauses: [
    {
      number: 401,
      page: 'api.md#lists',
      says: 'Entries are sorted by id, newest first, over all pages; `limit` is their number in a page.',
      needs: ['writes'],
      check: async (visit) => {
        const { ids, query } = await visit.once(sevenPolicies)
        const pages = await pagesOf(visit, `/ip_policies?limit=3&${query}`)
        const last = visit.ask.last!
        last.same(idsOf(pages), ids, 'the ids of all pages').same(
          pages.map((page) => page.length),
          [3, 3, 1],
          'sizes',
        )
      },
    },
    {
      number: 402,
      page: 'api.md#lists',
      says: '`next_page_uri` is absolute, keeps `limit` and what was asked for, and is null on the last page.',
      needs: ['writes'],
      check: async (visit) => {
        const { ids, query } = await visit.once(sevenPolicies)
        const answer = (await visit.ask.get(`/ip_policies?limit=3&${query}`)).is(200)
        const next = new URL(
          answer.must(URL.canParse(answer.body.next_page_uri), 'an absolute next_page_uri').body
            .next_page_uri,
        )
        answer
          .same(next.searchParams.get('limit'), '3', 'limit')
          .same(next.searchParams.get('before_id'), ids[2], 'before_id')
        answer.must(
          next.searchParams.get('description')?.startsWith(visit.label) === true,
          'description is kept',
        )
        const all = (await visit.ask.get(`/ip_policies?${query}`)).is(200)
        all.same(all.body.next_page_uri, null, 'next_page_uri of the last page')
      },
    },
    {
      number: 403,
      page: 'api.md#lists',
      says: 'No entry comes twice and none is skipped while others write.',
      needs: ['writes'],
      check: async (visit) => {
        const { ids, query } = await visit.once(sevenPolicies)
        const description = decodeURIComponent(query.slice('description='.length))
        const pages = await pagesOf(visit, `/ip_policies?limit=2&${query}`, async () => {
          const { id } = await visit.make('/ip_policies', { description })
          ;(await visit.ask.delete(`/ip_policies/${id}`)).is(204)
        })
        visit.ask.last!.same(idsOf(pages), ids, 'the ids of all pages')
      },
    },
    {
      number: 404,
      page: 'api.md#lists',
      says: 'A page asked for twice is the same.',
      needs: ['writes'],
      check: async (visit) => {
        const { ids, query } = await visit.once(sevenPolicies)
        for (let at = 0; at < 4; at += 1) {
          const answer = (await visit.ask.get(`/ip_policies?limit=5&${query}`)).is(200)
          answer.same(idsOf([answer.body.ip_policies]), ids.slice(0, 5), 'the ids of the page')
        }
      },
    },
    {
      number: 405,
      page: 'api.md#lists',
      says: '`before_id` starts after that id, which need not exist any more; one of another kind is refused.',
      needs: ['writes'],
      check: async (visit) => {
        const { ids, query } = await visit.once(sevenPolicies)
        const gone = await visit.make('/ip_policies')
        ;(await visit.ask.delete(`/ip_policies/${gone.id}`)).is(204)
        const after = (await visit.ask.get(`/ip_policies?before_id=${gone.id}&${query}`)).is(200)
        after.same(idsOf([after.body.ip_policies]), ids, 'the ids')
        const some = (await visit.ask.get(`/ip_policies?before_id=${ids[4]}&${query}`)).is(200)
        some.same(idsOf([some.body.ip_policies]), ids.slice(5), 'the ids')
        ;(await visit.ask.get('/ip_policies?before_id=ed_1')).refused(
          400,
          'ERR_INVALID_REQUEST',
          '"before_id"',
          'ipp_',
        )
      },
    },
    {
      number: 406,
      page: 'api.md#lists',
      says: '`limit` is 1 to 100.',
      check: async ({ ask }) => {
        for (const limit of ['1', '100']) (await ask.get(`/ip_policies?limit=${limit}`)).is(200)
        for (const limit of ['0', '101', '-1', '1.5', 'x'])
          (await ask.get(`/ip_policies?limit=${limit}`)).refused(400, 'ERR_INVALID_REQUEST', '"limit"', limit)
      },
    },
    {
      number: 407,
      page: 'api.md#lists',
      says: '`filter` is an expression over an entry as it is shown; a wrong one is refused with its place.',
      needs: ['writes'],
      check: async (visit) => {
        const { ids, query } = await visit.once(sevenPolicies)
        const filter = encodeURIComponent("metadata == '2' || metadata == '5'")
        const answer = (await visit.ask.get(`/ip_policies?${query}&filter=${filter}`)).is(200)
        answer.same(idsOf([answer.body.ip_policies]), [ids[1], ids[4]], 'the ids')
        const wrong = await visit.ask.get(`/ip_policies?filter=${encodeURIComponent('metadat == 1')}`)
        wrong
          .refused(400, 'ERR_INVALID_EXPRESSION', 'metadat')
          .must('filter.offset' in wrong.body.details, 'filter.offset')
      },
    },
    {
      number: 408,
      page: 'api.md#lists',
      says: '`limit` counts the entries that match.',
      needs: ['writes'],
      check: async (visit) => {
        const { ids, query } = await visit.once(sevenPolicies)
        const filter = encodeURIComponent("metadata == '0' || metadata == '6'")
        const answer = (await visit.ask.get(`/ip_policies?limit=2&${query}&filter=${filter}`)).is(200)
        answer.same(idsOf([answer.body.ip_policies]), [ids[0], ids[6]], 'the ids')
      },
    },
    {
      number: 409,
      page: 'api.md#lists',
      says: 'A list is an object with one list of its kind, its `uri` without a query, and `next_page_uri`.',
      check: async ({ ask }) => {
        for (const [path, name] of Object.entries(namesOfLists)) {
          const answer = (await ask.get(`${path}?limit=1`)).is(200)
          answer.same(Object.keys(answer.body).sort(), [name, 'next_page_uri', 'uri'].sort(), 'the members')
          answer.must(answer.body.uri.endsWith(path), `a uri that ends with ${path}`)
        }
      },
    },
  ],
}

const namesOfLists: Readonly<Record<string, string>> = {
  '/edges/tcp': 'tcp_edges',
  '/edges/https': 'https_edges',
  '/backends/tunnel_group': 'backends',
  '/ip_policies': 'ip_policies',
  '/ip_policy_rules': 'ip_policy_rules',
  '/ip_restrictions': 'ip_restrictions',
  '/ip_lists': 'ip_lists',
  '/event_destinations': 'event_destinations',
  '/event_subscriptions': 'event_subscriptions',
  '/reserved_addrs': 'reserved_addrs',
  '/reserved_domains': 'reserved_domains',
  '/tls_certificates': 'tls_certificates',
  '/certificate_authorities': 'certificate_authorities',
  '/credentials': 'credentials',
  '/ssh_certificate_authorities': 'ssh_certificate_authorities',
  '/ssh_host_certificates': 'ssh_host_certificates',
  '/ssh_user_certificates': 'ssh_user_certificates',
  '/ssh_credentials': 'ssh_credentials',
}
