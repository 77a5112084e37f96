/** IP lists that a running service fetches: from a web server and from a file, as soon as they have a source. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Client } from '../../src/words/client/client.js'
import { total } from '../harness/metrics.js'
import { openWebServer } from '../harness/web-server.js'
import { until } from '../harness/weir.js'
import { openAccount } from './service.js'

const host = 'fed-lists.example.com'

async function decisionOn(api: Client, client_ip: string): Promise<string> {
  const conn = { client_ip, client_port: 4000, server_name: host, server_port: 22 }
  return (await api.decide({ type: 'tcp_connection', conn })).decision
}

t.test('lists are fed, and decide', async (t) => {
  const { weir, env } = await openAccount(t)
  const { api, accountId } = weir
  const directory = join(env['WEIR_LIST_DIRECTORY']!, accountId)
  mkdirSync(directory)
  writeFileSync(join(directory, 'office.csv'), 'cidr,comment\n198.51.100.0/24,office\n')
  const server = await openWebServer(t, (_, response) => {
    response.writeHead(200, { etag: '"1"' }).end('{"cidr":"192.0.2.0/24","sblid":"SBL1"}\n')
  })
  const fromServer = await api.ipList.create({
    name: 'drop',
    source: { url: `${server.url}/drop.json`, format: 'spamhaus_drop' },
  })
  const fromFile = await api.ipList.create({ name: 'office', source: { file: 'office.csv', format: 'csv' } })
  const policy = await api.ipPolicy.create({})
  for (const [list_id, action] of [
    [fromServer.id, 'deny'],
    [fromFile.id, 'allow'],
  ] as const)
    await api.ipPolicyRule.create({ ip_policy_id: policy.id, list_id, action })
  await api.tcpEdge.create({ hostports: [`${host}:22`], ip_restriction: { ip_policy_ids: [policy.id] } })

  const status = async (id: string) => (await api.ipList.get(id)).source_status
  for (const { id } of [fromServer, fromFile])
    await until('it is fetched', async () => (await status(id))?.state === 'current')
  t.match(await status(fromServer.id), { etag: '"1"', error: null })
  await until('its addresses are let in', async () => (await decisionOn(api, '198.51.100.7')) === 'allow')
  t.equal(await decisionOn(api, '192.0.2.7'), 'block')
  t.equal(server.requests.length, 1)

  const metrics = await (await fetch(`${weir.url}/metrics`)).text()
  t.ok(total(metrics, 'weir_ip_list_sources', 'state="current"') >= 2)
  t.ok(total(metrics, 'weir_ip_lists_fed_total') >= 2)
  t.match(metrics, /^weir_ip_list_source_age_periods\S* 0/m)
})
