/** Work on rules in the console: find the one that blocked, change a policy after a trial, undo it. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { until } from '../../harness/weir.js'
import { blockedClient, furnishedAccount } from './furnished.js'
import { type Account, inBrowser, newAccount, openSignedIn, untilAllInUse, type Visitor } from './visitor.js'

/** An account with an edge whose policy denies one port, and ten connections to it. */
async function openEdge(
  t: Test,
  {
    expected,
    denied = 'conn.client_port == 1',
  }: { readonly expected?: RegExp; readonly denied?: string } = {},
): Promise<{ me: Account; id: string; visitor: Visitor }> {
  const me = await newAccount()
  const host = `rules-${randomBytes(4).toString('hex')}.example.com`
  const inbound = [{ name: 'no port', expressions: [denied], actions: [{ type: 'deny' as const }] }]
  const { id } = await me.api.tcpEdge.create({ hostports: [`${host}:22`], policies: { inbound } })
  const records = Array.from({ length: 10 }, (_, index) => ({
    record_id: `${host}-${index}`,
    type: 'tcp_connection' as const,
    conn: { client_ip: '198.51.100.7', client_port: 1_000 + index, server_name: host, server_port: 22 },
  }))
  await untilAllInUse()
  const { refused_count, ...said } = await me.api.publishRecords(records)
  if (refused_count > 0) throw new Error(JSON.stringify(said))
  await until('they are judged', async () => (await decisionsOf(me)) === records.length)
  const visitor = await openSignedIn(t, me.token, expected === undefined ? {} : { expected })
  return { me, id, visitor }
}

async function decisionsOf({ api }: Account): Promise<number> {
  let count = 0
  for await (const _ of api.decisions()) count += 1
  return count
}

const expressionOf = async ({ api }: Account, id: string): Promise<string | undefined> =>
  (await api.tcpEdge.get(id)).policies?.inbound?.[0]?.expressions?.[0]

