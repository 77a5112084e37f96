/** When retries of a call end. */
import { JetStreamApiError } from '@nats-io/jetstream'
import t from 'tap'
import { within } from '../../src/core/clock.js'
import { openNats } from '../../src/nats/nats.js'
import { retried } from '../../src/nats/retry.js'
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

t.test(
  'a stream for which the server has no buffer left is asked again, one that is missing is not',
  async (t) => {
    const failing = (code: number) => {
      let calls = 0
      return async () => {
        calls += 1
        if (calls === 1) throw new JetStreamApiError({ code: 429, err_code: code, description: 'refused' })
        return calls
      }
    }
    t.equal(await retried(failing(10167)), 2)
    await t.rejects(retried(failing(10059)), { message: 'refused' })
  },
)
