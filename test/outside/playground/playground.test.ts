/** The playground in a browser: what is typed is decided in the page, and nothing else happens with it. */
import { deflateRawSync, gzipSync } from 'node:zlib'
import type { Locator } from 'playwright-core'
import t, { type Test } from 'tap'
import { readPolicyFile } from '../../../src/judging/evaluate/portable/policy-file.js'
import { runPolicyFile } from '../../../src/judging/evaluate/portable/policy-file-run.js'
import { until } from '../../harness/weir.js'
import { hostileIn, hostileTexts, hostileTextsOn } from '../console/hostile-texts.js'
import { looks, overflowOf, violationsOf } from '../console/looks.js'
import { inBrowser, openVisitor, type Visitor } from '../console/visitor.js'

/** The page, its scripts and styles, without what is loaded on demand: the parser, the engine of patterns, the editor. */
const firstBytesMax = 80 * 1024
/** With the parser, which a link needs. */
const withParserBytesMax = 112 * 1024

const sizeOf = (bytes: Buffer): number => gzipSync(bytes, { level: 9 }).length

/** The paths and the size of the files that were loaded since. */
function loads({ page }: Visitor) {
  const bodies: Promise<Buffer>[] = []
  const paths: string[] = []
  page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    if (pathname !== '/favicon.ico') {
      paths.push(pathname)
      bodies.push(response.body())
    }
  })
  return {
    paths,
    bytes: async () => (await Promise.all(bodies)).reduce((sum, body) => sum + sizeOf(body), 0),
  }
}

async function openPlayground(t: Test, fragment = ''): Promise<Visitor> {
  const visitor = await openVisitor(t)
  await visitor.see(`playground${fragment}`)
  return visitor
}

const decision = ({ page }: Visitor): Locator => page.getByRole('region', { name: 'The decision' })

/** Waits until this is said about what was typed last. */
const says = (visitor: Visitor, text: string | RegExp): Promise<void> =>
  visitor.page.locator('[aria-label="The decision"][aria-busy="false"]').filter({ hasText: text }).waitFor()

const field = ({ page }: Visitor, label: string): Locator => page.getByLabel(label, { exact: true })

/** Replaces the policies: by the plain field if the editor is not there yet, as someone who pastes. */
async function writePolicies({ page }: Visitor, text: string): Promise<void> {
  const editor = page.getByRole('textbox', { name: 'Policies and their tests, as YAML' })
  await editor.click()
  await page.locator('.cm-content').first().waitFor()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.insertText(text)
}

const policiesOf = ({ page }: Visitor): Promise<string> =>
  page.evaluate(`(() => {
    const plain = document.querySelector('section[aria-label="Policies"] textarea')
    if (plain) return plain.value
    const { shadowRoot } = document.querySelector('section[aria-label="Policies"] .editor-host')
    return [...shadowRoot.querySelectorAll('.cm-line')].map((line) => line.textContent).join('\\n')
  })()`)

const encoded = (policies: string, connection: object): string =>
  `#d1=${deflateRawSync(JSON.stringify([policies, connection])).toString('base64url')}`

const asked = {
  client: '192.0.2.1',
  endpoint: 'a.example.com:22',
  type: 'tcp_connection',
  method: 'GET',
  path: '/',
  country: '',
  asn: '',
  more: '',
}

t.test('the first load', inBrowser(), async (t) => {
  const visitor = await openVisitor(t)
  const loaded = loads(visitor)
  await visitor.see('playground')
  await says(visitor, 'allow')
  t.ok(loaded.paths.length >= 3)
  const bytes = await loaded.bytes()
  t.ok(bytes <= firstBytesMax, `${(bytes / 1024).toFixed(1)} KiB`)
  t.comment(`The first load: ${(bytes / 1024).toFixed(1)} KiB`)
  const stranger = await openVisitor(t)
  const loadedByLink = loads(stranger)
  await stranger.see(`playground${encoded('tcp_edges: [{hostports: ["a.example.com:22"]}]', asked)}`)
  await says(stranger, 'allow')
  const withParser = await loadedByLink.bytes()
  t.ok(withParser > bytes && withParser <= withParserBytesMax, `${(withParser / 1024).toFixed(1)} KiB`)
  t.comment(`With the parser: ${(withParser / 1024).toFixed(1)} KiB`)
  t.strictSame([...visitor.complaints, ...stranger.complaints], [])
})

