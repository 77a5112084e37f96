/** The API reference in a real browser: it loads nothing from elsewhere, and its requests are answered. */
import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { openTestStore } from '../harness/api.js'
import { noChromium, openBrowser } from '../harness/browser.js'
import { all } from '../harness/caller.js'

/** For a busy machine: the page is a large script. */
const patienceMs = 120_000

t.test('the reference in a browser', { skip: noChromium }, async (t) => {
  const store = await openTestStore(t)
  // Documents name the base URL of the deployment, which differs from the address that the browser uses here.
  const api = await store.api({})
  const origin = await api.app.listen({ host: '127.0.0.1', port: 0 })
  const me = await api.account()
  const browser = await openBrowser()
  t.teardown(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1500, height: 1000 } })
  page.setDefaultTimeout(patienceMs)
  const requested: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => requested.push(request.url()))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => complaints.push(String(error)))

  t.test('the page', async (t) => {
    await page.goto(`${origin}/docs`)
    t.equal(page.url(), `${origin}/docs`)
    await page.getByRole('heading', { name: 'Weir management API' }).waitFor()
  })

  t.test('samples show the version, and no secret', async (t) => {
    const list = await section(page, 'ip-policies', 'GET/ip_policies')
    const sample = await list.locator('pre').first().textContent()
    t.match(sample, `${origin}/ip_policies`)
    t.match(sample, 'Service-Version: 2')
    t.match(sample, /Authorization: Bearer \S+/)
  })

  t.test('a list', async (t) => {
    await me.ipPolicy.create({ description: 'seen in the browser' })
    await page.getByPlaceholder('Token').first().fill(me.token)
    const { status, text } = await tryOut(page, 'ip-policies', 'GET/ip_policies')
    t.equal(status, 200, text)
    t.match(text, 'seen in the browser')
  })

  t.test('a creation', async (t) => {
    const { status, text } = await tryOut(page, 'ip-policies', 'POST/ip_policies')
    t.equal(status, 201, text)
    t.match(JSON.parse(text), { description: 'the office' }, 'the example is sent')
    t.equal((await all(me.ipPolicy.list())).length, 2)
  })

  t.test('no request went to another origin or was refused', async (t) => {
    const elsewhere = requested.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))
    t.strictSame(elsewhere, [])
    t.strictSame(complaints, [])
  })
})

/** An operation of the page, once it is rendered: `POST/ip_policies` of the tag `ip-policies`. */
async function section(page: Page, tag: string, operation: string): Promise<Locator> {
  const anchor = `tag/${tag}/${operation}`
  await page.goto(`${new URL(page.url()).origin}/docs#${anchor}`)
  const found = page.locator(`section[id$="${anchor}"]`)
  await found.getByRole('button', { name: 'Test Request' }).waitFor()
  return found
}

/** Sends the operation's example request. */
async function tryOut(page: Page, tag: string, operation: string): Promise<{ status: number; text: string }> {
  await (await section(page, tag, operation)).getByRole('button', { name: 'Test Request' }).click()
  const client = page.getByRole('dialog')
  const [method = '', ...path] = operation.split('/')
  const answered = page.waitForResponse(
    (response) =>
      response.request().method() === method && new URL(response.url()).pathname === `/${path.join('/')}`,
  )
  await client
    .getByRole('button', { name: /^Send (get|post) request/i })
    .first()
    .click()
  const response = await answered
  await client.getByText(String(response.status())).first().waitFor()
  const text = await response.text()
  await client.getByRole('button', { name: 'Close Client' }).click()
  return { status: response.status(), text }
}
