/**
 * Every page of the menu, and what can be opened on it, against a running service: with hostile texts in everything, and
 * with an account that has nothing. In both themes and both widths, axe-core finds nothing serious: with `--full` on each
 * page, otherwise on pages of the menu, and of two others that follow each other, one wide and light, the other narrow and
 * dark.
 */
import t, { type Test } from 'tap'
import { until } from '../../harness/weir.js'
import { furnishedAccount } from './furnished.js'
import { hostileIn, hostileTexts, hostileTextsOn } from './hostile-texts.js'
import { cutTablesOf, type Look, looks, overflowOf, violationsOf, wholeLooks } from './looks.js'
import { menuOf, openedIn } from './views.js'
import { inBrowser, newAccount, openSignedIn, type Visitor } from './visitor.js'

const isFull = process.argv.includes('--full')
/** How pages of the menu are looked at. */
const menuLooks = isFull ? looks : wholeLooks
/** How the page of this number is looked at, of those that differ from pages of the menu by little. */
const looksAt = (index: number): readonly Look[] =>
  isFull ? wholeLooks : [wholeLooks[index % wholeLooks.length]!]

/** Pages whose first entry opens in a drawer, and what the drawer then has. */
const drawers = [
  ['console/live', 'Why'],
  ['console/search', 'Why'],
  ['console/dead-letters?type=record', 'Send the corrected record'],
  ['console/changes', 'Every change of it'],
  ['console/tests', 'Its history'],
  ['console/findings', 'Who made it, and when'],
  ['console/certificates?tab=ssh_user_certificate', 'Its history'],
  ['console/keys?tab=tunnel', 'Its history'],
] as const

/** The last table lists entries; those before it sum up. */
async function openFirst({ page }: Visitor, text: string): Promise<void> {
  await page.locator('table').last().locator('tbody tr').first().press('Enter')
  await page.getByRole('dialog').getByText(text).first().waitFor()
}

/** By the menu, without a new document. */
async function choose(visitor: Visitor, path: string): Promise<void> {
  await visitor.page.locator(`nav a[href="/${path}"]`).click()
  await visitor.settled()
}

async function check(
  t: Test,
  visitor: Visitor,
  path: string,
  shown: readonly Look[],
  open: () => Promise<void>,
): Promise<void> {
  await t.test(path === '' ? 'the first page' : path, async (t) => {
    const { complaints } = visitor
    complaints.length = 0
    await visitor.look(looks[0])
    await open()
    t.strictSame(await hostileIn(visitor.page), [], 'nothing became of hostile texts')
    for (const look of shown) {
      await visitor.look(look)
      t.strictSame(await violationsOf(visitor, look.rules), [], `axe, ${look.width} px, ${look.theme}`)
      t.ok((await overflowOf(visitor)) <= 0, `nothing is beyond the edge at ${look.width} px`)
    }
    t.strictSame(await cutTablesOf(visitor), [], 'all of each table is seen at 390 px')
    t.strictSame(complaints, [], 'the browser complained about nothing')
  })
}

t.test('pages', inBrowser(), async (t) => {
  const all = await furnishedAccount()
  const guide = await openSignedIn(t, all.token)
  const menu = await menuOf(guide)
  t.ok(menu.length > 4)
  const drawn = await guide.page.locator('nav a .mark path:not([d=""])').count()
  t.equal(drawn, await guide.page.locator('nav a').count(), 'each page has a drawing')
  const seen = new Set<string>()
  const checkAll =
    (paths: readonly string[], looksOf: (index: number) => readonly Look[], by: 'see' | 'follow') =>
    async (t: Test) => {
      const visitor = await openSignedIn(t, all.token)
      await visitor.see('')
      for (const [index, path] of paths.entries()) {
        await check(t, visitor, path, looksOf(index), () => visitor[by](path))
        for (const text of await hostileTextsOn(visitor.page)) seen.add(text)
      }
    }
  // Each has a tab of its own.
  t.jobs = 2
  const rest = openedIn(all, menu)
  await Promise.all([
    t.test(
      'of the menu, with hostile texts in everything',
      { buffered: true },
      checkAll(menu, () => menuLooks, 'see'),
    ),
    t.test('what is opened on them', { buffered: true }, checkAll(rest, looksAt, 'follow')),
    t.test('the API reference', { buffered: true }, async (t) => {
      const visitor = await openSignedIn(t, all.token)
      for (const [index, path] of ['docs', 'docs#tag/ip-policies', 'docs#schema/IpPolicy'].entries())
        await check(t, visitor, path, looksAt(index), () => visitor.see(path))
    }),
    t.test('drawers with hostile texts, of which nothing comes', { buffered: true }, async (t) => {
      const visitor = await openSignedIn(t, all.token)
      for (const [path, text] of drawers) {
        await visitor.see(path)
        await openFirst(visitor, text)
        t.strictSame(await hostileIn(visitor.page), [], path)
      }
      t.strictSame(visitor.complaints, [])
    }),
    t.test('of an account that has nothing, one after the other', { buffered: true }, async (t) => {
      const visitor = await openSignedIn(t, (await newAccount()).token)
      await visitor.see('')
      for (const [index, path] of menu.entries())
        await check(t, visitor, path, looksAt(index), () => choose(visitor, path))
    }),
    t.test(
      'an expression without a result leads to its edge, and to the record',
      { buffered: true },
      async (t) => {
        const { api, token } = await newAccount()
        const host = `failing-${Date.now()}.example.com`
        const expression = 'double(conn.server_name) > 1'
        const edge = await api.tcpEdge.create({
          hostports: [`${host}:22`],
          policies: { inbound: [{ name: 'twice', expressions: [expression], actions: [{ type: 'deny' }] }] },
        })
        const subscription = await api.eventSubscription.create({
          sources: [{ type: 'tcp_connection_closed.v0', filter: expression }],
        })
        const conn = { client_ip: '192.0.2.1', client_port: 4000, server_name: host, server_port: 22 }
        await api.publishRecords([{ record_id: `failed at ${host}`, type: 'tcp_connection', conn }])
        await until('both are listed', async () => {
          const { expression_failures } = await api.expressionFailures()
          return expression_failures.length === 2
        })
        const visitor = await openSignedIn(t, token)
        const { page } = visitor
        await visitor.see('')
        await page
          .locator('section[aria-labelledby="attention"] > ul > li', {
            hasText: 'Expressions of 1 traffic policy',
          })
          .getByRole('link')
          .first()
          .click()
        await page.waitForURL(`**/console/edges/${edge.id}`)
        const rows = page.getByRole('table', { name: 'Expressions without a result' }).locator('tbody tr')
        await rows.filter({ hasText: 'twice' }).filter({ hasText: expression }).waitFor()
        await rows.getByRole('link', { name: 'explain' }).click()
        await page.waitForURL('**/console/explain/**')
        await page.getByRole('main').getByText(expression).first().waitFor()
        await visitor.see('console/edges')
        t.equal(await page.locator('tbody tr').first().locator('.word.warning').textContent(), '1')
        await visitor.see(`console/subscriptions/${subscription.id}`)
        await rows.filter({ hasText: 'tcp_connection_closed.v0' }).waitFor()
        t.strictSame(visitor.complaints, [])
      },
    ),
  ])
  const unseen = hostileTexts.filter((text) => !seen.has(text))
  t.strictSame(unseen, [], 'each hostile text was to be read somewhere')
})
