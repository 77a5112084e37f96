/**
 * Weir and the server behind it must not read a target differently: whenever nginx, HAProxy, Apache, Caddy or an application
 * on Node serves private content, Weir had said no. Hostile targets are sent as bytes, because HTTP clients clean them.
 */
import t from 'tap'
import { eachOf } from '../../src/ground/core/concurrency.js'
import { ask, decisionOf, opened, servedIn } from './served-targets/asked.js'
import { apache, caddy, haproxy, isInstalled, nginx } from './served-targets/servers.js'
import { hostileTargets } from './served-targets/targets.js'

const isFull = process.argv.includes('--full')
// Many requests to many sites.
const timeoutMs = 3_600_000
t.setTimeout(timeoutMs)
const targetsPerServer = Number(process.env['TARGETS'] ?? (isFull ? 20_000 : 300))
const seed = Number(process.env['SEED'] ?? 49)

for (const server of [nginx, haproxy, apache, caddy]) {
  const skip = isInstalled(server) ? false : `${server.program} is not installed`
  t.test(`what ${server.name} serves, Weir let in`, { skip, timeout: timeoutMs }, async (t) => {
    const sites = await opened(t, server)
    const targets = [...hostileTargets(seed, targetsPerServer)]
    const passed: string[] = []
    for (const { site, port } of sites) {
      const counts = { served: 0, letIn: 0 }
      await eachOf([...targets.entries()], 16, async ([index, sent]) => {
        const answer = await ask(port, sent, index)
        if (answer === undefined) return
        const seen = answer.headers.get('x-target') ?? sent
        const target = /^GET (.*) HTTP\/1\.1$/.exec(seen)?.[1] ?? seen
        const decision = decisionOf(target, site)
        const served = servedIn(answer, site)
        if (served !== '') counts.served += 1
        if (decision === 'allow') counts.letIn += 1
        if (served !== '' && decision === 'allow')
          passed.push(`${site.name}: ${JSON.stringify(sent)} (${JSON.stringify(target)}) served as ${served}`)
      })
      t.comment(`${site.name}: ${JSON.stringify(counts)} of ${targets.length}`)
      t.ok(
        counts.served > 0 && counts.letIn > 0,
        `${site.name} serves private content, and Weir lets some in`,
      )
    }
    t.strictSame(passed.slice(0, 20), [], `${passed.length} targets passed`)
  })
}
