import { Writable } from 'node:stream'
import t from 'tap'
import { createLogger } from '../../../../src/ground/core/telemetry/log.js'
import {
  createRegistry,
  metricsSnapshot,
  metricsText,
  sumMetrics,
} from '../../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../../src/ground/core/telemetry/occurrences.js'

function setUp() {
  const lines: Record<string, unknown>[] = []
  const stream = new Writable({
    write(chunk, _, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
  const registry = createRegistry()
  return {
    lines,
    registry,
    occurrences: createOccurrences({ logger: createLogger('test', 'info', stream), registry }),
  }
}

t.test('an occurrence writes its line and moves its counter', async (t) => {
  const { lines, registry, occurrences } = setUp()
  occurrences.childEnded({ role: 'deliver', how: 'SIGKILL' })
  occurrences.childEnded({ role: 'deliver', how: 'exit code 1' }, 2)
  t.match(lines, [{ role: 'deliver', how: 'SIGKILL' }, { how: 'exit code 1' }])
  t.match(lines[0]?.['msg'], /^[A-Z].*\.$/)
  t.match(await metricsText(registry), /\nweir_process_restarts_total\{role="deliver"\} 3\n/)
})

t.test('a counter alone writes no line, and a gauge is set', async (t) => {
  const { lines, registry, occurrences } = setUp()
  occurrences.natsCallRetried({ call: 'publish' }, 5)
  occurrences.childrenRunning({ role: 'api' }, 1)
  occurrences.childrenRunning({ role: 'api' }, 0)
  t.strictSame(lines, [])
  const text = await metricsText(registry)
  t.match(text, /\nweir_nats_retries_total\{call="publish"\} 5\n/)
  t.match(text, /\nweir_processes\{role="api"\} 0\n/)
})

t.test('of many lines that a sender causes, most are only counted', async (t) => {
  const { lines, registry, occurrences } = setUp()
  for (let n = 0; n < 1_000; n += 1) {
    occurrences.loginFailed({ address: '192.0.2.1' })
    occurrences.recordsBad({ sequence: n, records: 10, examples: [] }, 10)
    occurrences.childEnded({ role: 'deliver' })
  }
  const linesOf = (field: string) => lines.filter((line) => field in line).length
  t.ok(linesOf('address') > 10 && linesOf('address') < 100)
  t.ok(linesOf('sequence') > 10 && linesOf('sequence') < 100)
  t.equal(lines.filter((line) => /ended by itself/.test(String(line['msg']))).length, 1_000)
  const text = await metricsText(registry)
  t.match(text, /\nweir_api_failed_logins_total 1000\n/)
  t.match(text, /\nweir_bad_records_parked_total 10000\n/)
})

t.test('levels are read with the metrics, and a series that is not read any more disappears', async (t) => {
  const { registry, occurrences } = setUp()
  let lags = [
    [{ stream: 'a' }, 1],
    [{ stream: 'b' }, 2],
  ] as [{ stream: string }, number][]
  occurrences.recordsLag(() => lags)
  t.match(await metricsText(registry), /\nweir_records_lag_messages\{stream="a"\} 1\n.*\{stream="b"\} 2\n/)
  lags = [[{ stream: 'b' }, 3]]
  const text = await metricsText(registry)
  t.match(text, /\nweir_records_lag_messages\{stream="b"\} 3\n/)
  t.notMatch(text, /weir_records_lag_messages\{stream="a"\}/)
})

t.test('metrics have our names and their labels name no account, resource or address', async (t) => {
  const { registry } = setUp()
  const metrics = (await registry.getMetricsAsArray()).filter(({ name }) => name.startsWith('weir_'))
  t.ok(metrics.length > 0)
  for (const metric of metrics) {
    t.match(metric.name, /^weir_[a-z0-9]+(_[a-z0-9]+)*$/)
    t.match(metric.help, /^[A-Z].*\.$/, metric.name)
    const { labelNames = [] } = metric as { labelNames?: readonly string[] }
    t.notOk(
      labelNames.some((label) => /account|_id$|^id$|ip|subject|policy/.test(label)),
      `${metric.name}: ${labelNames}`,
    )
  }
})

t.test('metrics of several processes are combined', async (t) => {
  const processes = [setUp(), setUp()]
  for (const [n, { occurrences }] of processes.entries()) {
    occurrences.parentLost({}, 2)
    occurrences.streamBytes({ stream: 'A' }, 7 - n)
    occurrences.configurationRevision({ role: 'pipeline' }, 7 - n)
  }
  const text = await sumMetrics(await Promise.all(processes.map(({ registry }) => metricsSnapshot(registry))))
  t.match(text, /\nweir_parent_lost_total 4\n/)
  t.match(text, /\nweir_stream_bytes\{stream="A"\} 7\n/, 'each process sees the same stream')
  t.match(text, /\nweir_configuration_revision\{role="pipeline"\} 6\n/, 'the process that is behind')
  t.match(text, /\nprocess_resident_memory_bytes \d+/)
})
