/** The way into the console, in a browser: by link, by key, and out again. */
import { type IncomingHttpHeaders, request } from 'node:http'
import t, { type Test } from 'tap'
import { openWebServer } from '../../harness/web-server.js'
import { until } from '../../harness/weir.js'
import { consoleUrl, inBrowser, newAccount, openSignedIn, openVisitor, signInLink } from './visitor.js'

/** A proxy in front of the service, with a `Host` of its own making; its address ends with `/`. */
async function openTlsProxy(t: Test, hostFor: (headers: IncomingHttpHeaders) => string | undefined) {
  const target = new URL(await consoleUrl())
  const answer: Parameters<typeof openWebServer>[1] = ({ method, path, headers, body }, response) => {
    const passed = request(
      {
        port: target.port,
        host: target.hostname,
        method,
        path,
        headers: { ...headers, host: hostFor(headers) },
      },
      (answered) => {
        response.writeHead(answered.statusCode!, answered.headers)
        answered.pipe(response)
      },
    )
    passed.on('error', (error) => response.destroy(error))
    passed.end(body)
  }
  const { port } = await openWebServer(t, answer, { tls: true })
  return `https://127.0.0.1:${port}/`
}

/** The page asks who is signed in before anyone is. */
const notSignedIn = /^401 GET \/console\/session$/

