import fc from 'fast-check'
import t from 'tap'
import { SyslogFrames } from '../../../../src/delivery/ingest/syslog/frames.js'

/** The framings that senders put around messages (RFC 6587, section 3.4). */
const framings: Readonly<Record<string, (message: string) => string>> = {
  counted: (message) => `${Buffer.byteLength(message)} ${message}`,
  'counted, with a line break that is counted': (message) => `${Buffer.byteLength(message) + 1} ${message}\n`,
  'counted, with a line break that is not': (message) => `${Buffer.byteLength(message)} ${message}\n`,
  LF: (message) => `${message}\n`,
  CRLF: (message) => `${message}\r\n`,
  NUL: (message) => `${message}\0`,
  'LF and NUL': (message) => `${message}\n\0`,
}

/** A priority, or none, as programs that are no syslog send it: addresses, times, JSON. */
const message = fc.oneof(
  fc.stringMatching(/^<1>[a-z \u00e4]{0,40}$/),
  fc.constantFrom('203.0.113.7 - - [x] "GET"', '1764064800.250 x', '{"a": 1}', '77', '2026-11-25T10 x'),
  // The version of RFC 5424 is no length.
  fc.constantFrom('1 2026-11-25T10:00:00Z host app - - - x', '1 - - - - - -'),
)

const cutAt = (bytes: Buffer, cuts: readonly number[]): string[] => {
  const frames = new SyslogFrames()
  const seen: string[] = []
  let left = bytes
  for (const cut of [...cuts, bytes.length]) {
    for (const { text, isTooLong } of frames.push(left.subarray(0, cut)))
      seen.push(isTooLong ? `too long: ${text.slice(0, 4)}` : text)
    left = left.subarray(cut)
  }
  const { text } = frames.rest() ?? {}
  return text === undefined ? seen : [...seen, text]
}

t.test('ends without messages take no longer than messages', async (t) => {
  // If each were looked for the other kind of end, the test would take minutes.
  t.same([...new SyslogFrames().push(Buffer.alloc(2 * 1024 * 1024))], [])
})

t.test('a stream of messages is cut, however they are framed, and wherever its chunks end', async (t) => {
  const framed = fc.tuple(message, fc.constantFrom(...Object.keys(framings)))
  fc.assert(
    fc.property(fc.array(framed, { maxLength: 20 }), fc.array(fc.nat(30)), (messages, cuts) => {
      const bytes = Buffer.from(messages.map(([text, framing]) => framings[framing]!(text)).join(''))
      return JSON.stringify(cutAt(bytes, cuts)) === JSON.stringify(messages.map(([text]) => text))
    }),
    { numRuns: 500 },
  )
  t.strictSame(cutAt(Buffer.from('<1>a\0<1>b\0'), [3]), ['<1>a', '<1>b'])
  t.strictSame(cutAt(Buffer.from('50 <1>cut by the end of the connection'), []), [
    '<1>cut by the end of the connection',
  ])
  t.equal(new SyslogFrames().rest(), undefined)
})

t.test('a message has a bound, and those behind it are read', async (t) => {
  const zeros = `${'\0'.repeat(250_000)}x`
  t.strictSame(
    [...new SyslogFrames().push(Buffer.from(`250001 ${zeros}`))],
    [{ text: zeros, isTooLong: false }],
  )
  const long = `<1>${'1'.repeat(300_000)}`
  for (const cuts of [[], [1, 3, 270_000], [262_144, 30_000], [290_000, 10_000, 5]])
    for (const [name, frame] of Object.entries(framings))
      t.strictSame(
        cutAt(Buffer.from(`<1>before\n${frame(long)}9 <1>behind`), cuts),
        ['<1>before', 'too long: <1>1', '<1>behind'],
        `${name}, ${cuts}`,
      )
  t.match(new SyslogFrames().rest(), undefined)
  t.throws(() => [...new SyslogFrames().push(Buffer.from('999999999 x'))], /length that is none/)
})
