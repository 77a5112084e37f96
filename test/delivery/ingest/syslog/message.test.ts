import t from 'tap'
import { syslogMessage } from '../../../../src/delivery/ingest/syslog/message.js'

const json = '{"a": 1, "b": "c: d", "host": "web nginx: x"}'
const envoy = '[2026-04-15T20:17:00.310Z] "GET / HTTP/2" 200'

t.test('the text of a message', async (t) => {
  const cases = {
    '<134>Nov 25 10:00:00 haproxy[123]: 192.0.2.1:1 [x]': '192.0.2.1:1 [x]',
    '<134>Nov  5 10:00:00 lb-1 haproxy[123]: a: b': 'a: b',
    '<190>Nov 25 10:00:00 web nginx: {"a":"b: c"}': '{"a":"b: c"}',
    '<190>Nov 25 10:00:00 nginx: {"a":1}': '{"a":1}',
    '<190>nginx: text': 'text',
    '<134>1 2026-11-25T10:00:00.123Z host haproxy 12 - - text': 'text',
    '<134>1 2026-11-25T10:00:00Z host app - ID [a@1 b="c \\] d"][e@1] \uFEFFtext': 'text',
    // A bracket in a value should have a backslash; not all senders know.
    '<134>1 2026-11-25T10:00:00Z host app - ID [a@1 b="c] d" e="\\"]"] text': 'text',
    '<134>1 - - - - - -': '',
    'no head': 'no head',
  }
  for (const [message, text] of Object.entries(cases)) t.equal(syslogMessage(message).text, text, message)
})

t.test('JSON and other texts with spaces and colons stay whole, with a tag and without', async (t) => {
  const heads = [
    '<190>',
    '<190>Nov 25 10:00:00 ',
    '<190>Nov 25 10:00:00 web ',
    '<190>Nov 25 10:00:00 web.example.com nginx: ',
    '<190>Nov 25 10:00:00 2001:db8::1 nginx[12]:',
    '<190>Nov 25 2026 10:00:00.123 web nginx: @cee: ',
    '<190>2026-11-25T10:00:00.123456+01:00 web nginx: ',
    '<190>2026-11-25T10:00:00Z web ',
    '<190>1 2026-11-25T10:00:00Z web nginx - - - ',
    '<190>1 2026-11-25T10:00:00Z web nginx - - [x@1 y="z"] \uFEFF',
    'Nov 25 10:00:00 web nginx: ',
    'Nov 25 10:00:00 web docker/proxy[12]: ',
    'Nov 25 10:00:00 web ',
    '2026-11-25T10:00:00.123456+01:00 web nginx[12]: ',
    // journalctl: short-iso (older and newer), short-full, short-unix, short-monotonic.
    '2026-11-25T10:00:00+0100 web nginx[12]: ',
    '2026-11-25T10:00:00,123456+01:00 web nginx[12]: ',
    'Wed 2026-11-25 10:00:00 CET web nginx[12]: ',
    '1795600800.123456 web nginx[12]: ',
    '[ 5012.123456] web nginx[12]: ',
    // HAProxy: iso, short, timed, and a tag without a host in a file.
    '2026-11-25T10:00:00+01:00 ',
    '<134>2026-11-25T10:00:00+01:00 ',
    'Nov 25 10:00:00 haproxy[12]: ',
    'Nov 25 10:00:00 ',
    '1 2026-11-25T10:00:00Z web nginx - - - ',
  ]
  const clf = 'www.example.com 192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1'
  const haproxy = '203.0.113.7:33317 [06/Feb/2026:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750'
  for (const head of heads)
    for (const text of [json, envoy, haproxy, clf])
      t.equal(syslogMessage(`${head}${text}`).text, text, `${head}${text.slice(0, 3)}`)
})

t.test('what is no head is not cut', async (t) => {
  const texts = [
    '203.0.113.7:33317 [06/Feb/2026:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750',
    '2001:db8::7 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1',
    'www.example.com 192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1',
  ]
  for (const text of texts) {
    t.equal(syslogMessage(text).text, text)
    t.equal(syslogMessage(`<134>${text}`).text, text)
    t.equal(syslogMessage(`<134>Nov 25 10:00:00 ${text}`).text, text)
  }
  for (const text of [json, envoy]) t.equal(syslogMessage(text).text, text)
})
