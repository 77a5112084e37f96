/** A new edge: from its name to the first request that one's own program reports, by what the console shows to paste. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { filledText, proxyKinds } from '../../../src/outside/console/pages/edges/new/proxies.js'
import { recipe } from '../../harness/recipe.js'
import { inBrowser, newAccount, openSignedIn, untilAllInUse } from './visitor.js'

const run = promisify(execFile)

t.test('a new edge: its names, the recipe with a key, the first request', inBrowser(), async (t) => {
  const me = await newAccount()
  const host = `edge-flow-${randomBytes(4).toString('hex')}.example.com`
  const visitor = await openSignedIn(t, me.token, {
    expected: /^400 POST \/edges\/https|^404 GET \/records\//,
  })
  const { page } = visitor
  let presses = 0
  const press = async (name: string | RegExp, role: 'button' | 'link' = 'button'): Promise<void> => {
    presses += 1
    await page.getByRole(role, { name }).click()
  }
  const pasted = async (index: number): Promise<string> =>
    (await page.locator('main pre').nth(index).textContent()) ?? ''
  const begun = Date.now()

  await visitor.see('console/edges')
  await press('New edge', 'link')
  await press(/^Website or API/, 'link')
  t.equal(await page.locator('main .fault').count(), 0, 'what is not filled in yet is no mistake')
  await page.getByLabel('Host names').fill('-no-name-')
  await page.locator('.field', { hasText: 'Host names' }).locator('.fault').waitFor()
  await page.getByLabel('Host names').fill(host)
  await page.getByLabel('Ports').fill('443')
  await page.reload()
  t.equal(await page.getByLabel('Host names').inputValue(), host, 'what was typed stays over a reload')
  t.equal(await page.getByLabel('Ports').inputValue(), '443')
  await page
    .getByRole('listitem')
    .filter({ hasText: `${host}:443` })
    .waitFor()
  await press('Create, and connect your proxy')

  await press(/^nginx/, 'link')
  await page.getByRole('heading', { name: 'Waiting for the first request' }).waitFor()
  t.equal(await pasted(0), recipe('nginx', 'nginx server', { 'www.example.com': host }).trimEnd())
  await press(`Serve ${host}:80 here, too`)
  await page.getByText('The proxy listens on port 80').waitFor({ state: 'detached' })
  await press('Make a key for it')
  await page.getByText('A key is filled in').waitFor()
  const [key = ''] = /weir_\w+/.exec(await pasted(1)) ?? []
  t.match(await pasted(1), recipe('nginx', 'nginx closed', { 'weir_…': key }).split('\n')[8])

  const conn = { client_ip: '203.0.113.7', server_name: host, server_port: 8443 }
  const request = { method: 'GET', url: { path: '/' } }
  await me.api.publishRecords([{ record_id: `${host}-1`, type: 'http_request', conn, http: { request } }])
  await press(`Serve ${host}:8443 here, too`)
  await page.getByText('Records came for names that no edge serves').waitFor({ state: 'detached' })

  await press('Another program', 'link')
  await press(/^Another program/, 'link')
  await untilAllInUse()
  const sent = await run('bash', ['-ec', await pasted(0)])
  t.match(JSON.parse(sent.stdout), { refused_count: 0 })
  await page.getByRole('heading', { name: 'The first request is here' }).waitFor()
  t.ok(presses <= 9, `${presses} presses`)
  t.comment(`${((Date.now() - begun) / 1000).toFixed(1)} s to the first request`)
  await page.getByRole('button', { name: 'Why was it decided so?' }).click()
  await page.getByRole('dialog').getByText('Nothing refused it').waitFor()
  t.match((await me.api.httpsEdge.list().next()).value, {
    hostports: [`${host}:443`, `${host}:80`, `${host}:8443`],
  })
  t.strictSame(visitor.complaints, [])
})

t.test('what each proxy is shown stands in its page of the documents, with its file', (t) => {
  for (const { id, asks = [], log } of proxyKinds) {
    const page = id === 'http' ? 'http-records' : id
    const logs = [log.https, log.tcp].flatMap((each) => (each === undefined ? [] : [each]))
    const marks = logs.flatMap(({ parts, publish }) =>
      [...parts.map(({ mark }) => mark), publish ?? []].flat(),
    )
    for (const mark of [...asks.map((part) => part.mark), ...marks]) t.ok(recipe(page, mark), mark)
    const text = readFileSync(`docs/recipes/${page}.md`, 'utf8')
    for (const { file } of asks) t.ok(text.includes(file), `${page} has ${file}`)
  }
  t.end()
})

t.test('names, addresses and keys are filled in as they are', (t) => {
  const filling = {
    edgeId: "edghts_$&$1$$$`$'",
    host: '$&.example.com',
    port: '$1',
    apiUrl: 'http://127.0.0.1:8081',
    weir: '127.0.0.1:3000',
    app: 'edghts_…:80',
    key: 'weir_$&www.example.com',
  }
  const places = [
    'http://127.0.0.1:8080/records www.example.com --server-port 443 "server_port": 443',
    'edghts_… weir_… 127.0.0.1:8081 127.0.0.1:3000',
    '{ address: 127.0.0.1, port_value: 8081 } { address: 127.0.0.1, port_value: 3000 }',
  ]
  t.strictSame(
    places.map((text) => filledText(text, filling)),
    [
      'http://127.0.0.1:8081/records $&.example.com --server-port $1 "server_port": $1',
      "edghts_$&$1$$$`$' weir_$&www.example.com 127.0.0.1:3000 edghts_…:80",
      '{ address: 127.0.0.1, port_value: 3000 } { address: edghts_…, port_value: 80 }',
    ],
  )
  t.equal(filledText('Authorization: weir_…', { ...filling, key: '' }), 'Authorization: weir_…')
  t.end()
})
