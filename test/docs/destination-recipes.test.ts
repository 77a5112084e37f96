/** Recipes for destinations: what they give as a target is one, and what can be run here is. */
import t from 'tap'
import { AwsClock } from '../../src/delivery/deliver/aws/aws-clock.js'
import { bodyFormatNames } from '../../src/delivery/deliver/http/body-formats.js'
import { openSender } from '../../src/delivery/deliver/kinds.js'
import { ReachableNetworks } from '../../src/delivery/outgoing/private-networks.js'
import { PackWriter, readPack } from '../../src/delivery/wire/pack.js'
import { compileCheck } from '../../src/ground/core/schema-check.js'
import { checkTarget } from '../../src/words/resource/destination-secrets.js'
import { chosenTarget, type Target } from '../../src/words/resource/destination-target.js'
import { eventDestination } from '../../src/words/resource/event-destination.js'
import { startClickhouseFront } from '../harness/clickhouse-front.js'
import { tempDir } from '../harness/temp-dir.js'
import { blocks, pageOf, pages } from './pages.js'

/** The bodies that create a destination of the kind `http`. */
const targetsIn = (page: { file: string; text: string }): Target[] =>
  blocks(page, 'sh').flatMap((script) =>
    [...script.matchAll(/POST \/event_destinations '(\{[^']*"http"[^']*\})'/g)].map(
      ([, body = '']) => (JSON.parse(body) as { target: Target }).target,
    ),
  )

t.test('each recipe has a target that is accepted', async (t) => {
  const check = compileCheck(eventDestination.fields.target.schema)
  const recipes = pages.filter(({ file }) => /^docs\/(recipes|destinations)\//.test(file))
  const bodies = new Set<string>()
  for (const page of recipes)
    for (const target of targetsIn(page)) {
      t.equal(check(target, 'target'), undefined, page.file)
      t.doesNotThrow(() => checkTarget(chosenTarget(target)), page.file)
      bodies.add(`${target.http?.body ?? 'ndjson'}`)
    }
  t.strictSame([...bodies].toSorted(), bodyFormatNames.filter((name) => name !== 'single').toSorted())
  const [example = ''] = blocks(pageOf('docs/destinations/http.md'), 'json')
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`
  const whole = JSON.parse(example.replace('whsec_…', secret).replaceAll('"…"', '"secret"')) as Target
  t.equal(check(whole, 'target'), undefined)
  t.doesNotThrow(() => checkTarget(chosenTarget(whole)))
})

t.test('ClickHouse inserts what the recipe sends', async (t) => {
  const front = await startClickhouseFront(`${tempDir(t)}/store`)
  t.teardown(() => front.process.stop())
  const server = new URL(front.url)
  const page = pageOf('docs/recipes/clickhouse.md')
  const query = async (sql: string): Promise<string> => {
    const authorization = `Basic ${Buffer.from(`${server.username}:${decodeURIComponent(server.password)}`).toString('base64')}`
    const answer = await fetch(server.origin, { method: 'POST', body: sql, headers: { authorization } })
    return answer.text()
  }
  await query(blocks(page, 'sql')[0]!)
  const [target] = targetsIn(page)
  const { address, options } = chosenTarget(target!)
  const basic = { username: server.username, password: decodeURIComponent(server.password) }
  const sender = openSender(
    {
      id: 'ed_1',
      accountId: 'ac_1',
      kind: 'http',
      address: address.replace('https://clickhouse.example.com:8443', server.origin),
      // The server of the tests does not unpack.
      options: { ...options, gzip: false, auth: { basic } },
    },
    {
      aws: {},
      clock: new AwsClock(),
      requestTimeoutMs: 60_000,
      networks: new ReachableNetworks(['127.0.0.0/8']),
      kinds: { http: { requestBytesMax: 1024 * 1024 } },
    },
  )
  t.teardown(() => sender.close())
  const writer = new PackWriter()
  for (const id of ['ev_1', 'ev_2', 'ev_2'])
    writer.append(
      id,
      0,
      JSON.stringify({
        event_id: id,
        event_type: 'tcp_connection_closed.v0',
        event_timestamp: '2026-11-20T10:00:00.911Z',
        account_id: 'ac_1',
        object: { conn: { server_name: 'ssh.example.com' } },
      }),
    )
  const { signal } = new AbortController()
  t.match(await sender.send(readPack(writer.take()).events, signal), { outcome: 'accepted' })
  const [select = ''] = /SELECT [^`]*FINAL/.exec(page.text) ?? []
  t.equal(await query(select), 'ssh.example.com\nssh.example.com\n')
  t.equal(await query('SELECT min(event_timestamp) FROM traffic_events'), '2026-11-20 10:00:00.911\n')
})
