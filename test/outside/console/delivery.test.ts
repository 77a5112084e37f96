/** Work on delivery in the console, against a running service: mend, send again, pause, create, try. */
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { until } from '../../harness/weir.js'
import { stream, target } from '../../integration/deployment.js'
import { openService } from '../../integration/service.js'
import { type Account, inBrowser, newAccount, openSignedIn, type Visitor } from './visitor.js'

/** An account with a destination, its events, and someone who may change it. */
async function openAccount(
  t: Test,
  expected?: RegExp,
): Promise<{ me: Account; id: string; visitor: Visitor }> {
  const { emulator } = await openService()
  const me = await newAccount()
  const name = `console-delivery-${randomBytes(4).toString('hex')}`
  const { id } = await me.api.eventDestination.create({
    ...target(await stream(emulator, name), emulator),
    description: 'the stream',
  })
  const visitor = await openSignedIn(t, me.token, expected === undefined ? {} : { expected })
  return { me, id, visitor }
}

const connection = (account_id: string, record_id: string, client_ip: string) => ({
  account_id,
  record_id,
  type: 'tcp_connection' as const,
  conn: { client_ip, server_name: 'ssh.example.com', server_port: 22 },
})

/** Records that are set aside, as an ingress node publishes them. */
async function publishBroken({ id, api }: Account, addresses: readonly string[]): Promise<void> {
  const { weir } = await openService()
  const run = randomBytes(4).toString('hex')
  const lines = addresses.map((address, index) => JSON.stringify(connection(id, `${run}-${index}`, address)))
  await (await weir.nats()).publish('weir.records.console.2', lines.join('\n'), { msgId: run })
  await until('they are set aside', async () => {
    const { groups } = await api.deadLetters.groups()
    return groups.reduce((sum, { count }) => sum + count, 0) === addresses.length
  })
}

const lettersOf = async ({ api }: Account): Promise<number> =>
  (await api.deadLetters.groups()).groups.reduce((sum, { count }) => sum + count, 0)

/** Replaces the text of the editor. */
async function write({ page }: Visitor, change: (text: string) => string): Promise<void> {
  const editor = page.locator('.cm-content')
  await editor.waitFor()
  const text = (await editor.textContent()) ?? ''
  await editor.click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.insertText(change(text))
}

