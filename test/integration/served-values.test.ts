/**
 * A policy must look at the value that the server behind it takes: whenever an application gets a request that it takes for
 * `admin`, Weir had said no, whichever of several values it takes. The proxies are set up as `docs/recipes` says; requests
 * are sent as bytes.
 */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { type AskingProxy, askingProxies } from '../harness/asking-proxies.js'
import { takenFrom } from './served-values/applications.js'
import { http2 } from './served-values/http2.js'
import { openProxy, type Seen } from './served-values/open.js'
import { policies, servedWith, withPolicy } from './served-values/policies.js'
import { hostileRequests } from './served-values/requests.js'
import { cellOf, rows } from './served-values/rows.js'
import { usualRequests } from './served-values/usual.js'

const isFull = process.argv.includes('--full')
// Many requests, one after the other.
const timeoutMs = 1_800_000
t.setTimeout(timeoutMs)
const requestsPerProxy = Number(process.env['REQUESTS'] ?? (isFull ? 20_000 : 300))
const seed = Number(process.env['SEED'] ?? 49)

// --- the table ---

/** The cells of the table of `docs/policies.md`, by the first column and the name of the proxy. */
function tableOf(page: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const text = readFileSync(page, 'utf8')
  const section = text.slice(text.indexOf('### What each proxy passes on'))
  const [head = [], ...lines] = section
    .slice(0, section.indexOf('\n## '))
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.slice(2, -2).split(' | '))
  const names = head.map((name) => name.split(' ')[0]!)
  return new Map(
    lines.map(([what = '', ...cells]) => [what, new Map(cells.map((cell, at) => [names[at + 1]!, cell]))]),
  )
}

const table = tableOf('docs/policies.md')

t.test('the table has each of these requests', (t) => {
  t.strictSame(
    [...table.keys()],
    rows.map(({ what }) => what),
  )
  t.end()
})

async function sendUsual(t: Test, port: number, see: (request: string) => Promise<Seen>): Promise<void> {
  for (const [name, lines] of Object.entries(usualRequests)) {
    const [line = '', ...more] = lines
    const seen = await see([line, `Host: public.example:${port}`, ...more, '', ''].join('\r\n'))
    t.ok(seen.asked && seen.served, `${name} is served: ${seen.status}`)
  }
}

async function sendHostile(
  t: Test,
  { name }: AskingProxy,
  port: number,
  see: (request: string) => Promise<Seen>,
): Promise<void> {
  const served = await servedWith(port, policies)
  for (const request of hostileRequests(seed, requestsPerProxy, port)) {
    const seen = await see(request)
    served.add(request, seen, seen.served && takenFrom(seen.served))
  }
  t.comment(`${name}: ${JSON.stringify(served.counts)} of ${requestsPerProxy}`)
  served.check(t, requestsPerProxy / 10)
}

for (const proxy of askingProxies) {
  const skip = proxy.program === undefined ? `${proxy.name} is not installed` : false
  t.test(`${proxy.name} asks about what it serves`, { skip, timeout: timeoutMs }, async (t) => {
    const { port, see } = await openProxy(t, proxy, withPolicy)
    for (const row of rows) {
      const cell = cellOf(await see(row.request(port)), row)
      t.equal(cell.replaceAll(`:${port}`, ''), table.get(row.what)?.get(proxy.name), row.what)
    }

    await sendUsual(t, port, see)
    await sendHostile(t, proxy, port, see)
  })

  t.test(`${proxy.name} asks about what it serves over HTTP/2`, { skip, timeout: timeoutMs }, async (t) => {
    const { port, see } = await openProxy(t, proxy, withPolicy, http2)
    await sendUsual(t, port, see)
    await sendHostile(t, proxy, port, see)
  })
}
