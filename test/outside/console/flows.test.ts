/** Something new, step by step, against real programs at the other side. */
import t from 'tap'
import { all } from '../../harness/caller.js'
import { openWebServer } from '../../harness/web-server.js'
import { until } from '../../harness/weir.js'
import { inBrowser, newAccount, openSignedIn, untilAllInUse } from './visitor.js'

t.test('flows of the console', inBrowser(), async (t) => {
  await t.test(
    'a web server: its kind, its address, a test event, which events, the first event',
    async (t) => {
      const me = await newAccount()
      const host = `flow-${me.id.slice(-8).toLowerCase()}.example.com`
      await me.api.tcpEdge.create({ hostports: [`${host}:443`] })
      let isOpen = false
      const server = await openWebServer(t, (_, response) =>
        response.writeHead(isOpen ? 204 : 401, { 'x-request-id': 'of-the-server' }).end(),
      )
      const visitor = await openSignedIn(t, me.token, { expected: /^400 POST \/event_(dest|subs)/ })
      const { page } = visitor
      let presses = 0
      const press = async (name: string | RegExp, role: 'button' | 'link' = 'button'): Promise<void> => {
        presses += 1
        await page.getByRole(role, { name }).click()
      }
      await visitor.see('console/destinations')
      await press('New destination', 'link')
      await press(/^Web server/, 'link')
      await page.getByText('Let the server take POST requests').waitFor()
      t.equal(await page.locator('main .fault').count(), 0, 'what is not filled in yet is no mistake')
      t.notMatch(await page.locator('main').textContent(), /[a-z]_[a-z]+ \(optional\)|target\.http/)

      await page.getByLabel('Address (URL)').fill(`${server.url}/events`)
      await press('Send a test event')
      const answer = page.locator('.answer')
      await answer.getByText('not accepted').waitFor()
      t.match(await answer.textContent(), /401.*refuses the credentials/s)
      await page.getByLabel('How Weir signs in').selectOption('bearer')
      await page.getByLabel('Token').fill('a-secret-of-the-test')
      t.match(await answer.textContent(), /The form has changed since this test/)
      isOpen = true
      await press('Send a test event')
      await answer.getByText('The other side took the test event').waitFor()
      t.equal(server.requests.at(-1)?.headers.authorization, 'Bearer a-secret-of-the-test')
      t.match(server.requests.at(-1)?.body, /"event_type":"test\.v0"/)
      t.strictSame(await all(me.api.eventDestination.list()), [], 'nothing is created yet')

      await press('Create, and choose events')
      await page.getByRole('combobox', { name: 'Events' }).waitFor()
      t.match(await page.getByLabel('Steps').textContent(), /✓\s*Where to/)
      const filter = page.getByRole('combobox', { name: 'Filter' })
      await filter.fill('conn.server_prt == 443')
      await page.locator('.fault', { hasText: 'conn.server_prt is not a known name' }).first().waitFor()
      await filter.fill('conn.server_port == 443')
      await press('Send these events')
      await page.getByText('Waiting for the first event').waitFor()
      await untilAllInUse()
      await until('a record makes an event that is delivered', async () => {
        const conn = { client_ip: '203.0.113.9', server_name: host, server_port: 443 }
        await me.api.publishRecords([
          { record_id: `r-${server.requests.length}`, type: 'tcp_connection', conn },
        ])
        return page.getByText('The first event has arrived').isVisible()
      })
      t.match(await page.locator('section[aria-label="First event"] pre').textContent(), /203\.0\.113\.9/)
      t.match(server.requests.at(-1)?.body, /tcp_connection_closed\.v0/)
      t.ok(presses <= 7, `${presses} presses`)
      await page.getByRole('link', { name: 'Done' }).click()
      await page.getByRole('heading', { level: 1, name: 'Web server' }).waitFor()
      t.strictSame(visitor.complaints, [])
    },
  )

  await t.test('a wrong address is marked at its field, and a reload goes on where one was', async (t) => {
    const me = await newAccount()
    const visitor = await openSignedIn(t, me.token, { expected: /^400 POST \/event_destinations/ })
    const { page } = visitor
    await visitor.see('console/destinations/new')
    await page.getByRole('link', { name: /^ClickHouse/ }).click()
    await page.getByLabel('Address of the server').fill('ftp://logs.example.com')
    await page.locator('.field', { hasText: 'Address of the server' }).locator('.fault').waitFor()
    await page.getByLabel('Address of the server').fill('https://clickhouse.example.com:8443')
    await page.locator('.field .fault').waitFor({ state: 'detached' })
    await page.getByLabel('Table', { exact: true }).fill('seen_here')
    await page.getByText(/CREATE TABLE seen_here|CREATE TABLE `seen_here`/).waitFor()
    await visitor.see(page.url())
    t.equal(await page.getByLabel('Table', { exact: true }).inputValue(), 'seen_here')
    await page.getByRole('link', { name: 'Another kind' }).click()
    await page.getByRole('link', { name: /^Amazon Kinesis/ }).click()
    await page.getByText(`"sts:ExternalId": "${me.id}"`).waitFor()
    t.strictSame(visitor.complaints, [])
  })

  await t.test(
    'what needs a hand: equal causes are one line, the worst first, the thing is the link',
    async (t) => {
      const me = await newAccount()
      const made = await Promise.all(
        ['one', 'two', 'three'].map((description) =>
          me.api.eventDestination.create({ description, target: { http: { url: 'https://a.example.com' } } }),
        ),
      )
      const visitor = await openSignedIn(t, me.token)
      const { page } = visitor
      const overview = await me.api.overview()
      const entry = {
        names: [],
        count: 1,
        since: null,
        latest: null,
        until: null,
        kind: null,
        actions: [],
        scope: 'account',
      }
      const attention = [
        { ...entry, type: 'keys_expiring', severity: 'attention', ids: [], sentence: 'A key ends soon.' },
        ...made.map(({ id, description }) => ({
          ...entry,
          type: 'destination_failing',
          severity: 'failing',
          ids: [id],
          actions: [{ action: 'try_now', id, request: '', command: null }],
          sentence: `Destination "${description}" refuses every request.`,
        })),
      ]
      await page.route('**/overview', (route) => route.fulfill({ json: { ...overview, attention } }))
      await visitor.see('')
      const lines = page.locator('section[aria-labelledby="attention"] > ul > li')
      await lines.first().getByText('3 destinations fail').click()
      t.equal(await lines.count(), 2, 'the three share a line')
      t.match(await lines.nth(1).textContent(), /A key ends soon/, 'the worst is first')
      const links = lines.first().getByRole('link')
      await links.filter({ hasText: 'two' }).waitFor()
      t.strictSame(await links.allTextContents(), ['one', 'two', 'three'])
      t.equal(await lines.first().getByRole('button', { name: 'Try now' }).count(), 3)
      t.strictSame(visitor.complaints, [])
    },
  )
})
