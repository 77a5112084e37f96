/** `POST /ip_lists/preview`: what a source has, before there is a list of it. */
import t from 'tap'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import { FeedTurns } from '../../../src/management/scheduled/feeds/feed-turn.js'
import { openTestStore } from '../../harness/api.js'
import { all } from '../../harness/caller.js'
import { openWebServer } from '../../harness/web-server.js'

t.test('what a source has', async (t) => {
  const store = await openTestStore(t)
  const { parts } = store
  const turnsIn = (networks: string[]) =>
    new FeedTurns({ ...parts, networks: new ReachableNetworks(networks), directory: undefined })
  const apiWith = (networks: string[]) => {
    const turns = turnsIn(networks)
    const preview: FeedTurns['preview'] = (...given) => turns.preview(...given)
    const feeds = {
      refresh: async () => ({ outcome: 'unchanged' as const }),
      preview: (accountId: string, source: Parameters<FeedTurns['preview']>[1]) =>
        preview(accountId, source, new AbortController().signal),
    }
    return store.api({ context: { ...parts, feeds } })
  }
  const api = await apiWith(['127.0.0.1/32'])
  const me = await api.account()
  const server = await openWebServer(t)
  const answer = (text: string, status = 200): void => {
    server.answer = (_, response) => response.writeHead(status).end(text)
  }
  const url = `${server.url}/list`

  t.test('format, count, the first entries, and what is refused', async (t) => {
    answer(
      `${Array.from({ length: 12 }, (_, index) => `10.0.${index}.0/24 # ${index}`).join('\n')}\nnonsense\n0.0.0.0/0\n`,
    )
    const { first, refused, ...found } = await me.listEntries.preview({ url })
    t.match(found, { format: 'lines', entries: 12, error: null })
    t.equal(first.length, 10)
    t.strictSame(first[1], { cidr: '10.0.1.0/24', comment: '1' })
    t.match(refused, [/^Line 13: "nonsense"/, /^Line 14: .*every address/])
    t.strictSame(await all(me.ipList.list()), [], 'nothing is stored')
  })

  for (const [format, text] of [
    ['csv', 'cidr,comment\n192.0.2.0/24,a\n'],
    ['spamhaus_drop', '{"cidr":"192.0.2.0/24","sblid":"SBL1"}\n{"type":"metadata"}\n'],
    ['json', '[{"cidr": "192.0.2.0/24"}]'],
    [
      'aws',
      '{"syncToken": "1", "prefixes": [{"ip_prefix": "192.0.2.0/24", "region": "a", "service": "S3"}]}',
    ],
    ['gcp', '{"syncToken": "1", "prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]}'],
    [
      'azure',
      '{"changeNumber": 1, "values": [{"name": "a", "properties": {"addressPrefixes": ["192.0.2.0/24"]}}]}',
    ],
    ['cloudflare', '{"result": {"ipv4_cidrs": ["192.0.2.0/24"]}}'],
  ] as const)
    t.test(`the format ${format} is found`, async (t) => {
      answer(text)
      t.match(await me.listEntries.preview({ url }), {
        format,
        entries: 1,
        refused: [],
        error: null,
        first: [{ cidr: '192.0.2.0/24' }],
      })
    })

  t.test('what cannot be fetched is an answer, without what is secret', async (t) => {
    answer('<!doctype html><title>Sign in</title>')
    t.match(await me.listEntries.preview({ url }), {
      entries: 0,
      error: { code: 'invalid', message: /web page/ },
    })
    server.answer = ({ headers }, response) => response.writeHead(403).end(`no ${String(headers['x-key'])}`)
    const { error } = await me.listEntries.preview({ url, secret_headers: { 'X-Key': 'secret-of-the-test' } })
    t.equal(error?.code, 'http_status')
    t.notMatch(error?.message, 'secret-of-the-test')
    t.match(server.requests.at(-1)?.headers, { 'x-key': 'secret-of-the-test' })
    t.match(await me.listEntries.preview({ file: 'office.txt' }), { error: { code: 'files_not_allowed' } })
  })

  t.test('no private network is reached that destinations may not reach', async (t) => {
    const other = await (await apiWith([])).account()
    const before = server.requests.length
    t.match(await other.listEntries.preview({ url }), { error: { code: 'private_network' } })
    t.equal(server.requests.length, before)
  })

  t.test('it needs the right to write, and a source as that of a list', async () => {
    const reader = await me.apiKey.create({ rights: ['read'] })
    const asReader = me.withToken(reader.token)
    await asReader.raw.refused(403, 'POST', '/ip_lists/preview', { source: { url } })
    for (const source of [
      {},
      { url, file: 'a.txt' },
      { url: 'ftp://a.example.com' },
      { url, refresh_seconds: 60 },
    ])
      await me.raw.refused(400, 'POST', '/ip_lists/preview', { source })
    await me.raw.refused(400, 'POST', '/ip_lists/preview', { source: { url }, more: 1 })
  })
})
