/** IP lists: their entries are replaced as a whole, read in pages, bounded, and kept through all that happens to a store. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { monotonicMs } from '../../../src/ground/core/clock.js'
import {
  ipListBodyBytesMax,
  ipListBytesPerAccountMax,
  ipListEntriesPerAccountMax,
} from '../../../src/ground/core/limits.js'
import { Slices } from '../../../src/ground/core/slices.js'
import { IpListEntries } from '../../../src/management/write/ip-list-entries.js'
import { packedList } from '../../../src/management/write/list-packing.js'
import { chunksOfList, type ListRow, listChunkKind } from '../../../src/words/view/list-chunks.js'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller, newest, refused } from '../../harness/caller.js'

const principal = { source: 'API', credentialId: null } as const
const many = (count: number, of: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => of(index))
const address = (index: number): string => `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}/32`
/** With comments that compress badly, so that few entries take several changes. */
const salted = (index: number): string =>
  `${address(index)} # ${Math.imul(index, 0x9e3779b1) >>> 0} ${Math.imul(index, 0x85ebca6b) >>> 0}`

const lines = (me: Caller, id: string, text: string, query = '') =>
  me.raw.send('PUT', `/ip_lists/${id}/entries${query}`, {
    body: text,
    headers: { 'content-type': 'text/plain' },
  })

