/** The demo as a person runs it: the command, its output, its exit code, and what it leaves behind. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { tempDir } from '../harness/temp-dir.js'
import { isAlive, processesBelow } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import { demo, directoriesIn, exitCode } from './command.js'

t.setTimeout(300_000)

t.test('the tour shows every situation, and ends well', async (t) => {
  const tmp = tempDir(t)
  const running = demo(tmp, '--once')
  t.teardown(() => running.stop())
  await running.line(/^Publishing the records/)
  const below = processesBelow(running.pid)
  t.ok(below.length >= 7, 'a whole service runs below it')
  t.equal(await exitCode(running), 0)
  const lines = [
    /^ {2}5,352 records in; 4,250 tcp_connection, 1,100 http_request evaluated; 2 bad\.$/,
    /^ {2}allowed +4,610 /,
    /^ {2}blocked +620 /,
    /^ {2}denied +120 /,
    /^ {2}unserved +50 {2}nobody: no edge serves them/,
    /^ {2}ssh\.eu\.demo\.example:22 +blocked +250 +250 +IP policy of the edge$/,
    /^ {2}ssh\.us\.demo\.example:22 +blocked +180 +180 +enforced restriction of the account$/,
    /^ {2}game\.sa\.demo\.example:25565 +let in, with a warning +130 +130 /,
    /^ {2}ssh\.us\.demo\.example:22 +denied by country +100 +100 /,
    /^ {2}ssh\.us\.demo\.example:22 +logged, inbound +260 +260 /,
    /^ {2}db\.ap\.demo\.example:5432 +logged, outbound +120 +120 /,
    /^ {2}cloudwatch_logs +tcp_connection_closed\.v0 +900 +1,100$/,
    /^ {2}firehose: .*"object":\{"conn":\{"client_ip":"[^"]+","server_name":"[^"]+"\},"ip_policy":/,
    /^ {2}"throttled" \(ProvisionedThroughputExceededException\)/,
    /^ {2}kinesis +healthy +3,580 +3,580 +3,580 /,
    /^ {2}message \d+, line \d+: "conn\.server_port" is "ssh"/,
    /^Every record is accounted for, and every event has arrived\.$/,
  ]
  const output = running.output().split('\n')
  for (const line of lines)
    t.ok(
      output.some((each) => line.test(each)),
      String(line),
    )
  t.notOk(
    output.some((line) => line.startsWith('  NOT')),
    'no equation is broken',
  )
  await until('no process is left', () => !below.some(isAlive))
  t.strictSame(directoriesIn(tmp), [], 'no directory is left')
})

t.test('files that are no records are refused before anything starts', async (t) => {
  const dir = t.testdir({
    'empty.ndjson': '',
    'blank.ndjson': '\n\n',
    'other.ndjson': 'no\nrecords\n',
    'cut.ndjson.gz': '',
    tmp: {},
  })
  writeFileSync(
    join(dir, 'cut.ndjson.gz'),
    readFileSync('fixtures/records/demo.ndjson.gz').subarray(0, 20_000),
  )
  const cases = [
    { file: 'missing.ndjson', says: /^weir: There is no file missing\.ndjson\.$/m },
    { file: 'empty.ndjson', says: /^weir: empty\.ndjson is empty/ },
    { file: 'blank.ndjson', says: /^weir: blank\.ndjson is empty/ },
    { file: 'other.ndjson', says: /^weir: Not one of its 2 lines is a JSON object\.$/m },
    { file: 'cut.ndjson.gz', says: /^weir: cut\.ndjson\.gz is corrupt/ },
    { file: 'tmp', says: /^weir: tmp is a directory/ },
  ]
  for (const { file, says } of cases) {
    const running = demo(join(dir, 'tmp'), '--once', '--records', join(dir, file))
    t.equal(await exitCode(running), 1, file)
    t.match(running.output(), says)
  }
  t.strictSame(readdirSync(join(dir, 'tmp')), [])
})
