/** A look at the deployment from the overview of the console: for accounts that may, by keyboard, with its pages. */
import t from 'tap'
import { openService, weirDoes } from '../../integration/service.js'
import { inBrowser, newAccount, openSignedIn } from './visitor.js'

const button = { name: 'Check the deployment' }

t.test('the deployment, in the console', inBrowser(), async (t) => {
  const { dataDir } = await openService()

  await t.test('is not offered to an account that may not see it', async (t) => {
    const tenant = await newAccount()
    const visitor = await openSignedIn(t, tenant.token)
    for (const path of ['', '?open=deployment']) {
      await visitor.see(path)
      await visitor.page.getByRole('heading', { name: 'Needs a hand' }).waitFor()
      t.equal(await visitor.page.getByRole('button', button).count(), 0, path)
      t.equal(await visitor.page.getByRole('dialog').count(), 0, path)
    }
    t.strictSame(visitor.complaints, [])
  })

  await t.test('is looked at by keyboard, and says what to do', async (t) => {
    const me = await newAccount()
    const granted = await weirDoes(dataDir, 'account', 'grant', '--account', me.id, 'doctor')
    t.equal(granted.code, 0, granted.text)
    const visitor = await openSignedIn(t, me.token)
    const { page } = visitor
    await visitor.see('')
    await page.getByRole('button', button).focus()
    await page.keyboard.press('Enter')
    const drawer = page.getByRole('dialog', { name: 'The deployment' })
    await drawer.waitFor()
    t.match(page.url(), /[?&]open=deployment\b/, 'a colleague with the address sees it, too')
    const verdict = drawer.getByRole('status')
    await verdict.waitFor()
    // A sign and a word, and not a color alone.
    t.match(
      await verdict.textContent(),
      /^[●▲■] (Nothing that was checked is wrong|It works, and|Something does not)/,
    )
    const { lines } = await me.api.doctor()
    for (const state of ['bad', 'warning', 'not_checked', 'good'] as const) {
      const count = lines.filter((line) => line.state === state).length
      const heading = drawer.getByText(new RegExp(`^[●▲■○] ${state.replace('_', ' ')}: ${count}$`))
      t.equal(await heading.count(), count === 0 ? 0 : 1, `${state}: ${count}`)
    }
    const summary = drawer.locator('summary', { hasText: 'not checked' })
    t.notOk(await drawer.getByText('data directory').first().isVisible(), 'what needs no one is folded')
    await summary.focus()
    await page.keyboard.press('Enter')
    const line = drawer.getByRole('listitem').filter({ hasText: /^data directory/ })
    t.match(await line.textContent(), /The API does not look at the machine.*Run "weir doctor" there/)

    const opened = page.context().waitForEvent('page')
    await line.getByRole('link', { name: 'About data directory' }).click()
    const about = await opened
    await about.waitForLoadState()
    t.match(about.url(), /\/docs\/doctor\.md\b/)
    t.match(await about.locator('body').textContent(), /### Data directory/)
    t.ok(((await about.evaluate('scrollY')) as number) > 0, 'it has found the section')
    await about.close()

    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    t.equal(
      await page.evaluate('document.activeElement.textContent'),
      button.name,
      'the focus is where it was',
    )
    t.strictSame(visitor.complaints, [])
  })
})