t.test('rules in the console', inBrowser(), async (t) => {
  await t.test(
    `which rule blocked ${blockedClient}, in at most three clicks from the first page`,
    async (t) => {
      const { token } = await furnishedAccount()
      const visitor = await openSignedIn(t, token)
      const { page } = visitor
      await visitor.see('')
      await page.evaluate(`window.clicks = 0; addEventListener('click', ({ isTrusted, detail }) => {
      if (isTrusted && detail > 0) window.clicks += 1
    }, true)`)
      await page.getByRole('link', { name: 'Search' }).click()
      await page.getByLabel('Search for').waitFor()
      await until('the field is ready to type', () =>
        page.evaluate(`document.activeElement?.matches('input, textarea') ?? false`),
      )
      await page.keyboard.type(blockedClient)
      await page.keyboard.press('Enter')
      const row = page.locator('tbody tr', { hasText: `${blockedClient}/32` }).first()
      await row.waitFor()
      t.match(await row.textContent(), /block/)
      t.match(await row.textContent(), 'the scanner', 'the row has the description of the rule')
      await row.locator('td').first().click()
      const drawer = page.getByRole('dialog')
      await drawer.getByText(`${blockedClient}/32`).first().waitFor()
      t.match(await drawer.textContent(), /added|created|changed/i, 'it says who made the rule')
      t.ok(Number(await page.evaluate('window.clicks')) <= 3)
      t.strictSame(visitor.complaints, [])
    },
  )

  await t.test('policies that deny are named among what stops, also if no rule blocks', async (t) => {
    const { visitor } = await openEdge(t, { denied: 'conn.client_port >= 1003' })
    const { page } = visitor
    await visitor.see('')
    const policy = page
      .getByRole('list', { name: 'Rules and policies that stop' })
      .getByRole('listitem')
      .filter({ hasText: 'no port' })
    await policy.getByRole('link', { name: '7', exact: true }).waitFor()
    t.equal(await page.getByText('No rule and no traffic policy').count(), 0)
    await policy.getByRole('link').click()
    await page.getByText('All 7.').waitFor()
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a mistake is marked at its place, the draft is tried, then saved, then undone', async (t) => {
    const { me, id, visitor } = await openEdge(t, { expected: /^400 PUT \/edges\/tcp\/\w+\/policies$/ })
    const { page } = visitor
    await visitor.see(`console/edges/${id}/policies`)
    await visitor.edit()
    const field = page.locator('.policy-card .cm-content').first()
    await field.waitFor()
    const write = async (text: string): Promise<void> => {
      await field.click()
      await page.keyboard.press('ControlOrMeta+a')
      // Faster than anyone types: nothing may be lost, and what is replaced leaves no style behind.
      await page.keyboard.type(text)
      t.equal(await field.textContent(), text)
    }
    const save = page.getByRole('button', { name: 'Save' })
    await write('conn.client_prot == 1005')
    await page.locator('.policy-card .cm-lintRange-error', { hasText: 'client_prot' }).waitFor()
    t.ok(await save.isDisabled())
    await write('conn.client_port >= 1005')
    await page.getByRole('button', { name: 'Try on recorded traffic' }).click()
    await page.getByText('5 of the 10 records of what is drafted').waitFor()
    t.equal(await expressionOf(me, id), 'conn.client_port == 1', 'nothing was saved yet')
    await save.click()
    await page.getByText('The traffic policies were saved.').waitFor()
    t.equal(await expressionOf(me, id), 'conn.client_port >= 1005')

    await visitor.see(`console/changes?id=${id}`)
    await page.locator('tbody tr').first().locator('td').first().click()
    await page.locator('.difference del', { hasText: 'conn.client_port == 1' }).waitFor()
    t.equal(await page.locator('.difference .policies li').count(), 1, 'a line for the policy that differs')
    await page.getByRole('button', { name: 'As before this change…' }).click()
    await page.locator('.panel .difference ins', { hasText: 'conn.client_port == 1' }).waitFor()
    await page.getByRole('button', { name: /^Restore version/ }).click()
    await page.locator('.notice', { hasText: 'as it was at version' }).waitFor()
    t.equal(await expressionOf(me, id), 'conn.client_port == 1')
    t.strictSame(visitor.complaints, [])
  })

  await t.test(
    'a rule about a list is added, changed, exported, and stays when others are replaced',
    async (t) => {
      const { api, token } = await newAccount()
      const { id } = await api.ipPolicy.create({ description: 'doors' })
      const [tor, guests] = await Promise.all(
        ['tor', 'guests'].map(async (name) => (await api.ipList.create({ name })).id),
      )
      const visitor = await openSignedIn(t, token)
      const { page } = visitor
      const rulesNow = async () => {
        const rules = []
        for await (const { cidr, list, description } of api.rules(id))
          rules.push([cidr ?? list?.id, description])
        return rules.toReversed()
      }
      await visitor.see(`console/ip-policies/${id}?add=new`)
      await visitor.edit()
      await page.getByLabel('About').selectOption('list')
      await page.getByLabel('IP list').selectOption('tor')
      await page.getByRole('button', { name: 'Add', exact: true }).click()
      await page.getByText('The rule was added.').waitFor()
      t.strictSame(await rulesNow(), [[tor, undefined]])
      await page.locator('tbody tr', { hasText: 'list tor' }).locator('td').nth(1).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Edit', exact: true }).click()
      await page.getByLabel('IP list').selectOption('guests')
      await page.getByLabel('Description').fill('those')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('The rule was saved.').waitFor()
      t.strictSame(await rulesNow(), [[guests, 'those']])

      await page.keyboard.press('Escape')
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export CSV' }).click(),
      ])
      const exported = readFileSync(await download.path(), 'utf8')
      t.match(exported, `,deny,those,,,true,${guests}`)
      await visitor.see(`console/ip-policies/${id}/replace`)
      await page.getByLabel('The list', { exact: true }).fill(`${exported}203.0.113.9/32,deny`)
      await page.getByText('1 added, 0 removed, 0 changed, 1 kept').waitFor()
      await page.getByRole('button', { name: 'Save as one change' }).click()
      await page.getByText('The rules were replaced.').waitFor()
      const after = await rulesNow()
      t.equal(after.length, 2)
      t.match(
        after.find(([, description]) => description === 'those'),
        [guests],
      )

      await visitor.see(`console/ip-policies/${id}`)
      await page.locator('tbody tr', { hasText: 'list guests' }).locator('td').nth(1).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await page.getByText('Delete the rule deny list guests?').waitFor()
      await page
        .getByRole('dialog', { name: 'Are you sure?' })
        .getByRole('button', { name: 'Delete' })
        .click()
      await page.getByText('The rule was deleted.').waitFor()
      t.strictSame(await rulesNow(), [['203.0.113.9/32', undefined]])
      t.strictSame(visitor.complaints, [])
    },
  )

  await t.test('the rules of a policy are restored, and a deleted policy with them', async (t) => {
    const me = await newAccount()
    const { id } = await me.api.ipPolicy.create({ description: 'office' })
    const rules = [
      { cidr: '203.0.113.0/24', action: 'allow' as const },
      { cidr: '203.0.113.7/32', action: 'deny' as const },
    ]
    await me.api.replaceRules(id, rules)
    await me.api.ipPolicy.delete(id)
    const visitor = await openSignedIn(t, me.token, { expected: /^404 GET \/ip_policies/ })
    const { page } = visitor
    const countRules = async (): Promise<number> => {
      let count = 0
      for await (const _ of me.api.rules(id)) count += 1
      return count
    }
    await visitor.see(`console/changes?id=${id}`)
    await visitor.edit()
    await page.locator('tbody tr', { hasText: 'deleted' }).locator('td').first().click()
    await page.getByRole('button', { name: 'As before this change…' }).click()
    await page.getByText('It would be created again:').waitFor()
    await page.getByRole('button', { name: /^Restore version/ }).click()
    await page.getByRole('button', { name: /^Restore the rules/ }).click()
    await page.locator('.notice', { hasText: 'The rules are as they were' }).waitFor()
    t.equal(await countRules(), 2)
    t.strictSame(visitor.complaints, [])
  })
})