t.test('the decision follows what is typed', inBrowser(), async (t) => {
  const visitor = await openPlayground(t)
  const { page } = visitor
  await says(visitor, 'allow')
  await field(visitor, 'Country').fill('us')
  await says(visitor, /deny by the traffic policy “only from home”/)
  await field(visitor, 'Client').fill('203.0.113.66')
  await says(visitor, /block by the rule deny 203\.0\.113\.66\/32 “the printer”/)
  await field(visitor, 'Client').fill('203.0.113')
  await page.getByRole('alert').filter({ hasText: '"conn.client_ip" is "203.0.113"' }).waitFor()
  await says(visitor, 'lacks something')
  await field(visitor, 'Client').fill('203.0.113.7')
  await field(visitor, 'Endpoint').fill('www.example.com:443')
  await field(visitor, 'May it make').selectOption('http_request')
  await field(visitor, 'Path').fill('/wp-login')
  await says(visitor, /deny by the traffic policy “no scanners”/)
  await page.getByText('More of the record').click()
  const more = page.getByRole('textbox', { name: 'More members of the record, as YAML' })
  await more.click()
  await page.keyboard.insertText('http: {request: {url: {path: /docs}}}')
  await says(visitor, 'allow')
  t.strictSame(visitor.complaints, [])
})

t.test('policies', inBrowser(), async (t) => {
  const visitor = await openPlayground(t)
  const { page } = visitor
  const loaded = loads(visitor)
  await field(visitor, 'Endpoint').fill('a.example.com:22')
  const policies = (expression: string): string => `tcp_edges:
  - hostports: ['a.example.com:22']
    policies: {inbound: [{name: mine, expressions: ["${expression}"], actions: [{type: deny}]}]}
`
  await writePolicies(visitor, policies("conn.server_nam == 'a'"))
  const fault = page.getByRole('alert').filter({ hasText: 'Line 3, column ' })
  await fault.filter({ hasText: 'conn.server_nam' }).waitFor()
  await page.locator('.cm-lintRange-error').first().waitFor()
  await says(visitor, 'while the policies have a fault')
  await writePolicies(visitor, policies("conn.server_name.startsWith('a.')"))
  await says(visitor, /deny by the traffic policy “mine”/)
  const before = loaded.paths.length
  await writePolicies(visitor, policies("conn.server_name.matches('^b[.]')"))
  await says(visitor, /allow Nothing refused it/)
  t.equal(loaded.paths.length, before + 1, 'the engine of patterns came with the first pattern')
  await writePolicies(visitor, policies("conn.server_name.matches('^(a')"))
  await page.getByRole('alert').filter({ hasText: 'RE2' }).waitFor()
  await writePolicies(visitor, 'tcp_edges: [}')
  await page.getByRole('alert').filter({ hasText: 'It is not YAML' }).waitFor()
  await writePolicies(visitor, 'tcp_edges:\n  - policies:\n      inbound: [{name: mine, expressions: [')
  await page.keyboard.type('"conn.client_i')
  const offered = page.locator('.cm-tooltip-autocomplete li', { hasText: 'conn.client_ip' }).first()
  // A list that is shown anew while the pointer goes down takes no click. Whoever sees that clicks again.
  await until('the expression is completed', async () => {
    if (await offered.isVisible()) await offered.click({ timeout: 1_000 }).catch(() => undefined)
    return (await policiesOf(visitor)).includes('expressions: ["conn.client_ip')
  })
  t.strictSame(visitor.complaints, [])
})

