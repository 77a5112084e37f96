/** Event destinations: how their secrets are stored, and whether they accept a test event. */
import t from 'tap'
import { Books } from '../../../src/delivery/books/books.js'
import type { BooksKeeper } from '../../../src/delivery/books/keeper.js'
import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import { destinationAccess } from '../../../src/delivery/deliver/test-event.js'
import { bucketNames } from '../../../src/delivery/wire/names.js'
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import { BacklogHistory } from '../../../src/management/operate/backlog-history.js'
import { destinationOperations } from '../../../src/management/operate/destination-operations.js'
import { loadSettings } from '../../../src/management/process/settings.js'
import { SecretsView } from '../../../src/words/view/secrets-view.js'
import { openTestStore, type TestApi, type TestStore } from '../../harness/api.js'
import { all, refusalOf, refused, statusOf } from '../../harness/caller.js'
import { type Emulator, startEmulator } from '../../harness/weir.js'

/** The API, with an emulated AWS. */
async function withAws(store: TestStore, emulator: Emulator): Promise<TestApi> {
  const { nats, sealer } = store.parts
  const { settings } = loadSettings({ environment: { AWS_ENDPOINT_URL: emulator.url } })
  const secrets = store.release.own(
    new SecretsView(await nats.openBucket(bucketNames.secrets, 64 * 1024 * 1024)),
  )
  await secrets.open()
  const books = { books: new Books() } as BooksKeeper
  return store.api({
    destinations: destinationOperations({
      partitions: onePartition,
      retentionMs: 72 * 60 * 60_000,
      nats,
      books,
      secrets,
      sealer,
      access: destinationAccess(settings, { clock: new AwsClock() }),
      behind: { of: async () => null },
      unfound: { has: () => false },
      backlogs: store.release.own(new BacklogHistory(() => new Map())),
    }),
  })
}

/** Weir's own credentials at AWS, with which it assumes roles. */
process.env['AWS_ACCESS_KEY_ID'] = 'AKIAWEIRITSELF000000'
process.env['AWS_SECRET_ACCESS_KEY'] = 'of-weir-itself'

