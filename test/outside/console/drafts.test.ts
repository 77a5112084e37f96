/** Drafts of the console: they survive a reload, without secrets, and show what someone else has saved meanwhile. */
import { randomBytes } from 'node:crypto'
import type { Locator } from 'playwright-core'
import t, { type Test } from 'tap'
import { until } from '../../harness/weir.js'
import { stream, target } from '../../integration/deployment.js'
import { openService } from '../../integration/service.js'
import { type Account, inBrowser, newAccount, openSignedIn, type Visitor } from './visitor.js'

/** Checks of drafts that are not right yet. */
const refusedChecks = /^400 (POST|PATCH|PUT) \/(event_destinations|event_subscriptions|edges)/

async function open(t: Test): Promise<{ me: Account; visitor: Visitor }> {
  const me = await newAccount()
  return { me, visitor: await openSignedIn(t, me.token, { expected: refusedChecks }) }
}

async function addDestination({ api }: Account): Promise<string> {
  const { emulator } = await openService()
  const name = await stream(emulator, `console-drafts-${randomBytes(4).toString('hex')}`)
  return (await api.eventDestination.create({ ...target(name, emulator), description: 'as it was' })).id
}

const storageOf = ({ page }: Visitor): Promise<string> =>
  page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')

const draftsIn = async (visitor: Visitor): Promise<number> =>
  (await storageOf(visitor)).split('weir-draft').length - 1

async function reload(visitor: Visitor): Promise<void> {
  await visitor.see(visitor.page.url())
}

const button = ({ page }: Visitor, name: string): Locator => page.getByRole('button', { name, exact: true })

/** The part of the page that says that someone else has saved. */
const conflictIn = ({ page }: Visitor): Locator =>
  page.getByRole('alert').filter({ hasText: 'There was another save' })