t.test('delivery in the console', inBrowser(), async (t) => {
  await t.test('a dead letter is mended and sent again, then all others of its kind', async (t) => {
    const { me, visitor } = await openAccount(t, /^400 POST \/dead_letters/)
    const { page } = visitor
    const wrong = ['203.0.113.256', '203.0.113.257', '203.0.113.258']
    await publishBroken(me, wrong)
    await visitor.see('console/dead-letters')
    await visitor.edit()
    await page.locator('section[aria-label="By reason"] tbody tr').click()
    await page.locator('section[aria-label="Letters"] tbody tr').last().click()
    t.equal(await page.locator('pre mark').textContent(), '"203.0.113.256"', 'the place is marked')
    const send = page.getByRole('button', { name: 'Send the corrected record' })
    await write(visitor, () => '{"type": ')
    await page.getByText('This is not JSON').waitFor()
    t.ok(await send.isDisabled(), 'what is no record is not sent')
    await write(visitor, () => JSON.stringify(connection(me.id, 'mended', '203.0.113.300')))
    await send.click()
    await page.getByText('"record" is not valid: "conn.client_ip" is "203.0.113.300"').waitFor()
    await write(visitor, (text) => text.replace('203.0.113.300', '203.0.113.25'))
    await send.click()
    await page.getByText('The corrected record is sent.').waitFor()
    await until('it was processed', async () => {
      for await (const { client_ip } of me.api.decisions({ recordId: 'mended' }))
        if (client_ip === '203.0.113.25') return true
      return false
    })
    t.equal(await lettersOf(me), 2)

    await page.locator('section[aria-label="Letters"] tbody tr').first().click()
    await write(visitor, (text) => text.replace(/203\.0\.113\.\d+/, '203.0.113.26'))
    await page.getByRole('button', { name: 'Mend all 2' }).click()
    t.match(await page.locator('dialog p').textContent(), /conn\.client_ip = "203\.0\.113\.26"/)
    await page.locator('dialog button.danger').click()
    await page.getByText('2 corrected records were sent.').waitFor()
    t.equal(await lettersOf(me), 0)
    t.strictSame(visitor.complaints, [])
  })

  await t.test('letters that arrive move nothing, and all are dropped after a question', async (t) => {
    const { me, visitor } = await openAccount(t)
    const { page } = visitor
    await visitor.see('console/dead-letters')
    await page.getByText('Nothing was set aside').waitFor()
    await page.getByRole('button', { name: 'Look again' }).waitFor()
    await publishBroken(me, ['1', '2'])
    await page.getByRole('button', { name: '2 new' }).waitFor()
    t.ok(await page.getByText('Nothing was set aside').isVisible(), 'the view is as it was')
    t.equal(await page.getByRole('button', { name: /^Drop/ }).count(), 0)
    await page.getByRole('button', { name: '2 new' }).click()
    const drop = page.getByRole('button', { name: 'Drop all 2' })
    await drop.waitFor()
    t.ok(await drop.isDisabled(), 'changes are not switched on')
    await visitor.edit()
    await drop.click()
    t.match(await page.locator('dialog p').textContent(), /Drop 2 letters for good\?/)
    await page.getByRole('button', { name: 'Cancel' }).click()
    t.equal(await lettersOf(me), 2)
    await drop.click()
    await page.locator('dialog button.danger').click()
    await page.locator('.notice', { hasText: '2 dropped.' }).waitFor()
    t.equal(await lettersOf(me), 0)
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a destination is tested, paused and resumed', async (t) => {
    const { me, id, visitor } = await openAccount(t)
    const { page } = visitor
    await visitor.see('console/destinations')
    await page.getByRole('link', { name: 'the stream' }).click()
    await visitor.edit()
    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByText('The destination has accepted a test event.').waitFor()
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await page.locator('.word', { hasText: 'paused by hand' }).first().waitFor()
    t.ok((await me.api.eventDestination.get(id)).paused)
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByText('its events are sent from now on').waitFor()
    await page.locator('.word', { hasText: 'healthy' }).first().waitFor()
    t.notOk((await me.api.eventDestination.get(id)).paused)
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a subscription is tried on recorded traffic before it is saved', async (t) => {
    const { me, visitor } = await openAccount(t, /^400 POST \/event_subscriptions/)
    const { page } = visitor
    const records = ['10.0.0.1', '10.0.0.2', '192.0.2.1'].map((address, index) =>
      connection(me.id, `tried-${index}`, address),
    )
    await me.api.publishRecords(records)
    await until('they are judged', async () => {
      let count = 0
      for await (const _ of me.api.decisions()) count += 1
      return count === records.length
    })
    await visitor.see('console/subscriptions/new')
    await visitor.edit()
    const filter = page.getByRole('combobox', { name: 'Filter' })
    await filter.fill('conn.client_op == 1')
    await page.locator('.fault', { hasText: 'conn.client_op is not a known name' }).waitFor()
    await filter.fill("conn.client_ip|inCidrRange('10.0.0.0/8')")
    await page.locator('.fault').waitFor({ state: 'detached' })
    await page.getByLabel('the stream').check()
    await page.getByRole('button', { name: 'Try on recorded traffic' }).click()
    await page.getByText('2 events').waitFor()
    t.match(await page.locator('section[aria-label="Preview"] tbody').textContent(), /1 \(33\.3 %\)/)
    t.match(await page.locator('section[aria-label="Preview"] pre').textContent(), /"client_ip": "10\.0\.0\./)
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('The subscription is created.').waitFor()
    for await (const { sources, destinations } of me.api.eventSubscription.list()) {
      t.match(sources, [{ filter: "conn.client_ip|inCidrRange('10.0.0.0/8')" }])
      t.equal(destinations.length, 1)
    }
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a key that may only read sees everything and is offered no change', async (t) => {
    const { me, id } = await openAccount(t)
    await publishBroken(me, ['1'])
    const { token } = await me.api.apiKey.create({ rights: ['read'] })
    const reader = await openSignedIn(t, token ?? '')
    for (const path of ['destinations', `destinations/${id}`, 'subscriptions', 'dead-letters']) {
      await reader.see(`console/${path}`)
      const offered = await reader.page.locator('main :is(button, a)').allInnerTexts()
      t.notMatch(offered.join('\n'), /^(New|Edit|Delete|Pause|Drop|Send|Replay$|Check)/m, path)
    }
    t.strictSame(reader.complaints, [])
  })
})
