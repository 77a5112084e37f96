/** What Weir exports to a collector of OpenTelemetry: traces from publishers to destinations, metrics, the log. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { headers } from '@nats-io/nats-core'
import { connect } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { type CollectedSpan, type Collector, startCollector } from '../harness/collector.js'
import { untilInUse } from '../harness/in-use.js'
import { samplesOf, seriesIn } from '../harness/metric-series.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { tempDir } from '../harness/temp-dir.js'
import { traceText, withoutTimes } from '../harness/trace-text.js'
import { type RunningWeir, startEmulator, startWeir, until } from '../harness/weir.js'
import { configure, record } from './deployment.js'
import { ownKey } from './service.js'

const secrets = {
  bootstrap: `token-${randomBytes(12).toString('hex')}`,
  collector: 'the-secret-of-the-collector',
  destination: '',
}

interface Exporting {
  readonly weir: RunningWeir
  readonly collector: Collector
  readonly dataDir: string
  readonly env: Readonly<Record<string, string>>
  readonly destinations: Readonly<Record<string, string>>
}

async function openExporting(t: Test): Promise<Exporting | { readonly missing: string }> {
  const collector = await startCollector(t)
  if ('missing' in collector) return collector
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  secrets.destination = emulator.key.secretAccessKey
  const dataDir = tempDir(t)
  const env = {
    AWS_ENDPOINT_URL: emulator.url,
    AWS_ACCESS_KEY_ID: ownKey.accessKeyId,
    AWS_SECRET_ACCESS_KEY: ownKey.secretAccessKey,
    WEIR_BOOTSTRAP_TOKEN: secrets.bootstrap,
    WEIR_DECIDE_PORT: '0',
    WEIR_LOG_LEVEL: 'info',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${secrets.collector}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  }
  const weir = await startWeir(dataDir, env)
  t.teardown(() => weir.stop())
  const { destinations } = await configure(weir.api, emulator)
  await untilInUse(weir)
  return { weir, collector, dataDir, env, destinations }
}

const newTrace = (): string => randomBytes(16).toString('hex')
const newSpan = (): string => randomBytes(8).toString('hex')
const traceparent = (trace: string, span: string, flags = '01'): string => `00-${trace}-${span}-${flags}`

/** The spans of a trace, once it has as many of these names. */
async function spansOf(
  collector: Collector,
  trace: string,
  names: Readonly<Record<string, number>>,
): Promise<CollectedSpan[]> {
  const found = (): CollectedSpan[] => collector.spans().filter(({ traceId }) => traceId === trace)
  const counts = () =>
    Object.fromEntries(
      Object.keys(names).map((name) => [name, found().filter((span) => span.name === name).length]),
    )
  await until(
    () => `the trace has ${JSON.stringify(names)}: it has ${JSON.stringify(found().map(({ name }) => name))}`,
    () => Object.entries(names).every(([name, count]) => counts()[name]! >= count),
    60_000,
  )
  return found()
}

/** The next export of the metrics, and those of `/metrics` that were the same before and after it. */
async function comparedMetrics({ url }: RunningWeir, collector: Collector) {
  const before = seriesIn(await metricsOf(url))
  // An answer may be a second old.
  const fromNs = BigInt(Date.now() + 2_000) * 1_000_000n
  const later = () => collector.points().filter(({ timeNs }) => BigInt(timeNs) > fromNs)
  await until('an export is complete', () => new Set(later().map(({ timeNs }) => timeNs)).size >= 2, 60_000)
  const [first] = later()
  const points = later().filter(({ timeNs }) => timeNs === first?.timeNs)
  const exported = new Map(points.flatMap(samplesOf))
  const after = seriesIn(await metricsOf(url))
  const steady = [...before].filter(([name, value]) => after.get(name) === value)
  return {
    points,
    steady: steady.length,
    differing: steady.filter(([name, value]) => exported.get(name) !== value),
    // What a process holds open for a moment, such as a handle that closes, may be gone when it is exported.
    missing: [...before.keys()].filter((name) => after.has(name) && !exported.has(name)),
  }
}

const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan[] =>
  spans.filter((span) => span.name === name)

