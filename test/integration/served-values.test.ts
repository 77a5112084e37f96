/**
 * What a policy looks at and what the server behind it takes must be one: whenever an application gets a request that it takes for
 * `admin`, Weir had said no, whichever of several values it takes. The proxies are set up as `docs/recipes` says; requests are sent as bytes.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { decideRecord } from '../../src/evaluate/decide.js'
import { buildPolicySet, type PolicySet } from '../../src/evaluate/policy-set.js'
import type { RequestRecord } from '../../src/record/traffic-record.js'
import { deny, noGeo, noYield, TestConfiguration } from '../evaluate/configuration.js'
import { askingProxies } from '../harness/asking-proxies.js'
import { type Taken, takenFrom } from './served-values/applications.js'
import { openProxy } from './served-values/open.js'
import { hostileRequests } from './served-values/requests.js'
import { cellOf, rows } from './served-values/rows.js'
import { usualRequests } from './served-values/usual.js'

const isFull = process.argv.includes('--full')
// Many requests, one after the other.
const timeoutMs = 1_800_000
t.setTimeout(timeoutMs)
const requestsPerProxy = Number(process.env['REQUESTS'] ?? (isFull ? 20_000 : 300))
const seed = Number(process.env['SEED'] ?? 49)

// --- Weir ---

/** Proxies that name no port are asked about that of HTTP. */
const hostportsAt = (port: number): string[] =>
  ['public.example', 'private.example'].flatMap((host) => [`${host}:80`, `${host}:${port}`])

const withPolicy = (port: number, expression?: string): Promise<PolicySet> =>
  buildPolicySet(
    new TestConfiguration('ac_1').httpsEdge('edghts_1', hostportsAt(port), 'ac_1', {
      enabled: true,
      inbound: expression === undefined ? [] : [{ name: 'no', expressions: [expression], actions: [deny] }],
      outbound: [],
    }),
    undefined,
    noYield,
  )

/** What a policy denies, and which applications serve it. */
const policies: readonly {
  readonly about: keyof Taken
  readonly denied: string
  readonly expression: string
}[] = [
  { about: 'role', denied: 'admin', expression: "http.request.headers['x-role'] == 'admin'" },
  { about: 'cookie', denied: 'admin', expression: "http.request.cookies['role'] == 'admin'" },
  {
    ...{ about: 'cookie', denied: 'admin' },
    expression: "http.request.headers['cookie'].matches('(^|; )role=admin(;|$)')",
  },
  { about: 'parameter', denied: 'admin', expression: "http.request.url.parameters['role'] == 'admin'" },
  {
    ...{ about: 'parameter', denied: 'admin' },
    expression: "http.request.url.query.matches('(^|&)[+]*role=admin(&|$)')",
  },
  { about: 'method', denied: 'DELETE', expression: "http.request.method == 'delete'" },
  { about: 'host', denied: 'private.example', expression: "conn.server_name == 'private.example'" },
  { about: 'host', denied: 'private.example', expression: "http.request.url.host == 'private.example'" },
]

function isDenied(set: PolicySet, record: RequestRecord): boolean {
  const decided = decideRecord(set, noGeo, { record, explain: false }, 'ac_1')
  return !decided.ok || decided.value.judgement.decision !== 'allow'
}

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

for (const proxy of askingProxies) {
  const skip = proxy.program === undefined ? `${proxy.name} is not installed` : false
  t.test(`${proxy.name} asks about what it serves`, { skip, timeout: timeoutMs }, async (t) => {
    const { port, see } = await openProxy(t, proxy, withPolicy)
    for (const row of rows) {
      const cell = cellOf(await see(row.request(port)), row)
      t.equal(cell.replaceAll(`:${port}`, ''), table.get(row.what)?.get(proxy.name), row.what)
    }

    for (const [name, lines] of Object.entries(usualRequests)) {
      const [line = '', ...more] = lines
      const seen = await see([line, `Host: public.example:${port}`, ...more, '', ''].join('\r\n'))
      t.ok(seen.asked && seen.served, `${name} is served: ${seen.status}`)
    }

    const sets = await Promise.all(policies.map(({ expression }) => withPolicy(port, expression)))
    const passed: string[] = []
    const counts = { served: 0, denied: 0, wanted: 0 }
    for (const request of hostileRequests(seed, requestsPerProxy, port)) {
      const { asked, served } = await see(request)
      if (served === undefined) continue
      counts.served += 1
      if (asked === undefined) {
        passed.push(`served without a question: ${JSON.stringify(request)}`)
        continue
      }
      const taken = takenFrom(served)
      for (const [index, { about, denied, expression }] of policies.entries()) {
        const isRefused = isDenied(sets[index]!, asked)
        if (isRefused) counts.denied += 1
        if (!taken[about].has(denied)) continue
        counts.wanted += 1
        if (!isRefused)
          passed.push(`${expression}: ${JSON.stringify(request)} served as ${JSON.stringify(served)}`)
      }
    }
    t.comment(`${proxy.name}: ${JSON.stringify(counts)} of ${requestsPerProxy}`)
    t.ok(counts.wanted > requestsPerProxy / 10, 'applications took values that are denied')
    t.ok(counts.denied < counts.served * policies.length, 'and not all requests are denied')
    t.strictSame(passed.slice(0, 10), [], `${passed.length} requests passed`)
  })
}
