/** Search and Explain: which rule decided, from the first screen on; what a text in the search field means. */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { historyHeader } from '../../../src/delivery/wire/names.js'
import { meaningOf } from '../../../src/outside/console/data/decisions/question.js'
import { openClient } from '../../../src/words/client/client.js'
import { untilInUse } from '../../harness/in-use.js'
import { until } from '../../harness/weir.js'
import { openService } from '../../integration/service.js'
import { blockedClient, furnishedAccount } from './furnished.js'
import { inBrowser, newAccount, openSignedIn, type Visitor } from './visitor.js'

t.test('what a text in the search field means', { buffered: true }, async (t) => {
  const eventId = `ev_${'0a'.repeat(24)}`
  const cases: readonly (readonly [situation: string, text: string, meaning: object])[] = [
    ['an address', '203.0.113.97', { changes: { client: '203.0.113.97' } }],
    ['a range', '203.0.113.0/24', { changes: { client: '203.0.113.0/24' } }],
    ['an address of IPv6', '2001:db8::1', { changes: { client: '2001:db8::1' } }],
    ['a range of IPv6', '2001:db8:bad::/48', { changes: { client: '2001:db8:bad::/48' } }],
    ['IPv4 in IPv6', '::ffff:203.0.113.97', { changes: { client: '::ffff:203.0.113.97' } }],
    ['what the API refuses, with its words', '999.0.0.1', { changes: { client: '999.0.0.1' } }],
    ['an AS', 'as64500', { changes: { asn: '64500' } }],
    ['a rule', 'ipr_01M8', { changes: { rule_id: 'ipr_01M8' } }],
    ['an edge', 'edghts_01M8', { changes: { edge_id: 'edghts_01M8' } }],
    ['a route', 'edghtsrt_01M8', { changes: { route_id: 'edghtsrt_01M8' } }],
    ['an event', eventId, { eventId }],
    ['a record', '01KAFZR7DA0T4CH30SW7DJ5M3B', { changes: { record_id: '01KAFZR7DA0T4CH30SW7DJ5M3B' } }],
    ['a question of the log', 'dq_01M8', { changes: { record_id: 'dq_01M8' } }],
    [
      'an endpoint',
      'www.example.com:443',
      { changes: { filter: "server_name == 'www.example.com' && server_port == 443" } },
    ],
    ['a name', 'www.example.com', { changes: { filter: "server_name == 'www.example.com'" } }],
    ['a name of expressions', 'decided_by.type', { changes: { filter: 'decided_by.type' } }],
    ['an expression', "decision != 'allow'", { changes: { filter: "decision != 'allow'" } }],
    ['no more of anything', '', { changes: { filter: '' } }],
  ]
  for (const [situation, text, meaning] of cases)
    t.strictSame(
      meaningOf(text, (name) => name === 'decided_by.type'),
      meaning,
      situation,
    )
})

const rows = ({ page }: Visitor) => page.locator('table[aria-label^="Decisions"] tbody tr')
/** Some requests of the client were for a name that no edge serves, and so for no rule. */
const blocked = (visitor: Visitor) => rows(visitor).filter({ hasText: 'block' }).first()
const verdict = ({ page }: Visitor) => page.locator('.verdict').first()