t.test('a link carries policies and connection, and a file is one for weir test', inBrowser(), async (t) => {
  const visitor = await openPlayground(t)
  const { page, context } = visitor
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const policies = `# a comment that stays
tcp_edges:
  - hostports: ['a.example.com:22']
    policies: {inbound: [{name: ours, expressions: ["conn.asn == 64496"], actions: [{type: deny}]}]}
`
  await writePolicies(visitor, policies)
  await field(visitor, 'Client').fill('192.0.2.1')
  await field(visitor, 'Endpoint').fill('a.example.com:22')
  await field(visitor, 'AS').fill('AS64496')
  await says(visitor, /deny by the traffic policy “ours”/)
  await page.getByRole('button', { name: 'Copy link' }).click()
  await page.getByText('Copied: a link').waitFor()
  const link: string = await page.evaluate('navigator.clipboard.readText()')
  t.match(new URL(link), { pathname: '/playground', search: '', hash: /^#d1=/ })
  await page.waitForURL(link)
  await page.reload()
  await says(visitor, /deny by the traffic policy “ours”/)

  await page.getByRole('button', { name: 'Copy as weir test file' }).click()
  await page.getByText('Copied: a file').waitFor()
  const file: string = await page.evaluate('navigator.clipboard.readText()')
  t.match(file, '# a comment that stays')
  const read = readPolicyFile(file)
  if (!read.ok) throw new Error(JSON.stringify(read.faults))
  const runs = await runPolicyFile(read.file, { lookup: () => ({}) })
  t.match(runs, [
    {
      passed: true,
      test: {
        given: { asn: 64496, conn: { client_ip: '192.0.2.1', server_port: 22 } },
        expect: { decision: 'deny', decided_by: { type: 'traffic_policy', name: 'ours' } },
      },
    },
  ])
  await page.getByRole('button', { name: 'Add as a test' }).click()
  await page.getByText('1 passed, 0 failed').waitFor()
  await writePolicies(visitor, (await policiesOf(visitor)).replace('== 64496', '== 64497'))
  await page.getByText('Expected deny by traffic_policy, name ours; it is allow').waitFor()
  await field(visitor, 'Client').fill('192.0.2.2')
  await page.getByRole('button', { name: /^Show / }).click()
  t.equal(await field(visitor, 'Client').inputValue(), '192.0.2.1')

  await page.getByRole('button', { name: 'Example', exact: true }).click()
  await page.waitForURL((url) => url.hash === '')
  t.equal(await field(visitor, 'Endpoint').inputValue(), 'ssh.example.com:22', 'nothing of the link is left')

  const stranger = await openPlayground(t, new URL(link).hash)
  await says(stranger, /deny by the traffic policy “ours”/)
  t.equal(await policiesOf(stranger), policies)
  t.strictSame([...visitor.complaints, ...stranger.complaints], [])
})

t.test('what is not enforced, and the record of a test as it is', inBrowser(), async (t) => {
  const visitor = await openPlayground(t)
  const { page } = visitor
  await writePolicies(
    visitor,
    `https_edges:
  - hostports: ['a.example.com:443']
    policies: {inbound: [{name: draft, expressions: ["http.request.method == null"], actions: [{type: deny}], enforced: false}]}
tests:
  - name: no method
    given: {type: http_request, conn: {client_ip: 192.0.2.1, server_name: a.example.com, server_port: 443}}
    expect: {decision: deny}
`,
  )
  await page.getByRole('button', { name: 'Show no method' }).click()
  t.equal(await field(visitor, 'Method').inputValue(), '', 'the test has no method, so the record gets none')
  await says(visitor, /allow Nothing refused it.*would be deny/)
  t.strictSame(visitor.complaints, [])
})

t.test('a name that no edge serves, and a target that servers read differently', inBrowser(), async (t) => {
  const visitor = await openPlayground(t)
  const { page } = visitor
  const proxyIsRefused = page.getByText('A proxy that asks about it over HTTP is refused')
  await writePolicies(
    visitor,
    `https_edges:
  - hostports: ['www.example.com:443']
    ambiguous_targets: refuse
`,
  )
  await field(visitor, 'May it make').selectOption('http_request')
  await field(visitor, 'Path').fill('/a//b')
  await field(visitor, 'Endpoint').fill('other.example.com:443')
  await says(visitor, /allow Nothing refused it\./)
  t.match(await decision(visitor).textContent(), 'No edge of the file serves this name')
  await proxyIsRefused.waitFor()
  await field(visitor, 'Endpoint').fill('www.example.com:443')
  await says(visitor, /deny by the traffic policy “ambiguous target” of/)
  await says(visitor, /Servers read the path in \d ways, and the edge refuses such requests/)
  t.equal(await proxyIsRefused.count(), 0)
  await field(visitor, 'Path').fill('/a/b')
  await says(visitor, /allow Nothing refused it\./)
  t.strictSame(visitor.complaints, [])
})

t.test('lists of the file, in rules and in expressions', inBrowser(), async (t) => {
  const visitor = await openPlayground(t)
  await writePolicies(
    visitor,
    `ip_lists:
  - name: tor-exits
    category: proxy.tor
    entries: [{cidr: 192.0.2.0/24, comment: relay 7}]
ip_policies:
  - id: doors
    rules: [{cidr: 0.0.0.0/0, action: allow}, {list: tor-exits, action: deny, description: no exits}]
tcp_edges:
  - hostports: ['a.example.com:22']
    ip_restriction: {ip_policy_ids: [doors]}
  - hostports: ['b.example.com:22']
    policies: {inbound: [{name: no proxies, expressions: ["'proxy' in conn.ip.categories"], actions: [{type: deny}]}]}
`,
  )
  await field(visitor, 'Client').fill('192.0.2.9')
  await field(visitor, 'Endpoint').fill('a.example.com:22')
  await says(visitor, /block by the rule deny 192\.0\.2\.0\/24 “no exits”.*in the list tor-exits “relay 7”/)
  await field(visitor, 'Endpoint').fill('b.example.com:22')
  await says(visitor, /deny by the traffic policy “no proxies”/)
  await field(visitor, 'Client').fill('198.51.100.1')
  await says(visitor, /allow Nothing refused it/)
  t.strictSame(visitor.complaints, [])
})

/** Every text that a file and a connection can have. */
function hostileFile(text: string): string {
  const named = {
    name: text,
    expressions: [`conn.server_name != ${JSON.stringify(text)}`],
    actions: [{ type: 'deny' }],
  }
  const given = {
    type: 'tcp_connection',
    conn: { client_ip: '192.0.2.1', server_name: 'a.example.com', server_port: 22 },
  }
  return JSON.stringify({
    ip_policies: [
      { id: text, description: text, rules: [{ cidr: '192.0.2.0/24', action: 'allow', description: text }] },
    ],
    tcp_edges: [
      {
        hostports: ['a.example.com:22'],
        ip_restriction: { ip_policy_ids: [text] },
        policies: { inbound: [named] },
      },
    ],
    tests: [{ name: text, given, expect: { decision: 'allow', decided_by: { name: text } } }],
  })
}

t.test('links from others are texts', inBrowser(), async (t) => {
  const visitor = await openPlayground(t)
  const { page } = visitor
  const seen = new Set<string>()
  for (const text of hostileTexts) {
    await page.goto('about:blank')
    await visitor.see(
      `playground${encoded(hostileFile(text), { ...asked, more: JSON.stringify({ conn: { x: text } }) })}`,
    )
    await says(visitor, 'deny')
    t.strictSame(await hostileIn(page), [], text)
    for (const each of await hostileTextsOn(page)) seen.add(each)
    await page.goto('about:blank')
    const everywhere = Object.fromEntries(Object.keys(asked).map((name) => [name, text]))
    await visitor.see(`playground${encoded('{}', { ...everywhere, type: 'http_request' })}`)
    await says(visitor, 'lacks something')
    t.strictSame(await hostileIn(page), [], `in fields: ${text}`)
  }
  t.strictSame(
    hostileTexts.filter((text) => !seen.has(text)),
    [],
    'each was to be read',
  )
  t.strictSame(visitor.complaints, [])
})

t.test('links that are wrong or too large', inBrowser(), async (t) => {
  const visitor = await openPlayground(t)
  const { page } = visitor
  const bomb = encoded(' '.repeat(20_000_000), asked)
  const cases: readonly [string, string, RegExp][] = [
    ['a bomb', bomb, /What a link carries has at most 524288 bytes/],
    ['too long', `#j1=${'a'.repeat(70_000)}`, /A link has at most 65536 characters/],
    ['cut', encoded('{}', asked).slice(0, -9), /incomplete/],
    ['something else', '#sign-in=abc', /incomplete/],
    ['no texts', encoded([] as never, asked), /incomplete/],
    ['a member that is none', encoded('{}', { ...asked, client: { a: 1 } }), /incomplete/],
    ['an unknown type', encoded('{}', { ...asked, type: '__proto__' }), /incomplete/],
  ]
  t.ok(bomb.length < 65_000)
  for (const [name, fragment, message] of cases) {
    await page.goto('about:blank')
    await visitor.see(`playground${fragment}`)
    await page.locator('.notice.bad').filter({ hasText: message }).waitFor()
    await says(visitor, 'allow')
    t.pass(name)
  }
  const deep = `{"tcp_edges": ${'['.repeat(30_000)}`
  const aliases = `a: &a [x, x, x, x, x, x, x, x, x]\n${'bcdefgh'.replace(/./g, (name, index: number) => `${name}: &${name} [${`*${'abcdefgh'[index]}, `.repeat(9)}]\n`)}`
  for (const policies of [deep, aliases]) {
    await page.goto('about:blank')
    await visitor.see(`playground${encoded(policies, asked)}`)
    await says(visitor, 'while the policies have a fault')
  }
  t.strictSame(visitor.complaints, [])
})

t.test('how it looks', inBrowser(), async (t) => {
  const visitor = await openPlayground(t)
  await field(visitor, 'Country').fill('us')
  await says(visitor, 'deny')
  for (const look of looks) {
    await visitor.look(look)
    t.strictSame(await violationsOf(visitor, look.rules), [], `axe, ${look.width} px, ${look.theme}`)
    t.ok((await overflowOf(visitor)) <= 0, `nothing is beyond the edge at ${look.width} px`)
  }
  await writePolicies(visitor, 'tcp_edges: [{hostports: [a]}]')
  await visitor.page.getByRole('alert').filter({ hasText: 'Line 1' }).waitFor()
  for (const look of looks)
    t.strictSame(await violationsOf(visitor, look.rules), [], `the editor, ${look.width} px, ${look.theme}`)
  t.strictSame(visitor.complaints, [])
})

t.test('the page can ask no one', inBrowser(), async (t) => {
  const visitor = await openPlayground(t)
  await says(visitor, 'allow')
  const asking = visitor.page.evaluate(`fetch('/overview').then(() => 'answered', () => 'refused')`)
  t.equal(await asking, 'refused')
  t.match(visitor.complaints.join(), /connect-src|default-src/)
  t.ok((await decision(visitor).count()) === 1)
})
