/** Records that no edge serves: one log line a minute, however many there are and whatever they name. */

import { mock } from 'node:test'
import t, { type Test } from 'tap'
import type { TrafficRecord } from '../../../src/delivery/record/traffic-record.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { endpointName } from '../../../src/judging/evaluate/edges.js'
import { UnservedReports } from '../../../src/judging/pipeline/failure-reports.js'

const minuteMs = 60_000

function setUp(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const lines: Record<string, unknown>[] = []
  const logger = createLogger('test', 'warn', { write: (line: string) => lines.push(JSON.parse(line)) })
  const reports = new UnservedReports(createOccurrences({ logger, registry: createRegistry() }))
  t.teardown(() => reports.close())
  return {
    reports,
    /** The reports since the last look. */
    reported: () => lines.splice(0).map(({ records, most_frequent }) => ({ records, most_frequent })),
    pass: (ms: number) => mock.timers.tick(ms),
  }
}

const unserved = (endpoint: string, count: number) => ({ unserved: [{ endpoint, count }], unowned: count })

t.test('the first at once, those of a minute together, the most frequent first', async (t) => {
  const { reports, reported, pass } = setUp(t)
  reports.add({ unserved: [], unowned: 0 })
  t.strictSame(reported(), [], 'nothing if every record is served')
  reports.add(unserved('a:22', 3))
  t.strictSame(reported(), [{ records: 3, most_frequent: [{ endpoint: 'a:22', records: 3 }] }])
  for (let n = 0; n < 10; n += 1) reports.add(unserved('b:22', 2))
  reports.add(unserved('a:22', 1))
  t.strictSame(reported(), [], 'within the minute nothing more')
  pass(minuteMs)
  t.strictSame(reported(), [
    {
      records: 21,
      most_frequent: [
        { endpoint: 'b:22', records: 20 },
        { endpoint: 'a:22', records: 1 },
      ],
    },
  ])
  pass(minuteMs)
  t.strictSame(reported(), [], 'after a quiet minute nothing')
  reports.add(unserved('c:22', 1))
  t.equal(reported().length, 1, 'then at once again')
  reports.add(unserved('c:22', 7))
  reports.close()
  t.match(reported(), [{ records: 7 }], 'a stop reports what the minute holds')
})

t.test('a flood of names is one short line', async (t) => {
  const { reports, reported, pass } = setUp(t)
  reports.add(unserved('first:1', 1))
  reported()
  for (let n = 0; n < 20_000; n += 1) {
    reports.add(unserved(`${n}.flood:22`, 1))
    if (n % 10 === 0) reports.add(unserved('frequent:22', 1))
  }
  pass(minuteMs)
  const [line, ...more] = reported()
  t.strictSame(more, [])
  t.match(line, { records: 22_000, most_frequent: [{ endpoint: 'frequent:22' }] })
  t.equal((line!.most_frequent as unknown[]).length, 5)
})

t.test('how an endpoint is named', async (t) => {
  const cases = [
    { name: 'name and port', conn: { server_name: 'SSH.example.', server_port: 22 }, want: 'ssh.example:22' },
    { name: 'an IPv6 address', conn: { server_name: '::1', server_port: 22 }, want: '[::1]:22' },
    { name: 'no name', conn: { server_port: 22 }, want: 'no server_name or server_port' },
    { name: 'no port', conn: { server_name: 'a' }, want: 'no server_name or server_port' },
    {
      name: 'terminal control characters',
      conn: { server_name: '\u001b[2Ja\nb', server_port: 1 },
      want: '"\\u001b[2ja\\nb:1"',
    },
  ]
  const record = (conn: object) =>
    ({ record_id: 'r', type: 'tcp_connection', conn: { client_ip: '::1', ...conn } }) as TrafficRecord
  for (const { name, conn, want } of cases) t.equal(endpointName(record(conn)), want, name)
  t.ok(endpointName(record({ server_name: 'x'.repeat(60_000), server_port: 1 })).length <= 101, 'cut')
})
