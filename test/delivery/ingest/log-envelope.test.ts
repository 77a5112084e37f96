/** The envelopes that container runtimes and daemons of syslog put around lines, as they are found in files. */
import fc from 'fast-check'
import t from 'tap'
import { ndjson } from '../../../src/delivery/ingest/formats/ndjson.js'
import { nginx } from '../../../src/delivery/ingest/formats/nginx.js'
import { type FramedLine, recordOfLine } from '../../../src/delivery/ingest/lines/format.js'
import { lineBytesMax, type RawLine } from '../../../src/delivery/ingest/lines/line-splitter.js'
import { LogEnvelopes } from '../../../src/delivery/ingest/log-envelope.js'

interface Numbered extends RawLine {
  readonly number: number
}

const numbered = (text: string, number: number): Numbered => ({
  text,
  number,
  byteLength: Buffer.byteLength(text) + 1,
  isTooLong: false,
})

function framed(...lines: readonly string[]): readonly (Numbered & FramedLine)[] {
  const envelopes = new LogEnvelopes<Numbered>()
  const inside = lines.flatMap((text, at) => [...envelopes.open(numbered(text, at + 1))])
  return [...inside, ...envelopes.rest()]
}

/** Texts, each with the number of the line that it begins in. */
function opened(lines: readonly string[]): [string, number][] {
  return framed(...lines).map(({ text, number }) => [text, number])
}

const json = '{"remote_addr": "203.0.113.7", "log": "x: y"}'
const time = '2024-01-01T00:00:00.000000000Z'
const docker = (log: string, stream = 'stdout') => JSON.stringify({ log, stream, time })

t.test('lines in files of containers and of syslog', async (t) => {
  const cases: Readonly<Record<string, string>> = {
    [`${time} stdout F ${json}`]: json,
    [`2024-01-01T01:00:00+01:00 stderr F ${json}`]: json,
    [`${time} stdout F:x ${json}`]: json,
    [`${time} stdout F `]: '',
    [docker(`${json}\n`)]: json,
    [docker(`a "b" \\ \u00e4\r\n`, 'stderr')]: 'a "b" \\ \u00e4',
    [`{"log":"a\\n","stream":"stdout","attrs":{"tag":"x"},"time":"${time}"}`]: 'a',
    [`Nov 25 10:00:00 web nginx: ${json}`]: json,
    [`2026-11-25T10:00:00.123+01:00 web nginx[1]: ${json}`]: json,
    [JSON.stringify({ _HOSTNAME: 'web', MESSAGE: json, __REALTIME_TIMESTAMP: '1' })]: json,
    [JSON.stringify({ __REALTIME_TIMESTAMP: '1', MESSAGE: [...Buffer.from('a \u00e4')] })]: 'a \u00e4',
    '{"MESSAGE":null,"__REALTIME_TIMESTAMP":"1"}': '{"MESSAGE":null,"__REALTIME_TIMESTAMP":"1"}',
    '{"MESSAGE":"a"}': '{"MESSAGE":"a"}',
    [`web-1  | ${json}`]: json,
    [`my.web_1 | ${time} ${json}`]: json,
    [`[pod/web-1/nginx] ${time} ${json}`]: json,
    '{"log":"a\\n","stream":"stdout"}': '{"log":"a\\n","stream":"stdout"}',
    '{"log":"cut': '{"log":"cut',
    [json]: json,
    '203.0.113.7 - - [x]': '203.0.113.7 - - [x]',
  }
  for (const [line, text] of Object.entries(cases)) t.strictSame(opened([line]), [[text, 1]], line)
})

t.test('parts of long lines are put together, of each stream by itself', async (t) => {
  const lines = [
    `${time} stdout P {"a":`,
    `${time} stderr P error `,
    `${time} stdout P  1,`,
    `${time} stderr F of it`,
    `${time} stdout F "b": 2}`,
    docker('{"c":'),
    docker(' 3}\n'),
    `${time} stdout P no end`,
  ]
  t.strictSame(opened(lines), [
    ['error of it', 2],
    ['{"a": 1,"b": 2}', 1],
    ['{"c": 3}', 6],
    ['no end', 8],
  ])
})

t.test('any line is the same, however it was cut', async (t) => {
  const parts = fc.array(
    fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !/[\r\n]/.test(text)),
    {
      minLength: 1,
    },
  )
  fc.assert(
    fc.property(parts, fc.boolean(), (parts, isCri) => {
      const last = parts.length - 1
      const lines = parts.map((text, at) =>
        isCri
          ? `${time} stdout ${at === last ? 'F' : 'P'} ${text}`
          : docker(at === last ? `${text}\n` : text),
      )
      return JSON.stringify(opened(lines)) === JSON.stringify([[parts.join(''), 1]])
    }),
  )
  t.pass()
})

