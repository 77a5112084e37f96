/** The demo on a given file, and its end: by Ctrl-C, or killed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { total } from '../../harness/metrics.js'
import { isReady, metricsOf } from '../../harness/pages.js'
import { tempDir } from '../../harness/temp-dir.js'
import { isAlive, processesBelow } from '../../harness/tree.js'
import { until } from '../../harness/weir.js'
import { demo, directoriesIn, exitCode, fileTimeoutMs, said } from './command.js'

t.setTimeout(fileTimeoutMs)

t.test('a file balances, and everything stays up until Ctrl-C', async (t) => {
  const dir = t.testdir({ tmp: {} })
  const tmp = join(dir, 'tmp')
  const file = join(dir, 'some records.ndjson')
  const records = gunzipSync(readFileSync('fixtures/records/demo.ndjson.gz'))
    .toString()
    .split('\n')
    .slice(0, 400)
  const nameless = { record_id: 'nameless', type: 'tcp_connection', conn: { client_ip: '192.0.2.1' } }
  writeFileSync(file, `${[...records, JSON.stringify(nameless), 'no json', '{}', '', '[]'].join('\r\n')}\n`)
  const running = demo(tmp, '--records', file)
  t.teardown(() => running.stop())
  const [, api = ''] = await said(running, /^ {2}API +(http:\S+) /)
  await said(running, /^ {2}AWS /)
  await until('it is ready', () => isReady(api))
  const recordsIn = async () => total(await metricsOf(api), 'weir_records_in_total')
  await until('further records keep coming', async () => (await recordsIn()) >= 430)
  const below = processesBelow(running.pid)
  running.child.kill('SIGINT')
  t.equal(await exitCode(running), 0, 'it ends with Ctrl-C')
  const lines = [
    /^ {2}block +\S+ +→ \S+:\d+ +IP policy "nobody from the busiest network"$/m,
    /^It reports 404 connections and requests/m,
    /^ +[1-9]\d* {2}blocked +IP policy "nobody from the busiest network"/m,
    /^ +1 {2}unserved +no edge serves them/m,
    /^ {2}kinesis +\d+ delivered +\d+ received /m,
    /^3 bad records are dead letters, .*; the first 2:$/m,
    /^ {2}message 5, line 2: It is not JSON/m,
    /^(\d+) of \1 checks hold: every record is accounted for, and every event has arrived\.$/m,
    ...['NATS', 'AWS'].map((name) => new RegExp(`^ {2}${name} +\\S+`, 'm')),
  ]
  for (const line of lines) t.match(running.output(), line)
  await until('no process is left', () => !below.some(isAlive))
  t.strictSame(directoriesIn(tmp), [], 'no directory is left')
})

t.test('all its processes end if it is killed', async (t) => {
  const running = demo(tempDir(t), '--once')
  t.teardown(() => running.stop())
  await said(running, /^An ingress node asks/)
  const below = processesBelow(running.pid)
  t.ok(below.length >= 7, 'a whole service runs below it')
  await running.kill()
  await until('no process is left', () => !below.some(isAlive))
})