t.test('what an expression saw, in a drawer that has a URL', inBrowser(), async (t) => {
  const me = await newAccount()
  const host = `saw-${randomBytes(4).toString('hex')}.example.com`
  const expression = "http.request.user_agent.startsWith('sqlmap') || http.request.headers['x-token'] == 'no'"
  const inbound = [{ name: 'no scanners', expressions: [expression], actions: [{ type: 'deny' as const }] }]
  await me.api.httpsEdge.create({ hostports: [`${host}:443`], policies: { inbound, outbound: [] } } as never)
  const { weir } = await openService()
  await untilInUse(weir)
  const conn = { client_ip: '203.0.113.5', server_name: host, server_port: 443 }
  const headers = { 'x-token': ['very-secret-token'] }
  const request = { method: 'GET', user_agent: 'sqlmap/1.7', headers, url: { path: '/' } }
  await me.api.publishRecords([
    { record_id: `saw-${host}`, type: 'http_request', conn, http: { request } } as never,
  ])
  const decided = async () => {
    for await (const entry of me.api.decisions({})) return entry
    return undefined
  }
  await until('it is in the log', async () => (await decided()) !== undefined)
  t.equal((await decided())!.decision, 'deny')
  const visitor = await openSignedIn(t, me.token)
  const { page } = visitor
  const drawer = page.getByRole('dialog')
  for (const at of ['console/search', 'console/live']) {
    await visitor.see(at)
    await page.locator('tbody tr').first().click()
    await drawer.getByText('http.request.user_agent = "sqlmap/1.7"').waitFor()
    const text = (await drawer.textContent()) ?? ''
    t.match(text, "decided by http.request.user_agent.startsWith('sqlmap')", at)
    t.match(text, 'http.request.headers[\'x-token\'] = "… (17 characters)"', at)
    t.notMatch(text, 'very-secret-token', at)
    const { url } = { url: page.url() }
    t.match(url, /[?&]open=/, at)
    await page.goBack()
    await drawer.waitFor({ state: 'detached' })
    await page.goto(url)
    await drawer.getByText('http.request.user_agent = "sqlmap/1.7"').waitFor()
  }
  t.strictSame(visitor.complaints, [])
})

t.test('records of the past are found by their own times', inBrowser(), async (t) => {
  const me = await newAccount()
  const host = `past-${randomBytes(4).toString('hex')}.example.com`
  const edge = await me.api.tcpEdge.create({ hostports: [`${host}:22`] })
  await untilInUse((await openService()).weir)
  const beganMs = Date.now() - 3 * 60 * 60_000
  const conn = { client_ip: '203.0.113.8', server_name: host, server_port: 22 }
  const record = { record_id: host, type: 'tcp_connection', edge_id: edge.id, conn }
  const start_ts = new Date(beganMs).toISOString()
  const nats = await (await openService()).weir.nats()
  await nats.publish('weir.records.eu.past', JSON.stringify({ ...record, conn: { ...conn, start_ts } }), {
    headers: { [historyHeader]: 'log' },
  })
  await until('it is in the log', async () => {
    for await (const _ of me.api.decisions({ source: 'history' })) return true
    return false
  })
  const visitor = await openSignedIn(t, me.token)
  const { page } = visitor
  await visitor.see('console/search')
  await page.getByText('No decision of this time matches.').waitFor()
  await page.getByLabel('Source').selectOption({ label: 'the past, loaded' })
  const row = page.locator('tbody tr').first()
  await row.waitFor()
  t.match(await row.textContent(), /the past/)
  t.match(await page.locator('thead').first().textContent(), /Began/)
  t.equal(Date.parse((await row.locator('time').first().getAttribute('datetime')) ?? ''), beganMs)
  await page.getByLabel('Goes by').selectOption({ label: 'when stored' })
  await page.locator('thead', { hasText: 'Time' }).first().waitFor()
  t.ok(Date.parse((await row.locator('time').first().getAttribute('datetime')) ?? '') > beganMs + 60_000)

  const began = page.getByRole('group', { name: 'Goes by' }).getByRole('button', { name: 'when it began' })
  await visitor.see(`console/edges/${edge.id}`)
  await page.getByText('No record of the last 24 hours').waitFor()
  await began.click()
  await page.getByRole('img', { name: 'Decisions by half an hour' }).waitFor()
  await visitor.see('?range=24h')
  const allowed = page.locator('.totals a').first()
  await page.locator('.totals a', { hasText: 'allow 0' }).waitFor()
  await began.click()
  await page.locator('.totals a', { hasText: 'allow 1' }).waitFor()
  await allowed.click()
  await row.waitFor()
  t.match(await row.textContent(), /the past/, 'a number leads to what it counts')
  t.equal(new URL(page.url()).searchParams.get('time'), 'own')
  t.strictSame(visitor.complaints, [])
})

