/** Someone who looks at the console of a running service in a browser, and notices whatever goes wrong there. */
import { randomBytes } from 'node:crypto'
import type { APIResponse, Browser, BrowserContext, Page, Request } from 'playwright-core'
import root from 'tap'
import { readRuntime, sendAdminCommand } from '../../../src/management/process/running-service.js'
import { type Client, openClient } from '../../../src/words/client/client.js'
import { noChromium, openBrowser } from '../../harness/browser.js'
import { untilInUse } from '../../harness/in-use.js'
import { until } from '../../harness/weir.js'
import { openService } from '../../integration/service.js'
import { watchForDialogs } from './hostile-texts.js'

/** For a busy machine. */
const patienceMs = 120_000

export interface Account {
  readonly id: string
  readonly token: string
  readonly api: Client
}

/** While one test waits for the service, another one looks. */
root.jobs = 2

/** Options of a test that shares only the service with others. `tap` changes the object, so each test has its own. */
export const inBrowser = () => ({ skip: noChromium, buffered: true })

let browser: Promise<Browser> | undefined

/** One for all files of the process. */
function sharedBrowser(): Promise<Browser> {
  browser ??= openBrowser().then((opened) => {
    root.teardown(() => opened.close())
    return opened
  })
  return browser
}

/** The address of the console of the shared service: it ends with `/`. */
export async function consoleUrl(): Promise<string> {
  const { weir } = await openService()
  return `${weir.url}/`
}

/** A new account of the shared service. */
export async function newAccount(name = `console-${randomBytes(3).toString('hex')}`): Promise<Account> {
  const { weir } = await openService()
  const made = await admin({ command: 'account create', name, json: 'true' })
  const { account_id: id, token } = JSON.parse(made) as { account_id: string; token: string }
  return { id, token, api: openClient({ url: weir.url, token }) }
}

/** Resolves when records and questions are judged by all that the API has answered so far. */
export async function untilAllInUse(): Promise<void> {
  await untilInUse((await openService()).weir)
}

/** A link that signs in to an account, as `weir console` prints it. */
export async function signInLink(account: string): Promise<string> {
  return JSON.parse(await admin({ command: 'console', account, json: 'yes' })).url
}

async function admin(command: { command: string; [argument: string]: string }): Promise<string> {
  const { dataDir } = await openService()
  const { adminUrl, adminToken } = readRuntime(dataDir)!
  return sendAdminCommand(adminUrl, adminToken, command)
}

interface Look {
  readonly width?: number
  readonly theme?: 'light' | 'dark'
  /** Where the browser finds the console; default: at the service itself. */
  readonly at?: string
  /** Answers with an error that belong to the test, as `401 GET /console/session`. */
  readonly expected?: RegExp
}

/** A resource that a page names may be deleted. */
const deleted = /^404 GET \/[a-z_/]+\/[a-z]+_[0-9A-Z]{26}$/

export class Visitor {
  readonly page: Page
  readonly context: BrowserContext
  /** Complaints of the browser, and requests to elsewhere. */
  readonly complaints: string[] = []
  /** The address of the console. */
  readonly origin: string
  readonly #underWay = new Set<Request>()

