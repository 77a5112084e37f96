/** The counters of a deployment in which nothing has happened yet: an alert on their increase must not miss the first. */
import t from 'tap'
import { until } from '../harness/weir.js'
import { openAccount } from './service.js'

interface Family {
  readonly name: string
  readonly type: string
}

async function metricsOf(url: string): Promise<{ text: string; families: readonly Family[] }> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const families = [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name = '', type = '']) => ({
    name,
    type,
  }))
  return { text, families }
}

t.test('each counter is there before it counts anything, with its labels', async (t) => {
  const { weir } = await openAccount(t)
  const { text, families } = await metricsOf(weir.url)
  const counters = families.filter(({ type }) => type === 'counter')
  t.ok(counters.length > 100, `${counters.length} counters`)
  const without = counters.filter(({ name }) => !new RegExp(`^${name}(\\{.*\\})? \\S+$`, 'm').test(text))
  t.strictSame(
    without.map(({ name }) => name).filter((name) => !name.startsWith('weir_events_')),
    [],
  )
  for (const series of [
    'weir_policy_expression_failures_total{asked_by="decision"}',
    'weir_delivery_refused_total{target="kafka"}',
    'weir_api_requests_total{method="DELETE",status="500"}',
    'weir_resource_changes_total{kind="tcp_edge",verb="delete"}',
    'weir_process_restarts_total{role="pipeline"}',
    'weir_events_dead_lettered_total{target="http"}',
  ])
    t.ok(text.includes(`\n${series} `), series)
})

t.test('a subscription begins the counters of its events', async (t) => {
  const { weir } = await openAccount(t)
  const { api } = weir
  const { id } = await api.eventDestination.create({ target: { file: { name: 'counted.ndjson' } } })
  await api.eventSubscription.create({ sources: [{ type: 'log.v0' }], destination_ids: [id] })
  for (const name of ['produced', 'filtered', 'expired', 'vanished']) {
    const series = new RegExp(`^weir_events_${name}_total\\{kind="log\\.v0",target="file"\\} \\d+$`, 'm')
    await until(`${name} is counted`, async () => series.test((await metricsOf(weir.url)).text))
  }
})

t.test('only counters have names that end in _total', async (t) => {
  const { weir } = await openAccount(t)
  const { families } = await metricsOf(weir.url)
  const named = families.filter(({ type, name }) => name.endsWith('_total') !== (type === 'counter'))
  t.strictSame(named, [])
})
