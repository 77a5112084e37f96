/**
 * PHP's reading of a request must be one of Weir's: its names of parameters, cookies and headers are not those that were
 * sent. Hostile ones go through the proxies that ask, and what these serve goes to a script behind nginx.
 */
import t from 'tap'
import { askingProxies } from '../harness/asking-proxies.js'
import { openProxy } from './served-values/open.js'
import { openPhp, phpProgram, type SeenByPhp, textsOf } from './served-values/php.js'
import { requestsForPhp } from './served-values/php-requests.js'
import { type DeniedValue, servedWith, type TakenValues, withPolicy } from './served-values/policies.js'

const isFull = process.argv.includes('--full')
// Many requests, one after the other.
const timeoutMs = 1_800_000
t.setTimeout(timeoutMs)
const requestsPerProxy = Number(process.env['REQUESTS'] ?? (isFull ? 20_000 : 300))
const seed = Number(process.env['SEED'] ?? 49)

type About = 'role' | 'user' | 'ids' | 'cookie' | 'userCookie' | 'idsCookie' | 'header' | 'method'

const denying = (about: About, expression: string, denied = 'admin'): DeniedValue<About> => ({
  about,
  denied,
  expression,
})

const parameter = (name: string): string => `http.request.url.parameters['${name}'] == 'admin'`
const cookie = (name: string): string => `http.request.cookies['${name}'] == 'admin'`

const policies = [
  denying('role', parameter('role')),
  denying('role', "http.request.url.query.matches('(^|&)role=admin(&|$)')"),
  denying('user', parameter('user_id')),
  denying('user', parameter('user.id')),
  denying('user', "http.request.url.query.matches('(^|&)user_id=admin(&|$)')"),
  denying('ids', parameter('ids')),
  denying('ids', parameter('ids[]')),
  denying('ids', "http.request.url.query.matches('(^|&)ids=admin(&|$)')"),
  denying('cookie', cookie('role')),
  denying('cookie', "http.request.headers['cookie'].matches('(^|; )role=admin(;|$)')"),
  denying('userCookie', cookie('user_id')),
  denying('userCookie', cookie('user.id')),
  denying('userCookie', "http.request.headers['cookie'].matches('(^|; )user_id=admin(;|$)')"),
  denying('idsCookie', cookie('ids')),
  denying('header', "http.request.headers['x-role'] == 'admin'"),
  denying('header', "http.request.headers['X_Role'] == 'admin'"),
  denying('method', "http.request.method == 'delete'", 'DELETE'),
]

/** As scripts and frameworks on PHP take them. */
function takenBy({ get, cookie, server }: SeenByPhp): TakenValues<About> {
  const texts = (of: SeenByPhp['get'], name: string): ReadonlySet<string> => new Set(textsOf(of[name]))
  const methods = [
    ...textsOf(server['REQUEST_METHOD']),
    ...textsOf(server['HTTP_X_HTTP_METHOD_OVERRIDE']),
    ...textsOf(get['_method']),
  ]
  return {
    role: texts(get, 'role'),
    user: texts(get, 'user_id'),
    ids: texts(get, 'ids'),
    cookie: texts(cookie, 'role'),
    userCookie: texts(cookie, 'user_id'),
    idsCookie: texts(cookie, 'ids'),
    header: texts(server, 'HTTP_X_ROLE'),
    method: new Set(methods.map((method) => method.toUpperCase())),
  }
}

for (const proxy of askingProxies) {
  const missing = phpProgram === undefined ? 'PHP' : proxy.program === undefined ? proxy.name : undefined
  const skip = missing === undefined ? false : `${missing} is not installed`
  t.test(`PHP behind ${proxy.name}`, { skip, timeout: timeoutMs }, async (t) => {
    const [{ port, see }, seeInPhp] = await Promise.all([openProxy(t, proxy, withPolicy), openPhp(t)])
    const served = await servedWith(port, policies)
    for (const request of requestsForPhp(seed, requestsPerProxy, port)) {
      const seen = await see(request)
      const byPhp = seen.served && (await seeInPhp(seen.served.bytes))
      served.add(request, seen, byPhp && takenBy(byPhp))
    }
    t.comment(`${proxy.name}: ${JSON.stringify(served.counts)} of ${requestsPerProxy}`)
    served.check(t, requestsPerProxy / 10)
  })
}
