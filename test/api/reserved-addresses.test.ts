/** Reserved addresses: how they are assigned, which edges may serve them, and when they are released. */
import t from 'tap'
import { Writes } from '../../src/api/writes.js'
import { checkSource } from '../../src/event/check-source.js'
import { type TcpAddressSpace, tcpAddressSpace } from '../../src/resource/tcp-address.js'
import { base, openTestStore } from '../harness/api.js'
import type { RawClient } from '../harness/raw-client.js'

const path = '/reserved_addrs'
const unknownId = 'ra_01M7Y46P1SGDTCFAVEJ96D4PD7'
const configuration = 'ec_01M7Y46P1SGDTCFAVEJ96D4PD7'

t.test('reserved addresses', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  const { reservedAddr } = me.typed
  const other = await api.account('other')
  const reserve = async (by: RawClient, body: object = {}): Promise<{ id: string; addr: string }> =>
    by.post(path, body)

  t.test('from create to delete', async (t) => {
    const created = await me.send('POST', path, { body: { description: 'ssh' } })
    t.equal(created.status, 201)
    const { id, created_at, addr, ...rest } = created.body
    const uri = `${base}${path}/${id}`
    t.match(id, /^ra_\w{26}$/)
    t.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    t.match(addr, /^([1-9]|10)\.tcp\.us\.weir\.localhost:[12]\d{4}$/, 'assigned, in the default region')
    t.strictSame(rest, { uri, description: 'ssh', region: 'us', endpoint_configuration: null })
    t.equal(created.headers['location'], uri)
    t.strictSame(await me.get(`${path}/${id}`), created.body)
    const page = await me.get(path)
    t.strictSame(page, { reserved_addrs: [created.body], uri: `${base}${path}`, next_page_uri: null })
    t.strictSame((await other.get(path)).reserved_addrs, [])
    const changed = await me.patch(`${path}/${id}`, { description: '', metadata: '{}' })
    const { description, ...undescribed } = created.body
    t.strictSame(changed, { ...undescribed, metadata: '{}' })
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? {} : undefined
      await other.refused(404, method, `${path}/${id}`, body)
      t.match(await me.refused(404, method, `${path}/${unknownId}`, body), unknownId)
    }
    t.equal(await me.delete(`${path}/${id}`), undefined)
    await me.refused(404, 'GET', `${path}/${id}`)
  })

  t.test('every region', async (t) => {
    for (const region of ['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa'] as const) {
      const address = await reservedAddr.create({ region })
      t.equal(address.region, region)
      t.match(address.addr, `.tcp.${region}.weir.localhost:`)
    }
    t.equal((await reservedAddr.create({ region: null })).region, 'us')
    t.equal((await me.post(path, { region: '' })).region, 'us')
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
    const refused = [
      theirs.addr,
      `${host}:${Number(port) - 1}`,
      `${host}:22`,
      'weir.localhost:443',
      'www.weir.localhost:443',
      'WWW.Weir.Localhost:443',
    ]
    for (const kind of ['/edges/tcp', '/edges/https']) {
      for (const hostport of refused) {
        const says = await me.refused(400, 'POST', kind, { hostports: ['free.example:1', hostport] })
        t.match(says, `"hostports[1]" is "${hostport.toLowerCase()}": under weir.localhost`)
      }
      const edge = await me.post(kind, { hostports: [mine.addr.toUpperCase()] })
      t.strictSame(edge.hostports, [mine.addr])
      const at = `${kind}/${edge.id}`
      t.match(await me.refused(400, 'PATCH', at, { hostports: [theirs.addr] }), theirs.addr)
      t.strictSame((await me.patch(at, { hostports: [mine.addr] })).hostports, [mine.addr])
      t.match(await me.refused(400, 'DELETE', `${path}/${mine.id}`), edge.id)
      await me.patch(at, { hostports: null })
      await me.post(kind, { hostports: [`xweir.localhost:${kind.length}`] })
    }
    const { id } = await me.post('/edges/tcp', { hostports: [mine.addr] })
    t.match(await me.refused(400, 'POST', '/edges/https', { hostports: [mine.addr] }), 'another edge')
    await me.delete(`/edges/tcp/${id}`)
    await me.delete(`${path}/${mine.id}`)
    t.match(await me.refused(400, 'POST', '/edges/tcp', { hostports: [mine.addr] }), 'reserved')
  })

  t.test('an edge and a deletion at the same time: one of them is refused', async (t) => {
    for (let round = 0; round < 8; round += 1) {
      const { id, addr } = await reserve(me)
      const requests = [
        me.send('POST', '/edges/tcp', { body: { hostports: [addr] } }),
        me.send('DELETE', `${path}/${id}`),
      ]
      const statuses = (await Promise.all(requests)).map(({ status }) => status)
      t.ok([[201, 400].join(), [400, 204].join()].includes(statuses.join()), statuses.join())
    }
  })

  /** The API with addresses from another space. */
  const apiOf = (space: Partial<TcpAddressSpace>) => {
    const { parts } = store
    const tcpAddresses = { ...tcpAddressSpace('weir.localhost'), ...space }
    const writes = new Writes({
      ...parts,
      tcpAddresses,
      sourceProblem: (source) => checkSource(source as never),
    })
    return store.api({ context: { ...parts, writes } })
  }

  t.test('no address is assigned twice', async (t) => {
    const small = await apiOf({ hostsPerRegion: 2, portMin: 30_001, portMax: 30_006 })
    const accounts = await Promise.all(['one', 'two', 'three'].map((name) => small.account(name)))
    const answers = await Promise.all(
      Array.from({ length: 18 }, (_, at) => accounts[at % 3]!.send('POST', path, { body: {} })),
    )
    const addresses = answers.filter(({ status }) => status === 201).map(({ body }) => body.addr)
    t.equal(addresses.length, 12, 'every one is found, side by side')
    t.equal(new Set(addresses).size, 12, 'and is the only one')
    for (const { status, body } of answers.filter(({ status }) => status !== 201)) {
      t.equal(status, 400)
      t.match(body, { error_code: 'ERR_CONFLICT', msg: /^No free address was drawn/ })
    }
    const [held] = (await accounts[0]!.get(path)).reserved_addrs
    await accounts[0]!.delete(`${path}/${held.id}`)
    t.equal((await reserve(accounts[1]!)).addr, held.addr, 'one that is given up is free')
    t.match(
      (await accounts[1]!.post(path, { region: 'eu' })).addr,
      '.tcp.eu.',
      'other regions have their own',
    )
  })

  t.test('an edge keeps its hostports when the domain setting changes', async (t) => {
    const edge = await me.post('/edges/tcp', { hostports: ['ssh.moved.example:22'] })
    const moved = await apiOf({ domain: 'moved.example' })
    const caller = await moved.account()
    t.match(
      await caller.refused(400, 'POST', '/edges/tcp', { hostports: ['a.moved.example:22'] }),
      'reserved',
    )
    t.match((await caller.post(path)).addr, /^\d+\.tcp\.us\.moved\.example:/)
    const there = moved.stranger(me.token)
    t.equal((await there.patch(`/edges/tcp/${edge.id}`, { description: 'x' })).description, 'x')
    const both = ['ssh.moved.example:22', 'b.moved.example:22']
    t.match(
      await there.refused(400, 'PATCH', `/edges/tcp/${edge.id}`, { hostports: both }),
      /"hostports\[1\]"/,
    )
  })
})
