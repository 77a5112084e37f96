/** What container runtimes and daemons of syslog put around lines, as they are found in files. */
import fc from 'fast-check'
import t from 'tap'
import { lineBytesMax, type RawLine } from '../../src/ingest/line-splitter.js'
import { LogEnvelopes } from '../../src/ingest/log-envelope.js'

interface Numbered extends RawLine {
  readonly number: number
}

const numbered = (text: string, number: number): Numbered => ({
  ...{ text, number, byteLength: Buffer.byteLength(text) + 1, isTooLong: false },
})

/** Texts, each with the number of the line that it begins in. */
function opened(lines: readonly string[]): [string, number][] {
  const envelopes = new LogEnvelopes<Numbered>()
  const inside = lines.flatMap((text, at) => [...envelopes.open(numbered(text, at + 1))])
  return [...inside, ...envelopes.rest()].map(({ text, number }) => [text, number])
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
