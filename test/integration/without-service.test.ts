/** After a service was stopped or killed: no process, a store that the commands open themselves, and its address. */
import t, { type Test } from 'tap'
import { feedsBucket } from '../../src/delivery/wire/names.js'
import { jsonOf } from '../../src/ground/core/bytes.js'
import type { FeedState } from '../../src/management/scheduled/feeds/feed-states.js'
import { type Client, openClient } from '../../src/words/client/client.js'
import { isAlive, processesBelow } from '../harness/tree.js'
import { openWebServer } from '../harness/web-server.js'
import { type RunningWeir, startWeir, until } from '../harness/weir.js'
import { openAccount, weirDoes } from './service.js'

const hourMs = 3_600_000

/**
 * Lists between two fetches: one that is fed, one whose server fails since, and one that is due while the service is away.
 */
async function openFeeds(t: Test, { api, nats }: RunningWeir) {
  let isFailing = false
  const server = await openWebServer(t, ({ path }, response) => {
    if (isFailing && path === '/failing') response.writeHead(500).end()
    else response.writeHead(200).end('192.0.2.0/24\n198.51.100.0/24\n')
  })
  const feed = async (name: string) =>
    (await api.ipList.create({ name, source: { url: `${server.url}/${name}`, format: 'lines' } })).id
  const ids = { fed: await feed('fed'), failing: await feed('failing'), due: await feed('due') }
  const shown = async (api: Client, id: string) => {
    const { entries, source_status } = await api.ipList.get(id)
    return { entries, status: source_status! }
  }
  for (const id of Object.values(ids))
    await until('it is fetched', async () => (await shown(api, id)).status.state === 'current')
  isFailing = true
  await api.listEntries.refresh(ids.failing)
  const bucket = await (await nats()).findBucket(feedsBucket)
  /** As a process that fetched writes it. */
  const setNext = async (id: string, next_ms: number): Promise<void> => {
    const { value, revision } = (await bucket!.get(id))!
    await bucket!.replace(id, JSON.stringify({ ...jsonOf<FeedState>(value!), next_ms }), revision)
  }
  await setNext(ids.failing, Date.now() + hourMs)
  await setNext(ids.due, Date.now() + 2_000)
  const asked = (name: string) => server.requests.filter(({ path }) => path === `/${name}`).length
  return { ids, shown, asked }
}

t.test('after the service was stopped, and after it was killed', async (t) => {
  // Nothing comes after this test, and nothing needs to be deleted for it.
  const { weir, dataDir, env } = await openAccount({ teardown: () => {} })
  const { api, accountId } = weir
  const command = (...args: string[]) => weirDoes(dataDir, ...args)
  const policy = await api.ipPolicy.create({ description: 'asked for' })
  const checkAnswer = async (): Promise<void> => {
    const query = `select description from ip_policies where id = '${policy.id}'`
    const answer = { code: 0, text: 'description\nasked for' }
    t.strictSame(await command('sql', query, '--format', 'tsv'), answer)
  }
  t.match(await command('account', 'grant', '--account', accountId, 'abuse_reports'), { code: 0 })
  const report = await api.abuseReport.create({ urls: ['http://a.example'] })
  const edge = await api.tcpEdge.create({ hostports: ['tried.example.com:22'] })
  const trials = () => processesBelow(weir.process.pid).filter(({ role }) => role === 'trial')
  const inbound = [{ name: 'tests', expressions: [], actions: [{ type: 'deny' as const }] }]
  await api.tcpEdge.policies.try(edge.id, { inbound })
  await until('its process runs', () => trials().length === 1)
  const running = trials()
  const feeds = await openFeeds(t, weir)
  const { fed, failing, due } = feeds.ids
  const before = { fed: await feeds.shown(api, fed), failing: await feeds.shown(api, failing) }
  t.match(before.failing, { entries: 2, status: { state: 'failing', error: { code: /./, message: /500/ } } })
  t.strictSame(await weir.stop(), { code: 0, signal: null })
  t.strictSame(running.filter(isAlive), [], 'no trial is left behind')

  await checkAnswer()
  const wrong = await command('sql', 'select nothing from ip_policies')
  t.not(wrong.code, 0)
  t.match(wrong.text, /nothing/)
  t.notMatch(wrong.text, /^ +at /m, 'a sentence, and no stack')
  const changed = await command('abuse', 'decide', report.id, 'a.example', 'UNBANNED')
  t.match(changed, { code: 0, text: `${report.id}  PROCESSED` })
  t.match(await command('abuse', 'list', '--all'), { code: 0, text: 'UNBANNED  a.example' })

  const again = await startWeir(dataDir, env)
  t.teardown(() => again.process.kill())
  t.equal(again.natsUrl, weir.natsUrl, 'the address stays the same after a clean restart')
  const since = openClient({ url: again.url, token: weir.token })
  await until(
    'what was due is fetched',
    async () => feeds.asked('due') === 2 && (await feeds.shown(since, due)).status.state === 'current',
  )
  const after = { fed: await feeds.shown(since, fed), failing: await feeds.shown(since, failing) }
  t.strictSame(after, before, 'the last good entries, their age and the error are those of before')
  t.strictSame(
    ['fed', 'failing', 'due'].map(feeds.asked),
    [1, 2, 2],
    'no server is asked before the time, or twice',
  )
  await again.process.kill()
  await until('its processes have ended', async () => (await command('sql', 'select 1')).code === 0)
  await checkAnswer()
})
