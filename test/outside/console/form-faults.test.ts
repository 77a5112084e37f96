/** Messages of the API against a form in a drawer stand at the fields that they are about, all others below the fields. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import t from 'tap'
import { placedFaults } from '../../../src/outside/console/data/texts/placed-faults.js'
import { stream, target } from '../../integration/deployment.js'
import { openService } from '../../integration/service.js'
import { type Account, inBrowser, newAccount, openSignedIn, type Visitor } from './visitor.js'

t.test('faults are told apart by the fields that a form has', (t) => {
  const cidr = '"cidr" is "x", which is no address.'
  const filter = '"sources[1].filter" is not an expression.'
  const faults = new Map([
    ['cidr', cidr],
    ['ip_policy_ids[1]', '"ip_policy_ids[1]" names no IP policy.'],
    ['source.url', '"source.url" must begin with https.'],
    ['source.headers.x-key', '"source.headers.x-key" is too long.'],
    ['named', '"named" is no member of a rule.'],
    ['sources[1].filter', filter],
  ])
  const { at, others } = placedFaults(faults, ['cidr', 'ip_policy_ids', 'source', 'source.url', 'name'])
  t.strictSame(Object.fromEntries(at), {
    cidr: 'This is "x", which is no address.',
    ip_policy_ids: '"ip_policy_ids[1]" names no IP policy.',
    'source.url': 'This must begin with https.',
    source: '"source.headers.x-key" is too long.',
  })
  t.strictSame(others, ['"named" is no member of a rule.', filter])
  t.strictSame(placedFaults(new Map([['cidr', cidr]]), []).others, [cidr], 'no field for it is shown')
  t.end()
})

t.test('every field of a form in a drawer says which member of the body it is for', (t) => {
  const sources = readdirSync('src/outside/console', { recursive: true, encoding: 'utf8' })
  let forms = 0
  for (const name of sources.filter((each) => each.endsWith('.tsx'))) {
    const text = readFileSync(join('src/outside/console', name), 'utf8')
    const declared = [...text.matchAll(/\{([^{]*\blabel: '[^']*',\s*(?:isOptional: true,\s*)?as: )/g)]
    if (!text.includes('<FormDrawer') && declared.length === 0) continue
    forms += 1
    for (const [field, rest] of text.matchAll(/<(?:Text|Lines|Secret|Choice|Switch)Field\b([^<]*)/g))
      t.match(rest, /^\s+name=/, `${name}: ${field.slice(0, 60)}`)
    for (const [field, rest] of declared)
      t.match(rest, /^\s*name: '[a-z_.]+',/, `${name}: ${field.slice(0, 60)}`)
  }
  t.ok(forms >= 8, `${forms} files with forms`)
  t.end()
})

/** Longer than any description. */
const tooLong = 'x'.repeat(300)

interface Form {
  /** Its page, and what is pressed there, as selectors. */
  readonly path: string
  readonly press: readonly string[]
  /** The label of the field, and what is wrong with it. */
  readonly label: string
  readonly text: string
  /** Fills in other fields before. */
  readonly fill?: (drawer: Locator) => Promise<unknown>
  readonly submit: string
}

const check = (label: string) => (drawer: Locator) => drawer.getByLabel(label).check()

async function formsOf(api: Account['api']): Promise<Readonly<Record<string, Form>>> {
  const run = randomBytes(4).toString('hex')
  const { id: policy } = await api.ipPolicy.create({ description: 'the office' })
  const { id: rule } = await api.ipPolicyRule.create({
    ip_policy_id: policy,
    cidr: '192.0.2.0/24',
    action: 'allow',
  })
  const { id: list } = await api.ipList.create({ name: `list-${run}` })
  await api.bouncer.create({ description: 'gate', ip_policy_ids: [policy] })
  const { id: edge } = await api.httpsEdge.create({ hostports: [`faults-${run}.example.com:443`] })
  await api.httpsEdgeRoute.under(edge).create({ match_type: 'path_prefix', match: '/a' })
  const { emulator } = await openService()
  const { id: destination } = await api.eventDestination.create(
    target(await stream(emulator, `faults-${run}`), emulator),
  )
  const description = { label: 'Description', text: tooLong }
  const policyPage = `console/ip-policies/${policy}`
  return {
    'the edge': {
      path: `console/edges/${edge}?edit=edge`,
      press: [],
      label: 'Notes for programs',
      text: 'x'.repeat(5_000),
      submit: 'Save',
    },
    'a hostport of the edge': {
      path: `console/edges/${edge}?edit=edge`,
      press: [],
      label: 'Host names and ports',
      text: `faults-${run}.example.com:443\n-wrong-:443`,
      submit: 'Save',
    },
    'a route': {
      path: `console/edges/${edge}?edit=route`,
      press: [],
      label: 'Path',
      text: 'no slash',
      submit: 'Create',
    },
    'an IP list': {
      path: `console/ip-lists/${list}?edit=list`,
      press: [],
      label: 'Name',
      text: 'No Name!',
      submit: 'Save',
    },
    'the source of an IP list': {
      path: `console/ip-lists/${list}?edit=list`,
      press: [],
      fill: (drawer) => drawer.getByLabel('Its entries are').selectOption('url'),
      label: 'Address (URL)',
      text: 'nowhere',
      submit: 'Save',
    },
    'a new bouncer': {
      path: 'console/bouncers',
      press: ['text=Create a bouncer'],
      ...description,
      fill: check('the office'),
      submit: 'Create',
    },
    'a bouncer': {
      path: 'console/bouncers',
      press: ['tbody td >> nth=0', 'button:text-is("Edit")'],
      ...description,
      submit: 'Save',
    },
    'a replay': {
      path: `console/destinations/${destination}?tab=replays&open=replay`,
      press: [],
      label: 'From',
      text: 'yesterday',
      submit: 'Begin',
    },
    'the filter of a replay': {
      path: `console/destinations/${destination}?tab=replays&open=replay`,
      press: [],
      label: 'Filter',
      text: 'conn.nothing == 1',
      submit: 'Begin',
    },
    'a new IP policy': {
      path: 'console/ip-policies?new=policy',
      press: [],
      ...description,
      submit: 'Create',
    },
    'an IP policy': { path: `${policyPage}?edit=policy`, press: [], ...description, submit: 'Save' },
    'a new rule': {
      path: `${policyPage}?add=192.0.2.7/32`,
      press: [],
      label: 'Expires',
      text: '2020-01-01T00:00:00Z',
      submit: 'Add',
    },
    'a rule': {
      path: `${policyPage}?rule=${rule}`,
      press: ['.drawer button:text-is("Edit")'],
      ...description,
      submit: 'Save',
    },
    'a restriction': {
      path: 'console/ip-policies?tab=restrictions&new=restriction',
      press: [],
      ...description,
      fill: check('the office'),
      submit: 'Create',
    },
  }
}

