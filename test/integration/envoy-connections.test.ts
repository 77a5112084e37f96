/**
 * Connections through Envoy's TCP proxy: each line of its logs becomes a record with the bytes and times that there were.
 */
import t from 'tap'
import { formats } from '../../src/delivery/ingest/formats.js'
import { recordOfLine } from '../../src/delivery/ingest/lines/format.js'
import { type HostileRequest, send } from '../harness/hostile-requests.js'
import { type LogProgram, startProgram, whyNot } from '../harness/log-programs.js'
import {
  envoyCluster,
  envoyFiles,
  envoyHttp,
  envoyTcp,
  meshLogPrograms,
  startEnvoy,
} from '../harness/mesh-log-programs.js'
import { recordLines } from '../harness/recorded-lines.js'
import { until } from '../harness/weir.js'

const files = ['tcp-text.log', ...envoyFiles('tcp')]

/** A port that passes connections on to another one, which answers requests. */
const program: LogProgram = {
  ...meshLogPrograms.envoy,
  start: (dir, [tcp, http]) =>
    startEnvoy(
      dir,
      [envoyTcp(dir, 'tcp', tcp!, 'web'), envoyHttp(dir, 'http', http!, {})],
      [envoyCluster('web', http!)],
    ),
  entrances: ([port = 0]) => [
    { port, client: 'peer', logs: files.map((file) => ({ format: 'envoy', file, shows: [] })) },
  ],
}

const sent: HostileRequest = {
  says: 'a request',
  method: 'GET',
  target: Buffer.from('a'),
  agent: Buffer.alloc(200, 'a'),
  user: Buffer.from('user'),
  host: 'web.example',
  forwarded: undefined,
}

t.test('connections through Envoy', { skip: whyNot(program) }, async (t) => {
  const { entrances, lines } = await startProgram(t, program)
  const [{ port, logs } = { port: 0, logs: [] }] = entrances
  const begun = Date.now()
  const answered = await send(0, sent, 'peer', port)
  t.equal(answered.status, 200)
  const envoy = formats.find(({ name }) => name === 'envoy')!
  for (const log of logs) {
    // The first connection was to see whether the port is open.
    await until(`${log.file} has the line`, () => lines(log).length >= 2)
    const [line = ''] = lines(log).slice(-1)
    const made = recordOfLine(envoy, { text: line }, {}, 'r-1')
    if (log.file === 'tcp-text.log') {
      t.match(
        made,
        { ok: false, problem: { msg: /names none of a connection/ } },
        'the default text has no client',
      )
      continue
    }
    const record = made.ok ? JSON.parse(made.value) : made
    recordLines('envoy', log.file, [{ says: 'a connection', line, record }])
    const place = {
      client_ip: '127.0.0.1',
      client_port: answered.port,
      server_ip: '127.0.0.1',
      server_port: port,
    }
    t.match(record, { type: 'tcp_connection', conn: place }, log.file)
    const { bytes_in, bytes_out, start_ts, end_ts } = record.conn
    // An answer is shorter than this request.
    t.ok(
      bytes_in > 200 && bytes_out > 50 && bytes_out < 200,
      `${log.file}: ${bytes_in} bytes, and ${bytes_out}`,
    )
    const [startMs, endMs] = [Date.parse(start_ts), Date.parse(end_ts)]
    t.ok(
      startMs >= begun - 1_000 && endMs >= startMs && endMs <= Date.now(),
      `${log.file}: ${start_ts}, ${end_ts}`,
    )
  }
})
