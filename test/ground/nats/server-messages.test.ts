import t from 'tap'
import { NotNatsError, ServerMessages } from '../../../src/ground/nats/server-messages.js'

const taken = (messages: ServerMessages): string[] => {
  const found: string[] = []
  for (let next = messages.take(); next !== undefined; next = messages.take())
    found.push(next.bytes.toString())
  return found
}

const whole = [
  'INFO {"version":"2.10.0"} \r\n',
  'PING\r\n',
  '-ERR \'Permissions Violation for Publish to "x"\'\r\n',
  'MSG a.b 1 5\r\n12\r\n5\r\n',
  'MSG a.b 1 reply.to 0\r\n\r\n',
  'HMSG _INBOX.a 12 16 16\r\nNATS/1.0 503\r\n\r\n\r\n',
  'HMSG a 1 b 12 14\r\nNATS/1.0\r\n\r\nok\r\n',
  '+OK\r\n',
  'PONG\r\n',
]

t.test('messages are whole, wherever the chunks end', (t) => {
  const bytes = Buffer.from(whole.join(''))
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const messages = new ServerMessages()
    const found: string[] = []
    for (let at = 0; at < bytes.length; at += size) {
      messages.add(bytes.subarray(at, at + size))
      found.push(...taken(messages))
    }
    t.strictSame(found, whole, `chunks of ${size}`)
    t.ok(messages.isEmpty)
  }
  t.end()
})

t.test('what is no message, or too large', (t) => {
  const long = 'x'.repeat(70_000)
  const bad = [
    'HTTP/1.1 400 Bad Request\r\n',
    'ZZ\n{"level":50}\r\n',
    'INFO null\r\n',
    'MSG a 1\r\n',
    'MSG a 1 -5\r\n',
    'MSG a 1 9000000000\r\n',
    'MSG a 1 300000\r\n',
    'MSG a 1 2\r\n12345\r\n',
    'HMSG a 1 5\r\n',
    `MSG ${long}`,
    `INFO {"a":"${long}"}\r\n`,
  ]
  for (const text of bad) {
    const messages = new ServerMessages()
    messages.add(Buffer.from(text))
    t.throws(() => taken(messages), NotNatsError, text.slice(0, 40))
  }
  t.end()
})
