/** Reserved addresses: how they are assigned, which edges may serve them, and when they are released. */
import t from 'tap'
import { Writes } from '../../../src/management/write/writes.js'
import { sourceProblems } from '../../../src/words/event/check-source.js'
import { type TcpAddressSpace, tcpAddressSpace } from '../../../src/words/resource/fields/tcp-address.js'
import { base, openTestStore } from '../../harness/api.js'
import { all, type Caller, notFound, refused, statusOf } from '../../harness/caller.js'

const path = '/reserved_addrs'
const unknownId = 'ra_01M7Y46P1SGDTCFAVEJ96D4PD7'
const configuration = 'ec_01M7Y46P1SGDTCFAVEJ96D4PD7'

t.test('reserved addresses', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  const { reservedAddr } = me
  const other = await api.account('other')
  const reserve = async (by: Caller, body: object = {}): Promise<{ id: string; addr: string }> =>
    by.reservedAddr.create(body)

  t.test('from create to delete', async (t) => {
    const created = await me.raw.send('POST', path, { body: { description: 'ssh' } })
    t.equal(created.status, 201)
    const { id, created_at, addr, ...rest } = created.body
    const uri = `${base}${path}/${id}`
    t.match(id, /^ra_\w{26}$/)
    t.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    t.match(addr, /^([1-9]|10)\.tcp\.us\.weir\.localhost:[12]\d{4}$/, 'assigned, in the default region')
    t.strictSame(rest, { uri, description: 'ssh', region: 'us', endpoint_configuration: null })
    t.equal(created.headers['location'], uri)
    t.strictSame(await me.reservedAddr.get(id), created.body)
    const page = await me.raw.get(path)
    t.strictSame(page, { reserved_addrs: [created.body], uri: `${base}${path}`, next_page_uri: null })
    t.strictSame(await all(other.reservedAddr.list()), [])
    const changed = await me.reservedAddr.update(id, { description: '', metadata: '{}' })
    const { description, ...undescribed } = created.body
    t.strictSame(changed, { ...undescribed, metadata: '{}' })
    await notFound(other.reservedAddr, id)
    for (const says of await notFound(me.reservedAddr, unknownId)) t.match(says, unknownId)
    t.equal(await me.reservedAddr.delete(id), undefined)
    await refused(404, me.reservedAddr.get(id))
  })

  t.test('every region', async (t) => {
    for (const region of ['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa'] as const) {
      const address = await reservedAddr.create({ region })
      t.equal(address.region, region)
      t.match(address.addr, `.tcp.${region}.weir.localhost:`)
    }
    t.equal((await reservedAddr.create({ region: null })).region, 'us')
    t.equal((await me.at(path).create({ region: '' })).region, 'us')
  })

  t.test('an endpoint configuration is attached and detached', async (t) => {
    const shown = { id: configuration, uri: `${base}/endpoint_configurations/${configuration}` }
    const { id } = await reservedAddr.create({})
    for (const nothing of [null, '']) {
      const attached = await reservedAddr.update(id, { endpoint_configuration_id: configuration })
      t.strictSame(attached.endpoint_configuration, shown)
      t.strictSame((await reservedAddr.get(id)).endpoint_configuration, shown)
      t.strictSame((await reservedAddr.update(id, { metadata: 'x' })).endpoint_configuration, shown)
      const detached = await reservedAddr.update(id, { endpoint_configuration_id: nothing })
      t.equal(detached.endpoint_configuration, null)
    }
    const made = await reservedAddr.create({ endpoint_configuration_id: configuration })
    t.strictSame(made.endpoint_configuration, shown, 'or given at once')
  })

  t.test('under the domain, edges serve what their account reserved', async (t) => {
    const mine = await reserve(me, { region: 'eu' })
    const theirs = await reserve(other, { region: 'eu' })
    const [host = '', port = ''] = mine.addr.split(':')
    const notReserved = [
      theirs.addr,
      `${host}:${Number(port) - 1}`,
      `${host}:22`,
      'weir.localhost:443',
      'www.weir.localhost:443',
      'WWW.Weir.Localhost:443',
    ]
    for (const [index, edges] of [me.tcpEdge, me.httpsEdge].entries()) {
      for (const hostport of notReserved) {
        const says = await refused(400, edges.create({ hostports: ['free.example:1', hostport] }))
        t.match(says, `"hostports[1]" is "${hostport.toLowerCase()}": under weir.localhost`)
      }
      const edge = await edges.create({ hostports: [mine.addr.toUpperCase()] })
      t.strictSame(edge.hostports, [mine.addr])
      t.match(await refused(400, edges.update(edge.id, { hostports: [theirs.addr] })), theirs.addr)
      t.strictSame((await edges.update(edge.id, { hostports: [mine.addr] })).hostports, [mine.addr])
      t.match(await refused(400, me.reservedAddr.delete(mine.id)), edge.id)
      await edges.update(edge.id, { hostports: null })
      await edges.create({ hostports: [`xweir.localhost:${10 + index}`] })
    }
    const { id } = await me.tcpEdge.create({ hostports: [mine.addr] })
    t.match(await refused(400, me.httpsEdge.create({ hostports: [mine.addr] })), 'another edge')
    await me.tcpEdge.delete(id)
    await me.reservedAddr.delete(mine.id)
    t.match(await refused(400, me.tcpEdge.create({ hostports: [mine.addr] })), 'reserved')
  })

  t.test('an edge and a deletion at the same time: one of them is refused', async (t) => {
    for (let round = 0; round < (process.argv.includes('--full') ? 8 : 3); round += 1) {
      const { id, addr } = await reserve(me)
      const calls = [me.tcpEdge.create({ hostports: [addr] }), me.reservedAddr.delete(id)]
      const statuses = (await Promise.all(calls.map(statusOf))).join()
      t.ok(['ok,400', '400,ok'].includes(statuses), statuses)
    }
  })

  /** The API with addresses from another space. */
  const apiOf = (space: Partial<TcpAddressSpace>) => {
    const { parts } = store
    const tcpAddresses = { ...tcpAddressSpace('weir.localhost'), ...space }
    const writes = new Writes({
      ...parts,
      tcpAddresses,
      sshAnyHost: 'empty',
      sourceProblems: (source) => sourceProblems(source as never),
    })
    return store.api({ context: { ...parts, writes } })
  }

  t.test('no address is assigned twice', async (t) => {
    const small = await apiOf({ hostsPerRegion: 2, portMin: 30_001, portMax: 30_003 })
    const accounts = await Promise.all(['one', 'two', 'three'].map((name) => small.account(name)))
    const calls = Array.from({ length: 9 }, (_, at) => accounts[at % 3]!.reservedAddr.create({}))
    const answers = await Promise.allSettled(calls)
    const addresses = answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value.addr] : []))
    t.equal(addresses.length, 6, 'every one is found, side by side')
    t.equal(new Set(addresses).size, 6, 'and is the only one')
    const refusal = { status_code: 400, error_code: 'ERR_CONFLICT', msg: /^No free address was drawn/ }
    for (const each of answers) if (each.status === 'rejected') t.match(each.reason, refusal)
    // Which accounts came first is open: one may have none.
    const [taken] = answers.flatMap((each, at) =>
      each.status === 'fulfilled'
        ? [{ held: each.value, holder: accounts[at % 3]!, other: accounts[(at + 1) % 3]! }]
        : [],
    )
    const { held, holder, other } = taken!
    await holder.reservedAddr.delete(held.id)
    t.equal((await reserve(other)).addr, held.addr, 'one that is given up is free')
    t.match(
      (await accounts[1]!.reservedAddr.create({ region: 'eu' })).addr,
      '.tcp.eu.',
      'other regions have their own',
    )
  })

  t.test('an edge keeps its hostports when the domain setting changes', async (t) => {
    const edge = await me.tcpEdge.create({ hostports: ['ssh.moved.example:22'] })
    const moved = await apiOf({ domain: 'moved.example' })
    const caller = await moved.account()
    t.match(await refused(400, caller.tcpEdge.create({ hostports: ['a.moved.example:22'] })), 'reserved')
    t.match((await caller.reservedAddr.create({})).addr, /^\d+\.tcp\.us\.moved\.example:/)
    const there = moved.stranger(me.token)
    t.equal((await there.tcpEdge.update(edge.id, { description: 'x' })).description, 'x')
    const both = ['ssh.moved.example:22', 'b.moved.example:22']
    t.match(await refused(400, there.tcpEdge.update(edge.id, { hostports: both })), /"hostports\[1\]"/)
  })
})