t.test('IP lists', { timeout: 120_000 }, async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const { view } = api.parts.store
  const partsOf = (accountId: string) =>
    [...(view.state.rows.get(listChunkKind)?.values() ?? [])].filter(
      ({ account_id }) => account_id === accountId,
    )
  const rowOf = (id: string) => view.state.rows.get('ip_list')?.get(id) as unknown as ListRow

  t.test('entries are set, shown and replaced', async (t) => {
    const me = await api.account()
    const list = await me.ipList.create({ name: 'office', category: 'trusted.office' })
    t.match(list, { name: 'office', category: 'trusted.office', entries: 0, updated_at: null })
    const set = await me.listEntries.replace(list.id, [
      { cidr: '203.0.113.0/24', comment: 'guests' },
      { cidr: '2001:db8::1', expires_at: '2099-01-01T00:00:00Z' },
    ])
    t.equal(set.entries, 2)
    t.type(set.updated_at, 'string')
    t.strictSame(await all(me.listEntries.list(list.id)), [
      { cidr: '203.0.113.0/24', comment: 'guests', expires_at: null },
      { cidr: '2001:db8::1/128', comment: null, expires_at: '2099-01-01T00:00:00Z' },
    ])
    await me.listEntries.replace(list.id, { text: '198.51.100.0/24 ; SBL1\n', format: 'spamhaus_drop' })
    t.strictSame(await all(me.listEntries.list(list.id)), [
      { cidr: '198.51.100.0/24', comment: 'SBL1', expires_at: null },
    ])
    const ofNft = { set: { name: 'a', type: 'ipv4_addr', elem: [{ range: ['192.0.2.2', '192.0.2.4'] }] } }
    const sent = await me.raw.send('PUT', `/ip_lists/${list.id}/entries`, {
      body: JSON.stringify({ nftables: [ofNft] }),
      headers: { 'content-type': 'application/json' },
    })
    t.equal(sent.status, 200, sent.text)
    t.strictSame(
      (await all(me.listEntries.list(list.id))).map(({ cidr }) => cidr),
      ['192.0.2.2/31', '192.0.2.4/32'],
    )
    await me.listEntries.replace(list.id, { text: '198.51.100.0/24 ; SBL1\n', format: 'spamhaus_drop' })
    const text = await me.raw.send('GET', `/ip_lists/${list.id}/entries?format=text`)
    t.equal(text.text, '198.51.100.0/24 # SBL1\n')
    t.match(text.headers['content-type'], /^text\/plain; charset=utf-8$/)
    const ranges = ['198.51.100.0/24', '198.51.100.7/32', '::/0', '2001:db8::/32']
    await me.listEntries.replace(
      list.id,
      ranges.map((cidr) => ({ cidr })),
    )
    const covering = async (covers: string) =>
      (await all(me.listEntries.list(list.id, { covers }))).map(({ cidr }) => cidr)
    t.strictSame(await covering('198.51.100.7'), ranges.slice(0, 2), 'those that contain an address')
    t.strictSame(await covering('2001:db8:1::/48'), ranges.slice(2), 'or all of a range')
    t.strictSame(await covering('192.0.2.1'), [])
    const wrong = await me.raw.send('GET', `/ip_lists/${list.id}/entries?covers=here`)
    t.equal(wrong.status, 400)
    t.match(wrong.text, /covers.* is wrong: /)
    const parts = ['covers=192.0.2.1', 'limit=1', 'after=1']
    for (const [index, part] of parts.entries()) {
      const format = index === 0 ? 'csv' : 'text'
      const cut = await me.raw.send('GET', `/ip_lists/${list.id}/entries?format=${format}&${part}`)
      t.equal(cut.status, 400, `only all entries are sent as ${format}, none by ${part}`)
      t.match(cut.text, `The query parameter \\"${part.split('=')[0]}\\" is for JSON only: format=${format}`)
    }
    await me.listEntries.replace(list.id, { text: '198.51.100.0/24', format: 'lines' })
    t.equal((await me.ipList.get(list.id)).entries, 1)
  })

  t.test('all entries as CSV can be set again as they are', async (t) => {
    const me = await api.account()
    const list = await me.ipList.create({ name: 'copied' })
    const comments = [
      'a "quote", a comma; a semicolon # a hash',
      '=1+1',
      "'=1+1",
      "'quoted",
      '-5 ;=x|@y',
      '# no comment line',
      'cidr',
      'é \u{1f600}',
      `${'x'.repeat(199)} cut behind a blank`,
    ]
    await me.listEntries.replace(list.id, [
      ...comments.map((comment, index) => ({ cidr: `10.0.${index}.0/24`, comment })),
      { cidr: '2001:db8::/32', expires_at: '2099-01-01T00:00:00Z', comment: 'guests' },
      { cidr: '10.0.0.0/24', expires_at: '2000-01-01T00:00:00Z' },
    ])
    const entries = await all(me.listEntries.list(list.id))
    const csv = await me.raw.send('GET', `/ip_lists/${list.id}/entries?format=csv`)
    t.match(csv.headers['content-type'], /^text\/csv; charset=utf-8$/)
    t.match(
      csv.text,
      /^cidr,comment,expires_at\n10\.0\.0\.0\/24,"a ""quote"", a comma; a semicolon # a hash",\n/,
    )
    const changes = (await all(me.changes())).length
    await me.listEntries.replace(list.id, { text: csv.text, format: 'csv' })
    await me.listEntries.replace(list.id, entries)
    t.equal((await all(me.changes())).length, changes, 'no change, as CSV or as JSON')
    await me.listEntries.replace(list.id, [])
    await me.listEntries.replace(list.id, { text: csv.text, format: 'csv' })
    t.strictSame(await all(me.listEntries.list(list.id)), entries)
  })

  t.test('entries that take several changes are seen whole, and stored once', async (t) => {
    const me = await api.account()
    const { id } = await me.ipList.create({ name: 'large' })
    const count = 60_000
    const seen = new Set<number>()
    view.onChange(() => {
      const row = rowOf(id)
      if (row === undefined) return
      const parts = chunksOfList(view.state, row)
      seen.add(parts === undefined ? -1 : parts.reduce((sum, { entries }) => sum + entries!, 0))
      if (parts !== undefined && row.entries !== [...seen].at(-1)) seen.add(-2)
    })
    t.equal((await lines(me, id, many(count, salted).join('\n'))).status, 200)
    t.strictSame([...seen], [0, count], 'none or all of them')
    const before = rowOf(id).chunks
    t.ok(before.length > 10, `${before.length} parts`)
    const found = await all(me.listEntries.list(id))
    t.equal(found.length, count)
    t.strictSame([found[0]?.cidr, found[59_999]?.cidr], [address(0), address(59_999)])
    const whole = await me.raw.send('GET', `/ip_lists/${id}/entries?format=text`)
    t.equal(whole.text, many(count, (index) => `${salted(index)}\n`).join(''))
    t.notOk(whole.headers['content-length'], 'the text is made while it is sent')
    const version = await newestVersion(me)
    t.equal((await lines(me, id, many(count, salted).join('\n'))).status, 200)
    t.equal(await newestVersion(me), version, 'equal entries are no change')
    const changed = many(count, salted).with(30_000, '192.0.2.0/24')
    t.equal((await lines(me, id, changed.join('\n'))).status, 200)
    const after = rowOf(id).chunks
    t.ok(after.filter((part) => !before.includes(part)).length <= 2, 'the other parts are used again')
    t.equal(partsOf(rowOf(id).account_id).length, after.length, 'parts that no list names are gone')
  })

  t.test('two who set the same entries at the same time, again and again', async (t) => {
    const me = await api.account()
    const { id } = await me.ipList.create({ name: 'raced' })
    const { store } = api.parts
    const [one, other] = ['203.0.113.0/24', '198.51.100.0/24']
    let races = 0
    /** Between the look at the present parts and the check, another write takes them away, and brings them back. */
    const raced = new IpListEntries({
      ...api.parts,
      store: {
        settled: store.settled.bind(store),
        commit: store.commit.bind(store),
        view,
        rehearsals: {
          verifyPlan: async (...check) => {
            if (races-- > 0) {
              await me.listEntries.replace(id, [{ cidr: other }])
              await me.listEntries.replace(id, [{ cidr: one }])
            }
            return store.rehearsals.verifyPlan(...check)
          },
        },
      },
    })
    const packed = await packedList(Buffer.from(one), 'lines', new Slices())
    const caller = { accountId: me.accountId, principal, address: undefined }
    const replace = (validateOnly: boolean) =>
      raced.replace({ caller, principal, listId: id, packed, validateOnly })
    for (const validateOnly of [true, false]) {
      await me.listEntries.replace(id, [{ cidr: one }])
      races = 3
      t.equal((await replace(validateOnly)).row['entries'], 1, 'it begins again')
      races = 100
      await t.rejects(replace(validateOnly), { status: 503, message: /replaced by others several times/ })
    }
  })

  t.test('a history of the list alone, an audit event for each change', async (t) => {
    const me = await api.account()
    const { id } = await me.ipList.create({ name: 'seen' })
    await me.listEntries.replace(id, [{ cidr: '203.0.113.0/24' }])
    const changes = await all(me.changes())
    t.strictSame(
      changes.filter(({ kind }) => kind.startsWith('ip_list')).map(({ kind, verb }) => `${kind} ${verb}`),
      ['ip_list update', 'ip_list create'],
    )
    t.match(changes[0]?.fields, [{ name: 'entries', before: 0, after: 1 }, { name: 'updated_at' }])
    t.match((await api.audits(me.accountId)).at(-1), {
      event_type: 'ip_list_updated.v0',
      object: { id, entries: 1 },
    })
  })

  t.test('a restored list keeps its entries, and one that was deleted has none', async (t) => {
    const me = await api.account()
    const { id } = await me.ipList.create({ name: 'restored' })
    const version = await newestVersion(me)
    await me.listEntries.replace(id, [{ cidr: '203.0.113.0/24' }])
    await me.ipList.update(id, { name: 'renamed' })
    t.match(await me.ipList.restore(id, version), { name: 'restored', entries: 1 })
    t.equal((await all(me.listEntries.list(id))).length, 1)
    await me.ipList.delete(id)
    t.strictSame(partsOf(me.accountId), [], 'its parts are deleted with it')
    t.match(await me.ipList.restore(id, version), { name: 'restored', entries: 0, updated_at: null })
    t.strictSame(await all(me.listEntries.list(id)), [])
  })

  t.test('wrong bodies change nothing and say what is wrong', async (t) => {
    const me = await api.account()
    const { id } = await me.ipList.create({ name: 'kept' })
    await me.listEntries.replace(id, [{ cidr: '203.0.113.0/24' }])
    const path = `/ip_lists/${id}/entries`
    t.match((await lines(me, id, '10.0.0.0/8\nx\n')).body.msg, /^Line 2: "x" is not a range/)
    t.match((await lines(me, id, '')).body.msg, /requires a body/)
    t.match(
      (await lines(me, id, '10.0.0.0/8', '?format=xml')).body.msg,
      /"format" is "xml": lines, netset, csv, .* are allowed/,
    )
    t.match(await me.raw.refused(400, 'PUT', path, { entries: [{ cidr: 'x' }] }), /"entries\[0\].cidr": "x"/)
    t.match(await me.raw.refused(400, 'PUT', path, { rules: [] }), /not in the format "json"/)
    t.match(await me.raw.refused(400, 'GET', `${path}?limit=0`), /"limit" is "0"/)
    const packed = await me.raw.send('PUT', path, {
      body: gzipSync('203.0.113.0/24 # guests\n'),
      headers: { 'content-type': 'text/plain', 'content-encoding': 'gzip' },
    })
    t.match(packed.body, { entries: 1 }, 'a compressed body is read')
    t.equal((await all(me.listEntries.list(id))).length, 1)
  })

  t.test('more than the lists of an account may have', async (t) => {
    const me = await api.account()
    const [{ id }, full] = [
      await me.ipList.create({ name: 'one-more' }),
      await me.ipList.create({ name: 'full' }),
    ]
    const fill = (size: { readonly entries: number; readonly bytes: number }) =>
      api.parts.store.commit(me.accountId, principal, (_state, version) => ({
        puts: [{ kind: 'ip_list', row: { ...rowOf(full.id), ...size, version } as never, isNew: false }],
        removals: [],
        audits: [],
        result: undefined,
      }))
    await fill({ entries: ipListEntriesPerAccountMax - 1, bytes: 0 })
    const set = (text: string) => lines(me, id, text)
    t.match(await set('10.0.0.0/8\n11.0.0.0/8\n'), {
      status: 400,
      body: { error_code: 'ERR_CONFLICT', msg: /would have 5000001 entries: at most 5000000 are allowed/ },
    })
    t.equal((await set('10.0.0.0/8\n')).status, 200)
    await fill({ entries: 0, bytes: ipListBytesPerAccountMax })
    t.match(await set('11.0.0.0/8\n'), {
      status: 400,
      body: {
        error_code: 'ERR_CONFLICT',
        msg: /would take 671\d{5} bytes, compressed: at most 67108864 are allowed/,
      },
    })
    t.strictSame(
      (await all(me.listEntries.list(id))).map(({ cidr }) => cidr),
      ['10.0.0.0/8'],
    )
    await me.ipList.delete(full.id)
    t.equal((await set('11.0.0.0/8\n')).status, 200)
  })

  t.test('a body that is too large', async (t) => {
    const me = await api.account()
    const { id } = await me.ipList.create({ name: 'too-large' })
    const body = Buffer.alloc(ipListBodyBytesMax + 1, '\n')
    const put = (body: Buffer, coding = {}) =>
      me.raw.send('PUT', `/ip_lists/${id}/entries`, {
        body,
        headers: { 'content-type': 'text/plain', ...coding },
      })
    const refusal = { status: 413, body: { msg: /at most 33554432 bytes are allowed/ } }
    t.match(await put(body), refusal)
    t.match(await put(gzipSync(body, { level: 1 }), { 'content-encoding': 'gzip' }), refusal, 'decompressed')
    t.match(await put(gzipSync(''), { 'content-encoding': 'gzip' }), {
      status: 400,
      body: { msg: /requires a body/ },
    })
  })

  t.test('with validate_only nothing is stored', async (t) => {
    const me = await api.account()
    const { id } = await me.ipList.create({ name: 'checked' })
    const answer = await lines(me, id, '203.0.113.0/24\n', '?validate_only=true')
    t.match(answer.body, { entries: 1 })
    t.strictSame(await all(me.listEntries.list(id)), [])
    t.strictSame(partsOf(me.accountId), [])
  })

  t.test('names are unique', async (t) => {
    const me = await api.account()
    const { id } = await me.ipList.create({ name: 'first' })
    t.match(await refused(400, me.ipList.create({ name: 'first' })), new RegExp(`name of ${id}`))
    const other = await me.ipList.create({ name: 'second' })
    t.match(await refused(400, me.ipList.update(other.id, { name: 'first' })), /"name" is "first"/)
  })

  t.test('parts that a dead process left are deleted', async (t) => {
    const me = await api.account()
    const accountId = me.accountId
    const { id } = await me.ipList.create({ name: 'left' })
    await me.listEntries.replace(id, [{ cidr: '203.0.113.0/24' }])
    const [part] = partsOf(accountId)
    const leave = (suffix: string) =>
      api.parts.store.commit(accountId, principal, (_state, version) => ({
        puts: [{ kind: listChunkKind, row: { ...part!, id: `iplc_${suffix}`, version }, isNew: true }],
        removals: [],
        audits: [],
        result: undefined,
      }))
    await leave('old')
    await api.parts.listEntries.sweep()
    t.equal(partsOf(accountId).length, 2, 'it may be the part of a write that is under way')
    await leave('new')
    await api.parts.listEntries.sweep(monotonicMs() + 11 * 60_000)
    t.strictSame(
      partsOf(accountId)
        .map((row) => row.id)
        .sort(),
      [part!.id, 'iplc_new'].sort(),
    )
    t.equal((await all(me.listEntries.list(id))).length, 1)
  })
})

const newestVersion = async (me: Caller): Promise<number> => (await newest(me.changes()))?.version ?? 0