t.test('what is exported to a collector of OpenTelemetry', async (t) => {
  const opened = await openExporting(t)
  if ('missing' in opened) {
    t.pass('built', { skip: opened.missing })
    return
  }
  const { weir, collector, destinations } = opened
  const nats = await weir.nats()
  const shown: string[] = []

  await t.test('a record of a sampled trace is in it from its publisher to each destination', async (t) => {
    const [trace, span] = [newTrace(), newSpan()]
    const headers = { traceparent: traceparent(trace, span), tracestate: 'vendor=a:b;c' }
    // Record 2 goes to two of the three destinations: it is allowed, and its port is even.
    await nats.publish('weir.records.eu.node-1', record('traced', 2), { msgId: trace, headers })
    const spans = await spansOf(collector, trace, {
      receive: 1,
      evaluate: 1,
      produce: 2,
      deliver: 2,
      request: 2,
    })
    shown.push(traceText(spans))
    const [receive] = named(spans, 'receive')
    t.equal(receive?.parentSpanId, span, 'it goes on where the publisher was')
    t.match(receive?.attributes, {
      'messaging.destination.name': 'weir.records.eu.node-1',
      'weir.stream': 'WEIR_RECORDS',
      'weir.attempt': 1,
    })
    t.match(receive?.resource, {
      'service.name': 'weir',
      'weir.role': 'pipeline',
      'deployment.environment.name': 'test',
    })
    const [evaluate] = named(spans, 'evaluate')
    t.equal(evaluate?.parentSpanId, receive?.spanId)
    t.match(evaluate?.attributes, { 'weir.records': 1, 'weir.records.bad': 0 })
    for (const produce of named(spans, 'produce')) {
      const destination = String(produce.attributes['weir.destination.id'])
      t.equal(produce.parentSpanId, receive?.spanId)
      t.ok(Object.values(destinations).includes(destination))
      const deliver = named(spans, 'deliver').find(({ parentSpanId }) => parentSpanId === produce.spanId)
      t.equal(deliver?.resource['weir.role'], 'deliver', 'it goes on in another process')
      t.match(deliver?.attributes, { 'weir.destination.id': destination, 'weir.events.delivered': 1 })
      const request = named(spans, 'request').find(({ parentSpanId }) => parentSpanId === deliver?.spanId)
      t.match(request?.attributes, { 'weir.request.outcome': 'accepted', 'weir.request.events': 1 })
      t.ok(deliver!.endMs >= request!.endMs, 'a pack is delivered when its request is accepted')
      t.ok(receive!.startMs <= produce.startMs && produce.startMs <= deliver!.startMs)
    }
    t.notOk(spans.some(({ isError }) => isError))
  })

  await t.test(
    'records of two traces in one pack are in one request, which each of them shows',
    async (t) => {
      const traces = [newTrace(), newTrace()]
      await Promise.all(
        traces.map((trace, index) =>
          nats.publish('weir.records.eu.node-1', record('together', 1 + 4 * index), {
            msgId: trace,
            // As clients in Go spell it.
            headers: { Traceparent: traceparent(trace, newSpan()) },
          }),
        ),
      )
      const [one, other] = await Promise.all(traces.map((trace) => spansOf(collector, trace, { deliver: 1 })))
      const delivers = [...named(one!, 'deliver'), ...named(other!, 'deliver')]
      const isShared =
        delivers.length === 2 &&
        delivers[0]!.attributes['weir.pack.id'] === delivers[1]!.attributes['weir.pack.id']
      t.ok(isShared, 'both are in one pack')
      const requests = () =>
        collector.spans().filter(({ name, traceId }) => name === 'request' && traces.includes(traceId))
      await until('the request is there', () => requests().length > 0, 60_000)
      t.equal(requests().length, 1)
      const [request] = requests()
      const parent = delivers.find(({ spanId }) => spanId === request!.parentSpanId)
      const linked = delivers.find((deliver) => deliver !== parent)
      t.equal(parent?.traceId, request?.traceId)
      t.same(request?.links, [{ traceId: linked?.traceId, spanId: linked?.spanId }])
      t.same(linked?.links, [{ traceId: request?.traceId, spanId: request?.spanId }], 'and the way back')
    },
  )

  await t.test(
    'a write of the API is a trace down to NATS and ClickHouse, and on to its audit event',
    async (t) => {
      const [trace, span] = [newTrace(), newSpan()]
      const { id: ip_policy_id } = await weir.api.ipPolicy.create({})
      const response = await fetch(`${weir.url}/edges/tcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${weir.token}`,
          'service-version': '2',
          'content-type': 'application/json',
          traceparent: traceparent(trace, span),
        },
        body: JSON.stringify({
          hostports: [`traced-${trace.slice(0, 8)}.example.com:22`],
          ip_restriction: { ip_policy_ids: [ip_policy_id] },
        }),
      })
      t.equal(response.status, 201)
      const names = {
        'POST /edges/tcp': 1,
        commit: 1,
        claim: 1,
        head: 1,
        insert: 1,
        project: 1,
        audit: 1,
        reach: 1,
      }
      const spans = await spansOf(collector, trace, { ...names, receive: 1 })
      shown.push(traceText(spans))
      const [request] = named(spans, 'POST /edges/tcp')
      const [commit] = named(spans, 'commit')
      const [audit] = named(spans, 'audit')
      t.equal(request?.parentSpanId, span)
      t.match(request?.attributes, { 'http.response.status_code': 201, 'weir.account.id': weir.accountId })
      t.equal(named(spans, 'claim')[0]?.parentSpanId, request?.spanId)
      t.equal(commit?.parentSpanId, request?.spanId)
      for (const name of ['head', 'insert', 'project', 'audit', 'reach'])
        t.equal(named(spans, name)[0]?.parentSpanId, commit?.spanId, name)
      t.match(named(spans, 'insert')[0]?.attributes, { 'db.system.name': 'clickhouse' })
      t.equal(
        named(spans, 'receive')[0]?.parentSpanId,
        audit?.spanId,
        'the audit event goes on in the pipeline',
      )
      const isOfTrace = ({ traceId }: { readonly traceId: string }): boolean => traceId === trace
      await until('its log lines are there', () => collector.logs().some(isOfTrace), 60_000)
      const line = collector.logs().find(isOfTrace)
      t.match(line, { severity: 'INFO', severityNumber: 9, resource: { 'weir.role': 'api' } })
      t.ok(
        spans.some(({ spanId }) => spanId === line?.spanId),
        'the line names a span of the trace',
      )
      t.equal(line?.attributes['operation_id'], request?.attributes['weir.operation_id'])
    },
  )

  await t.test('a read of the API is a trace down to ClickHouse', async (t) => {
    const [trace, span] = [newTrace(), newSpan()]
    const headers = {
      authorization: `Bearer ${weir.token}`,
      'service-version': '2',
      traceparent: traceparent(trace, span),
    }
    const response = await fetch(`${weir.url}/decisions?limit=1`, { headers })
    t.equal(response.status, 200)
    const spans = await spansOf(collector, trace, { 'GET /decisions': 1, query: 1 })
    const [request] = named(spans, 'GET /decisions')
    t.equal(request?.parentSpanId, span)
    t.match(named(spans, 'query')[0], {
      parentSpanId: request?.spanId,
      attributes: { 'db.system.name': 'clickhouse' },
    })
  })

  await t.test(
    'records that are published over the API, and decisions, go on with the trace of the caller',
    async (t) => {
      const [published, decided] = [newTrace(), newTrace()]
      const line = JSON.parse(record('published', 1))
      const { stored } = await weir.api.publishRecords([line], {
        traceparent: traceparent(published, newSpan()),
      })
      t.equal(stored, 1)
      const spans = await spansOf(collector, published, { 'POST /records': 1, receive: 1, deliver: 1 })
      t.equal(named(spans, 'receive')[0]?.parentSpanId, named(spans, 'POST /records')[0]?.spanId)

      const [, port] = /^decisions: \S+:(\d+)/im.exec(weir.process.output()) ?? []
      const parent = newSpan()
      await fetch(`http://127.0.0.1:${port}/decide`, {
        method: 'POST',
        headers: { authorization: `Bearer ${weir.token}`, traceparent: traceparent(decided, parent) },
        body: JSON.stringify(line),
      })
      const [decide] = await spansOf(collector, decided, { decide: 1 })
      t.equal(decide?.parentSpanId, parent)
      t.match(decide?.attributes, { 'weir.over': 'http', 'http.response.status_code': 200 })

      const over = newTrace()
      const { host, username: user, password: pass } = new URL(weir.adminUrl)
      const connection = await connect({ servers: host, user, pass })
      const asked = headers()
      asked.set('traceparent', traceparent(over, parent))
      await connection.request('weir.decide', JSON.stringify(line), { headers: asked, timeout: 60_000 })
      await connection.close()
      const [answered] = await spansOf(collector, over, { decide: 1 })
      t.match(answered, { parentSpanId: parent, attributes: { 'weir.over': 'nats' } })
    },
  )

  await t.test('without a sampled trace there is none', async (t) => {
    const unsampled = newTrace()
    const before = collector.spans().length
    const [delivered] = [await total(await metricsOf(weir.url), 'weir_events_delivered_total')]
    const headers = { traceparent: traceparent(unsampled, newSpan(), '00') }
    await nats.publish('weir.records.eu.node-1', record('unsampled', 1), { msgId: unsampled, headers })
    await nats.publish('weir.records.eu.node-1', record('untraced', 1))
    await nats.publish('weir.records.eu.node-1', record('malformed', 1), {
      headers: { traceparent: 'x'.repeat(99) },
    })
    await weir.api.ipPolicy.create({})
    await until(
      'they are delivered',
      async () => total(await metricsOf(weir.url), 'weir_events_delivered_total') >= delivered! + 3,
    )
    // What is exported later is behind them.
    const marker = newTrace()
    await nats.publish('weir.records.eu.node-1', record('marker', 1), {
      msgId: marker,
      headers: { traceparent: traceparent(marker, newSpan()) },
    })
    await spansOf(collector, marker, { receive: 1, deliver: 1, request: 1 })
    const others = collector
      .spans()
      .slice(before)
      .filter(({ traceId }) => traceId !== marker)
    t.same(others, [])
  })

  await t.test('metrics are those of /metrics, with their names, labels and values', async (t) => {
    // A level may change and come back: then another export is compared.
    let compared = await comparedMetrics(weir, collector)
    for (let more = 0; more < 20 && compared.differing.length > 0; more += 1)
      compared = await comparedMetrics(weir, collector)
    const { points, steady, differing, missing } = compared
    t.same(differing, [], 'what did not change meanwhile is exported as it is shown')
    t.same(missing, [], 'all is exported')
    t.ok(steady > 200, `${steady} are compared`)
    t.ok(points.some(({ type }) => type === 'histogram'))
    const of = (name: string) => points.find((point) => point.name === name)
    t.match(of('weir_records_in_total'), { type: 'sum', description: 'Records received.', unit: '' })
    t.match(of('weir_stream_bytes'), { type: 'gauge', unit: 'By' }, 'a name gives the unit')
    t.equal(points[0]?.resource['weir.role'], 'serve', 'they are those of all processes')
  })

  await t.test('the document shows these traces', async (t) => {
    const [, block = ''] =
      /<!-- traces: .* -->\n```\n([\s\S]*?)```/.exec(readFileSync('docs/operating.md', 'utf8')) ?? []
    const made = `${shown.join('\n\n')}\n`
    t.equal(withoutTimes(block), withoutTimes(made), `made now:\n${made}`)
  })

  await t.test('no secret is exported', async (t) => {
    const text = collector.text()
    t.ok(text.includes(weir.accountId), 'what is no secret is')
    for (const [name, secret] of Object.entries({
      ...secrets,
      own: ownKey.secretAccessKey,
      token: weir.token,
    }))
      t.notOk(text.includes(secret), name)
    t.notMatch(text, /nats:\/\/[^"]*:[^"]*@/, 'no address with a password')
  })

  await t.test('without its collector the work goes on, and the log says so once', async (t) => {
    await collector.stop()
    const delivered = total(await metricsOf(weir.url), 'weir_events_delivered_total')
    const warning = /The collector does not take what is exported/
    await nats.publish('weir.records.eu.node-1', record('away', 1), {
      headers: { traceparent: traceparent(newTrace(), newSpan()) },
    })
    await until(
      'it is delivered',
      async () => total(await metricsOf(weir.url), 'weir_events_delivered_total') > delivered,
    )
    const failures = async () => total(await metricsOf(weir.url), 'weir_telemetry_export_failures_total')
    await until('several exports failed', async () => (await failures()) >= 6)
    const lines = weir.process
      .output()
      .split('\n')
      .filter((line) => warning.test(line))
    const each = lines.map((line) => JSON.parse(line)).map(({ role, signal }) => `${role} ${signal}`)
    t.equal(new Set(each).size, each.length, 'a process says it once for each signal')
    t.ok(total(await metricsOf(weir.url), 'weir_telemetry_dropped_total') > 0, 'what is lost is counted')
    const port = Number(new URL(collector.url).port)
    const again = await startCollector(t, port)
    if ('missing' in again) throw new Error(again.missing)
    await until('it is exported again', () => again.points().length > 0)
    t.match(weir.process.output(), /The collector takes what is exported again/)
    await again.stop()
    const begun = Date.now()
    const { code } = (await weir.stop()) as { code: number }
    t.equal(code, 0, 'it stops without its collector')
    t.ok(Date.now() - begun < 25_000, 'within its bounds')
  })
})
