/** Hostports with wildcards: which edge serves a record, in the order of preference, and across accounts. */
import t from 'tap'
import type { TrafficRecord } from '../../../src/delivery/record/traffic-record.js'
import { decideRecord } from '../../../src/judging/evaluate/decide.js'
import { wildcardsFor } from '../../../src/judging/evaluate/hostports.js'
import { buildPolicySet } from '../../../src/judging/evaluate/policy-set.js'
import { decide } from '../../../src/judging/evaluate/reply.js'
import { noGeo, noYield, TestConfiguration } from './configuration.js'

const tcp = (server_name: string, server_port: number, account_id?: string): TrafficRecord => ({
  record_id: 'r',
  type: 'tcp_connection',
  account_id,
  conn: { client_ip: '198.51.100.7', server_name, server_port },
})
const http = (server_name: string, server_port: number): TrafficRecord => ({
  ...tcp(server_name, server_port),
  type: 'http_request',
})

/** The edges of each account by one hostport each; their ids are the hostports. */
async function setOf(edges: Readonly<Record<string, readonly string[]>>) {
  const configuration = new TestConfiguration(...Object.keys(edges))
  for (const [account_id, hostports] of Object.entries(edges))
    for (const hostport of hostports) {
      const [kind, text = ''] = hostport.split(' ')
      if (kind === 'reserved') configuration.reserved(`ra_${text}`, text, account_id)
      else if (kind === 'https') configuration.httpsEdge(text, [text], account_id)
      else configuration.tcpEdge(kind!, { account_id, hostports: [kind!] })
    }
  return buildPolicySet(configuration, undefined, noYield)
}

t.test('the wildcards of a hostport, the most specific first', async (t) => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    'a.b.c:1': ['a.b.c:*', '*.b.c:1', '*.b.c:*', '*.c:1', '*.c:*', '*:1', '*:*'],
    'a:1': ['a:*', '*:1', '*:*'],
    '[::1]:1': ['[::1]:*', '*:1', '*:*'],
    [`${'a.'.repeat(30_000)}:1`]: [`${'a.'.repeat(30_000)}:*`, '*:1', '*:*'],
  }
  for (const [hostport, want] of Object.entries(cases)) t.strictSame([...wildcardsFor(hostport)], want)
})

t.test('the most specific hostport wins', async (t) => {
  const order = ['a.b.c:1', 'a.b.c:*', '*.b.c:1', '*.b.c:*', '*.c:1', '*.c:*', '*:1', '*:*']
  const records = [tcp('a.b.c', 1), tcp('A.B.C.', 1)]
  for (let from = 0; from < order.length; from += 1) {
    const policySet = await setOf({ ac_1: order.slice(from) })
    for (const record of records) {
      const found = policySet.findEdge(record)
      t.equal(found.ok && found.value.edgeId, order[from])
      t.equal(policySet.hostportOf(record), order[from])
    }
  }
})

t.test('what a wildcard matches', async (t) => {
  const cases: [hostport: string, record: TrafficRecord, matches: boolean][] = [
    ['*.b.c:1', tcp('x.y.b.c', 1), true],
    ['*.b.c:1', tcp('b.c', 1), false],
    ['*.b.c:1', tcp('ab.c', 1), false],
    ['*.b.c:1', tcp('a.b.c', 2), false],
    ['*.b.c:1', http('a.b.c', 1), false],
    ['b.c:*', tcp('b.c', 65_535), true],
    ['b.c:*', tcp('a.b.c', 1), false],
    ['192.0.2.1:*', tcp('192.0.2.1', 1), true],
    ['[2001:db8::1]:*', tcp('2001:DB8:0::1', 1), true],
    ['*:22', tcp('2001:db8::1', 22), true],
    ['*:22', tcp('a'.repeat(60_000), 22), true],
    ['*:22', tcp('', 22), false],
    ['*:22', tcp('*', 22), true],
    ['*.b.c:1', tcp('*.b.c', 1), true],
  ]
  for (const [hostport, record, matches] of cases) {
    const found = (await setOf({ ac_1: [hostport] })).findEdge(record)
    const name = `${hostport} and ${record.conn.server_name?.slice(0, 20)}:${record.conn.server_port}`
    t.equal(found.ok && found.value.edgeId, matches ? hostport : undefined, name)
  }
})

