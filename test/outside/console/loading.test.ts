/**
 * Every page of the console while answers are slow, when they fail, and when they come after all: it says that it loads,
 * what failed, and shows what it has once someone has tried again. On a narrow screen, where an empty box is all there is to
 * see.
 */
import type { Page, Route } from 'playwright-core'
import t, { type Test } from 'tap'
import { until } from '../../harness/weir.js'
import { furnishedAccount } from './furnished.js'
import { menuOf, openedIn } from './views.js'
import { inBrowser, openSignedIn, type Visitor } from './visitor.js'

const problem = {
  error_code: 'ERR_INTERNAL',
  status_code: 500,
  msg: 'The answer is broken on purpose.',
  details: { operation_id: 'op_of_the_test' },
}

/** Between the page and the API: answers are held, refused, or let through. */
class Gate {
  #state: 'open' | 'held' | 'failing' = 'open'
  #held: Route[] = []

  static async before(page: Page): Promise<Gate> {
    const gate = new Gate()
    await page.route('**/*', (route) => gate.#pass(route))
    return gate
  }

  /** From now on no question is answered. */
  hold(): void {
    this.#state = 'held'
  }

  get heldCount(): number {
    return this.#held.length
  }

  /** Questions that are held and all that follow fail. */
  async fail(): Promise<void> {
    this.#state = 'failing'
    const held = this.#held
    this.#held = []
    for (const route of held) await this.#pass(route)
  }

  open(): void {
    this.#state = 'open'
  }

  async #pass(route: Route): Promise<void> {
    const request = route.request()
    const isQuestion = request.resourceType() === 'fetch' && !request.url().endsWith('/console/session')
    if (this.#state === 'open' || !isQuestion) await route.continue()
    else if (this.#state === 'held') this.#held.push(route)
    // A page that is left takes its questions along.
    else await route.fulfill({ status: 500, json: problem }).catch(() => {})
  }
}

/** The state of the page, as a person sees it. */
const isBusy = ({ page }: Visitor) => page.locator('main[aria-busy="true"]')
const saysThatItLoads = ({ page }: Visitor) =>
  page.locator('main [role="status"]').filter({ hasText: 'Loading…' })
const tryAgain = ({ page }: Visitor) => page.locator('main').getByRole('button', { name: 'Try again' })

const pressAll = `for (const button of document.querySelectorAll('main button'))
  if (button.textContent.trim() === 'Try again') button.click()`

async function check(t: Test, visitor: Visitor, gate: Gate, path: string): Promise<void> {
  const { page } = visitor
  await page.goto('about:blank')
  gate.hold()
  const origin = new URL(visitor.origin)
  await page.goto(new URL(path, origin).href, { waitUntil: 'commit' })
  await until(`${path} asks`, async () => gate.heldCount > 0)
  await isBusy(visitor).waitFor()
  t.ok(await saysThatItLoads(visitor).count(), `${path} says that it loads`)
  t.equal(await page.locator('main .empty').count(), 0, `${path} says of nothing that there is none of it`)

  await gate.fail()
  await visitor.settled()
  await tryAgain(visitor).first().waitFor()
  t.match(await page.locator('main').textContent(), problem.msg, `${path} says what failed`)
  t.equal(await page.locator('main .empty').count(), 0, `${path} does not take a failure for nothing`)

  gate.open()
  // An answer that comes may show the failure of something else.
  await until(`${path} has all answers`, async () => {
    // All of them at once: a drawer may be in front of one.
    await page.evaluate(pressAll)
    await visitor.settled()
    return (await tryAgain(visitor).count()) === 0
  })
  t.notMatch(await page.locator('main').textContent(), /Loading…|broken on purpose/, `${path} is there`)
}

t.test('slow and failing answers', inBrowser(), async (t) => {
  const all = await furnishedAccount()
  const guide = await openSignedIn(t, all.token)
  const menu = await menuOf(guide)
  const asking = openedIn(all, menu).filter((path) => !/\/new(\?from=.*)?$/.test(path))
  const look = { width: 390, expected: /^500 / }
  // Each has a tab of its own.
  t.jobs = 2
  const checkAll = (paths: readonly string[]) => async (t: Test) => {
    const visitor = await openSignedIn(t, all.token, look)
    const gate = await Gate.before(visitor.page)
    for (const path of paths) await check(t, visitor, gate, path)
  }
  t.ok(menu.length > 4)
  await Promise.all([
    t.test('on pages of the menu', { buffered: true }, checkAll(menu)),
    t.test('on what is opened there', { buffered: true }, checkAll(asking)),
  ])

  await t.test('before it is known who has signed in', async (t) => {
    const visitor = await openSignedIn(t, all.token, look)
    const { page } = visitor
    let isBroken = true
    await page.route('**/console/session', async (route) => {
      if (!isBroken) return route.continue()
      // Before the answer is there, the page says that it loads.
      t.ok(await saysThatItLoads(visitor).count())
      return route.fulfill({ status: 500, json: problem })
    })
    await page.goto(visitor.origin)
    await tryAgain(visitor).waitFor()
    t.match(await page.locator('main').textContent(), problem.msg)
    isBroken = false
    await tryAgain(visitor).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
  })
})
