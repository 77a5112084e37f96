/** A log of the past, loaded by `weir publish --history`: it is found at its own time, and is no news to anyone. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { LoggedDecision } from '../../src/words/shape/decisions/logged-decision.js'
import { untilInUse } from '../harness/in-use.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { runWithInput } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { until } from '../harness/weir.js'
import { openAccount } from './service.js'

const hourMs = 60 * 60_000
/** Whole hours, eight days ago. */
const beganMs = Math.floor(Date.now() / hourMs) * hourMs - 8 * 24 * hourMs
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function lineOf(n: number): string {
  const iso = new Date(beganMs + Math.floor(n / 20) * hourMs).toISOString()
  const [, year, month, day, time] = /^(\d+)-(\d+)-(\d+)T([\d:]{8})/.exec(iso)!
  const path = n % 4 === 0 ? '/admin' : `/page/${n}`
  const when = `${day}/${months[Number(month) - 1]}/${year}:${time} +0000`
  return `203.0.113.${n} - - [${when}] "GET ${path} HTTP/1.1" 200 19 "-" "curl/8.0"\n`
}

t.test('yesterday’s log is looked at by its own times, and neither delivers nor alarms', async (t) => {
  const { weir } = await openAccount(t)
  const { api } = weir
  const edge = await api.httpsEdge.create({ hostports: ['past.example.com:443'] })
  await api.httpsEdgeRoute.under(edge.id).create({
    match_type: 'path_prefix',
    match: '/admin',
    policies: { inbound: [{ name: 'nobody', expressions: [], actions: [{ type: 'deny' }] }] },
  })
  const file = await api.eventDestination.create({ target: { file: { name: 'past.ndjson' } } })
  const sources = [{ type: 'http_request_complete.v0' }]
  await api.eventSubscription.create({ sources, destination_ids: [file.id] })
  await untilInUse(weir)

  const path = join(tempDir(t), 'access.log')
  writeFileSync(path, Array.from({ length: 100 }, (_, n) => lineOf(n)).join(''))
  const load = async (...more: string[]) => {
    const args = ['--format', 'combined', '--file', path, '--position', `${path}.${more.join('')}`]
    const named = ['--node', 'past', '--server-name', 'past.example.com', '--server-port', '443']
    const env = { NATS_URL: weir.adminUrl, WEIR_DATA_DIR: tempDir(t) }
    const running = runWithInput(
      'programs/main.js',
      ['publish', ...args, ...named, '--until-end', ...more],
      env,
    )
    t.teardown(() => running.kill())
    t.equal((await running.ended).code, 0, running.output())
  }
  const past = async () => total(await metricsOf(weir.url), 'weir_records_history_total')
  const before = await past()
  await load('--history')
  const decisions: LoggedDecision[] = []
  await until('all are logged', async () => {
    decisions.length = 0
    for await (const decision of api.decisions({ source: 'history' })) decisions.push(decision)
    return decisions.length === 100
  })
  t.equal(Date.parse(decisions[0]?.own_at ?? ''), beganMs + 4 * hourMs, 'the newest is first')
  t.equal(decisions.filter(({ decision }) => decision === 'deny').length, 25)
  const { counts } = await api.stats({
    interval: 'hour',
    source: 'history',
    since: new Date(beganMs).toISOString(),
  })
  t.strictSame(
    counts.map(({ at, allow, deny }) => [Date.parse(at), allow, deny]),
    [0, 1, 2, 3, 4].map((hour) => [beganMs + hour * hourMs, 15, 5]),
    'each hour has its records',
  )
  t.strictSame((await api.stats({ since: '1h' })).counts, [], 'none of it is traffic of now')
  t.equal((await past()) - before, 100)
  t.match(await api.deliveryStatus(file.id), { counts: { produced: 0 } }, 'nothing is delivered')

  await load('--history', '--deliver')
  await until('the events are delivered', async () => {
    return (await api.deliveryStatus(file.id)).counts.delivered === 100
  })
})
