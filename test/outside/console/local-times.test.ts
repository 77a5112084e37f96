/** Sentences of the server are shown with the times of whoever reads them. */
import t from 'tap'
import { inBrowser, newAccount, openSignedIn } from './visitor.js'

/** 14 hours ahead of UTC: nowhere is a time more different. */
const farAway = 'Pacific/Kiritimati'
const aheadMs = 14 * 60 * 60_000

t.test('a fault at a field, far away from UTC', inBrowser(), async (t) => {
  const me = await newAccount()
  const { id } = await me.api.ipPolicy.create({ description: 'far away' })
  const visitor = await openSignedIn(t, me.token, { expected: /^400 POST / })
  const { page, context } = visitor
  const debugging = await context.newCDPSession(page)
  await debugging.send('Emulation.setTimezoneOverride', { timezoneId: farAway })
  await visitor.see(`console/ip-policies/${id}`)
  await visitor.edit()
  await page.getByRole('button', { name: 'Add a rule' }).click()
  const drawer = page.getByRole('dialog', { name: 'Add a rule' })
  await drawer.getByLabel('Address or range').fill('203.0.113.7')
  await drawer.getByLabel('Expires').fill('2020-01-01T00:00:00Z')
  await drawer.getByRole('button', { name: 'Add', exact: true }).click()
  const fault = drawer.locator('.fault, [role="alert"]').filter({ hasText: 'later than now' }).first()
  const said = (await fault.textContent()) ?? ''
  const [, hour] = /later than now, (\d\d):\d\d:\d\d/.exec(said) ?? []
  const hours = [Date.now() - 60_000, Date.now()].map((ms) => new Date(ms + aheadMs).getUTCHours())
  t.ok(hours.includes(Number(hour)), said)
  t.notMatch(said.replace(/"[^"]*"/g, ''), /\dT\d\d:/, 'no time of UTC stands beside it')
  t.strictSame(visitor.complaints, [])
})
