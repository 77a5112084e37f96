/** Names that no edge serves: what the console says about records of them, and about questions. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { until } from '../../harness/weir.js'
import { openService } from '../../integration/service.js'
import { inBrowser, newAccount, openSignedIn } from './visitor.js'

const proxyIsRefused =
  /No edge of the account serves this name.*A proxy that asks about it over HTTP is refused/

t.test('names that no edge serves, in the console', inBrowser(), async (t) => {
  const me = await newAccount()
  const host = `nobody-${randomBytes(4).toString('hex')}.example.com`
  const client = '203.0.113.97'
  const visitor = await openSignedIn(t, me.token)
  const { page } = visitor
  const verdict = page.locator('.verdict')
  const servedAs = page.locator('dl.facts dt', { hasText: /^Served as$/ }).locator('+ dd')

  await t.test('a question is denied, and the page says why and what to do', async (t) => {
    await visitor.see(
      `console/explain?about=question&client=${client}&endpoint=${host}:443&type=http_request&path=/admin/`,
    )
    t.match(await verdict.textContent(), /deny because no edge of the account serves this name\.$/)
    t.match(
      await page.locator('.warning-line').allTextContents(),
      [
        /^No edge of the account serves this name: add it to the hostports of an edge, or ask with unserved=allow\.$/,
      ],
      'said once',
    )
    t.equal(await servedAs.textContent(), 'no edge serves it')
  })

  await t.test('a record passes, and the page says that a proxy would be refused', async (t) => {
    const record_id = `unserved-${randomBytes(4).toString('hex')}`
    const conn = { client_ip: client, server_name: host, server_port: 443 }
    const request = { method: 'GET', url: { path: '/admin/' } }
    await me.api.publishRecords([{ record_id, type: 'http_request', conn, http: { request } }])
    await until('it is in the log', async () => {
      const found = await me.api.record(record_id).catch(() => undefined)
      return found?.publications.length === 1
    })
    await visitor.see(`console/explain/${record_id}`)
    for (const name of ['As judged then', 'Now']) {
      const text = (await page.getByRole('region', { name, exact: true }).textContent()) ?? ''
      t.match(text, /allow Nothing refused it\./, name)
      t.match(text, proxyIsRefused, name)
      t.match(text, /Served asno edge serves it/, name)
    }
    t.match(await page.getByRole('region', { name: 'Now', exact: true }).textContent(), /the same as then/)
  })

  await t.test('the overview says so, and leads to the edge that serves it', async (t) => {
    const near = await me.api.httpsEdge.create({ hostports: [`${host}:8443`] })
    const item = page.locator('section[aria-labelledby=attention] li').filter({ hasText: 'no edge serves' })
    await until('the overview knows the names', async () => {
      await visitor.see('')
      await page.getByRole('heading', { name: 'Needs a hand' }).waitFor()
      return /1 record in the last 24 hours/.test((await item.first().textContent()) ?? '')
    })
    t.match(await item.first().textContent(), `no edge serves ${host}:443; your edges: ${host}:8443.`)
    await page.getByRole('link', { name: `serve it with the edge of ${host}:8443` }).click()
    await page.getByLabel('Host names and ports').waitFor()
    t.match(page.url(), `/console/edges/${near.id}?`)
    t.equal(await page.getByLabel('Host names and ports').inputValue(), `${host}:8443\n${host}:443`)
    await visitor.see('')
    await page.getByRole('link', { name: 'make an edge for it' }).click()
    await page.getByRole('heading', { name: 'Website or API' }).waitFor()
    t.equal(await page.getByLabel('Host names').inputValue(), `${host}:443`)
    await me.api.httpsEdge.delete(near.id)
  })

  await t.test('what a proxy was answered is found again, with the reason', async (t) => {
    const { weir } = await openService()
    const [, decisions = ''] = await weir.process.line(/^decisions: (\S+)$/)
    const conn = { client_ip: client, server_name: host, server_port: 443 }
    const request = { method: 'GET', url: { path: '/admin/of-a-proxy' } }
    const asked = await fetch(decisions, {
      method: 'POST',
      headers: { authorization: `Bearer ${me.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'http_request', conn, http: { request } }),
    })
    t.match(await asked.json(), { decision: 'deny', served: false })
    const logged = async () => {
      for await (const entry of me.api.decisions({ source: 'asked' })) return entry
      return undefined
    }
    await until('it is in the log', async () => (await logged()) !== undefined)
    await visitor.see('console/search?source=asked')
    const row = page.locator('tbody tr').first()
    await until('the row says it', async () => /no edge serves it/.test((await row.textContent()) ?? ''))
    t.match(await row.textContent(), /deny/)
    const entry = (await logged())!
    await visitor.see(`console/explain/${entry.record_id}?decision=${entry.id}`)
    for (const name of ['As judged then', 'Now']) {
      const text = (await page.getByRole('region', { name, exact: true }).textContent()) ?? ''
      t.match(text, /deny because no edge of the account serves this name\./, name)
    }
    t.match(await page.getByRole('region', { name: 'Now', exact: true }).textContent(), /the same as then/)
  })

  await t.test('once an edge serves it, the sentences are gone', async (t) => {
    await me.api.httpsEdge.create({ hostports: [`${host}:443`] })
    await until('it is served', async () => {
      const request = { method: 'GET', url: { path: '/' } }
      const conn = { client_ip: client, server_name: host, server_port: 443 }
      return (await me.api.decide({ type: 'http_request', conn, http: { request } } as never)).served
    })
    await visitor.see(
      `console/explain?about=question&client=${client}&endpoint=${host}:443&type=http_request`,
    )
    t.match(await verdict.textContent(), /allow Nothing refused it\.$/)
    t.equal(await page.locator('.warning-line').count(), 0)
    t.equal(await servedAs.textContent(), `${host}:443`)
  })
  t.strictSame(visitor.complaints, [])
})