t.test('event destinations', async (t) => {
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  const store = await openTestStore(t)
  const api = await withAws(store, emulator)
  const me = await api.account()
  await emulator.client.addKey({ accessKeyId: 'AKIAWEIRITSELF000000', secretAccessKey: 'of-weir-itself' })
  const { accessKeyId, secretAccessKey } = emulator.key
  const creds = { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey }
  const limits = { recordsPerSecond: null, bytesPerSecond: null }
  const arn = await emulator.client.addResource({ service: 'kinesis', name: 'events', ...limits })
  const kinesis = (auth: object, stream_arn = arn) => ({ target: { kinesis: { stream_arn, auth } } })
  const tested = (id: string) => statusOf(me.sendTestEvent(id))

  t.test('the format is shown as it was sent', async (t) => {
    for (const format of ['json', 'JSON', 'Json']) {
      const { id, format: shown } = await me.eventDestination.create({ ...kinesis({ creds }), format })
      t.equal(shown, format)
      t.equal((await me.eventDestination.get(id)).format, format)
    }
  })

  t.test('a test event is accepted', async (t) => {
    const { id } = await me.eventDestination.create(kinesis({ creds }))
    const { event_id } = await me.sendTestEvent(id)
    const ids = await emulator.client.ids({ service: 'kinesis', name: 'events' })
    t.ok(event_id in ids, 'it arrived')
    for await (const { data } of emulator.client.received({ service: 'kinesis', name: 'events' }))
      t.match(JSON.parse(data), { event_type: 'test.v0', account_id: me.accountId })
    await me.raw.refused(400, 'POST', `/event_destinations/${id}/send_test_event`, { x: 1 })
  })

  t.test('a secret that a PATCH omits is kept', async (t) => {
    const { id } = await me.eventDestination.create(kinesis({ creds }))
    await me.eventDestination.update(id, { description: 'x' })
    t.equal(await tested(id), 'ok', 'after a change of something else')
    const unsaid = { creds: { aws_access_key_id: accessKeyId } }
    await me.eventDestination.update(id, kinesis(unsaid))
    t.equal(await tested(id), 'ok', 'left out next to the same key id')
    await me.eventDestination.update(id, kinesis({ creds: { ...unsaid.creds, aws_secret_access_key: null } }))
    t.equal(await tested(id), 'ok', 'null, as responses have it')
    await me.eventDestination.update(id, kinesis({ creds: { ...creds, aws_secret_access_key: 'wrong' } }))
    t.match(await refused(400, me.sendTestEvent(id)), /did not accept the test event: \w+/)
    await me.eventDestination.update(id, kinesis({ creds }))
    t.equal(await tested(id), 'ok', 'replaced')
    await me.eventDestination.update(
      id,
      kinesis({ role: { role_arn: 'arn:aws:iam::123456789012:role/none' } }),
    )
    await refused(400, me.eventDestination.update(id, kinesis(unsaid)))
  })

  t.test('packing is an option of the kinds that have records, and shown if it is chosen', async (t) => {
    const given = { ...kinesis({ creds }).target.kinesis, packing: 'ndjson' as const }
    const { id, target } = await me.eventDestination.create({ target: { kinesis: given } })
    t.equal(target.kinesis?.packing, 'ndjson')
    const { target: unnamed } = await me.eventDestination.update(id, kinesis({ creds }))
    t.notOk('packing' in unnamed.kinesis!, 'a target is replaced as a whole')
    for (const packing of ['none', null] as const) {
      const plain = await me.eventDestination.create({ target: { kinesis: { ...given, packing } } })
      t.notOk('packing' in plain.target.kinesis!, `${packing}`)
    }
    const path = '/event_destinations'
    const wrong = { target: { kinesis: { ...given, packing: 'gzip' } } }
    t.match(await me.raw.refused(400, 'POST', path, wrong), /packing.*none.*ndjson/)
    const log_group_arn = 'arn:aws:logs:us-east-1:123456789012:log-group:name'
    const logs = { target: { cloudwatch_logs: { log_group_arn, auth: { creds }, packing: 'ndjson' } } }
    t.match(await me.raw.refused(400, 'POST', path, logs), /packing/, 'a log event is one event')
    await me.eventDestination.update(id, { target: { kinesis: given } })
    const { event_id } = await me.sendTestEvent(id)
    t.ok(event_id in (await emulator.client.ids({ service: 'kinesis', name: 'events' })))
  })

  t.test('a refusal by AWS is reported with its reason', async (t) => {
    const elsewhere = arn.replace('/events', '/nowhere')
    const { id } = await me.eventDestination.create(kinesis({ creds }, elsewhere))
    t.match(await refusalOf(me.sendTestEvent(id)), {
      status_code: 400,
      error_code: 'ERR_DESTINATION_REFUSED',
      msg: /ResourceNotFound/,
    })
  })

  t.test('a role is assumed with the account id as external id', async (t) => {
    const role = (name: string) => `arn:aws:iam::123456789012:role/${name}`
    await emulator.client.addRole({ roleArn: role('ours'), externalId: me.accountId })
    await emulator.client.addRole({ roleArn: role('others'), externalId: 'somebody' })
    const ours = await me.eventDestination.create(kinesis({ role: { role_arn: role('ours') } }))
    t.strictSame(ours.target.kinesis?.auth, { role: { role_arn: role('ours') }, creds: null })
    await me.sendTestEvent(ours.id)
    const [session] = await emulator.client.sessions()
    t.match(session, { externalId: me.accountId, sessionName: `weir-${ours.id}` })
    const others = await me.eventDestination.create(kinesis({ role: { role_arn: role('others') } }))
    t.match(await refused(400, me.sendTestEvent(others.id)), /AccessDenied/)
  })

  t.test('a role that can be assumed without the external id is refused by the test event', async (t) => {
    const role_arn = 'arn:aws:iam::123456789012:role/anybodys'
    await emulator.client.addRole({ roleArn: role_arn })
    const { id } = await me.eventDestination.create(kinesis({ role: { role_arn } }))
    const events = () => emulator.client.counts({ service: 'kinesis', name: 'events' })
    const before = await events()
    const refusal = await refusalOf(me.sendTestEvent(id))
    t.match(refusal, { status_code: 400, error_code: 'ERR_DESTINATION_REFUSED' })
    t.match(refusal?.msg, role_arn, 'the role is named')
    t.match(refusal?.msg, `"sts:ExternalId": "${me.accountId}"`, 'and names what its trust policy lacks')
    t.strictSame(await events(), before, 'nothing was sent')
    await emulator.client.addRole({ roleArn: role_arn, externalId: me.accountId })
    t.equal(await tested(id), 'ok', 'once the condition is there')
  })

  t.test('a check says what it proved, and writes nothing', async (t) => {
    const events = () => emulator.client.counts({ service: 'kinesis', name: 'events' })
    const before = await events()
    const works = await me.eventDestination.create(kinesis({ creds }))
    t.match(await me.checkDestination(works.id), {
      result: 'passed',
      proved: [/credentials/, /may write/],
      not_proved: [/KMS/],
      error: null,
      advice: null,
    })
    t.strictSame(await events(), before, 'nothing was written')
    const delivery_stream_arn = await emulator.client.addResource({ service: 'firehose', name: 'stream' })
    const firehose = { target: { firehose: { delivery_stream_arn, auth: { creds } } } }
    t.match(await me.checkDestination((await me.eventDestination.create(firehose)).id), {
      result: 'unproved',
    })
    const missing = await me.eventDestination.create(kinesis({ creds }, arn.replace('/events', '/nowhere')))
    t.match(await me.checkDestination(missing.id), {
      result: 'failed',
      proved: [],
      error: { code: 'ResourceNotFoundException' },
      advice: /^The stream does not exist in this account and region\./,
    })
    const path = `/event_destinations/${works.id}/check`
    await me.raw.refused(400, 'POST', path, { x: 1 })
    await me.raw.refused(400, 'POST', `${path}?x=1`)
    await refused(404, (await api.account()).checkDestination(works.id))
  })

  t.test('the rights that a target needs at AWS, to copy', async (t) => {
    const { id } = await me.eventDestination.create(kinesis({ creds }))
    const Action = ['kinesis:PutRecords', 'kinesis:DescribeStreamSummary']
    const Statement = [{ Sid: 'WeirDelivers', Effect: 'Allow', Action, Resource: [arn] }]
    const ofUser = await me.iamPolicy(id)
    t.match(ofUser, { policy: { Version: '2012-10-17', Statement }, trust_policy: null, notes: [/KMS/] })
    t.notMatch(JSON.stringify(ofUser), secretAccessKey)
    const role = { role_arn: 'arn:aws:iam::000000000000:role/delivery' }
    const assumed = await me.eventDestination.create(kinesis({ role }))
    const Condition = { StringEquals: { 'sts:ExternalId': /^ac_/ } }
    t.match(await me.iamPolicy(assumed.id), {
      policy: { Statement },
      trust_policy: { Statement: [{ Action: 'sts:AssumeRole', Condition }] },
      notes: [/^Replace the principal/, /KMS/],
    })
    const web = await me.eventDestination.create({ target: { http: { url: 'https://logs.example.com' } } })
    t.match(
      await refused(400, me.iamPolicy(web.id)),
      /of the kind http, which needs no rights at AWS: only kinesis, firehose, .* have an IAM policy/,
    )
    await me.raw.refused(400, 'GET', `/event_destinations/${id}/iam_policy?x=1`)
    await refused(404, (await api.account()).iamPolicy(id))
  })

  t.test('the status has its shape', async (t) => {
    const { id } = await me.eventDestination.create(kinesis({ creds }))
    const status = await me.deliveryStatus(id)
    t.strictSame(status.backlog, { events: 0, oldest_at: null, expires_at: null })
    t.strictSame(status.dropped, [])
    const ends = { delivered: 0, dead_lettered: 0, dropped: 0, retried: 0 }
    t.strictSame(status.counts, { produced: 0, filtered: 0, ...ends })
    t.match(status, { state: 'paused', last_success_at: null, last_error: null })
    t.match(status.advice, /^No deliverer has answered for this destination yet/)
    t.equal(status.billing, null)
    t.match(await refused(503, me.deliveryAttempts(id)), /No deliverer answers/)
    const other = await api.account()
    t.strictSame((await other.deliveryStatuses()).statuses, [])
    const first = await me.deliveryStatuses({ limit: 1 })
    t.match(first.statuses, [{ destination_id: id, description: null, status: { state: 'paused' } }])
    t.match(first.next_page_uri, `status?limit=1&before_id=${id}`)
    const rest = await me.deliveryStatuses({ before_id: id })
    t.equal(rest.next_page_uri, null)
    t.notOk(rest.statuses.some(({ destination_id }) => destination_id === id))
    await refused(404, other.deliveryStatus(id))
    await refused(404, other.sendTestEvent(id))
    await refused(404, other.deliveryAttempts(id))
  })

  t.test('what happens to records that wait for too long', async (t) => {
    const { id, on_expiry } = await me.eventDestination.create(kinesis({ creds }))
    t.equal(on_expiry, undefined)
    t.equal((await me.eventDestination.update(id, { on_expiry: 'block' })).on_expiry, 'block')
    await refused(400, me.eventDestination.update(id, { on_expiry: 'keep' as 'drop' }))
    t.equal((await me.eventDestination.update(id, { on_expiry: 'drop' })).on_expiry, 'drop')
  })

  t.test('a destination is paused and resumed, and it is known who did', async (t) => {
    const { id } = await me.eventDestination.create(kinesis({ creds }))
    const { paused } = await me.pauseDestination(id)
    const [key] = await all(me.apiKey.list())
    t.match(paused, { at: /^\d{4}-.*\.\d{3}Z$/, source: 'API', api_key_id: key!.id })
    t.strictSame((await me.pauseDestination(id)).paused, paused, 'paused again, it stays as it is')
    t.strictSame((await me.eventDestination.get(id)).paused, paused)
    await me.eventDestination.update(id, { description: 'under repair' })
    t.strictSame((await me.eventDestination.get(id)).paused, paused, 'a change leaves it paused')
    const by_hand = { was_paused_by_hand: true, msg: /^It was paused by hand at / }
    t.match(await me.resumeDestination(id, { validateOnly: true }), { id, resumed: by_hand })
    t.strictSame((await me.eventDestination.get(id)).paused, paused, 'a rehearsal changes nothing')
    t.match(await me.resumeDestination(id), { paused: undefined, resumed: by_hand })
    t.match(
      await me.resumeDestination(id),
      {
        paused: undefined,
        resumed: {
          was_paused_by_hand: false,
          tried_now: false,
          msg: /^It was not paused by hand\. No deliverer answered in time/,
        },
      },
      'nothing to resume',
    )
    t.equal(await tested(id), 'ok', 'the secret is kept')
    const changes = await all(me.eventDestination.changes(id))
    t.match(
      changes.map(({ verb, fields }) => [verb, fields.map(({ name }) => name).join()]),
      [
        ['update', 'paused'],
        ['update', 'description'],
        ['update', 'paused'],
        ['create', /target/],
      ],
    )
    const of = { event_type: 'event_destination_updated.v0', object: { id } }
    const audits = (await api.audits(me.accountId)).filter(({ object }) => object['id'] === id)
    t.match(audits[1], { ...of, object: { id, paused } })
    await me.raw.refused(400, 'POST', `/event_destinations/${id}/pause`, { x: 1 })
  })

  t.test('secrets are never shown', async (t) => {
    const everything = [
      JSON.stringify(await all(me.eventDestination.list())),
      JSON.stringify(await api.audits(me.accountId)),
      api.log(),
    ]
    for (const text of everything) t.notMatch(text, secretAccessKey)
    const sealed = await store.parts.clickhouse.text('SELECT * FROM event_destinations', 'JSONEachRow')
    t.ok(sealed.length > 0)
    t.notMatch(sealed, secretAccessKey, 'sealed at rest')
  })
})