t.test('what is kept of a line without an end is bounded', async (t) => {
  const envelopes = new LogEnvelopes<Numbered>()
  const part = 'x'.repeat(16_384)
  for (let at = 0; at < 100; at += 1) {
    t.strictSame([...envelopes.open(numbered(`${time} stdout P ${part}`, at))], [])
    t.ok(envelopes.isWaiting)
  }
  const [long] = envelopes.open(numbered(`${time} stdout F y`, 100))
  t.match(long, { isTooLong: true, number: 0 })
  t.equal(long?.text.length, lineBytesMax)
  t.notOk(envelopes.isWaiting)

  t.strictSame([...envelopes.open(numbered(`${time} stderr P never finished`, 0))], [])
  let texts: string[] = []
  for (let at = 1; at <= 1_001; at += 1)
    texts = [...envelopes.open(numbered(`${time} stdout F line ${at}`, at))].map(({ text }) => text)
  t.strictSame(texts, ['never finished', 'line 1001'])
  t.notOk(envelopes.isWaiting)
})

/** Written by journalctl 257: an entry of standard output, and one that came by syslog's protocol. */
const stdoutText = '{"remote_addr":"203.0.113.7","request":"GET /a HTTP/1.1","status":"200"}'
const syslogText = '203.0.113.8 - - [-] "GET /b HTTP/1.1" 200 5 "-" "-"'
const exported = `__CURSOR=s=c8d3dfcf418f400da0ac19f80235d088;i=150;b=971ea13a6d0b4964a06b9e2b9b84cb63;m=5a6e3c80;t=6616b5ddc9481;x=9cb7e996a18a0675
__REALTIME_TIMESTAMP=1795963624395905
__MONOTONIC_TIMESTAMP=1517173888
PRIORITY=6
_TRANSPORT=stdout
SYSLOG_IDENTIFIER=nginx
MESSAGE=${stdoutText}
_PID=24792

__CURSOR=s=c8d3dfcf418f400da0ac19f80235d088;i=151;b=971ea13a6d0b4964a06b9e2b9b84cb63;m=5a6e437e;t=6616b5ddc9b7f;x=b69007efcb06ff73
__REALTIME_TIMESTAMP=1795963624397695
_TRANSPORT=syslog
SYSLOG_IDENTIFIER=nginx
SYSLOG_TIMESTAMP=Nov 29 14:47:04 
MESSAGE=${syslogText}
_PID=24793
_SOURCE_REALTIME_TIMESTAMP=1795963624397646
`
const journal = {
  '-o short': `Nov 29 14:47:04 vm nginx[24792]: ${stdoutText}`,
  '-o short-precise': `Nov 29 14:47:04.395905 vm nginx[24792]: ${stdoutText}`,
  '-o short-iso': `2026-11-29T14:47:04+0000 vm nginx[24792]: ${stdoutText}`,
  '-o short-iso-precise': `2026-11-29T14:47:04.395905+0000 vm nginx[24792]: ${stdoutText}`,
  '-o short-full': `Sun 2026-11-29 14:47:04 UTC vm nginx[24792]: ${stdoutText}`,
  '-o short-unix': `1795963624.395905 vm nginx[24792]: ${stdoutText}`,
  '-o json': `{"MESSAGE":${JSON.stringify(stdoutText)},"_HOSTNAME":"vm","__MONOTONIC_TIMESTAMP":"1517173888","__REALTIME_TIMESTAMP":"1795963624395905","SYSLOG_IDENTIFIER":"nginx","_TRANSPORT":"stdout","_PID":"24792"}`,
  '-o json, by syslog': `{"__MONOTONIC_TIMESTAMP":"1517175678","_SOURCE_REALTIME_TIMESTAMP":"1795963624397646","SYSLOG_TIMESTAMP":"Nov 29 14:47:04 ","MESSAGE":${JSON.stringify(stdoutText)},"__REALTIME_TIMESTAMP":"1795963624397695","_TRANSPORT":"syslog"}`,
}
/** In the form that Docker documents for `json-file`, and of CRI that Kubernetes does. */
const containers = {
  'json-file': docker(`${stdoutText}\n`),
  CRI: `${time} stdout F ${stdoutText}`,
  'docker compose logs --timestamps': `web-1  | ${time} ${stdoutText}`,
  'parts of a line': [docker(stdoutText.slice(0, 9)), docker(`${stdoutText.slice(9)}\n`)].join('\n'),
}
const daemons = {
  'RFC 3164': `<190>Nov 29 14:47:04 web nginx: ${stdoutText}`,
  'RFC 3164 with a year': `<190>Nov 29 2025 14:47:04 web nginx: ${stdoutText}`,
  'RFC 5424': `<190>1 2026-11-29T14:47:04.395905+01:00 web nginx 12 - - ${stdoutText}`,
  'no time': `<190>nginx: ${stdoutText}`,
  'the time since a start': `[ 5012.123456] web nginx[12]: ${stdoutText}`,
}

