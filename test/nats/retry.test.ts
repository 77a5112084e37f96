/** When retries of a call end. */
import t from 'tap'
import { within } from '../../src/core/clock.js'
import { openNats } from '../../src/nats/nats.js'
import { OwnNats } from '../harness/own-nats.js'
import { tempDir } from '../harness/temp-dir.js'

const giveUpMs = 30_000
const stillRetried = 'The call is still retried.'

t.test('calls on a closed connection fail instead of being retried for ever', async (t) => {
  const server = new OwnNats(tempDir(t))
  t.teardown(() => server.stop())
  await server.start()
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
  await nats.close()
  await t.rejects(within(giveUpMs, nats.publish('a', 'b'), stillRetried), { name: 'ClosedConnectionError' })
  await t.rejects(within(giveUpMs, nats.findBucket('a'), stillRetried), { name: 'ClosedConnectionError' })
})

t.test('a call that waits for its server fails when the connection is closed', async (t) => {
  const server = new OwnNats(tempDir(t))
  await server.start()
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1 })
  await server.stop()
  const published = within(giveUpMs, nats.publish('a', 'b'), stillRetried)
  const refused = t.rejects(published, { name: 'ClosedConnectionError' })
  await nats.close()
  await refused
})