t.test('search and explain', inBrowser(), async (t) => {
  const all = await furnishedAccount()
  await t.test('which rule blocked an address: the search key, the address, its row', async (t) => {
    const visitor = await openSignedIn(t, all.token)
    const { page } = visitor
    await visitor.see('')
    await page.keyboard.press('?')
    const keys = await page.getByRole('dialog').locator('kbd').allTextContents()
    t.ok(keys.length > 6)
    t.equal(new Set(keys).size, keys.length, 'each key leads to one place')
    await page.keyboard.press('?')
    await page.keyboard.press('/')
    await page.locator('[data-search]').waitFor()
    await page.keyboard.type(blockedClient)
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/console/search?client=${blockedClient}`)
    await visitor.settled()
    const row = blocked(visitor)
    t.match(await row.textContent(), `deny ${blockedClient}/32`, 'the row names the rule')
    t.match(await row.textContent(), 'the scanner', 'and what it is for')
    await row.click()
    await verdict(visitor).waitFor()
    t.match(await verdict(visitor).textContent(), new RegExp(`block by the rule deny ${blockedClient}/32`))
    t.match(await page.locator('.chain .won').first().textContent(), /won: deny.*a deny rule wins/)
    const address = page.url()
    await page.keyboard.press('Escape')
    await visitor.see(address)
    t.match(
      await verdict(visitor).textContent(),
      `deny ${blockedClient}/32`,
      'the address can be sent to someone',
    )
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a filter is completed by keys; a wrong one is marked at its place', async (t) => {
    const visitor = await openSignedIn(t, all.token, { expected: /^400 GET \/(decisions|stats)/ })
    const { page } = visitor
    await visitor.see('console/search')
    const field = page.locator('[data-search]')
    await field.pressSequentially('decided_by.ty')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await field.pressSequentially(' == restr')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Tab')
    t.equal(await field.inputValue(), "decided_by.type == 'restriction'")
    await field.fill("decision == 'block' && asnn == 1")
    await page.keyboard.press('Enter')
    t.equal(await page.locator('.filter-input mark').textContent(), 'asnn')
    t.equal(await field.getAttribute('aria-invalid'), 'true')
    await field.fill("decision == 'block'")
    await page.keyboard.press('Enter')
    await page.locator('.filter-input mark').waitFor({ state: 'detached' })
    await visitor.settled()
    t.match(await rows(visitor).first().textContent(), 'block')
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a stretch of the histogram becomes the time; what is selected can be saved', async (t) => {
    const visitor = await openSignedIn(t, all.token)
    const { page } = visitor
    await visitor.see('console/search?since=1h')
    const box = (await page.locator('.u-over').first().boundingBox())!
    await page.mouse.move(box.x + box.width * 0.8, box.y + box.height / 2)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2, { steps: 4 })
    await page.mouse.up()
    await page.waitForURL(/since=20.*&until=20/)
    await visitor.settled()
    t.ok((await rows(visitor).count()) > 0)
    await page.getByRole('button', { name: 'Export' }).click()
    for (const [name, head] of [
      ['CSV', /^id,at,record_id/],
      ['NDJSON', /^\{"id":/],
    ] as const) {
      const saving = page.waitForEvent('download')
      await page.getByRole('button', { name: `Save as ${name}` }).click()
      const saved = await (await saving).path()
      t.match(await readFile(saved, 'utf8'), head, name)
    }
    t.strictSame(visitor.complaints, [])
  })

  await t.test('counts by a dimension narrow the search; the map is beside its ranking', async (t) => {
    const visitor = await openSignedIn(t, all.token)
    const { page } = visitor
    await visitor.see('console/search?by=rule')
    await page.getByRole('button', { name: `deny ${blockedClient}/32` }).click()
    await page.waitForURL(new RegExp(`rule_id=${all.ruleId}`))
    await visitor.settled()
    t.match(await rows(visitor).first().textContent(), blockedClient)
    const [server_name = ''] = all.hostport.split(':')
    await all.api.publishRecords([
      {
        record_id: `from-japan-${all.recordId}`,
        type: 'tcp_connection',
        conn: { client_ip: '126.0.205.46', server_name, server_port: 22 },
      },
    ])
    await until('the log has it', async () => {
      for await (const _ of all.api.decisions({ country: 'JP' })) return true
      return false
    })
    await visitor.see('console/search?by=country&map=on')
    await page.locator('.map path').first().waitFor()
    t.ok((await page.locator('.map path').count()) > 200, 'the world has its countries')
    t.equal(await page.locator('.map .level-4 title').textContent(), 'Japan: 1')
    await page.locator('.map [data-code="JP"]').click()
    await page.waitForURL(/country=JP/)
    await visitor.settled()
    t.equal(await rows(visitor).count(), 1)
    await visitor.see('')
    const stopped = page.getByRole('region', { name: 'Where it is stopped' })
    t.equal(await stopped.locator('.map .level-4 title').textContent(), 'Japan: 1')
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a record as judged then and now, with its events; and a question', async (t) => {
    const visitor = await openSignedIn(t, all.token)
    const { page } = visitor
    await visitor.see('console/explain')
    const stopped = page.getByRole('table', { name: /stopped last/ }).locator('tbody tr')
    await stopped.first().press('Enter')
    await page
      .getByRole('region', { name: 'As judged then' })
      .getByText(/block|deny/)
      .first()
      .waitFor()
    await visitor.see(`console/explain/${all.recordId}`)
    t.match(await page.getByRole('region', { name: 'Now' }).textContent(), /the same as then/)
    t.ok((await page.getByRole('region', { name: 'Its events' }).locator('tbody tr').count()) > 0)
    await visitor.see('console/explain?about=question')
    await page.getByLabel('Client').fill(blockedClient)
    await page.getByLabel('Endpoint').fill(all.hostport)
    await page.getByRole('button', { name: 'Explain' }).click()
    t.match(await verdict(visitor).textContent(), /block by the rule/)
    await page.getByRole('link', { name: 'Open the rule' }).waitFor()
    t.strictSame(visitor.complaints, [])
  })

  await t.test('who added the rule and the policy that won, and when, beside who changed them', async (t) => {
    const me = await newAccount()
    const night = await me.api.apiKey.create({ description: 'the night shift' })
    const { weir } = await openService()
    const later = openClient({ url: weir.url, token: night.token! })
    const host = `added-${randomBytes(4).toString('hex')}.example.com`
    const policy = await me.api.ipPolicy.create({})
    const rule = { ip_policy_id: policy.id, cidr: '203.0.113.0/24', action: 'deny' as const }
    const { id } = await later.ipPolicyRule.create(rule)
    await me.api.ipPolicyRule.update(id, { description: 'scanners' })
    await me.api.ipPolicyRule.create({ ...rule, cidr: '0.0.0.0/0', action: 'allow' })
    const inbound = [
      { name: 'ports', expressions: ['conn.server_port == 22'], actions: [{ type: 'deny' as const }] },
    ]
    const edge = await later.tcpEdge.create({
      hostports: [`${host}:22`],
      ip_restriction: { ip_policy_ids: [policy.id] },
      policies: { inbound },
    })
    await me.api.tcpEdge.update(edge.id, { description: 'another' })
    const visitor = await openSignedIn(t, me.token)
    const { page } = visitor
    const ask = (client: string) =>
      visitor.see(`console/explain?about=question&client=${client}&endpoint=${host}:22`)
    const addedBy = page.locator('dl.facts dt', { hasText: /^Added$/ }).locator('+ dd')
    const changedBy = page.locator('dl.facts dt', { hasText: /^Last changed$/ }).locator('+ dd')

    await ask('203.0.113.97')
    t.match(await addedBy.textContent(), /(now|ago) by the night shift, version \d+$/)
    t.notMatch(await changedBy.textContent(), 'night shift')
    await page
      .locator('.won')
      .getByText(/Added .* by the night shift/)
      .waitFor()
    await ask('198.51.100.7')
    t.match(await addedBy.textContent(), /(now|ago) by the night shift, version \d+$/)
    t.match(await changedBy.textContent(), 'the edge or route that has it')
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a key that may only read sees why, but asks nothing', async (t) => {
    const { token } = await all.api.apiKey.create({ description: 'reader', rights: ['read'] })
    const visitor = await openSignedIn(t, token!)
    const { page } = visitor
    await visitor.see(`console/explain/${all.recordId}`)
    await verdict(visitor).waitFor()
    await page.getByText('needs a key with the right “decide”').waitFor()
    await visitor.see('console/explain?about=question&client=203.0.113.97&endpoint=www.example.com:443')
    await page.getByText('A question needs a key with the right “decide”').waitFor()
    await visitor.see(`console/search?client=${blockedClient}`)
    await blocked(visitor).click()
    await verdict(visitor).waitFor()
    t.strictSame(visitor.complaints, [])
  })
})

/** How long the API searches for a page of a filter that finds little, or a part of it. */
const slowPageMs = 1_600

t.test(
  'a search that finds little says how far it came, and goes on when told to',
  inBrowser(),
  async (t) => {
    const all = await furnishedAccount()
    const { value: decision } = await all.api.decisions({ limit: 1 }).next()
    const visitor = await openSignedIn(t, all.token)
    const { page } = visitor
    const asked: string[] = []
    const reachedMs = Date.parse('2026-01-02T03:04:05Z')
    await page.route(/\/decisions\?/, async (route) => {
      const { searchParams, origin } = new URL(route.request().url())
      asked.push(searchParams.get('before_id') ?? '')
      const isFirst = searchParams.get('before_id') === null
      if (isFirst) await new Promise((resolve) => setTimeout(resolve, slowPageMs))
      await route.fulfill({
        json: {
          decisions: isFirst ? [] : [decision],
          uri: `${origin}/decisions`,
          next_page_uri: isFirst ? `${origin}/decisions?before_id=${reachedMs}-1-1` : null,
        },
      })
    })
    await visitor.see("console/search?filter=path=='/rare'")
    const cut = page
      .getByRole('status')
      .filter({ hasText: 'None found so far: looked through everything back to' })
    await cut.waitFor()
    t.equal(await cut.locator('time').getAttribute('datetime'), '2026-01-02T03:04:05.000Z')
    t.strictSame(asked, [''], 'it does not go on by itself')
    t.equal(
      await page.getByText('No decision of this time matches.').count(),
      0,
      'nor says what it does not know',
    )
    await cut.getByRole('button', { name: 'Go on' }).click()
    await page.getByText('All 1.').waitFor()
    t.equal(await rows(visitor).count(), 1)
    t.strictSame(asked, ['', `${reachedMs}-1-1`])
  },
)

t.test('sums that there was no time to finish say since when they count', inBrowser(), async (t) => {
  const all = await furnishedAccount()
  const visitor = await openSignedIn(t, all.token)
  const { page } = visitor
  const reached = '2026-01-02T03:04:05Z'
  await page.route(/\/stats\?/, async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), reached_at: reached } })
  })
  await visitor.see("console/search?by=country&filter='x' in path")
  const said = page.getByRole('status').filter({ hasText: 'Counted back to' })
  await said.nth(1).waitFor()
  t.equal(await said.count(), 2, 'of the histogram, and of what is counted by country')
  t.equal(await said.first().locator('time').getAttribute('datetime'), reached)
  t.equal(await page.getByText('Nothing in this time.').count(), 0, 'nor what is not known')
})

t.test('what takes too long to read is said in words of the page, with a way on', inBrowser(), async (t) => {
  const all = await furnishedAccount()
  const visitor = await openSignedIn(t, all.token, { expected: /^504 GET \/(decisions|stats)/ })
  const { page } = visitor
  const json = {
    error_code: 'ERR_TIME_LIMIT',
    status_code: 504,
    msg: 'The search took longer than 5 s.',
    details: {},
  }
  const isLong = (url: URL) => /^\/(decisions|stats)$/.test(url.pathname) && !/since=1h/.test(url.search)
  await page.route(isLong, (route) => route.fulfill({ status: 504, json }))
  await visitor.see(`console/search?since=ever&by=rule`)
  const failures = page.locator('main .failure')
  await failures.first().waitFor()
  for (const text of await failures.allTextContents()) {
    t.match(text, /^There is too much to look through/)
    t.notMatch(text, /longer than|operation/)
  }
  await failures.first().getByRole('button', { name: 'Look at the last hour' }).click()
  await page.waitForURL(/since=1h/)
  await rows(visitor).first().waitFor()
  await failures.first().waitFor({ state: 'detached' })
  t.strictSame(visitor.complaints, [])
})
