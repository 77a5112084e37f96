/** A draft of policies on its way: begun in the editor, compared with live traffic, explained, then promoted, or refused. */
import { randomBytes } from 'node:crypto'
import type { Locator } from 'playwright-core'
import t from 'tap'
import { until } from '../../harness/weir.js'
import { inBrowser, newAccount, openSignedIn, untilAllInUse } from './visitor.js'

/** The numbers at the end of rows, all together. */
const sumOf = async (rows: Locator): Promise<number> =>
  (await rows.locator('.number').allTextContents()).reduce((sum, text) => sum + Number(text), 0)

t.test('challengers in the console', inBrowser(), async (t) => {
  const { api, token } = await newAccount()
  const host = `challenged-${randomBytes(4).toString('hex')}.example.com`
  const inbound = [
    { name: 'no port', expressions: ['conn.client_port == 1'], actions: [{ type: 'deny' as const }] },
  ]
  await api.ipList.create({ name: 'offices' })
  const { id } = await api.tcpEdge.create({ hostports: [`${host}:22`], policies: { inbound } })
  const publish = async (name: string) => {
    const conn = { client_ip: '198.51.100.7', server_name: host, server_port: 22 }
    const records = Array.from({ length: 4 }, (_, index) => ({
      record_id: `${host}-${name}-${index}`,
      type: 'tcp_connection' as const,
      conn: { ...conn, client_port: 1_000 + index },
    }))
    const { refused_count } = await api.publishRecords(records)
    t.equal(refused_count, 0)
  }
  const expressionNow = async () => (await api.tcpEdge.get(id)).policies?.inbound[0]?.expressions[0]
  // An expression is checked while it is typed: it may be none yet, or name a list that there is not, with half of a name.
  // An open page asks whether its draft would be taken: it is outdated, or was discarded meanwhile.
  const expected = /^40[04] PUT \/edges\/tcp\/\w+\/policies$|^40[09] POST \/challengers\/\w+\/promote$/
  const visitor = await openSignedIn(t, token, { expected })
  const { page } = visitor

  await visitor.see(`console/edges/${id}/policies`)
  await visitor.edit()
  const field = page.locator('.policy-card .cm-content').first()
  await field.click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.type("inList(conn.client_ip, '")
  await page.locator('.cm-tooltip-autocomplete li', { hasText: 'offices' }).click()
  await field.getByText("inList(conn.client_ip, 'offices')").waitFor()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.type('conn.client_port >= 1002')
  await page.getByPlaceholder('what it is to achieve').fill('fewer ports')
  await page.getByRole('button', { name: 'Shadow this on live traffic' }).click()
  await page.waitForURL('**/console/challengers/**')
  await page.getByRole('heading', { name: 'fewer ports' }).waitFor()
  await page.getByText('it would be taken').waitFor()
  const drafted = page.getByRole('region', { name: 'The draft' })
  await drafted.getByText('inbound: “no port” is changed').waitFor()
  t.equal(await drafted.locator('del').textContent(), 'conn.client_port == 1')
  t.equal(await drafted.locator('ins').textContent(), 'conn.client_port >= 1002')
  t.equal(await expressionNow(), 'conn.client_port == 1', 'a challenger changes nothing')
  await untilAllInUse()
  await publish('one')
  const live = page.getByRole('table', { name: 'Decisions that differ as they happen' })
  await live.locator('tbody tr').nth(1).waitFor()
  await page.getByText('2 of 4 records').waitFor()
  t.equal(await page.locator('.verdict strong').textContent(), '2', 'the number of records that differ')
  const [matrix, deciders] = ['Decisions now and with the draft', /^What decides/].map((name) =>
    page.getByRole('table', { name }).locator('tbody tr'),
  ) as [Locator, Locator]
  t.equal(await sumOf(matrix.filter({ hasText: /[^n]changed/ })), 2, 'is the same in the table')
  // A part that a busy machine had no time to count is in a later answer.
  await until('it is the same by what decides', async () => (await sumOf(deciders)) === 2)
  for (const what of ['Clients', 'Countries', 'Edges']) {
    const list = page.getByRole('list', { name: `${what} among the changed records` })
    await until(`it is the same by ${what.toLowerCase()}`, async () => (await sumOf(list)) === 2)
  }
  t.equal(await live.locator('tbody tr').count(), 2, 'and as they happened')
  t.notMatch(await page.locator('.facts').first().textContent(), /differ|compared/, 'it is said once above')
  const examples = page.getByRole('table', { name: 'Records that are decided differently' })
  const clients = await examples
    .getByRole('link')
    .evaluateAll((links) => links.map((link) => link.getAttribute('href')))
  t.ok(clients.every((href) => href === '/console/search?client=198.51.100.7&since=24h'))
  await examples.locator('tbody tr').first().press('Enter')
  const drawer = page.getByRole('dialog')
  await drawer.getByRole('region', { name: 'With the draft' }).getByText('conn.client_port >= 1002').waitFor()
  t.match(
    await drawer.getByRole('region', { name: 'With the draft' }).textContent(),
    /denyby the traffic policy “no port”.*it denies/s,
  )
  await drawer.getByRole('region', { name: 'Now' }).getByText('did not apply').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Try on recorded traffic' }).click()
  await page.getByRole('region', { name: 'On the past' }).getByText('2 of the 4 records').waitFor()

  await page.getByRole('button', { name: 'Promote' }).click()
  await page.getByRole('dialog', { name: 'Are you sure?' }).getByRole('button', { name: 'Promote' }).click()
  await page.getByText('The draft is the configuration now.').waitFor()
  t.equal(await expressionNow(), 'conn.client_port >= 1002')
  await visitor.see('console/changes')
  const promoted = page.locator('tbody tr', { hasText: 'promoted' })
  await promoted.filter({ hasText: `${host}:22: inbound: “no port” is changed` }).waitFor()
  t.equal(await page.locator('tbody tr', { hasText: 'by the promotion of' }).count(), 0)
  await promoted.press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Look at it alone' }).click()
  await page.getByRole('dialog', { name: 'Changed: TCP edge' }).locator('del').waitFor()

  const draft = { edges: [{ id, policies: { inbound: [] } }] }
  const outdated = await api.challenger.create({ description: 'too late', draft })
  await api.tcpEdge.policies.put(id, { inbound })
  await visitor.see('console/challengers')
  await page.locator('tbody tr', { hasText: 'promoted' }).waitFor()
  await page.getByRole('link', { name: 'too late' }).click()
  await page.waitForURL(`**/console/challengers/${outdated.id}`)
  await page.getByText('it would be refused').waitFor()
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('dialog', { name: 'Are you sure?' }).getByRole('button', { name: 'Discard' }).click()
  await page.getByText('The challenger is discarded.').waitFor()
  t.equal((await api.challenger.get(outdated.id)).state, 'discarded')

  const { id: policyId } = await api.ipPolicy.create({ description: 'doors' })
  await api.replaceRules(policyId, [{ cidr: '203.0.113.0/24', action: 'allow' }])
  await visitor.see(`console/ip-policies/${policyId}/replace`)
  await page.getByLabel('The list', { exact: true }).fill('203.0.113.0/24,allow\n203.0.113.9/32,deny')
  await page.getByRole('button', { name: 'Shadow this on live traffic' }).click()
  await page.waitForURL('**/console/challengers/**')
  await page.getByText('1 added, 0 changed, 0 removed').waitFor()
  await drafted
    .getByRole('listitem')
    .filter({ hasText: /deny.*203\.0\.113\.9\/32/ })
    .waitFor()
  const tryIt = async () => {
    await page.getByRole('button', { name: 'Try on recorded traffic' }).click()
    await page
      .getByRole('region', { name: 'On the past' })
      .getByText(/of (the )?\d+ records/)
      .waitFor()
  }
  await tryIt()

  const discard = async () => {
    for await (const { id, state } of api.challenger.list())
      if (state === 'running') await api.challengers.discard(id)
  }
  await discard()
  const restriction = { type: 'endpoints', enforced: false, ip_policy_ids: [policyId] } as const
  const { id: restrictionId } = await api.ipRestriction.create(restriction)
  await visitor.see(`console/ip-policies/${restrictionId}`)
  await page.getByLabel('Enforced').check()
  await page.getByRole('button', { name: 'Shadow this on live traffic' }).click()
  await page.waitForURL('**/console/challengers/**')
  await page.getByRole('heading', { name: 'The restriction for endpoints' }).waitFor()
  await tryIt()
  t.equal((await api.ipRestriction.get(restrictionId)).enforced, false)

  await discard()
  const https = await api.httpsEdge.create({ hostports: [`www-${host}:443`] })
  const route = await api.httpsEdgeRoute.under(https.id).create({ match_type: 'path_prefix', match: '/docs' })
  const modules = { policies: { inbound }, ip_restriction: { ip_policy_ids: [policyId] } }
  const ofRoute = await api.challenger.create({ draft: { routes: [{ id: route.id, ...modules }] } })
  await visitor.see(`console/challengers/${ofRoute.id}`)
  for (const module of Object.keys(modules)) {
    await page.getByLabel('The part that is tried').selectOption(`${module} ${route.id}`)
    await tryIt()
  }

  await discard()
  await visitor.see(`console/edges/${id}`)
  await page.getByRole('button', { name: 'Set IP policies' }).click()
  await page.getByLabel('doors').check()
  await page.getByRole('button', { name: 'Shadow this on live traffic' }).click()
  await page.waitForURL('**/console/challengers/**')
  await page.getByRole('heading', { name: 'IP policies of' }).waitFor()
  t.equal((await api.tcpEdge.get(id)).ip_restriction, null)
  t.strictSame(visitor.complaints, [])
})
