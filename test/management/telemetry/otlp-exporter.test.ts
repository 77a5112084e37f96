/** Exports to a collector that answers, refuses, or is away. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { emptyResource } from '@opentelemetry/resources'
import t, { type Test } from 'tap'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry, metricsText } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { ExportedLogs, logRecordOf } from '../../../src/management/telemetry/exported-logs.js'
import { SdkTracing } from '../../../src/management/telemetry/exported-spans.js'
import { total } from '../../harness/metrics.js'
import { until } from '../../harness/weir.js'

async function openServer(t: Test, answer: (response: ServerResponse) => void) {
  const seen: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    seen.push(request.headers)
    request.resume().once('end', () => answer(response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/logs`, seen, server }
}

function openReports() {
  const lines: string[] = []
  const registry = createRegistry()
  const logger = createLogger('test', 'info', { write: (line) => lines.push(line) })
  const occurrences = createOccurrences({ logger, registry })
  const counted = async (name: string): Promise<number> =>
    total(await metricsText(registry), `weir_telemetry_${name}_total`, 'signal="logs"')
  return { occurrences, lines, counted }
}

const telemetry = { timeoutMs: 500, compression: 'none' } as const
const line = (msg: string): string =>
  JSON.stringify({ level: 30, time: '2026-01-02T03:04:05.678Z', role: 'api', pid: 7, msg })
const headers = { authorization: 'Bearer of-the-collector' }

t.test('the headers of the settings are sent', async (t) => {
  const { url, seen } = await openServer(t, (response) => response.end())
  const logs = new ExportedLogs({ url, headers }, emptyResource(), { telemetry, ...openReports() })
  logs.take(line('One.'))
  await logs.close()
  t.match(seen, [{ authorization: 'Bearer of-the-collector', 'content-type': 'application/x-protobuf' }])
})

t.test('a refusal is logged once, without what the collector says, and its end too', async (t) => {
  let isRefusing = true
  const { url, seen } = await openServer(t, (response) => {
    if (isRefusing) response.writeHead(403).end('you sent Bearer of-the-collector')
    else response.end()
  })
  const { occurrences, lines, counted } = openReports()
  const logs = new ExportedLogs({ url, headers }, emptyResource(), { telemetry, occurrences })
  for (let sent = 1; sent <= 3; sent += 1) {
    logs.take(line('Refused.'))
    await until(
      'it is refused',
      async () => seen.length === sent && (await counted('export_failures')) === sent,
    )
  }
  t.equal(lines.length, 1)
  t.match(JSON.parse(lines[0]!), { level: 40, signal: 'logs', reason: /Forbidden.*403/ })
  t.notMatch(lines[0], 'of-the-collector')
  t.equal(await counted('dropped'), 3)
  isRefusing = false
  logs.take(line('Taken.'))
  await until('it is taken', () => lines.length === 2)
  t.match(JSON.parse(lines[1]!), { level: 30, msg: /again/ })
  await logs.close()
})

t.test(
  'beyond a bound, lines that wait for a collector that does not answer are lost and counted',
  async (t) => {
    const { url } = await openServer(t, () => {})
    const { occurrences, counted } = openReports()
    const logs = new ExportedLogs({ url, headers }, emptyResource(), { telemetry, occurrences })
    for (let taken = 0; taken < 5_000; taken += 1) logs.take(line('Many.'))
    const beyond = 5_000 - 2_048
    t.equal(await counted('dropped'), beyond)
    await until('the others are given up, too', async () => (await counted('dropped')) === 5_000)
    logs.take(line('Later.'))
    t.equal(await counted('dropped'), 5_000, 'there is room again')
    await logs.close()
  },
)

t.test('spans: who begins a trace, and who goes on with one', async (t) => {
  const { url } = await openServer(t, (response) => response.end())
  const [trace, span] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
  const sampled = { traceparent: `00-${trace}-${span}-01`, tracestate: 'a=b' }
  const unsampled = { traceparent: `00-${trace}-${span}-00` }
  const malformed = { traceparent: `00-${'0'.repeat(32)}-${span}-01` }
  const cases = [
    { sampler: 'parentbased_always_off', none: false, sampled: true, unsampled: false },
    { sampler: 'parentbased_always_on', none: true, sampled: true, unsampled: false },
    { sampler: 'always_on', none: true, sampled: true, unsampled: true },
    { sampler: 'always_off', none: false, sampled: false, unsampled: false },
    { sampler: 'traceidratio', none: false, sampled: false, unsampled: false },
    { sampler: 'parentbased_traceidratio', none: false, sampled: true, unsampled: false },
  ] as const
  for (const { sampler, ...kept } of cases) {
    const options = { telemetry: { ...telemetry, sampler, samplerArgument: 0 }, ...openReports() }
    const tracing = new SdkTracing({ url, headers }, emptyResource(), options)
    const begin = (parent?: typeof sampled | typeof unsampled) =>
      tracing.begin('work', { kind: 'internal', parent })
    t.equal(begin() !== undefined, kept.none, `${sampler}: of no one`)
    t.equal(begin(malformed) !== undefined, kept.none, `${sampler}: a malformed one is none`)
    t.equal(begin(sampled) !== undefined, kept.sampled, `${sampler}: a sampled one`)
    t.equal(begin(unsampled) !== undefined, kept.unsampled, `${sampler}: one that is not`)
    await tracing.close()
  }
  const options = {
    telemetry: { ...telemetry, sampler: 'parentbased_always_off', samplerArgument: 1 } as const,
    ...openReports(),
  }
  const tracing = new SdkTracing({ url, headers }, emptyResource(), options)
  const begun = tracing.begin('work', { kind: 'internal', parent: sampled })
  t.match(begun?.context, { traceparent: `00-${trace}-${begun?.spanId}-01`, tracestate: 'a=b' })
  t.equal(tracing.current(), undefined)
  await tracing.within(begun!, async () => {
    await null
    t.equal(tracing.current(), begun, 'also after a wait')
  })
  await tracing.close()
})

t.test('a line as a log record', (t) => {
  const [trace_id, span_id] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
  const text = JSON.stringify({
    level: 50,
    time: '2026-01-02T03:04:05.678Z',
    msg: 'It failed.',
    err: { code: 'E' },
    tries: 2,
    trace_id,
    span_id,
  })
  const record = logRecordOf(text)
  t.match(record, {
    severityNumber: 17,
    severityText: 'ERROR',
    body: 'It failed.',
    attributes: { err: '{"code":"E"}', tries: 2 },
  })
  t.equal(record.timestamp.toISOString(), '2026-01-02T03:04:05.678Z')
  t.notOk('trace_id' in record.attributes, 'its trace is no attribute')
  t.end()
})
