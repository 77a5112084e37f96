/** The reason of a dead letter on its way through NATS. */
import t from 'tap'
import { deadLetter, headerText } from '../../../src/delivery/wire/dead-letter.js'
import { deadEventsSubject, deadLetterHeaders } from '../../../src/delivery/wire/names.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'

t.test('what a server says in any language comes back as it was', async (t) => {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.kill())
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
  t.teardown(() => nats.close())
  const limits = { bytesMax: 1_000_000, ageMaxMs: 60_000, duplicateWindowMs: 60_000 }
  const stream = { name: 'DEAD', subjects: [deadEventsSubject], retention: 'limits', discard: 'new' } as const
  await nats.ensureStream({ ...limits, ...stream })
  const reason = 'Http418: The server answered 418: ungültig, 無効 \u{1F6AB}'
  const { data, headers } = deadLetter(Buffer.from('event'), { [deadLetterHeaders.reason]: reason }, 1e6)
  await nats.publish(deadEventsSubject, data, { msgId: 'one', headers })
  const stored = await nats.nextMessage('DEAD', deadEventsSubject)
  t.equal(stored?.headers?.get(deadLetterHeaders.reason), reason)
})

t.test('a header is one line, and not too long', (t) => {
  t.equal(headerText('a\r\nWeir-Account: ac_2\u2028\u0000…'), 'a??Weir-Account: ac_2???')
  t.equal(headerText('\u{1F6AB}'.repeat(2_000)).length, 1_300)
  t.equal(headerText(`${'x'.repeat(1_299)}\u{1F6AB}`).at(-1), '?', 'half a character')
  t.end()
})