t.test('signing in', inBrowser(), async (t) => {
  t.test('by a link, once only', async (t) => {
    const { id } = await newAccount('by-link')
    const link = await signInLink(id)
    const visitor = await openVisitor(t, { expected: /^401 (GET|POST) \/console\/session$/ })
    await visitor.see(link)
    await visitor.page.getByText('by-link').waitFor()
    t.notMatch(visitor.page.url(), 'sign-in', 'the code is not left in the address')
    const other = await openVisitor(t, { expected: /^401 (GET|POST) \/console\/session$/ })
    await other.see(link)
    await other.page.getByLabel('API key').waitFor()
    t.match(await other.page.getByRole('alert').textContent(), /link/i, 'it says why')
    t.strictSame([...visitor.complaints, ...other.complaints], [])
  })

  t.test('by a key, after a wrong one; and out', async (t) => {
    const { token } = await newAccount('by-key')
    const visitor = await openVisitor(t, { expected: /^401 (GET|POST) \/console\/session$/ })
    const { page } = visitor
    await visitor.see('console/changes')
    await page.getByLabel('API key').fill('weir_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('API key').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Changes' }).waitFor()
    const kept = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
    )
    t.notMatch(kept, token.slice(5), 'no script can read the key afterwards, nor the cookie')
    t.match(kept, /,""\]$/)
    // A name that is still being asked for is refused when the session has ended.
    await visitor.settled()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You have signed out.').waitFor()
    await visitor.see('console/changes')
    await page.getByLabel('API key').waitFor()
    t.strictSame(visitor.complaints, [])
  })

  t.test('a session that ends while a page is open', async (t) => {
    const { api } = await newAccount('ends')
    const key = await api.apiKey.create({ description: 'of the console', rights: ['read'] })
    const visitor = await openSignedIn(t, key.token!, { expected: /^401 / })
    await visitor.see('console/changes')
    t.equal(
      await visitor.page.locator('.edit-switch').count(),
      0,
      'a key that may only read is offered no changes',
    )
    await api.apiKey.delete(key.id)
    await until('the page asks for a key', async () => {
      await visitor.page.getByRole('link', { name: 'Keys' }).click()
      await visitor.page.waitForTimeout(200)
      return (await visitor.page.getByLabel('API key').count()) === 1
    }).catch(() => {})
    await visitor.page.getByText('The session has ended.').waitFor()
    t.strictSame(visitor.complaints, [])
  })

  t.test('who signs in after another account finds nothing of it in the tab', async (t) => {
    const [first, second] = [await newAccount('first'), await newAccount('second')]
    const policy = await first.api.ipPolicy.create({ description: 'of the first account' })
    const visitor = await openSignedIn(t, first.token, { expected: /^(401|404) / })
    const { page } = visitor
    const enter = async (token: string) => {
      await page.getByLabel('API key').fill(token)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
      await visitor.settled()
    }
    await visitor.see(`console/changes?id=${policy.id}`)
    await visitor.edit()
    await page.evaluate("sessionStorage.setItem('weir-draft', 'of the first account')")
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You have signed out.').waitFor()
    t.equal(await page.evaluate('sessionStorage.length'), 0, 'no draft is left behind')
    t.equal(await page.getByRole('link', { name: 'API reference' }).getAttribute('href'), '/docs')
    await enter(second.token)
    t.equal(await page.locator('.edit-switch').first().getAttribute('aria-pressed'), 'false')
    t.notMatch(await page.locator('body').textContent(), 'of the first account')

    // Another tab has the same cookie.
    await page.evaluate("sessionStorage.setItem('weir-draft', 'of the second')")
    await visitor.signIn(first.token)
    await Promise.all([page.waitForEvent('load'), page.evaluate("dispatchEvent(new Event('focus'))")])
    await page.locator('.account', { hasText: 'first' }).waitFor()
    t.equal(await page.evaluate("sessionStorage.getItem('weir-draft')"), null)
    t.strictSame(visitor.complaints, [])
  })

  t.test('through a proxy with TLS', async (t) => {
    const { token } = await newAccount('behind-tls')
    const passesHost = await openTlsProxy(t, ({ host }) => host)
    const visitor = await openVisitor(t, { at: passesHost })
    const { page } = visitor
    await visitor.see('console/ip-policies')
    await page.getByLabel('API key').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('behind-tls').waitFor()
    await visitor.see('console/ip-policies')
    await page.getByText('behind-tls').waitFor()
    const [cookie] = await visitor.context.cookies()
    t.match(cookie, { name: '__Host-weir_console', secure: true, httpOnly: true, sameSite: 'Strict' })
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You have signed out.').waitFor()
    t.strictSame(await visitor.context.cookies(), [])
    t.strictSame(visitor.complaints, [])

    const changesHost = await openTlsProxy(t, () => 'backend:8080')
    const refused = await openVisitor(t, { at: changesHost, expected: /^403 POST/ })
    await refused.see('')
    await refused.page.getByLabel('API key').fill(token)
    await refused.page.getByRole('button', { name: 'Sign in' }).click()
    t.match(await refused.page.getByRole('alert').textContent(), /set WEIR_BASE_URL/)
    t.strictSame(refused.complaints, [])
  })

  t.test('signing out that fails says so', async (t) => {
    const { token } = await newAccount('stays')
    const visitor = await openSignedIn(t, token, { expected: /^503 / })
    await visitor.see('')
    await visitor.page.route('**/console/session', (route) =>
      route.fulfill({
        status: 503,
        json: { error_code: 'ERR_UNAVAILABLE', status_code: 503, msg: 'NATS is away.', details: {} },
      }),
    )
    await visitor.page.getByRole('button', { name: 'Sign out' }).click()
    await visitor.page.getByText('You are still signed in: NATS is away.').waitFor()
    t.strictSame(visitor.complaints, [])
  })

  t.test('an id of another account in the address shows nothing of it', async (t) => {
    const [mine, other] = [await newAccount('mine'), await newAccount('other')]
    const policy = await other.api.ipPolicy.create({ description: 'nothing for others' })
    const visitor = await openSignedIn(t, mine.token, { expected: /^404 / })
    for (const path of ['console/ip-policies/', 'console/changes?id=', 'console/explain?record=']) {
      await visitor.see(`${path}${policy.id}`)
      t.notMatch(await visitor.page.locator('main').textContent(), 'nothing for others', path)
    }
    t.strictSame(visitor.complaints, [])
  })

  t.test('without a session, every page asks for a key and nothing else', async (t) => {
    const visitor = await openVisitor(t, { expected: notSignedIn })
    for (const path of ['', 'console/live', 'console/no-such-page', 'console/keys/ak_1?tab=tunnel']) {
      await visitor.see(path)
      await visitor.page.getByLabel('API key').waitFor()
    }
    t.strictSame(visitor.complaints, [])
  })
})