t.test('no wildcard catches what another account names', async (t) => {
  const cases: [
    name: string,
    mine: string[],
    theirs: string[],
    record: TrafficRecord,
    edge: string | undefined,
  ][] = [
    ['an exact name of theirs', ['*:22'], ['a.b:22'], tcp('a.b', 22), 'a.b:22'],
    ['a name of theirs with any port', ['*.b:22'], ['a.b:*'], tcp('a.b', 22), 'a.b:*'],
    ['a longer domain of theirs', ['*.c:22'], ['*.b.c:*'], tcp('a.b.c', 22), '*.b.c:*'],
    ['a name that no one names', ['*.c:22'], ['*.b.c:22'], tcp('x.c', 22), '*.c:22'],
    ['another port, which no one names', ['*:*'], ['a.b:22'], tcp('a.b', 23), '*:*'],
    ['an edge of theirs of the other kind', ['*:443'], ['https a.b:443'], tcp('a.b', 443), undefined],
    ['a wildcard of the other kind', ['*:443'], ['https *.b:443'], tcp('a.b', 443), undefined],
    [
      'an address that they reserved',
      ['*:*'],
      ['reserved 1.tcp.eu.d:12345'],
      tcp('1.tcp.eu.d', 12_345),
      undefined,
    ],
    ['a record of theirs', ['*:22'], [], tcp('a.b', 22, 'ac_2'), undefined],
    ['a record of theirs passes by mine', ['*.b:22'], ['*:22'], tcp('a.b', 22, 'ac_2'), '*:22'],
    ['a record of mine passes by theirs', ['*:22'], ['*.b:22'], tcp('a.b', 22, 'ac_1'), '*:22'],
    ['an exact name of theirs, for a record of mine', ['*:22'], ['a.b:22'], tcp('a.b', 22, 'ac_1'), '*:22'],
    ['an exact name of mine, for a record of theirs', ['a.b:22'], [], tcp('a.b', 22, 'ac_2'), undefined],
  ]
  for (const [name, mine, theirs, record, edge] of cases) {
    const policySet = await setOf({ ac_1: mine, ac_2: theirs })
    const found = policySet.findEdge(record)
    t.equal(found.ok && found.value.edgeId, edge, name)
    t.equal(
      found.ok && found.value.accountId,
      edge === undefined ? record.account_id : found.ok && found.value.accountId,
    )
  }
})

t.test('what is asked for an account sees its edges alone', async (t) => {
  const cases: [name: string, mine: string[], theirs: string[], record: TrafficRecord, edge?: string][] = [
    [
      'an exact name of theirs',
      ['*.shop.b:443'],
      ['pay.shop.b:443'],
      http('pay.shop.b', 443),
      '*.shop.b:443',
    ],
    ['any port of a name of theirs', ['*.b:443'], ['pay.shop.b:*'], http('pay.shop.b', 443), '*.b:443'],
    ['a longer wildcard of theirs', ['*.b:443'], ['*.shop.b:443'], http('pay.shop.b', 443), '*.b:443'],
    ['an edge of theirs of the other kind', ['*.b:443'], ['tcp pay.b:443'], http('pay.b', 443), '*.b:443'],
    ['a wildcard of the other kind', ['*:443'], ['tcp *.b:443'], http('pay.b', 443), '*:443'],
    ['an address that they reserved', ['*:443'], ['reserved 1.tcp.b:443'], http('1.tcp.b', 443), '*:443'],
    ['an address that I reserved', ['*:443', 'reserved 1.tcp.b:443'], [], http('1.tcp.b', 443)],
    ['an edge of mine of the other kind', ['*:443', 'tcp pay.b:443'], [], http('pay.b', 443)],
    ['only an edge of theirs', [], ['pay.b:443'], http('pay.b', 443)],
    ['only a wildcard of theirs', [], ['*:*'], http('pay.b', 443)],
  ]
  const asHttps = (hostports: readonly string[]) =>
    hostports.map((text) => (text.includes(' ') ? text.replace(/^tcp /, '') : `https ${text}`))
  for (const [name, mine, theirs, record, edge] of cases) {
    const policySet = await setOf({ ac_1: asHttps(mine), ac_2: asHttps(theirs) })
    const alone = await setOf({ ac_1: asHttps(mine) })
    for (const [from, set] of Object.entries({ 'all accounts': policySet, 'the own account': alone })) {
      const found = set.findEdgeOf('ac_1', record)
      t.equal(found.ok && found.value.edgeId, edge, `${name}, among the edges of ${from}`)
      t.equal(set.hostportOf(record, 'ac_1'), edge, `${name}, the hostport`)
      // The pipeline decides about the record of the account in the same way.
      const recorded = set.findEdge({ ...record, account_id: 'ac_1' })
      t.equal(recorded.ok && recorded.value.edgeId, edge, `${name}, a record`)
    }
    const asked = decideRecord(policySet, noGeo, { record, explain: true }, 'ac_1')
    t.equal(asked.ok && asked.value.answer.explanation?.hostport, edge ?? null, `${name}, explained`)
  }
})

t.test('explanations say which hostport matched', async (t) => {
  const policySet = await setOf({ ac_1: ['*.b:22', 'c:22'] })
  const hostportFor = (record: object) =>
    JSON.parse(
      Buffer.from(
        decide(policySet, noGeo, Buffer.from(JSON.stringify({ ...record, explain: true }))),
      ).toString(),
    ).explanation.hostport
  t.equal(hostportFor(tcp('A.b', 22)), '*.b:22')
  t.equal(hostportFor(tcp('c', 22)), 'c:22')
  t.equal(hostportFor({ ...tcp('c', 22), edge_id: '*.b:22' }), null, 'the edge is named')
  t.equal(hostportFor(tcp('d', 22)), null, 'no edge')
  const asked = decideRecord(policySet, noGeo, { record: tcp('x.b', 22), explain: true }, 'ac_1')
  t.match(asked, { value: { answer: { explanation: { hostport: '*.b:22' } } } })
})
