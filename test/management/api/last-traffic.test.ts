/** When traffic last went to domains, addresses and the domains of certificates: from the log, of the own account alone. */
import t from 'tap'
import { shapeLogTables } from '../../../src/management/store/logs/log-tables.js'
import { openTestStore } from '../../harness/api.js'
import { all, type Caller } from '../../harness/caller.js'
import { certificateBody } from '../../harness/certificates.js'
import { decisionRow, rowBytes } from '../../harness/decision-rows.js'

const hourMs = 60 * 60_000
const bounds = { retentionMs: 50 * 365 * 24 * hourMs, bytesMax: 2 ** 30 }

const iso = (ms: number): string => new Date(ms).toISOString()

t.test('the last traffic of names', async (t) => {
  const { parts, api: openApi } = await openTestStore(t)
  await shapeLogTables(parts.clickhouse, bounds)
  const api = await openApi()
  const [mine, theirs] = [await api.account('mine'), await api.account('theirs')]
  const reserve = async (domain: string, certificate_id?: string) =>
    (await mine.domain.create({ domain, ...(certificate_id !== undefined && { certificate_id }) })).id
  const certificate = await mine.tlsCertificate.create(certificateBody('rsa'))
  const unused = await mine.tlsCertificate.create(certificateBody('ecdsa'))
  const exact = await reserve('lately.rsa.example', certificate.id)
  const old = await reserve('long-ago.rsa.example', certificate.id)
  const quiet = await reserve('quiet.last-traffic.example')
  const wild = await reserve('*.wild.last-traffic.example')
  const [busy, silent] = [await mine.reservedAddr.create({}), await mine.reservedAddr.create({})]
  const foreign = await theirs.domain.create({ domain: 'theirs.last-traffic.example' })
  const hostport = (addr: string) => {
    const [serverName = '', port] = addr.split(':')
    return { serverName, serverPort: Number(port) }
  }
  const started = Date.now()
  let sequence = 0
  const row = (client: Caller, hoursAgo: number, values: Parameters<typeof decisionRow>[0]) => {
    sequence += 1
    const at = started - hoursAgo * hourMs
    return decisionRow({ accountId: client.accountId, at, recordId: `r${sequence}`, sequence, ...values })
  }
  const ago = (hours: number): string => iso(started - hours * hourMs)
  await parts.clickhouse.insertBlocks('decisions', [
    rowBytes([
      row(mine, 200, { serverName: 'long-ago.rsa.example', decision: 'block' }),
      row(mine, 150, { serverName: 'long-ago.rsa.example', serverPort: 443 }),
      row(mine, 100, { serverName: 'lately.rsa.example' }),
      row(mine, 3, { serverName: 'lately.rsa.example' }),
      row(mine, 2, { serverName: 'LATELY.rsa.Example.', serverPort: 8443 }),
      row(mine, 5, { serverName: 'a.wild.last-traffic.example' }),
      row(mine, 1, { serverName: 'b.a.wild.last-traffic.example' }),
      row(mine, 1, { serverName: 'wild.last-traffic.example' }),
      row(mine, 1, { serverName: '' }),
      row(mine, 4, hostport(busy.addr)),
      row(mine, 1, { ...hostport(busy.addr), serverPort: 1 }),
      row(theirs, 1, { serverName: 'quiet.last-traffic.example' }),
      row(theirs, 9, { serverName: 'theirs.last-traffic.example' }),
    ]),
    rowBytes([row(mine, 1.5, { serverName: 'lately.rsa.example', source: 'asked', weight: 5 })]),
  ])
  const of = async (client: Caller, kind: 'domain' | 'reservedAddr' | 'tlsCertificate') =>
    Object.fromEntries(
      (await client.lastTraffic(kind)).last_traffic.map((each) => [each.id, each.last_traffic_at]),
    )

  t.strictSame(
    await of(mine, 'domain'),
    { [exact]: ago(1.5), [old]: ago(150), [quiet]: null, [wild]: ago(5) },
    'on any port, in any spelling; a question counts; a wildcard has one label; what others were asked does not count',
  )
  t.strictSame(await of(mine, 'reservedAddr'), { [busy.id]: ago(4), [silent.id]: null }, 'on its port')
  t.strictSame(await of(mine, 'tlsCertificate'), { [certificate.id]: ago(1.5), [unused.id]: null })
  t.strictSame(await of(theirs, 'domain'), { [foreign.id]: ago(9) })
  t.match(await mine.lastTraffic('domain'), { log: 'all', since: ago(200), names_left_out: 0 })

  await t.test('in pages like those of the list', async (t) => {
    const ids = (await all(mine.domain.list())).map(({ id }) => id)
    t.strictSame(
      (await mine.lastTraffic('domain')).last_traffic.map(({ id }) => id),
      ids,
    )
    const first = await mine.lastTraffic('domain', { limit: 1 })
    t.strictSame(first.last_traffic, [{ id: wild, last_traffic_at: ago(5) }])
    t.match(first.next_page_uri, /\/reserved_domains\/last_traffic\?limit=1&before_id=rd_/)
    const rest = await mine.lastTraffic('domain', { before_id: wild })
    t.strictSame(
      rest.last_traffic.map(({ id }) => id),
      ids.slice(1),
    )
    t.equal(rest.next_page_uri, null)
    t.match(await mine.raw.refused(400, 'GET', '/reserved_domains/last_traffic?filter=true'), /"filter"/)
  })

  await t.test('an account without traffic, and one without names', async (t) => {
    const empty = await api.account('empty')
    t.match(await empty.lastTraffic('domain'), { last_traffic: [], since: null, log: 'all' })
    const { id } = await empty.domain.create({ domain: 'empty.last-traffic.example' })
    t.strictSame(await of(empty, 'domain'), { [id]: null })
  })

  await t.test('without a log nothing is known, which the answer says', async (t) => {
    const { TrafficReader } = await import('../../../src/management/store/logs/traffic-reader.js')
    const off = await openApi({ traffic: new TrafficReader(parts.clickhouse, 'off') })
    const me = await off.account('off')
    const { id } = await me.domain.create({ domain: 'off.last-traffic.example' })
    t.match(await me.lastTraffic('domain'), {
      last_traffic: [{ id, last_traffic_at: null }],
      log: 'off',
      since: null,
    })
  })
})
