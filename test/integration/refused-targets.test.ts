/**
 * An edge with `"ambiguous_targets": "refuse"`, asked by each proxy: what is ambiguous to expressions is answered 400 or 403
 * and never served, and targets that all servers read alike are served.
 */
import t from 'tap'
import { askingProxies } from '../harness/asking-proxies.js'
import { hostileTargets, numbersFrom } from './served-targets/targets.js'
import { openProxy } from './served-values/open.js'
import { isDenied, withPolicy, withRefusal } from './served-values/policies.js'

const isFull = process.argv.includes('--full')
// Many requests, one after the other.
const timeoutMs = 1_800_000
t.setTimeout(timeoutMs)
const targetsPerProxy = Number(process.env['TARGETS'] ?? (isFull ? 20_000 : 300))
const seed = Number(process.env['SEED'] ?? 49)

const requestFor = (target: string, port: number): string =>
  `GET ${target} HTTP/1.1\r\nHost: public.example:${port}\r\nConnection: close\r\n\r\n`

const letters = [
  ...'abcXYZ019-_~',
  'a.b',
  '%20',
  '%C3%BC',
  '%e2%82%ac',
  '%5B',
  '%22',
  '$',
  '+',
  '(',
  '@',
  ':',
]
const queries = ['', '', '?', '?a=/../b//c;d', '?%2f%5c=%00%25%zz', '?a=1&a=2']

/** Targets that all servers read alike. */
function* plainTargets(seed: number, count: number): Generator<string> {
  const below = numbersFrom(seed)
  const one = (list: readonly string[]): string => list[below(list.length)]!
  for (let made = 0; made < count; made += 1) {
    const segments = Array.from(
      { length: below(5) },
      () => `${Array.from({ length: 1 + below(6) }, () => one(letters)).join('')}x`,
    )
    yield `/${segments.join('/')}${one(['', segments.length > 0 ? '/' : ''])}${one(queries)}`
  }
}

for (const proxy of askingProxies) {
  const skip = proxy.program === undefined ? `${proxy.name} is not installed` : false
  t.test(
    `an edge behind ${proxy.name} refuses ambiguous targets`,
    { skip, timeout: timeoutMs },
    async (t) => {
      const { port, see } = await openProxy(t, proxy, withRefusal)
      const denyingAmbiguous = await withPolicy(port, 'http.request.url.ambiguous')
      const wrong: unknown[] = []
      const counts = { served: 0, refused: 0, byProxy: 0 }
      for (const target of hostileTargets(seed, targetsPerProxy)) {
        const { status, asked, decidedBy, served } = await see(requestFor(target, port))
        if (served !== undefined) {
          counts.served += 1
          if (asked === undefined || isDenied(denyingAmbiguous, asked)) wrong.push({ target, served })
          continue
        }
        if (asked === undefined) {
          counts.byProxy += 1
          continue
        }
        counts.refused += 1
        // A target may name a host that the edge does not have.
        const isAmbiguous = decidedBy?.name === 'ambiguous target' && isDenied(denyingAmbiguous, asked)
        if (status !== 403 || !(isAmbiguous || decidedBy?.type === 'unserved'))
          wrong.push({ target, status, decidedBy })
      }
      t.comment(`${proxy.name}: ${JSON.stringify(counts)} of ${targetsPerProxy}`)
      t.ok(counts.refused > targetsPerProxy / 10, 'many are refused')
      t.strictSame(wrong.slice(0, 10), [], `${wrong.length} are served or refused for another reason`)

      const refused: unknown[] = []
      for (const target of plainTargets(seed, targetsPerProxy / 3)) {
        const { status, decidedBy, served } = await see(requestFor(target, port))
        if (served === undefined) refused.push({ target, status, decidedBy })
      }
      t.strictSame(refused.slice(0, 10), [], `${refused.length} plain targets are refused`)
    },
  )
}
