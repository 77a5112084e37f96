/** The demo as a person runs it: output, exit code, processes and directories left behind. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { tempDir } from '../../harness/temp-dir.js'
import { isAlive, processesBelow } from '../../harness/tree.js'
import { until } from '../../harness/weir.js'
import { demo, directoriesIn, exitCode, fileTimeoutMs, said } from './command.js'

t.setTimeout(fileTimeoutMs)

t.test('the tour shows every kind of decision, and ends with success', async (t) => {
  const tmp = tempDir(t)
  const running = demo(tmp, '--once')
  t.teardown(() => running.stop())
  await said(running, /^An ingress node asks/)
  const below = processesBelow(running.pid)
  t.ok(below.length >= 7, 'a whole service runs below it')
  t.equal(await exitCode(running), 0, running.output())
  const lines = [
    /^ {2}block +203\.0\.113\.9 +→ ssh\.us\.demo\.example:22 +the account's restriction/,
    /^ {2}deny +223\.64\.0\.9 +→ ssh\.us\.demo\.example:22 +traffic policy "not from China"$/,
    /^ {2}allow +203\.0\.113\.9 +→ game\.sa\.demo\.example:25565 +a warning only/,
    /^It reports 5,352 connections and requests/,
    /^ +4,610 {2}allowed +no policy objected$/,
    /^ +620 {2}blocked /,
    /^ +120 {2}denied /,
    /^ +50 {2}unserved +no edge serves them/,
    /^ {2}kinesis +3,580 delivered +3,[\d]+ received +[\d,]+ sent again$/,
    /^ {2}cloudwatch_logs +[\d,]+ delivered +[\d,]+ received +[\d,]+ sent again$/,
    /^ {2}firehose +[\d,]+ delivered +[\d,]+ received +[\d,]+ sent again$/,
    /^Kinesis shard 1 refused every record for at least [\d.]+ s; its destination was (throttled|failing)\.$/,
    /^2 bad records are dead letters/,
    /^ {2}message \d+, line \d+: "conn\.server_port" is "ssh"/,
    /^An event as the Firehose delivery stream received it:$/,
    /^ {2}\{"event_id":"ev_/,
    /^(\d+) of \1 checks hold: every record is accounted for, and every event has arrived\.$/,
  ]
  const output = running.output().split('\n')
  for (const line of lines)
    t.ok(
      output.some((each) => line.test(each)),
      String(line),
    )
  // Without `--once`, five lines of addresses and the farewell follow.
  t.ok(output.length + 6 <= 33, `${output.length} lines`)
  t.strictSame(
    output.filter((line) => [...line].length > 100 || line.includes('\u001b')),
    [],
    'lines are short, and have no colours in a pipe',
  )
  await until('no process is left', () => !below.some(isAlive))
  t.strictSame(directoriesIn(tmp), [], 'no directory is left')
})

t.test('files without records are refused before anything starts', async (t) => {
  const dir = t.testdir({
    'empty.ndjson': '',
    'blank.ndjson': '\n\n',
    'other.ndjson': 'no\nrecords\n',
    'wide.ndjson': `\n${'x'.repeat(300_000)}\n`,
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
    { file: 'wide.ndjson', says: /^weir: Line 2 of wide\.ndjson has more than 262144 bytes\.$/m },
    { file: 'cut.ndjson.gz', says: /^weir: \S+cut\.ndjson\.gz is damaged/ },
    { file: 'tmp', says: /^weir: \S+tmp is not a file/ },
  ]
  for (const { file, says } of cases) {
    const running = demo(join(dir, 'tmp'), '--once', '--records', join(dir, file))
    t.equal(await exitCode(running), 1, file)
    t.match(running.output(), says)
  }
  t.strictSame(readdirSync(join(dir, 'tmp')), [])
})