/** Without times, which the console shows as local ones. */
const wordsOf = (text: string | null): string => (text ?? '').replace(/(?:\S+T)?\d\d:\d\d:\d\dZ?/g, '…')

/** The sentences of the answer that refuses what is sent. */
async function refusalOf({ page }: Visitor, send: () => Promise<unknown>): Promise<string> {
  const answer = page.waitForResponse((response) => response.status() >= 400)
  await send()
  return (await (await answer).json()).msg
}

t.test('a wrong field is marked in each form', inBrowser(), async (t) => {
  const { api, token } = await newAccount()
  const visitor = await openSignedIn(t, token, { expected: /^400 / })
  const { page } = visitor
  for (const [name, form] of Object.entries(await formsOf(api)))
    await t.test(name, async (t) => {
      await visitor.see(form.path)
      await visitor.edit()
      for (const selector of form.press) await page.locator(selector).last().click()
      const drawer = page.getByRole('dialog').last()
      const field = drawer.getByLabel(form.label, { exact: false }).first()
      await form.fill?.(drawer)
      await field.waitFor()
      await field.fill(form.text)
      t.equal(await field.getAttribute('aria-invalid'), 'false', 'nothing is said before it is sent')
      const msg = await refusalOf(visitor, () =>
        drawer.getByRole('button', { name: form.submit, exact: true }).click(),
      )
      const fault = drawer.locator('.fault')
      await fault.waitFor()
      t.comment(msg)
      t.equal(wordsOf(await fault.textContent()), wordsOf(msg).replace(/^"[^"]+"(?= is )/, 'This'))
      t.equal(await field.getAttribute('aria-invalid'), 'true')
      const described = (await field.getAttribute('aria-describedby')) ?? ''
      t.ok(described.split(' ').includes((await fault.getAttribute('id')) ?? 'none'), described)
      t.equal(await drawer.locator('.failure').count(), 0, 'it is not said twice')
    })
  t.strictSame(visitor.complaints, [])
})

t.test('what was chosen in a form is deleted meanwhile', inBrowser(), async (t) => {
  const { api, token } = await newAccount()
  const run = randomBytes(4).toString('hex')
  const { id: policy } = await api.ipPolicy.create({ description: 'short lived' })
  const { id: backend } = await api.tunnelGroupBackend.create({ description: 'the shed', labels: { a: run } })
  const { id: edge } = await api.tcpEdge.create({ hostports: [`gone-${run}.example.com:22`] })
  const visitor = await openSignedIn(t, token, { expected: /^40[04] / })
  const { page } = visitor
  const drawer = page.getByRole('dialog')
  const save = () => drawer.getByRole('button', { name: 'Save', exact: true }).click()

  await visitor.see(`console/edges/${edge}?edit=ip_restriction`)
  await visitor.edit()
  const box = drawer.getByLabel('short lived')
  await box.check()
  await api.ipPolicy.delete(policy)
  let msg = await refusalOf(visitor, save)
  await drawer.locator('.fault', { hasText: msg }).waitFor()
  t.equal(await box.getAttribute('aria-invalid'), 'true')
  t.match(await drawer.getByRole('group', { name: 'IP policies' }).getAttribute('aria-describedby'), /-fault/)

  await visitor.see(`console/edges/${edge}?edit=backend`)
  const choice = drawer.getByLabel('Tunnel group')
  await choice.selectOption(backend)
  await api.tunnelGroupBackend.delete(backend)
  msg = await refusalOf(visitor, save)
  await drawer.locator('.fault', { hasText: msg }).waitFor()
  t.equal(await choice.getAttribute('aria-invalid'), 'true')
  t.equal(await drawer.locator('.failure').count(), 0)

  await visitor.see(`console/edges/${edge}?edit=edge`)
  await drawer.getByLabel('Description').fill('gone as well')
  await api.tcpEdge.delete(edge)
  msg = await refusalOf(visitor, save)
  await drawer.locator('.failure', { hasText: msg }).waitFor()
  t.equal(await drawer.locator('.fault, [aria-invalid="true"]').count(), 0, 'no field is to blame')
  t.strictSame(visitor.complaints, [])
})