t.test('drafts in the console', inBrowser(), async (t) => {
  await t.test('of a new destination: all but its secrets, which are to be typed again', async (t) => {
    const { me, visitor } = await open(t)
    const { page } = visitor
    await visitor.see('console/destinations/new')
    await page.getByRole('link', { name: /^Web server/ }).click()
    const secrets = [
      'a-token-of-the-test',
      'a-header-of-the-test',
      'misspelled-of-the-test',
      'user-of-the-test',
    ]
    const keepsNoSecret = async (when: string): Promise<void> => {
      const stored = await storageOf(visitor)
      for (const secret of secrets) t.notOk(stored.includes(secret), `${secret} is not stored: ${when}`)
    }
    await page.getByLabel(/^Name/).fill('of a draft')
    await page.getByLabel('Address (URL)').fill(`https://${secrets[3]}:x@logs.example.com/in`)
    await keepsNoSecret('in a URL')
    await page.getByLabel('Address (URL)').fill('https://logs.example.com/in')
    await page.getByLabel('How Weir signs in').selectOption('bearer')
    await page.getByLabel(/^Token/).fill(secrets[0]!)
    await page.getByLabel(/^Headers with secrets/).fill(`x-team: ${secrets[1]}`)
    await page.getByText('More options').click()
    await page.getByLabel(/^Further headers/).fill('x-plain: network')
    await keepsNoSecret('in their fields')
    await page.getByLabel('Write the target as JSON').check()
    const editor = page.locator('.cm-content')
    await editor.waitFor()
    const json = JSON.parse((await editor.textContent()) ?? '')
    await editor.click()
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.insertText(JSON.stringify({ ...json, tokn: secrets[2] }))
    await page.getByText(/tokn/).first().waitFor()
    await keepsNoSecret('as JSON, also in a member with a wrong name')

    await reload(visitor)
    t.equal(await page.getByLabel(/^Name/).inputValue(), 'of a draft')
    t.equal(await page.getByLabel('Address (URL)').inputValue(), 'https://logs.example.com/in')
    t.equal(await page.getByLabel('How Weir signs in').inputValue(), 'bearer')
    t.equal(await page.getByLabel(/^Further headers/).inputValue(), 'x-plain: network')
    t.equal(await page.getByLabel(/^Token/).inputValue(), '')
    t.equal(await page.getByLabel(/^Headers with secrets/).inputValue(), 'x-team: ', 'its name is kept')
    const missing = page.getByRole('status').filter({ hasText: 'Type these again' })
    t.strictSame(await missing.locator('li').allInnerTexts(), [
      'target.http.auth.bearer.token',
      'target.http.secret_headers',
      'target.http.tokn',
    ])
    await page.getByLabel(/^Token/).fill(secrets[0]!)
    await missing.getByText('bearer').waitFor({ state: 'detached' })
    await page.getByLabel(/^Headers with secrets/).fill(`x-team: ${secrets[1]}`)
    await missing.getByText('secret_headers').waitFor({ state: 'detached' })
    await page.locator('.field .fault').waitFor({ state: 'detached' })
    t.ok(
      await button(visitor, 'Create, and choose events').isDisabled(),
      'not before one knows what is missing',
    )
    await keepsNoSecret('typed again')
    await button(visitor, 'Go on without them').click()
    await missing.waitFor({ state: 'detached' })
    await button(visitor, 'Create, and choose events').click()
    await page.getByText('The destination is created.').waitFor()
    t.equal(await draftsIn(visitor), 0, 'what is saved is no draft any more')
    await page.waitForURL(/[?&]id=ed_/)
    const id = new URL(page.url()).searchParams.get('id') ?? ''
    t.match((await me.api.eventDestination.get(id)).target.http, {
      url: 'https://logs.example.com/in',
      auth: { bearer: { token: null } },
      headers: { 'x-plain': 'network' },
      secret_headers: { 'x-team': null },
    })
    t.strictSame(visitor.complaints, [])
  })

  await t.test("of a destination: another's change is shown, and mine is saved after that", async (t) => {
    const { me, visitor } = await open(t)
    const { page } = visitor
    const id = await addDestination(me)
    await visitor.see(`console/destinations/${id}?open=edit`)
    await visitor.edit()
    const description = page.getByLabel(/^Name/)
    await description.fill('mine')
    await page.locator('.difference .added', { hasText: 'mine' }).waitFor()
    await reload(visitor)
    t.equal(await description.inputValue(), 'mine')
    t.equal(await conflictIn(visitor).count(), 0)
    await me.api.eventDestination.update(id, { on_expiry: 'block', description: 'theirs' })
    await button(visitor, 'Save').click()
    await conflictIn(visitor).waitFor()
    t.equal((await me.api.eventDestination.get(id)).description, 'theirs', 'it was not overwritten unseen')
    const shown = await conflictIn(visitor).textContent()
    t.match(shown, /description[\s\S]*- as it was[\s\S]*\+ theirs/)
    t.match(shown, /on_expiry[\s\S]*- drop[\s\S]*\+ block/)
    await reload(visitor)
    await conflictIn(visitor).waitFor()
    t.equal(await description.inputValue(), 'mine', 'the conflict outlives a reload, too')
    t.ok(await button(visitor, 'Save').isDisabled())
    await button(visitor, 'Keep this draft, and compare it with what was saved').click()
    await conflictIn(visitor).waitFor({ state: 'detached' })
    await page.locator('.difference .removed', { hasText: 'theirs' }).waitFor()
    await button(visitor, 'Save').click()
    await page.getByText('The destination is changed.').waitFor()
    t.match(await me.api.eventDestination.get(id), { description: 'mine', on_expiry: 'drop' })
    t.equal(await draftsIn(visitor), 0)
    t.strictSame(visitor.complaints, [])
  })

  await t.test('of a destination: a new secret is not stored, nor shown as a change', async (t) => {
    const { me, visitor } = await open(t)
    const { page } = visitor
    const { id } = await me.api.eventDestination.create({
      target: {
        http: { url: 'https://logs.example.com/in', auth: { bearer: { token: 'the-first-token' } } },
      },
    })
    await visitor.see(`console/destinations/${id}?open=edit`)
    await visitor.edit()
    const secret = 'the-second-token'
    await page.getByLabel(/^Token/).fill(secret)
    await page.locator('.difference .added', { hasText: '(typed)' }).waitFor()
    t.notOk((await page.locator('body').textContent())?.includes(secret))
    t.notOk((await storageOf(visitor)).includes(secret))
    await reload(visitor)
    await page.getByText('target.http.auth.bearer.token').waitFor()
    t.ok(await button(visitor, 'Save').isDisabled(), 'or the first would stay unnoticed')
    await button(visitor, 'Discard the draft').click()
    await page.getByText('Nothing is changed yet.').waitFor()
    t.equal(await page.getByText('Type these again').count(), 0)
    t.equal(await draftsIn(visitor), 0)
    t.strictSame(visitor.complaints, [])
  })

  await t.test('of subscriptions: new and changed, and what someone else has saved', async (t) => {
    const { me, visitor } = await open(t)
    const { page } = visitor
    await visitor.see('console/subscriptions/new')
    await visitor.edit()
    await page.getByLabel('Description').fill('new here')
    await page.getByRole('combobox', { name: 'Filter' }).fill('conn.server_port == 7')
    await reload(visitor)
    t.equal(await page.getByLabel('Description').inputValue(), 'new here')
    t.equal(await page.getByRole('combobox', { name: 'Filter' }).inputValue(), 'conn.server_port == 7')
    await button(visitor, 'Create').click()
    await page.getByText('The subscription is created.').waitFor()
    t.equal(await draftsIn(visitor), 0)

    const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    await visitor.see(`console/subscriptions/${id}/edit`)
    await page.getByRole('combobox', { name: 'Filter' }).fill('conn.server_port == 8')
    await me.api.eventSubscription.update(id, { description: 'theirs' })
    await reload(visitor)
    await conflictIn(visitor).waitFor()
    t.equal(await page.getByRole('combobox', { name: 'Filter' }).inputValue(), 'conn.server_port == 8')
    t.match(await conflictIn(visitor).textContent(), /description[\s\S]*- new here[\s\S]*\+ theirs/)
    await button(visitor, 'Take what was saved, drop this draft').click()
    await conflictIn(visitor).waitFor({ state: 'detached' })
    // The field takes the text on after it is drawn.
    const filter = page.getByRole('combobox', { name: 'Filter' })
    await until('the filter is theirs', async () => (await filter.inputValue()) === 'conn.server_port == 7')
    t.equal(await page.getByLabel('Description').inputValue(), 'theirs')
    t.equal(await draftsIn(visitor), 0)
    t.strictSame(visitor.complaints, [])
  })

  await t.test('of traffic policies, as before', async (t) => {
    const { me, visitor } = await open(t)
    const { page } = visitor
    const policies = (port: number) => ({
      inbound: [
        {
          name: 'a port',
          expressions: [`conn.client_port == ${port}`],
          actions: [{ type: 'deny' as const }],
        },
      ],
    })
    const host = `drafts-${randomBytes(4).toString('hex')}.example.com`
    const { id } = await me.api.tcpEdge.create({ hostports: [`${host}:22`], policies: policies(1) })
    await visitor.see(`console/edges/${id}/policies`)
    await visitor.edit()
    const field = page.locator('.policy-card .cm-content').first()
    await field.waitFor()
    await field.click()
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.insertText('conn.client_port == 2')
    await page.getByText('inbound: “a port” is changed').waitFor()
    await me.api.tcpEdge.policies.put(id, policies(3))
    await button(visitor, 'Save').click()
    await conflictIn(visitor).waitFor()
    await reload(visitor)
    await field.waitFor()
    t.equal(await field.textContent(), 'conn.client_port == 2')
    t.match(await conflictIn(visitor).textContent(), 'inbound: “a port” is changed')
    await button(visitor, 'Keep this draft, and compare it with what was saved').click()
    await button(visitor, 'Save').click()
    await page.getByText('The traffic policies were saved.').waitFor()
    t.match((await me.api.tcpEdge.get(id)).policies?.inbound, [{ expressions: ['conn.client_port == 2'] }])
    t.equal(await draftsIn(visitor), 0)
    t.strictSame(visitor.complaints, [])
  })

  await t.test('no other account finds them', async (t) => {
    const [first, second] = [await newAccount(), await newAccount()]
    const visitor = await openSignedIn(t, first.token, { expected: /^(400|401) / })
    const { page } = visitor
    const forms = [
      ['destinations/new?form=http', /^Name/],
      ['subscriptions/new', 'Description'],
    ] as const
    for (const [path, label] of forms) {
      await visitor.see(`console/${path}`)
      await page.getByLabel(label).fill('of the first account')
    }
    t.equal(await draftsIn(visitor), 2)
    // The session becomes another's without a word to the page, as by another tab.
    await visitor.signIn(second.token)
    for (const [path, label] of forms) {
      await visitor.see(`console/${path}`)
      t.equal(await page.getByLabel(label).inputValue(), '', path)
    }
    t.equal(await draftsIn(visitor), 0)
    await page.getByLabel('Description').fill('of the second account')
    await button(visitor, 'Sign out').click()
    await page.getByText('You have signed out.').waitFor()
    t.equal(await draftsIn(visitor), 0, 'signing out leaves none')
    t.strictSame(visitor.complaints, [])
  })
})
