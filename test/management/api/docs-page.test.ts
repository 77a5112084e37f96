/**
 * The API reference in a real browser: what it shows and finds, that its requests are answered, and that it loads nothing
 * from elsewhere.
 */
import type { Browser, Page } from 'playwright-core'
import t from 'tap'
import { openTestStore } from '../../harness/api.js'
import { noChromium, openBrowser } from '../../harness/browser.js'
import { all } from '../../harness/caller.js'
import { documentAt } from '../../harness/pages.js'

/** For a busy machine. */
const patienceMs = 180_000

interface Looked {
  readonly page: Page
  readonly requested: readonly string[]
  readonly complaints: readonly string[]
}

async function look(browser: Browser, width: number, colorScheme: 'light' | 'dark'): Promise<Looked> {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
  page.setDefaultTimeout(patienceMs)
  const requested: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => requested.push(request.url()))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return { page, requested, complaints }
}

const heading = (page: Page, name: string, level: 1 | 2 = 1) =>
  page.getByRole('heading', { name, level, exact: true })

/** An operation's part of the page, by its place behind `#`. */
async function operationAt(page: Page, origin: string, anchor: string) {
  await page.goto(`${origin}/docs#${anchor}`)
  const found = page.locator(`section[id="${anchor}"]`)
  await found.waitFor()
  return found
}

