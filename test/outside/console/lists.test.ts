/**
 * IP lists, bouncers and findings in the console: a difference before it is saved, a token shown once, a draft without a
 * fault.
 */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { all } from '../../harness/caller.js'
import { openWebServer } from '../../harness/web-server.js'
import { until } from '../../harness/weir.js'
import { openService } from '../../integration/service.js'
import { inBrowser, newAccount, openSignedIn } from './visitor.js'

t.test('lists, bouncers and findings in the console', inBrowser(), async (t) => {
  await t.test('a list is made, gets entries, is searched, used by a rule, and cannot go', async (t) => {
    const { api, token } = await newAccount()
    const visitor = await openSignedIn(t, token, { expected: /^400 DELETE \/ip_lists/ })
    const { page } = visitor
    await visitor.see('console/ip-lists/new?from=hand&step=name')
    await visitor.edit()
    await page.getByLabel('Name').fill('guests')
    await page.getByLabel('What its addresses are').fill('people.known')
    await page.getByRole('button', { name: 'Create the list' }).click()
    await page.getByRole('heading', { name: 'guests' }).waitFor()
    const [list] = await all(api.ipList.list())
    t.match(list, { name: 'guests', category: 'people.known', source: null })
    const id = String(list?.id)
    await api.listEntries.replace(id, [{ cidr: '192.0.2.0/24' }, { cidr: '2001:db8::/32', comment: 'six' }])

    await visitor.see(`console/ip-lists/${id}/entries`)
    const entries = page.getByLabel('Entries', { exact: true })
    await entries.fill('192.0.2.0/24\n203.0.113.0/24 # new\nnowhere\n')
    await page.getByRole('alert').filter({ hasText: 'Line 3' }).waitFor()
    const save = page.getByRole('button', { name: 'Save as one change' })
    t.ok(await save.isDisabled())
    await entries.fill('192.0.2.0/24\n203.0.113.0/24 # new\n')
    await page.getByText('1 added, 1 removed, 0 changed, 1 kept').waitFor()
    await save.click()
    await page.getByText('It has 2 now, and would have 2.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Save as one change' }).click()
    await page.getByText('The entries were replaced.').waitFor()
    t.match(await all(api.listEntries.list(id)), [
      { cidr: '192.0.2.0/24', comment: null },
      { cidr: '203.0.113.0/24', comment: 'new' },
    ])

    await page.getByLabel('Is this address or range on the list?').fill('203.0.113.9')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.locator('tbody tr', { hasText: '192.0.2.0/24' }).waitFor({ state: 'detached' })
    t.match(await page.locator('tbody tr').allTextContents(), [/^203\.0\.113\.0\/24/])
    const { id: policyId } = await api.ipPolicy.create({ description: 'doors' })
    await api.ipPolicyRule.create({ ip_policy_id: policyId, list_id: id, action: 'deny' })
    const { id: bouncerId } = await api.bouncer.create({ description: 'at the gate', ip_list_ids: [id] })
    await visitor.see(`console/ip-lists/${id}?covers=198.51.100.1`)
    await page.getByText('is not on the list').waitFor()
    const uses = page.getByRole('region', { name: 'Used by' }).getByRole('listitem')
    for (const name of ['doors', 'at the gate']) await uses.getByRole('link', { name }).waitFor()
    t.equal(await uses.count(), 2)
    await api.bouncer.delete(bouncerId)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.locator('.notice.bad', { hasText: "can't be deleted" }).waitFor()

    const host = `listed-${randomBytes(4).toString('hex')}.example.com`
    const ip_restriction = { ip_policy_ids: [policyId] }
    await api.tcpEdge.create({ hostports: [`${host}:22`], ip_restriction })
    await visitor.see('console/ip-policies?covers=203.0.113.9')
    const who = page.getByRole('region', { name: 'Who would let it in?' })
    await who.getByText('in the list guests').waitFor()
    t.match(await who.locator('tbody tr', { hasText: host }).textContent(), /block.*deny list guests/)
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a list with a source is made, fetched now, and says why it could not be', async (t) => {
    const { api, token } = await newAccount()
    const visitor = await openSignedIn(t, token)
    const { page } = visitor
    await visitor.see('console/ip-lists/new')
    await page.getByRole('link', { name: /^A file on the server/ }).click()
    await page.getByLabel('File').fill('feeds/office.txt')
    await page.getByRole('button', { name: 'Next: its name' }).click()
    await page.getByLabel('Name').fill('feed')
    await page.getByText('How often it is fetched').click()
    await page.getByLabel('Fetched every').fill('2h')
    await page.getByLabel('Not taken if it keeps less than').fill('30')
    await page.getByRole('button', { name: 'Create the list' }).click()
    await page.getByRole('heading', { name: '“feed” is there' }).waitFor()
    await page.getByRole('link', { name: 'Done' }).click()
    await page.getByRole('heading', { name: 'feed', exact: true }).waitFor()
    const [list] = await all(api.ipList.list())
    t.match(list?.source, {
      file: 'feeds/office.txt',
      format: 'lines',
      refresh_seconds: 7_200,
      shrink_guard: 0.3,
    })
    // A new list is fetched at once, and no list is fetched twice at the same time.
    const isFetched = async () => (await api.ipList.get(String(list?.id))).source_status?.error != null
    await until('its first fetch failed', isFetched)
    await page.getByRole('button', { name: 'Fetch now' }).click()
    await page.locator('.notice.bad', { hasText: 'The fetch failed' }).waitFor()
    await page.getByRole('region', { name: 'Source' }).getByText('the last fetch failed').waitFor()
    const edit = page.getByRole('button', { name: 'Edit', exact: true })
    await edit.click()
    await page.getByLabel('Its entries are').selectOption('url')
    await page.getByText('The server wants a key').click()
    await page.getByLabel('Address (URL)').fill('http://127.0.0.1:9/list.txt')
    await page.getByLabel('Other headers').fill('x-client: weir')
    const secrets = page.getByLabel('Secret headers')
    await secrets.fill('x-key: hush')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('region', { name: 'Source' }).getByText('x-client, x-key').waitFor()
    const sourceOfUrl = {
      url: 'http://127.0.0.1:9/list.txt',
      headers: { 'x-client': 'weir' },
      secret_headers: { 'x-key': null },
      shrink_guard: 0.3,
    }
    t.match((await api.ipList.get(String(list?.id))).source, sourceOfUrl)
    await edit.click()
    t.equal(await secrets.inputValue(), 'x-key: (stored)')
    await page.getByLabel('Its entries are').selectOption('hand')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('link', { name: 'Set the entries' }).waitFor()
    t.equal((await api.ipList.get(String(list?.id))).source, null)
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a bouncer is made for a policy, shows its token once, and is deleted', async (t) => {
    const { weir } = await openService()
    const { api, token } = await newAccount()
    const { id: policyId } = await api.ipPolicy.create({ description: 'scanners' })
    await api.ipPolicyRule.create({ ip_policy_id: policyId, cidr: '203.0.113.9/32', action: 'deny' })
    const visitor = await openSignedIn(t, token)
    const { page } = visitor
    await visitor.see('console/bouncers')
    await visitor.edit()
    await page.getByRole('button', { name: 'Create a bouncer' }).click()
    const create = page.getByRole('button', { name: 'Create', exact: true })
    t.ok(await create.isDisabled(), 'it needs a policy')
    await page.getByLabel('Description').fill('a firewall')
    await page.getByLabel('scanners').check()
    await create.click()
    const key = await page.getByLabel('Token', { exact: true }).inputValue()
    const pulled = await fetch(`${weir.url}/v1/decisions`, { headers: { 'x-api-key': key } })
    t.match(await pulled.json(), [{ value: '203.0.113.9' }])
    await page.getByRole('button', { name: 'I have it: close' }).click()
    t.notMatch(await page.content(), key, 'it is nowhere on the page')
    const row = page.locator('tbody tr', { hasText: 'a firewall' })
    await row.locator('td').first().click()
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('link', { name: 'scanners' }).waitFor()
    await drawer.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog', { name: 'Are you sure?' }).getByRole('button', { name: 'Delete' }).click()
    await page.getByText('The bouncer was deleted.').waitFor()
    t.strictSame(await all(api.bouncer.list()), [])
    t.strictSame(visitor.complaints, [])
  })
  await t.test('a finding leads to its draft, or is mended where it is shown', async (t) => {
    const { api, token } = await newAccount()
    const { id: policyId } = await api.ipPolicy.create({ description: 'office' })
    for (const cidr of ['203.0.113.0/24', '203.0.113.7/32'])
      await api.ipPolicyRule.create({ ip_policy_id: policyId, cidr, action: 'allow' })
    const edge = await api.tcpEdge.create({
      hostports: [`findings-${randomBytes(4).toString('hex')}.example.com:22`],
      ip_restriction: { ip_policy_ids: [policyId] },
      policies: { inbound: [{ name: 'never', expressions: ['1 == 2'], actions: [{ type: 'deny' }] }] },
    })
    const visitor = await openSignedIn(t, token)
    const { page } = visitor
    await visitor.see('')
    await page.getByRole('link', { name: /of the configuration can hardly be meant/ }).click()
    await page.waitForURL('**/console/findings')
    const row = (text: string) => page.locator('tbody tr', { hasText: text }).first()
    await row('203.0.113.7/32').locator('td').first().click()
    await visitor.edit()
    await page.getByRole('button', { name: 'Take the rule out of force' }).click()
    await page.getByRole('dialog', { name: 'Are you sure?' }).getByRole('button', { name: 'Take' }).click()
    await page.getByText('The rule is not enforced any more.').waitFor()
    const rules = await all(api.rules(policyId))
    t.match(
      rules.filter(({ enforced }) => !enforced),
      [{ cidr: '203.0.113.7/32' }],
    )
    await page.getByLabel('Kind').selectOption('expression_constant')
    await row('never').locator('td').first().click()
    await page.getByRole('dialog').getByText('1 == 2').first().waitFor()
    await page.getByRole('button', { name: /^Open as a draft/ }).click()
    await page.waitForURL(`**/console/edges/${edge.id}/policies`)
    await page.getByRole('region', { name: 'The draft' }).getByText('never').waitFor()
    t.match((await api.tcpEdge.get(edge.id)).policies?.inbound, [{ name: 'never' }], 'nothing is saved yet')
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a list by hand: its entries are read while one types, and then it is used', async (t) => {
    const me = await newAccount()
    const visitor = await openSignedIn(t, me.token, { expected: /^400 POST \/ip_lists/ })
    const { page } = visitor
    await visitor.see('console/ip-lists')
    await page.getByRole('link', { name: 'New IP list' }).click()
    await page.getByRole('link', { name: /^By hand/ }).click()
    await page.getByLabel('Entries', { exact: true }).fill('203.0.113.0/24 ; the office\nnonsense\nworse')
    await page.getByText('1 entry is read').waitFor()
    await page.locator('.fault', { hasText: /Line 2: .*nonsense/ }).waitFor()
    await page.locator('.fault', { hasText: /Line 3: .*worse/ }).waitFor()
    await page.getByLabel('Entries', { exact: true }).fill('203.0.113.0/24 ; the office\n198.51.100.7')
    await page.getByText('2 entries are read').waitFor()
    await page.reload()
    await page.getByText('2 entries are read').waitFor()
    await page.getByRole('button', { name: 'Next: its name' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Office!')
    await page.getByRole('button', { name: 'Create the list' }).click()
    await page.locator('.fault', { hasText: 'This is "Office!"' }).waitFor()
    await page.getByLabel('Name', { exact: true }).fill('office')
    await page.getByLabel('Description').fill('ours')
    await page.reload()
    t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'office')
    t.equal(await page.getByLabel('Description').inputValue(), 'ours')
    await page.getByRole('button', { name: 'Create the list' }).click()
    await page.getByText("inList(conn.client_ip, 'office')").waitFor()
    await page.getByText('2 entries', { exact: true }).waitFor()
    t.match(await all(me.api.ipList.list()), [{ name: 'office', description: 'ours', entries: 2 }])

    await visitor.see('console/ip-lists/new?from=hand')
    const entries = page.getByLabel('Entries', { exact: true })
    t.equal(await entries.inputValue(), '', 'what was created is no draft any more')
    const discard = page.getByRole('button', { name: 'Discard the draft' })
    t.ok(await discard.isDisabled())
    await entries.fill('192.0.2.1')
    await page.reload()
    t.equal(await entries.inputValue(), '192.0.2.1')
    await discard.click()
    t.equal(await entries.inputValue(), '')
    await page.reload()
    t.equal(await entries.inputValue(), '', 'nor is what was discarded')
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a list from a web server: a look at it, then its name, and it is fetched', async (t) => {
    const me = await newAccount()
    let isOpen = false
    const server = await openWebServer(t, ({ headers }, response) =>
      headers['x-key'] === 'a-secret-of-the-test' && isOpen
        ? response.end('cidr,comment\n203.0.113.0/24,scanners\n198.51.100.7,\n')
        : response.writeHead(403).end(),
    )
    const visitor = await openSignedIn(t, me.token)
    const { page } = visitor
    await visitor.see('console/ip-lists/new')
    await page.getByRole('link', { name: /^A web address/ }).click()
    await page.getByLabel('Address (URL)').fill(`${server.url}/drop.csv`)
    await page.getByText('The server wants a key').click()
    await page.getByLabel('Secret headers').fill('X-Key: a-secret-of-the-test')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('not fetched').waitFor()
    t.match(await page.getByRole('region', { name: 'Preview' }).textContent(), /403/)
    isOpen = true
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('2 entries are read').waitFor()
    await page.getByText('Read as: CSV').waitFor()
    t.strictSame(await all(me.api.ipList.list()), [], 'nothing is created yet')
    await page.reload()
    t.equal(await page.getByLabel('Address (URL)').inputValue(), `${server.url}/drop.csv`)
    await page.getByRole('status').getByText('Secret headers').waitFor()
    t.notMatch(
      await page.evaluate('JSON.stringify(sessionStorage)'),
      'a-secret-of-the-test',
      'a secret is never stored',
    )
    await page.getByText('The server wants a key').click()
    await page.getByLabel('Secret headers').fill('X-Key: a-secret-of-the-test')
    await page.getByText('Type these again').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('2 entries are read').waitFor()
    await page.getByRole('button', { name: 'Next: its name' }).click()
    await page.getByLabel('Name', { exact: true }).fill('drop')
    await page.getByRole('button', { name: 'Create the list' }).click()
    await page.getByText("inList(conn.client_ip, 'drop')").waitFor()
    await page.getByText('2 entries', { exact: false }).waitFor()
    t.match(await all(me.api.ipList.list()), [{ source: { format: 'csv', url: `${server.url}/drop.csv` } }])
    t.strictSame(visitor.complaints, [])
  })
})