/** The times of the records of such lines. */
const timesOf = (lines: string): unknown[] =>
  framed(...lines.split('\n')).flatMap((line) => {
    const made = recordOfLine(nginx, line, {}, 'r-1')
    return made.ok ? [JSON.parse(made.value).conn.start_ts] : []
  })

t.test('a line without a time has that of its envelope', async (t) => {
  const old = new Date('2026-11-29T14:47:04').toISOString()
  const seen = (all: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(all).map(([name, lines]) => [name, timesOf(lines)]))
  const precise = '2026-11-29T14:47:04.396Z'
  t.strictSame(seen(journal), {
    // Times without a zone are of this machine's, and without a year, of the last such day.
    '-o short': [yearNow(old)],
    '-o short-precise': [yearNow(old.replace('.000', '.395'))],
    '-o short-iso': ['2026-11-29T14:47:04.0+00:00'],
    '-o short-iso-precise': ['2026-11-29T14:47:04.395905+00:00'],
    '-o short-full': ['2026-11-29T14:47:04.0Z'],
    '-o short-unix': [precise],
    '-o json': [precise],
    '-o json, by syslog': ['2026-11-29T14:47:04.398Z'],
  })
  t.strictSame(timesOf(exported), [precise, '2026-11-29T14:47:04.398Z'])
  t.strictSame(seen(containers), {
    'json-file': [time],
    CRI: [time],
    'docker compose logs --timestamps': [time],
    'parts of a line': [time],
  })
  t.strictSame(seen(daemons), {
    'RFC 3164': [yearNow(old)],
    'RFC 3164 with a year': [new Date('2025-11-29T14:47:04').toISOString()],
    'RFC 5424': ['2026-11-29T14:47:04.395905+01:00'],
    'no time': [undefined],
    'the time since a start': [undefined],
  })
  const own = stdoutText.replace('{', '{"time_iso8601":"2026-11-25T10:00:00+00:00",')
  t.strictSame(timesOf(docker(`${own}\n`)), ['2026-11-25T10:00:00+00:00'], 'its own time counts first')

  const connOf = (conn: object): unknown => {
    const text = JSON.stringify({ type: 'tcp_connection', conn: { client_ip: '192.0.2.1', ...conn } })
    const made = recordOfLine(ndjson, { text, loggedAt: time }, {}, 'r-1')
    return made.ok && JSON.parse(made.value).conn
  }
  t.match(connOf({}), { start_ts: time }, 'a record without a time')
  t.notHas(
    connOf({ end_ts: time }),
    { start_ts: time },
    'when a connection ended is known, and not when it began',
  )
})

/** Also after that day of 2026. */
function yearNow(time: string): string {
  const [now, year] = [Date.now(), new Date().getFullYear()]
  const years = [year + 1, year, year - 1].map((each) => time.replace(/^\d+/, String(each)))
  return years.find((each) => Date.parse(each) <= now + 24 * 60 * 60_000)!
}

t.test('entries that journalctl exports', async (t) => {
  const lines = exported.split('\n')
  t.strictSame(opened(lines), [
    [stdoutText, 1],
    [syslogText, 10],
  ])
  t.strictSame(opened(lines.slice(0, 7)), [[stdoutText, 1]], 'the last one has no end')
  t.strictSame(opened([...lines.slice(0, 7), ...lines.slice(9, 10)]), [[stdoutText, 1]])
  t.strictSame(opened(['__CURSOR=s=c8;i=150', '_PID=1', '']), [], 'an entry without a message')
  const hostile = ['__CURSOR=s=c8 192.0.2.1 - - "GET / HTTP/1.1"', json]
  t.strictSame(
    opened(hostile),
    hostile.map((text, at) => [text, at + 1]),
    'a line of a log that only begins like an entry is one',
  )
  const envelopes = new LogEnvelopes<Numbered>()
  const waits = lines.map((text, at) => {
    Array.from(envelopes.open(numbered(text, at)))
    return envelopes.isWaiting
  })
  t.strictSame([waits[7], waits[8], waits[9]], [true, false, true])
})