t.test('the reference in a browser', { skip: noChromium }, async (t) => {
  const store = await openTestStore(t)
  // Documents name the base URL of the deployment, which differs from the address that the browser uses here.
  const api = await store.api({})
  const origin = await api.app.listen({ host: '127.0.0.1', port: 0 })
  const me = await api.account()
  const browser = await openBrowser()
  t.teardown(() => browser.close())
  const document = await documentAt(`${origin}/openapi.json`)
  const { page, requested, complaints } = await look(browser, 1500, 'light')

  await t.test('the introduction, with its tables and links', async (t) => {
    await page.goto(`${origin}/docs`)
    t.equal(page.url(), `${origin}/docs`)
    await heading(page, 'Weir management API').waitFor()
    for (const name of ['Keys', 'Paging', 'Errors', 'Security']) await heading(page, name, 2).waitFor()
    const errors = page.locator('table').filter({ hasText: 'error_code' })
    t.ok((await errors.locator('tbody tr').count()) > 15)
    t.equal(
      await page.getByRole('link', { name: 'IP Geolocation by DB-IP' }).getAttribute('href'),
      'https://db-ip.com',
    )
    t.match(await page.locator('main').textContent(), "conn.client_ip|inCidrRange('10.0.0.0/8')")
  })

  await t.test('every operation and every event is on the page of its tag', async (t) => {
    const operations = Object.entries({ ...document.paths, ...document.webhooks }).flatMap(([, methods]) =>
      Object.values(methods as Record<string, { tags: string[]; summary: string }>),
    )
    t.ok(operations.length > 200)
    for (const { name } of document.tags) {
      const wanted = operations.filter(({ tags }) => tags[0] === name).map(({ summary }) => summary)
      await page.goto(`${origin}/docs#tag/${name.toLowerCase().replaceAll(' ', '-')}`)
      await heading(page, name).waitFor()
      const shown = await page.locator('.operation h2').allTextContents()
      t.strictSame(shown.toSorted(), wanted.toSorted(), name)
    }
  })

  await t.test('an operation: parameters, body, answers, schemas, rights, an example', async (t) => {
    const list = await operationAt(page, origin, 'tag/ip-policies/GET/ip_policies')
    const sample = await list.locator('pre').first().textContent()
    t.match(sample, `${origin}/ip_policies`)
    t.match(sample, 'Service-Version: 2')
    t.match(sample, /Authorization: Bearer \$\w+/, 'and no secret')
    t.match(await list.textContent(), /right read/)
    const parameters = await list.getByRole('region', { name: 'Parameters' }).textContent()
    for (const text of ['limit', 'maximum: 100', 'default: 100', 'before_id', 'Service-Version', 'required'])
      t.match(parameters, text)
    const create = await operationAt(page, origin, 'tag/ip-policies/POST/ip_policies')
    t.match(await create.getByRole('region', { name: 'Body' }).textContent(), /description.*metadata/s)
    const answers = create.getByRole('region', { name: 'Answers' })
    await answers.getByText('401', { exact: true }).click()
    await answers.getByText('error_code', { exact: true }).first().waitFor()
    await answers.getByText('201', { exact: true }).click()
    await answers.getByText('Location', { exact: true }).waitFor()
    await answers.getByRole('link', { name: 'IpPolicy', exact: true }).first().click()
    await heading(page, 'IpPolicy').waitFor()
    t.match(await page.locator('main').textContent(), /created_at.*required.*date-time/s)
  })

  await t.test('a search by path, summary and field leads to the operation, by keys alone', async (t) => {
    await page.goto(`${origin}/docs`)
    await heading(page, 'Weir management API').waitFor()
    const found = page.getByRole('region', { name: 'Found' })
    const cases = [
      ['/ip_policies/{id}/uses', '/ip_policies/{id}/uses'],
      ['create an ip policy', 'Create an IP policy'],
      ['next_page_uri ip_policies', 'List IP policies'],
      ['conn.server_name', 'tcp_connection_closed.v0'],
      ['IpPolicyCreate', 'IpPolicyCreate'],
    ] as const
    for (const [text, expected] of cases) {
      await page.locator('main').click({ position: { x: 2, y: 2 } })
      await page.keyboard.press('/')
      await page.keyboard.press('Control+A')
      await page.keyboard.type(text)
      await found.getByRole('link').filter({ hasText: expected }).first().waitFor()
    }
    await page.getByRole('searchbox').fill('no such thing anywhere')
    await found.getByText('Nothing has all of these words.').waitFor()
    await page.getByRole('searchbox').fill('create an ip policy')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs#tag/ip-policies/POST/ip_policies')
    const focused = page.locator('.operation h2:focus')
    await focused.waitFor()
    t.equal(await focused.textContent(), 'Create an IP policy')
  })

  await t.test('a list is asked for with a key', async (t) => {
    await me.ipPolicy.create({ description: 'seen in the browser' })
    const list = await operationAt(page, origin, 'tag/ip-policies/GET/ip_policies')
    await list.getByRole('button', { name: 'Try it' }).click()
    const form = list.getByRole('form')
    const answer = form.locator('[data-answer]')
    await form.getByRole('button', { name: 'Send' }).click()
    await answer.getByText('401').first().waitFor()
    await form.getByLabel('API key').fill(me.token)
    await form.getByLabel('limit (query)').fill('1')
    await form.getByRole('button', { name: 'Send' }).click()
    await answer.getByText('200').first().waitFor()
    await answer.getByText('seen in the browser').waitFor()
    await answer.getByText('Headers').click()
    t.match(await answer.textContent(), /operation-id: op_/)
    t.ok(requested.some((url) => url === `${origin}/ip_policies?limit=1`))
  })

  await t.test('the example of a creation is sent; the key is still known, and nowhere else', async (t) => {
    const create = await operationAt(page, origin, 'tag/ip-policies/POST/ip_policies')
    await create.getByRole('button', { name: 'Try it' }).click()
    const form = create.getByRole('form')
    await form.getByRole('button', { name: 'Send' }).click()
    await form.locator('[data-answer]').getByText('201').first().waitFor()
    t.match(await form.locator('[data-answer]').textContent(), /"description": "the office"/)
    t.equal((await all(me.ipPolicy.list())).length, 2)
    t.notMatch(page.url(), me.token)
    t.notOk(requested.some((url) => url.includes(me.token)))
    const stored = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
    )
    t.equal(stored, '[{},{},""]')
  })

  await t.test('what is sent without an end is shown while it comes, and can be stopped', async (t) => {
    const live = await operationAt(page, origin, 'tag/decisions/GET/live')
    await live.getByRole('button', { name: 'Try it' }).click()
    const form = live.getByRole('form')
    await form.getByRole('button', { name: 'Send' }).click()
    await form.locator('[data-answer]').getByText('200').first().waitFor()
    await form.getByRole('button', { name: 'Stop' }).click()
    await form.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
    t.equal(await form.getByRole('alert').count(), 0)
  })

  await t.test('no request went to another origin or was refused', async (t) => {
    const elsewhere = requested.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))
    t.strictSame(elsewhere, [])
    const unexpected = complaints.filter((text) => !text.includes('status of 401'))
    t.strictSame(unexpected, [])
  })

  await t.test('narrow and dark, and while the document is slow or fails', async (t) => {
    const narrow = await look(browser, 390, 'dark')
    let isBroken = true
    let isAsked = (): void => {}
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve
    })
    let release = (): void => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    await narrow.page.route('**/openapi.json', async (route) => {
      isAsked()
      await released
      await (isBroken ? route.fulfill({ status: 500, body: 'broken' }) : route.continue())
    })
    await narrow.page.goto(`${origin}/docs#tag/ip-policies/POST/ip_policies`)
    await asked
    await narrow.page.locator('main[aria-busy="true"]').getByText('Loading…').waitFor()
    release()
    await narrow.page.getByRole('alert').getByText('status 500').waitFor()
    isBroken = false
    await narrow.page.getByRole('button', { name: 'Try again' }).click()
    await heading(narrow.page, 'Create an IP policy', 2).waitFor()
    t.ok(
      await narrow.page.evaluate(
        'document.documentElement.scrollWidth <= document.documentElement.clientWidth',
      ),
      'nothing is beyond the edge',
    )
    await narrow.page.getByRole('button', { name: 'Menu' }).click()
    await narrow.page.getByRole('link', { name: 'IP lists', exact: true }).click()
    await heading(narrow.page, 'IP lists').waitFor()
    t.match(
      await narrow.page.evaluate('getComputedStyle(document.body).backgroundColor'),
      /^rgb\(\d\d, \d\d, \d\d\)$/,
      'it is dark',
    )
    t.strictSame(
      narrow.complaints.filter((text) => !text.includes('status of 500')),
      [],
    )
  })
})
