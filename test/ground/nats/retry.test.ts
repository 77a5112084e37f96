/** When retries of a call end. */
import { JetStreamApiError } from '@nats-io/jetstream'
import t from 'tap'
import { within } from '../../../src/ground/core/clock.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { retried } from '../../../src/ground/nats/retry.js'
import { serverName, startNatsCluster } from '../../harness/nats-cluster.js'
import { OwnNats } from '../../harness/own-nats.js'
import { tempDir } from '../../harness/temp-dir.js'

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

/** A call that JetStream refuses once. */
function failing(code: number, description = 'refused', status = 400): () => Promise<number> {
  let calls = 0
  return async () => {
    calls += 1
    if (calls === 1) throw new JetStreamApiError({ code: status, err_code: code, description })
    return calls
  }
}

t.test(
  'a stream without room in the buffer of its server is asked again, one that is missing not',
  async (t) => {
    t.equal(await retried(failing(10167)), 2)
    await t.rejects(retried(failing(10059)), { message: 'refused' })
  },
)

t.test('a server of the cluster that is away is waited for, one that was never there is not', async (t) => {
  const noPeers = 'no suitable peers for placement'
  t.equal(await retried(failing(10005, `${noPeers}, peer offline`)), 2)
  await t.rejects(retried(failing(10005, noPeers)), { message: noPeers })
})

t.test(
  'a server that is not available is asked again, one that cannot do it in a cluster is not',
  async (t) => {
    const description = 'refused'
    // System not available, JetStream not enabled, peer remap failed.
    for (const code of [10008, 10039, 10076, 10075])
      t.equal(await retried(failing(code, description, 503)), 2, `${code}`)
    for (const code of [10010, 10036, 10063])
      await t.rejects(retried(failing(code, description, 503)), { message: description }, `${code}`)
  },
)

t.test('what a cluster has not stored in time is published again until it has', async (t) => {
  const cluster = await startNatsCluster(tempDir(t))
  t.teardown(() => cluster.close())
  const nats = await openNats({ servers: cluster.url.split(','), name: 'test', replicas: 3 })
  t.teardown(() => nats.close())
  const limits = { bytesMax: 2 ** 20, ageMaxMs: 0, duplicateWindowMs: 60_000 }
  await nats.ensureStream({ name: 'STREAM', subjects: ['a'], retention: 'limits', discard: 'new', ...limits })
  const leader = (await nats.streamInfo('STREAM'))!.cluster!.leader!
  const others = cluster.servers.filter((_, n) => serverName(n) !== leader)
  // Not by way of a server that is frozen.
  const near = await openNats({
    servers: [cluster.servers.find((server) => !others.includes(server))!.url],
    name: 'near',
    replicas: 3,
  })
  t.teardown(() => near.close())
  for (const server of others) server.freeze()
  let tries = 0
  const retrying = (): void => {
    tries += 1
    if (tries === 3) for (const server of others) server.thaw()
  }
  const { sequence } = await retried(() => near.publish('a', 'b', { msgId: 'b', triesMax: 1 }), { retrying })
  t.equal(sequence, 1)
  t.ok(tries >= 3)
})