  constructor(context: BrowserContext, page: Page, origin: string, expected: RegExp | undefined) {
    this.context = context
    this.page = page
    this.origin = origin
    const complain = (text: string): void => void this.complaints.push(`${text} (at ${page.url()})`)
    page.on('console', (message) => {
      // Answers with an error are looked at one by one, below.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        complain(`console: ${message.text()}`)
    })
    page.on('pageerror', (error) => complain(`page: ${error.stack ?? error}`))
    page.on('dialog', (dialog) => {
      complain(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url()))
        complain(`request to ${request.url()}`)
      if (!isStream(request.url())) this.#underWay.add(request)
    })
    page.on('requestfinished', (request) => this.#underWay.delete(request))
    page.on('requestfailed', (request) => this.#underWay.delete(request))
    page.on('response', (response) => {
      if (response.status() < 400) return
      // A page that does not read the answer to the end never lets the request finish.
      this.#underWay.delete(response.request())
      const said = `${response.status()} ${response.request().method()} ${new URL(response.url()).pathname}`
      if (!deleted.test(said) && !expected?.test(said)) complain(`answer: ${said}`)
    })
  }

  /** Opens a view by its path below the console's address, and waits until it shows what it asked for. */
  async see(path: string): Promise<void> {
    // A request that ended with the page before is not reported.
    this.#underWay.clear()
    await this.page.goto(new URL(path, this.origin).href)
    await this.settled()
  }

  /** The same without a new document, as links of the page do it: in half of the time. Other tests begin with such paths. */
  async follow(path: string): Promise<void> {
    const { href } = new URL(path, this.origin)
    await this.page.evaluate(
      `history.pushState(null, '', '${href}'); dispatchEvent(new PopStateEvent('popstate'))`,
    )
    // The menu says that the page has noticed.
    const inMenu = `/${path.split(/[/?]/, 2).join('/')}`
    await this.page.locator(`#menu a[aria-current="page"][href="${inMenu}"]`).waitFor()
    await this.settled()
  }

  /** Nothing waits any more; fails after a while, and says what does. */
  async settled(): Promise<void> {
    const { page } = this
    await page.locator('main').first().waitFor()
    const begun = Date.now()
    for (let quietMs = 0; quietMs < quietNeededMs; quietMs += lookEveryMs) {
      await page.waitForTimeout(lookEveryMs)
      if (this.#underWay.size > 0 || (await page.locator('.waits, main[aria-busy="true"]').count()) > 0)
        quietMs = -lookEveryMs
      if (Date.now() - begun < patienceMs) continue
      const waiting = [...this.#underWay].map((request) => request.url())
      throw new Error(`${page.url()} still waits: ${waiting.join(', ')} ${this.complaints.join('\n')}`)
    }
  }

  async look({ width, theme }: Look): Promise<void> {
    if (width !== undefined) await this.page.setViewportSize({ width, height: 800 })
    if (theme !== undefined) await this.page.emulateMedia({ colorScheme: theme })
  }

  /** Signs in as the page for that does, without the page. A service that has just started may not know the key yet. */
  async signIn(token: string): Promise<void> {
    let answer = await this.#askForSession(token)
    await until('the service is ready to sign in', async () => {
      if (answer.status() === 503) answer = await this.#askForSession(token)
      return answer.status() !== 503
    })
    if (answer.status() !== 201)
      throw new Error(`Signing in was answered ${answer.status()}: ${await answer.text()}`)
  }

  #askForSession(token: string): Promise<APIResponse> {
    return this.context.request.post(new URL('console/session', this.origin).href, {
      data: { token },
      headers: { 'weir-console': '1' },
    })
  }

  /** Switches changes on. */
  async edit(): Promise<void> {
    // A drawer has one of its own, over the other.
    const button = this.page.locator('.edit-switch').last()
    if ((await button.getAttribute('aria-pressed')) === 'false') await button.click()
  }
}

const lookEveryMs = 60
const quietNeededMs = 120

/** It lasts as long as the page. */
const isStream = (url: string): boolean => new URL(url).pathname.endsWith('/live')

interface Test {
  teardown(close: () => unknown): void
  passing(): boolean
}

const logLinesMax = 20

/** The last warnings and errors of the service, and its last lines. */
async function lastLogLines(): Promise<string[]> {
  const lines = (await openService()).weir.process.output().split('\n')
  const alarming = lines.filter((line) => /"level":[456]0/.test(line))
  return [...alarming.slice(-logLinesMax), '…', ...lines.slice(-logLinesMax)]
}

/** A browser without cookies, at the console. */
export async function openVisitor(
  t: Test,
  { width = 1280, theme = 'light', expected, at }: Look = {},
): Promise<Visitor> {
  const context = await (await sharedBrowser()).newContext({
    viewport: { width, height: 800 },
    colorScheme: theme,
    serviceWorkers: 'block',
    // The certificate of a proxy that a test puts in front.
    ignoreHTTPSErrors: true,
  })
  context.setDefaultTimeout(patienceMs)
  await context.addInitScript(watchForDialogs)
  const page = await context.newPage()
  t.teardown(async () => {
    // If the test waited in vain, the text of the page is the reason; the reason of its answers is in the log.
    if (!t.passing()) {
      const said = await page.evaluate('document.body.innerText')
      process.stderr.write([page.url(), said, ...(await lastLogLines()), ''].join('\n'))
    }
    await context.close()
  })
  return new Visitor(context, page, at ?? (await consoleUrl()), expected)
}

/** The same, signed in to an account. */
export async function openSignedIn(t: Test, token: string, look: Look = {}): Promise<Visitor> {
  const visitor = await openVisitor(t, look)
  await visitor.signIn(token)
  return visitor
}
