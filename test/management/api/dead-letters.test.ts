/** Dead letters of the stream, over HTTP: lists, groups, the place of the fault, and nothing of another account. */
import t from 'tap'
import {
  deadAuditsSubject,
  deadEventsSubject,
  deadLetterHeaders,
  deadLetterStream,
  deadRecordsSubject,
  resentRecordsSubject,
} from '../../../src/delivery/wire/names.js'
import { readPack } from '../../../src/delivery/wire/pack.js'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller, newest, refused, statusOf } from '../../harness/caller.js'
import { deliveriesStream, deliverySubject, recordsStream } from '../../harness/first-partition.js'

const target = {
  kinesis: {
    stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/x',
    auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/x' } },
  },
}

t.test('dead letters of two accounts', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const [me, other] = [await api.account('Harbor'), await api.account('Meadow')]
  const destinationOf = async (caller: Caller) => (await caller.eventDestination.create({ target })).id
  const [mine, theirs] = [await destinationOf(me), await destinationOf(other)]
  const deleted = await destinationOf(me)
  await me.eventDestination.delete(deleted)
  const edge = await me.tcpEdge.create({ hostports: ['dead.example:22'] })

  const wrongAddress = (value: string) =>
    `"conn.client_ip" is "${value}"; it must be an IPv4 or IPv6 address.`
  const record = (owner: object, client_ip: string) => JSON.stringify({ ...owner, conn: { client_ip } })
  const badRecord = async (data: string | Uint8Array, reason: string, more: Record<string, string> = {}) => {
    const headers = {
      [deadLetterHeaders.reason]: reason,
      [deadLetterHeaders.stream]: 'WEIR_RECORDS',
      [deadLetterHeaders.sequence]: '77',
      [deadLetterHeaders.line]: '3',
      ...more,
    }
    return (await store.admin.publish(deadRecordsSubject, data, { headers })).sequence
  }
  const refusedEvent = (destination: string, eventId: string, accountId?: string) =>
    store.admin.publish(deadEventsSubject, `{"event_id":"${eventId}"}\n`, {
      headers: {
        [deadLetterHeaders.reason]: 'ValidationException: Too large.',
        [deadLetterHeaders.destination]: destination,
        [deadLetterHeaders.eventId]: eventId,
        ...(accountId === undefined ? {} : { [deadLetterHeaders.account]: accountId }),
      },
    })

  const ofAccount = (account: Caller) => ({ account_id: account.accountId })
  await badRecord(record(ofAccount(me), 'x1'), wrongAddress('x1'))
  await badRecord(record(ofAccount(other), 'x2'), wrongAddress('x2'))
  await badRecord(record({ edge_id: edge.id }, 'x3'), wrongAddress('x3'))
  await badRecord('{"account_id": nobody}', 'It is not JSON: Unexpected token.')
  await refusedEvent(mine, 'ev_mine')
  await refusedEvent(theirs, 'ev_theirs')
  await refusedEvent(deleted, 'ev_deleted', me.accountId)
  await store.admin.publish(deadAuditsSubject, JSON.stringify({ ...ofAccount(me), object: {} }), {
    headers: {
      [deadLetterHeaders.reason]: '"principal" is missing.',
      [deadLetterHeaders.sequence]: '5',
      [deadLetterHeaders.subject]: 'weir.audit.domain.created',
    },
  })

  const listed = (caller: Caller, options = {}) => all(caller.deadLetters.list(options))
  const textOf = ({ type, event_id, reason }: { type: string; event_id: string | null; reason: string }) =>
    `${type} ${event_id ?? reason}`
  const everything = [
    'audit "principal" is missing.',
    'event ev_deleted',
    'event ev_mine',
    `record ${wrongAddress('x3')}`,
    `record ${wrongAddress('x1')}`,
  ]

  t.test('an account sees its own, newest first, also of a deleted destination', async (t) => {
    t.strictSame((await listed(me)).map(textOf), everything)
    t.strictSame((await listed(other)).map(textOf), ['event ev_theirs', `record ${wrongAddress('x2')}`])
  })

  t.test('the time left: a letter is removed at the age limit of the stream', async (t) => {
    const { config } = (await store.admin.streamInfo(deadLetterStream))!
    const ageMaxMs = config.max_age / 1e6
    t.ok(ageMaxMs > 0)
    for (const { id, at, expires_at } of await listed(me)) {
      t.equal(Date.parse(expires_at!) - Date.parse(at), ageMaxMs)
      t.equal((await me.deadLetters.get(id)).expires_at, expires_at)
    }
  })

  t.test('pages of any size list each letter once', async (t) => {
    for (const limit of [1, 2, 4, 5]) t.strictSame((await listed(me, { limit })).map(textOf), everything)
    const first = await me.raw.get('/dead_letters?limit=5')
    t.equal(first.next_page_uri, null, 'a full last page has no next one')
  })

  t.test('filters', async (t) => {
    const found = async (options: object) => (await listed(me, options)).map(textOf)
    t.strictSame(await found({ type: 'audit' }), everything.slice(0, 1))
    t.strictSame(await found({ type: 'event', destinationId: mine }), ['event ev_mine'])
    t.strictSame(await found({ destinationId: deleted }), ['event ev_deleted'])
    t.strictSame(await found({ reason: wrongAddress('x1') }), everything.slice(4))
    t.strictSame(await found({ reason: '"conn.client_ip" is …' }), everything.slice(3))
    const [, , { at }] = (await listed(me)) as [unknown, unknown, { at: string }]
    t.ok((await found({ until: at })).length <= 2)
    t.ok((await found({ since: at })).length >= 3)
    t.strictSame(await found({ since: '2999-01-01T00:00:00Z' }), [])
    for (const query of ['type=tcp', 'reason=', 'before_id=dl_x', 'since=yesterday', 'limit=0', 'x=1'])
      t.equal((await me.raw.send('GET', `/dead_letters?${query}`)).status, 400, query)
  })

  t.test('groups: counts, first and last, and a reason that finds the letters of the group', async (t) => {
    const { groups, groups_left_out, complete_since } = await me.deadLetters.groups()
    t.match({ groups_left_out, complete_since }, { groups_left_out: 0, complete_since: null })
    t.match(groups[0], { type: 'record', count: 2, destination_id: null })
    t.equal(groups.length, 4)
    for (const { type, reason, destination_id, count, first_at, last_at, expires_at, example_id } of groups) {
      const options = { type, reason, destinationId: destination_id ?? undefined }
      const letters = await listed(me, options)
      t.equal(letters.length, count, reason)
      t.match(letters.at(0), { id: example_id, at: last_at })
      t.equal(letters.at(-1)?.at, first_at)
      t.equal(letters.at(-1)?.expires_at, expires_at, 'the oldest is removed first')
    }
    t.equal((await other.deadLetters.groups()).groups.length, 2)
    const unknown = /"destination_id" names "ed_\w+", which does not exist/
    for (const id of [theirs, 'ed_00000000000000000000000000']) {
      for (const path of ['/dead_letters', '/dead_letters/groups'])
        t.match(await me.raw.refused(404, 'GET', `${path}?destination_id=${id}`), unknown)
      for (const path of ['/dead_letters/resend', '/dead_letters/drop'])
        t.match(await me.raw.refused(404, 'POST', path, { destination_id: id }), unknown)
    }
  })

  t.test('a letter with its bytes and the marked place', async (t) => {
    const first = await newest(me.deadLetters.list({ reason: wrongAddress('x1') }))
    const letter = await me.deadLetters.get(first.id)
    t.match(letter, { id: first.id, sequence: 77, line: 3, base64: null, is_truncated: false })
    const { text, place } = letter
    t.equal(text, record(ofAccount(me), 'x1'))
    t.equal(place?.member, 'conn.client_ip')
    t.equal(place?.excerpt.slice(place.mark), '"x1"}}')
    t.equal(text?.slice(place?.offset), '"x1"}}')
  })

  t.test('a letter that is no text, and one of which a part is stored', async (t) => {
    const bytes = Buffer.concat([Buffer.from(record(ofAccount(me), 'ä')), Buffer.from([0x80])])
    await badRecord(bytes, 'It is not UTF-8.')
    // Bytes after the end make it no JSON, and an account can't be read from that.
    t.strictSame((await listed(me)).map(textOf), everything)
    const latin1 = Buffer.from(record({ ...ofAccount(me), x: '\u00e4' }, 'x'), 'latin1')
    await badRecord(latin1, 'It is not UTF-8.')
    const odd = await newest(me.deadLetters.list())
    const letter = await me.deadLetters.get(odd.id)
    t.equal(letter.text, null)
    t.strictSame(Buffer.from(letter.base64 ?? '', 'base64'), latin1)
    t.equal(letter.place?.offset, latin1.indexOf(0xe4))
    await badRecord(record(ofAccount(me), 'x'), 'It has 70000 bytes; at most 65536 are allowed.', {
      [deadLetterHeaders.originalSize]: '70000',
    })
    const part = await newest(me.deadLetters.list())
    t.match(await me.deadLetters.get(part.id), { is_truncated: true, size: 70_000, place: null })
  })

  t.test(
    "another account's letter does not exist, nor one whose id belongs to another message",
    async (t) => {
      const foreign = await newest(other.deadLetters.list())
      t.match(await refused(404, me.deadLetters.get(foreign.id)), foreign.id)
      t.equal(await statusOf(other.deadLetters.get(foreign.id)), 'ok')
      const forged = foreign.id.replace(/^dl_[0-9a-f]{12}/, 'dl_000000000000')
      for (const id of [forged, 'dl_0000000000001000000', 'dl_', 'ed_1', '%00'])
        t.equal((await other.raw.send('GET', `/dead_letters/${id}`)).status, 404, id)
      const page = await me.raw.send('GET', `/dead_letters?before_id=${foreign.id}`)
      t.equal(page.status, 200, 'as a position it is as good as any')
      t.notOk(page.text.includes(other.accountId))
    },
  )

  // --- sent again, and dropped ---

  const newestIn = async (stream: string, subject: string) => store.admin.lastMessage(stream, subject)
  const letterFor = async (caller: Caller, sequence: number) => {
    for await (const { id } of caller.deadLetters.list()) if (id.slice(15) === String(sequence)) return id
    throw new Error('The letter is not listed.')
  }

  t.test('a record goes through the pipeline again, once however often it is sent', async (t) => {
    const text = record(ofAccount(me), 'y1')
    const before = (await store.admin.streamInfo(recordsStream))!.state.messages
    const id = await letterFor(me, await badRecord(text, wrongAddress('y1')))
    t.equal(await statusOf(other.deadLetters.resend(id)), 404, 'not by another account')
    t.equal(await statusOf(other.deadLetters.drop(id)), 404)
    const answers = await Promise.all([me, me].map((caller) => statusOf(caller.deadLetters.resend(id))))
    t.ok(answers.includes('ok'))
    t.equal((await store.admin.streamInfo(recordsStream))!.state.messages, before + 1)
    t.equal(Buffer.from((await newestIn(recordsStream, resentRecordsSubject))!.data).toString(), text)
    t.equal(await statusOf(me.deadLetters.get(id)), 404, 'it is no longer a dead letter')
  })

  t.test('a repeated request gets the first answer', async (t) => {
    const id = await letterFor(me, await badRecord(record(ofAccount(me), 'y2'), wrongAddress('y2')))
    const again = async (path: string, key: string, body: object) => {
      const parts = { headers: { 'idempotency-key': key }, body }
      const answers = [await me.raw.send('POST', path, parts), await me.raw.send('POST', path, parts)]
      t.equal(answers[1]?.text, answers[0]?.text)
      return answers.map(({ status }) => status)
    }
    t.strictSame(await again(`/dead_letters/${id}/resend`, 'dead-1', {}), [204, 204])
    await badRecord(record(ofAccount(me), 'y3'), wrongAddress('y3'))
    const selection = { reason: wrongAddress('y3') }
    t.strictSame(await again('/dead_letters/drop', 'dead-2', selection), [200, 200])
    t.match(await me.deadLetters.dropAll(selection), { done: 0 })
  })

  t.test('an edited record', async (t) => {
    const text = JSON.stringify({ ...ofAccount(me), record_id: 'r7', type: 'tcp_connection', conn: {} })
    const id = await letterFor(me, await badRecord(text, '"conn.client_ip" is missing.'))
    const edited = { type: 'tcp_connection', conn: { client_ip: '192.0.2.1' } }
    const wrong = await refused(400, me.deadLetters.resend(id, { ...edited, conn: { client_ip: 'y' } }))
    t.match(wrong, 'conn.client_ip')
    await refused(400, me.deadLetters.resend(id, { ...edited, ...ofAccount(other) }))
    await refused(400, me.deadLetters.resend(id, []))
    await me.deadLetters.resend(id, edited)
    const sent = await newestIn(recordsStream, resentRecordsSubject)
    const want = { ...edited, record_id: 'r7', ...ofAccount(me) }
    t.strictSame(JSON.parse(Buffer.from(sent!.data).toString()), want)
  })

  t.test('events go to their destination in a pack, as they were', async (t) => {
    const at = '2026-11-20T10:00:00.123Z'
    const eventOf = (eventId: string, more: object) =>
      JSON.stringify({ event_id: eventId, event_timestamp: at, ...more })
    const texts = [
      eventOf('ev_1', { object: { id: 'not a key' } }),
      eventOf('ev_2', { principal: {}, object: { id: 'ipp_1' } }),
    ]
    for (const text of texts)
      await store.admin.publish(deadEventsSubject, `${text}\n`, {
        headers: { [deadLetterHeaders.reason]: 'Again.', [deadLetterHeaders.destination]: mine },
      })
    const [letter] = await listed(me, { reason: 'Again.' })
    t.equal(await statusOf(other.deadLetters.resend(letter!.id)), 404)
    t.match(await me.deadLetters.resendAll({ reason: 'Again.' }), { done: 2, refused: 0 })
    const pack = await newestIn(deliveriesStream, deliverySubject(mine))
    const events = readPack(pack!.data).events
    t.strictSame(
      events.map((event) => [event.id, event.partitionKey, event.timestampMs, event.data.toString()]),
      [
        ['ev_1', 'ev_1', Date.parse(at), `${texts[0]}\n`],
        ['ev_2', 'ipp_1', Date.parse(at), `${texts[1]}\n`],
      ],
    )
    t.strictSame(await listed(me, { reason: 'Again.' }), [])
  })

  t.test("letters that can't be sent again stay, with the reason", async (t) => {
    const { refusals, ...counts } = await me.deadLetters.resendAll({ type: 'event' })
    t.strictSame(counts, { done: 0, refused: 2 })
    t.strictSame(refusals.map(({ reason }) => reason).toSorted(), [
      'Its bytes are not those of an event.',
      'Its destination was deleted.',
    ])
    for (const { id } of refusals) await refused(400, me.deadLetters.resend(id))
    t.equal((await listed(me, { type: 'event' })).length, 2)
  })

  t.test('drop: one, and all of a selection, of the own account alone', async (t) => {
    const theirsBefore = (await listed(other)).length
    const one = await newest(me.deadLetters.list())
    await me.deadLetters.drop(one.id)
    t.equal(await statusOf(me.deadLetters.get(one.id)), 404)
    t.equal(await statusOf(me.deadLetters.drop(one.id)), 404)
    for (const body of [{ type: 'tcp' }, { typ: 'event' }, { reason: 7 }])
      t.equal((await me.raw.send('POST', '/dead_letters/drop', { body })).status, 400, JSON.stringify(body))
    const left = (await listed(me)).length
    t.match(await me.deadLetters.dropAll({ type: 'event' }), { done: 2 })
    t.match(await me.deadLetters.dropAll({}), { done: left - 2 })
    t.strictSame(await listed(me), [])
    t.equal((await listed(other)).length, theirsBefore)
  })
})
