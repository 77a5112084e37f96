import fc from 'fast-check'
import t from 'tap'
import { SyslogFrames, syslogText } from '../../src/ingest/syslog.js'

t.test('the text of a message', async (t) => {
  const cases = {
    '<134>Nov 25 10:00:00 haproxy[123]: 192.0.2.1:1 [x]': '192.0.2.1:1 [x]',
    '<134>Nov  5 10:00:00 lb-1 haproxy[123]: a: b': 'a: b',
    '<190>Nov 25 10:00:00 web nginx: {"a":"b: c"}': '{"a":"b: c"}',
    '<190>Nov 25 10:00:00 nginx: {"a":1}': '{"a":1}',
    '<190>nginx: text': 'text',
    '<134>1 2026-11-25T10:00:00.123Z host haproxy 12 - - text': 'text',
    '<134>1 2026-11-25T10:00:00Z host app - ID [a@1 b="c \\] d"][e@1] \uFEFFtext': 'text',
    '<134>1 - - - - - -': '',
    'no head': 'no head',
  }
  for (const [message, text] of Object.entries(cases)) t.equal(syslogText(message), text, message)
})

t.test('a stream of messages is cut, wherever its chunks end', async (t) => {
  const message = fc.stringMatching(/^<1>[a-z \u00e4]{0,40}$/)
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 20 }),
      fc.boolean(),
      fc.array(fc.nat(30)),
      (messages, counted, cuts) => {
        const framed = messages.map((each) => (counted ? `${Buffer.byteLength(each)} ${each}` : `${each}\n`))
        let bytes = Buffer.from(framed.join(''))
        const frames = new SyslogFrames()
        const seen: string[] = []
        for (const cut of cuts) {
          seen.push(...frames.push(bytes.subarray(0, cut)))
          bytes = bytes.subarray(cut)
        }
        seen.push(...frames.push(bytes))
        return JSON.stringify(seen) === JSON.stringify(messages) && frames.rest() === ''
      },
    ),
  )
  t.equal(new SyslogFrames().rest(), '')
  const zeros = `${'\0'.repeat(250_000)}x`
  t.strictSame([...new SyslogFrames().push(Buffer.from(`250001 ${zeros}`))], [zeros], 'at once')
  t.throws(() => [...new SyslogFrames().push(Buffer.from('999999999 x'))], /length that is none/)
  t.throws(() => [...new SyslogFrames().push(Buffer.from(`<${'1'.repeat(300_000)}`))], /too long/)
})
