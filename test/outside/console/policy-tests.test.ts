/** Policy tests in the console: whether they pass, how one is written, and what a draft that breaks one shows. */
import { randomBytes } from 'node:crypto'
import type { Locator } from 'playwright-core'
import t, { type Test } from 'tap'
import { type Account, inBrowser, newAccount, openSignedIn, untilAllInUse, type Visitor } from './visitor.js'

/** Checks of drafts that are not right yet, and writes that tests refuse. */
const refused = /^400 (POST|PATCH|PUT) \/(policy_tests|edges)/

const deny = (expression: string) => ({
  inbound: [{ name: 'ours', expressions: [expression], actions: [{ type: 'deny' as const }] }],
})

interface Guarded {
  readonly me: Account
  readonly visitor: Visitor
  readonly host: string
  readonly edgeId: string
  readonly testId: string
}

/** An account with an edge, and a test that a client reaches it. */
async function open(t: Test): Promise<Guarded> {
  const me = await newAccount()
  const host = `guarded-${randomBytes(4).toString('hex')}.example.com`
  const { id: edgeId } = await me.api.tcpEdge.create({ hostports: [`${host}:22`] })
  const test = await me.api.policyTest.create({
    description: 'home is let in',
    given: {
      type: 'tcp_connection',
      conn: { client_ip: '203.0.113.7', server_name: host, server_port: 22 },
    },
    expect: { decision: 'allow' },
  })
  await untilAllInUse()
  const visitor = await openSignedIn(t, me.token, { expected: refused })
  return { me, visitor, host, edgeId, testId: test.id }
}

/** Replaces the text of an editor. */
async function write({ page }: Visitor, label: string, text: string): Promise<void> {
  const field = page.getByRole('textbox', { name: label })
  await page.locator('.cm-content').first().waitFor()
  await field.click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.insertText(text)
}

const given = 'Given: the record, as YAML or JSON'
const row = ({ page }: Visitor, text: string): Locator => page.locator('tbody tr').filter({ hasText: text })

