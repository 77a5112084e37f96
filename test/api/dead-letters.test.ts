/** Dead letters of the stream, over HTTP: lists, groups, the place of the fault, and nothing of another account. */
import t from 'tap'
import {
  deadAuditsSubject,
  deadEventsSubject,
  deadLetterHeaders,
  deadRecordsSubject,
} from '../../src/wire/names.js'
import { openTestStore } from '../harness/api.js'
import { all, type Caller, newest, refused, statusOf } from '../harness/caller.js'

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
  await refusedEvent('ed_deleted', 'ev_deleted', me.accountId)
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

  t.test('pages of any size list each letter once', async (t) => {
    for (const limit of [1, 2, 4, 5]) t.strictSame((await listed(me, { limit })).map(textOf), everything)
    const first = await me.raw.get('/dead_letters?limit=5')
    t.equal(first.next_page_uri, null, 'a full last page has no next one')
  })

  t.test('filters', async (t) => {
    const found = async (options: object) => (await listed(me, options)).map(textOf)
    t.strictSame(await found({ type: 'audit' }), everything.slice(0, 1))
    t.strictSame(await found({ type: 'event', destinationId: mine }), ['event ev_mine'])
    t.strictSame(await found({ destinationId: theirs }), [])
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
    for (const { type, reason, destination_id, count, first_at, last_at, example_id } of groups) {
      const options = { type, reason, destinationId: destination_id ?? undefined }
      const letters = await listed(me, options)
      t.equal(letters.length, count, reason)
      t.match(letters.at(0), { id: example_id, at: last_at })
      t.equal(letters.at(-1)?.at, first_at)
    }
    t.equal((await other.deadLetters.groups()).groups.length, 2)
    t.strictSame((await me.deadLetters.groups({ type: 'event', destinationId: theirs })).groups, [])
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
})
