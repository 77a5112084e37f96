/** Targets that are not stored: a test event, the steps at the other side, and the words of forms. */
import t from 'tap'
import { Books } from '../../../src/delivery/books/books.js'
import type { BooksKeeper } from '../../../src/delivery/books/keeper.js'
import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import { destinationKinds } from '../../../src/delivery/deliver/kinds.js'
import { destinationAccess } from '../../../src/delivery/deliver/test-event.js'
import { bucketNames } from '../../../src/delivery/wire/names.js'
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import { BacklogHistory } from '../../../src/management/operate/backlog-history.js'
import { destinationOperations } from '../../../src/management/operate/destination-operations.js'
import { loadSettings } from '../../../src/management/process/settings.js'
import { SecretsView } from '../../../src/words/view/secrets-view.js'
import { openTestStore, type TestApi, type TestStore } from '../../harness/api.js'
import { all, refused } from '../../harness/caller.js'
import { openWebServer } from '../../harness/web-server.js'

/** The API; destinations may lead to these networks. */
async function apiWith(store: TestStore, networks: string): Promise<TestApi> {
  const { nats, sealer } = store.parts
  const { settings } = loadSettings({ environment: { WEIR_HTTP_PRIVATE_NETWORKS: networks } })
  const secrets = store.release.own(
    new SecretsView(await nats.openBucket(bucketNames.secrets, 64 * 1024 * 1024)),
  )
  await secrets.open()
  return store.api({
    destinations: destinationOperations({
      partitions: onePartition,
      retentionMs: 72 * 60 * 60_000,
      nats,
      books: { books: new Books() } as BooksKeeper,
      secrets,
      sealer,
      access: destinationAccess(settings, { clock: new AwsClock() }),
      behind: { of: async () => null },
      unfound: { has: () => false },
      backlogs: store.release.own(new BacklogHistory(() => new Map())),
    }),
  })
}

t.test('targets that are not stored', async (t) => {
  const store = await openTestStore(t)
  const api = await apiWith(store, '127.0.0.0/8')
  const me = await api.account()
  const httpTo = (url: string, options: object = {}) => ({ target: { http: { url, ...options } } })

  t.test('a test event arrives as an event would, and nothing is stored', async (t) => {
    const server = await openWebServer(t, (_, response) =>
      response.writeHead(202, { 'x-request-id': 'r-1' }).end(),
    )
    const auth = { bearer: { token: 'the-secret' } }
    const tested = await me.targets.test(httpTo(`${server.url}/in`, { auth, body: 'array' }))
    t.match(tested, { result: 'accepted', request_id: 'r-1', error: null, advice: null })
    const [request] = server.requests
    t.equal(request?.path, '/in')
    t.equal(request?.headers.authorization, 'Bearer the-secret')
    t.strictSame(JSON.parse(request?.body ?? ''), [tested.event])
    t.match(tested.event, { event_type: 'test.v0', account_id: me.accountId })
    t.notMatch(JSON.stringify(tested), /the-secret/)
    t.strictSame(await all(me.eventDestination.list()), [])
  })

  t.test('a refusal is an answer, with its reason, what to do, and no secret', async (t) => {
    const server = await openWebServer(t, ({ headers }, response) =>
      response.writeHead(401).end(`wrong: ${headers.authorization}`),
    )
    const tested = await me.targets.test(httpTo(server.url, { auth: { bearer: { token: 'the-secret' } } }))
    t.match(tested, { result: 'refused', error: { msg: /401/ }, advice: /refuses the credentials/ })
    t.notMatch(JSON.stringify(tested), /the-secret/, 'although the server repeats it')
    const gone = await me.targets.test(httpTo('http://127.0.0.1:9'))
    t.match(gone, { result: 'refused', error: { code: String } })
  })

  t.test('it leads only where a stored destination may', async (t) => {
    const server = await openWebServer(t)
    const guarded = await apiWith(store, '10.0.0.0/8')
    const guardedMe = await guarded.account()
    const tested = await guardedMe.targets.test(httpTo(server.url))
    t.match(tested, { result: 'refused', error: { code: 'PrivateNetwork' } })
    t.strictSame(server.requests, [])
    const file = await me.targets.test({ target: { file: { name: 'events.ndjson' } } })
    t.match(file, { result: 'refused', error: { code: 'FilesNotAllowed' } })
  })

  t.test('what could not be created is not tested', async (t) => {
    const wrong = [
      [httpTo('ftp://logs.example.com'), /target\.http\.url/],
      [httpTo('http://127.0.0.1:9', { auth: { bearer: {} } }), /auth\.bearer\.token/],
      [httpTo('http://127.0.0.1:9', { auth: {} }), /exactly one of bearer and basic/],
      [{ target: {} }, /names no target/],
      [{ ...httpTo('http://127.0.0.1:9'), paused: true }, /paused/],
    ] as const
    for (const [body, msg] of wrong)
      t.match(await me.raw.refused(400, 'POST', '/event_destinations/send_test_event', body), msg)
    const reader = me.withToken((await me.apiKey.create({ rights: ['read'] })).token)
    await refused(403, reader.targets.test(httpTo('http://127.0.0.1:9')))
  })

  t.test('the steps at the other side have what is filled in', async (t) => {
    const stream_arn = 'arn:aws:kinesis:eu-central-1:210987654321:stream/traffic'
    const { steps } = await me.targets.setup({ target: { kinesis: { stream_arn } } })
    const text = JSON.stringify(steps)
    for (const part of [stream_arn, me.accountId, 'sts:ExternalId', '--stream-name traffic', 'eu-central-1'])
      t.ok(text.includes(part), part)
    const keys = await me.targets.setup({ target: { kinesis: { stream_arn, auth: { creds: {} } } } })
    t.notMatch(JSON.stringify(keys), /sts:ExternalId/, 'a user needs no trust policy')
    const table = await me.targets.setup({
      target: { clickhouse: { table: 'seen', database: 'x y' } },
      event_kind: 'http_request_complete.v0',
    })
    t.match(JSON.stringify(table), /CREATE TABLE `?seen`?/, 'a name that is wrong counts as not filled in')
    t.match(JSON.stringify(table), /user_agent/)
    const splunk = await me.targets.setup({ target: { http: {} }, form: 'http_splunk' })
    t.match(JSON.stringify(splunk), /HTTP Event Collector/)
    t.match(await refused(400, me.targets.setup({ target: { http: {} }, form: 'x' })), /http_splunk/)
    t.match(await refused(400, me.targets.setup({ target: { http: {}, file: {} } })), /one kind/)
    t.match(await refused(400, me.targets.setup({ target: { clickhouse: {} }, event_kind: 'x' })), /log\.v0/)
  })

  t.test('each form of each kind has steps, with any nonsense filled in', async (t) => {
    for (const { name, setup, options, address } of destinationKinds)
      for (const { id } of setup?.forms ?? []) {
        const members = [address.field, 'auth', 'packing', ...Object.keys(options?.schema.properties ?? {})]
        for (const value of [undefined, null, '', 'x', 7, [], {}, [{}], { username: 7 }]) {
          const filled = Object.fromEntries(members.map((member) => [member, value]))
          const { steps } = await me.targets.setup({ target: { [name]: filled }, form: id })
          t.ok(steps.length > 0, `${id} with ${JSON.stringify(value)}`)
        }
      }
  })

  t.test('the document of the API has the words of forms', async (t) => {
    const { components } = await me.raw.get('/openapi.json')
    const text = JSON.stringify(components.schemas)
    for (const { name, setup } of destinationKinds)
      t.ok(text.includes(JSON.stringify(setup?.forms[0]?.name)), name)
  })
})