t.test('policy tests', inBrowser(), async (t) => {
  await t.test('the list says which fail, with expectation, decision and explanation', async (t) => {
    const { me, visitor, edgeId } = await open(t)
    const { page } = visitor
    await visitor.see('console/tests')
    await page.getByText('1 passes').waitFor()
    await me.api.tcpEdge.policies.put(edgeId, deny('true'), { skipTests: true })
    await untilAllInUse()
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByText('1 fail').waitFor()
    const failing = row(visitor, 'home is let in')
    await failing.filter({ hasText: 'deny by traffic_policy' }).waitFor()
    await failing.press('Enter')
    const drawer = page.getByRole('dialog')
    await drawer.getByText('Expected allow, got deny by traffic_policy').waitFor()
    await drawer.getByText('All its expressions are true, so it denies.').waitFor()
    await drawer.getByText('"client_ip": "203.0.113.7"').waitFor()
    t.strictSame(visitor.complaints, [])
  })

  await t.test(
    'a test is written with faults at their place, run before it is saved, changed and deleted',
    async (t) => {
      const { me, visitor, host } = await open(t)
      const { page } = visitor
      await visitor.see('console/tests')
      await visitor.edit()
      await page.getByRole('link', { name: 'New test' }).click()
      const create = page.getByRole('button', { name: 'Create', exact: true })
      await page.getByLabel('Description').fill('of the test')
      await write(visitor, given, 'type: tcp_connection\nconn: {client_ip: [')
      await page
        .getByRole('alert')
        .filter({ hasText: /Line 2, column \d+: It is not YAML/ })
        .waitFor()
      t.ok(await create.isDisabled())
      await write(
        visitor,
        given,
        `type: tcp_connection\nconn:\n  server_name: ${host}\n  client_ip: somewhere\n`,
      )
      await page
        .getByRole('alert')
        .filter({ hasText: /Line 4, column 14: .*"conn.client_ip" is "somewhere"/ })
        .waitFor()
      const conn = `{client_ip: 192.0.2.9, server_name: ${host}, server_port: 22}`
      await write(visitor, given, `# a comment\ntype: tcp_connection\nconn: ${conn}\n`)
      await page.getByText('would pass now').waitFor()
      await page.getByLabel('Expected decision').selectOption('deny')
      await page.getByText('would fail now').waitFor()
      await page.getByText('Expected deny, got allow').waitFor()
      t.ok(await create.isDisabled())
      await page.getByLabel('Expected decision').selectOption('allow')
      await page.getByText('would pass now').waitFor()
      await create.click()
      await row(visitor, 'of the test').getByRole('link').click()
      await page.getByLabel('Description').fill('of the test, changed')
      await page.getByLabel('Expected if everything were enforced').selectOption('deny')
      await page.getByText('Expected allow (if all were enforced: deny), got allow').waitFor()
      await page.getByLabel('Expected if everything were enforced').selectOption('allow')
      await write(visitor, 'Then decided by, as YAML or JSON', '{type: nobody}')
      await page
        .getByRole('alert')
        .filter({ hasText: /Line 1, column 8: .*"nobody"/ })
        .waitFor()
      await write(visitor, 'Then decided by, as YAML or JSON', '{type: none}')
      await page.getByText('would pass now').waitFor()
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await row(visitor, 'of the test, changed')
        .getByText('allow (if all were enforced: allow by none)')
        .first()
        .waitFor()
      let expected: unknown
      for await (const { description, expect } of me.api.policyTest.list())
        if (description === 'of the test, changed') expected = expect
      await row(visitor, 'of the test, changed').getByRole('link').click()
      await page.getByRole('button', { name: 'Delete the test' }).click()
      await page
        .getByRole('dialog', { name: 'Are you sure?' })
        .getByRole('button', { name: 'Delete the test' })
        .click()
      await page.getByText('1 passes').waitFor()
      t.match(expected, { decision: 'allow', shadow: { decision: 'allow', decided_by: { type: 'none' } } })
      const left = []
      for await (const { description } of me.api.policyTest.list()) left.push(description)
      t.strictSame(left, ['home is let in'])
      t.strictSame(visitor.complaints, [])
    },
  )

  await t.test('a test is made of a decision that Explain shows', async (t) => {
    const { me, visitor, host, edgeId } = await open(t)
    const { page } = visitor
    const { inbound } = deny("conn.client_ip == '192.0.2.66'")
    const draftedDeny = { ...inbound[0]!, name: 'drafted', enforced: false }
    await me.api.tcpEdge.policies.put(edgeId, { inbound: [draftedDeny, ...inbound] })
    await untilAllInUse()
    await visitor.see(`console/explain?about=question&client=192.0.2.66&endpoint=${host}:22`)
    await visitor.edit()
    await page.getByRole('button', { name: 'Make a test of this decision' }).click()
    await page.waitForURL('**/console/tests/new')
    await page.getByText('would pass now').waitFor()
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await row(visitor, `192.0.2.66 at ${host}: deny`).waitFor()
    const made = []
    for await (const { given, expect } of me.api.policyTest.list()) made.push({ given, expect })
    t.match(
      made.find(({ expect }) => expect.decision === 'deny'),
      {
        given: {
          type: 'tcp_connection',
          conn: { client_ip: '192.0.2.66', server_name: host, server_port: 22 },
        },
        expect: {
          decided_by: { type: 'traffic_policy', name: 'ours' },
          shadow: { decision: 'deny', decided_by: { type: 'traffic_policy', name: 'drafted' } },
        },
      },
    )

    await row(visitor, `192.0.2.66 at ${host}: deny`).getByRole('link').click()
    await page.getByLabel('Description').fill('as it was typed')
    await page.evaluate(`for (const [key, text] of Object.entries(sessionStorage)) {
      if (!key.startsWith('weir-draft ptest_')) continue
      const { base, draft } = JSON.parse(text)
      for (const each of [base, draft]) for (const name of ['shadow', 'shadowDecidedBy']) delete each[name]
      sessionStorage.setItem(key, JSON.stringify({ base, draft }))
    }`)
    await visitor.see(page.url())
    const shadow = page.getByLabel('Expected if everything were enforced')
    t.equal(await shadow.inputValue(), 'deny', 'a draft that an earlier version kept lacks it')
    t.equal(await page.getByLabel('Description').inputValue(), 'as it was typed')
    t.strictSame(visitor.complaints, [])
  })

  await t.test('coverage lists what no test reaches', async (t) => {
    const { me, visitor, host } = await open(t)
    const other = `unreached.${host}`
    const { id } = await me.api.tcpEdge.create({ hostports: [`${other}:22`], policies: deny('false') })
    await untilAllInUse()
    await visitor.see('console/tests?tab=coverage')
    await row(visitor, 'TCP edge').filter({ hasText: '1 of 2' }).waitFor()
    const link = row(visitor, `${other}:22`).getByRole('link')
    t.match(await link.getAttribute('href'), `/console/edges/${id}`)
    await row(visitor, 'traffic policy').filter({ hasText: 'ours' }).first().waitFor()
    t.equal(await row(visitor, `${host}:22`).filter({ hasNotText: 'unreached' }).count(), 0)
    t.strictSame(visitor.complaints, [])
  })

  await t.test('a draft that breaks a test says so with the explanation, and can be tried', async (t) => {
    const { me, visitor, edgeId, testId } = await open(t)
    const { page } = visitor
    await visitor.see(`console/edges/${edgeId}/policies?view=json`)
    await visitor.edit()
    await write(visitor, 'The module as it is sent', JSON.stringify(deny('true')))
    const draft = page.getByRole('region', { name: 'The draft' })
    await draft.getByText('Expected allow, got deny by traffic_policy').waitFor()
    await draft.getByText('Why it would be deny').click()
    await draft.getByText('All its expressions are true, so it denies.').waitFor()
    t.equal(
      await draft.getByRole('link', { name: 'home is let in' }).getAttribute('href'),
      `/console/tests/${testId}`,
    )
    t.ok(await draft.getByRole('button', { name: 'Save', exact: true }).isDisabled())
    await page.getByRole('button', { name: 'Try on recorded traffic' }).click()
    const tests = page.getByRole('region', { name: 'Policy tests with the draft' })
    await tests.getByText('1 policy tests fail').waitFor()
    await tests.getByText('Expected allow, got deny by traffic_policy').waitFor()
    await draft.getByRole('button', { name: 'Save in spite of the tests' }).click()
    await page
      .getByRole('dialog', { name: 'Are you sure?' })
      .getByRole('button', { name: 'Save in spite of the tests' })
      .click()
    await page.getByText('The traffic policies were saved.').waitFor()
    t.match(await me.api.tcpEdge.get(edgeId), { policies: { inbound: [{ name: 'ours' }] } })
    t.strictSame(visitor.complaints, [])
  })
})
