/** Other sites and slow readers can't harm the console; tested in a real browser. */
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { all } from '../../harness/caller.js'
import { openWebServer } from '../../harness/web-server.js'
import { until } from '../../harness/weir.js'
import { openService } from '../../integration/service.js'
import { hostileIn } from './hostile-texts.js'
import {
  type Account,
  consoleUrl,
  inBrowser,
  newAccount,
  openSignedIn,
  openVisitor,
  type Visitor,
} from './visitor.js'

/** A page of another site tries all that a page can: forms, images, scripts, frames. */
const attack = (target: string, body: string): string => `
  <!doctype html><title>elsewhere</title>
  <form method="post" enctype="text/plain" action="${target}ip_policies">
    <input name='${body.slice(0, -2)}x' value='"}'>
  </form>
  <iframe src="${target}console/keys"></iframe>
  <script>
    window.tried = 0
    const send = (headers, mode) => fetch('${target}ip_policies', {
      method: 'POST', credentials: 'include', mode, headers, body: '${body}',
    }).catch(() => {}).finally(() => { window.tried += 1 })
    send({ 'content-type': 'text/plain' }, 'no-cors')
    send({ 'content-type': 'application/json', 'service-version': '2' }, 'cors')
    send({ 'content-type': 'application/json', 'service-version': '2', 'weir-console': '1' }, 'cors')
    fetch('${target}ip_policies', { credentials: 'include', headers: { 'service-version': '2' } })
      .then((answer) => answer.text()).then((text) => { window.read = text })
      .catch(() => {}).finally(() => { window.tried += 1 })
  </script>`

/** The same host under another name is another site; another port is the same site, but another origin. */
const attackers = [
  { whence: 'another site', host: 'localhost' },
  { whence: 'another origin of the same site', host: '127.0.0.1' },
]

/** Answers and refusals that belong to the attack. */
const refusals = /^(401|403|400|404|415) /

async function attackFrom(t: Test, me: Account, visitor: Visitor, host: string): Promise<void> {
  const { page } = visitor
  const body = JSON.stringify({ description: 'made elsewhere' })
  const target = await consoleUrl()
  const server = await openWebServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(attack(target, body))
  })
  await page.goto(`http://${host}:${server.port}/`)
  await page.waitForFunction('window.tried === 4')
  t.equal(await page.evaluate('window.read'), undefined, 'nothing is read')
  const frame = page.frames().find((each) => each !== page.mainFrame())
  await until('the frame has been refused', () => frame?.url().startsWith('chrome-error:') === true)
  await Promise.all([page.waitForEvent('response'), page.evaluate('document.forms[0].submit()')])
  await page.waitForLoadState()
  t.match(await page.locator('body').textContent(), /ERR_/, 'the form is answered with an error')
  t.strictSame(await all(me.api.ipPolicy.list()), [], 'nothing was made')
}

/** Watches decisions with the session of a browser, and reads nothing of them. */
async function watchWithoutReading(t: Test, visitor: Visitor): Promise<void> {
  const { port, hostname, host } = new URL(await consoleUrl())
  const cookies = (await visitor.context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.pause()
  socket.write(`GET /live HTTP/1.1\r\nHost: ${host}\r\nService-Version: 2\r\nCookie: ${cookies}\r\n\r\n`)
  await until('it is connected', () => !socket.connecting)
}

t.test('other sites and slow readers', inBrowser(), async (t) => {
  for (const { whence, host } of attackers)
    await t.test(`${whence} changes nothing, reads nothing and frames nothing`, async (t) => {
      const me = await newAccount()
      const visitor = await openSignedIn(t, me.token, { expected: refusals })
      await visitor.see('')
      await attackFrom(t, me, visitor, host)
      visitor.complaints.length = 0
      await visitor.see('')
      t.equal(await visitor.page.getByLabel('API key').count(), 0, 'the session goes on')
      t.strictSame(visitor.complaints, [])
    })

  await t.test('no script of the page can make elements from a text', async (t) => {
    const visitor = await openVisitor(t, { expected: refusals })
    await visitor.see('')
    const refused = await visitor.page.evaluate(`[
      () => { document.body.innerHTML = '<x-hostile></x-hostile>' },
      () => { document.createElement('script').text = 'window.hostile = 1' },
      () => trustedTypes.createPolicy('any', {}),
    ].map((attempt) => { try { attempt() } catch (error) { return error.name } })`)
    t.match(refused, ['TypeError', 'TypeError', 'TypeError'])
    t.strictSame(await hostileIn(visitor.page), [])
  })

  await t.test('browsers that read nothing keep nobody from seeing decisions', async (t) => {
    const me = await newAccount()
    const { weir } = await openService()
    const visitor = await openSignedIn(t, me.token)
    await visitor.see('console/live')
    for (let count = 0; count < 3; count += 1) await watchWithoutReading(t, visitor)
    const nats = await weir.nats()
    const records = (from: number): string =>
      Array.from({ length: 100 }, (_, index) =>
        JSON.stringify({
          record_id: `slow-${from + index}`,
          account_id: me.id,
          type: 'tcp_connection',
          conn: {
            client_ip: '198.51.100.7',
            server_name: `${'long.'.repeat(40)}example.com`,
            server_port: 22,
          },
        }),
      ).join('\n')
    for (let from = 0; from < 10_000; from += 100)
      await nats.publish('weir.records.console.3', records(from), { msgId: `${me.id}-${from}` })
    await visitor.page.locator('tbody tr').first().waitFor()
    t.type((await me.api.ipPolicy.create({})).id, 'string', 'the API answers')
    await visitor.see('console/search')
    await until('the log has them', async () => {
      await visitor.page.reload()
      await visitor.settled()
      return (await visitor.page.locator('tbody tr').count()) > 10
    })
    t.strictSame(visitor.complaints, [])
  })
})
