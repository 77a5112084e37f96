/** A NATS store, or one of its streams, restored from an earlier copy under running and restarting processes. */
import t from 'tap'
import { ApiError } from '../../src/client/client.js'
import type { Nats } from '../../src/nats/nats.js'
import { deliveriesStream } from '../../src/wire/names.js'
import { messagesOf, OwnNats } from '../harness/own-nats.js'
import { isReady } from '../harness/pages.js'
import { tempDir } from '../harness/temp-dir.js'
import { killRole, processesBelow } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import {
  checkBooks,
  type Deployment,
  expectedEvents,
  openDeployment,
  publish,
  settle,
  stream,
  target,
  untilArrived,
} from './deployment.js'

t.setTimeout(480_000)

async function openDeploymentOnNats(t: {
  teardown(close: () => unknown): unknown
}): Promise<{ deployment: Deployment; server: OwnNats }> {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.stop())
  return { server, deployment: await openDeployment(t, { NATS_URL: server.url }) }
}

const isRefusal = (error: unknown): boolean => {
  if (error instanceof ApiError) return false
  throw error
}

/** As soon as the server answers. */
async function lastSequence(nats: Nats, stream: string): Promise<number> {
  let last = 0
  await until('the stream is there', async () => {
    const info = await nats.streamInfo(stream).catch(() => undefined)
    last = info?.state.last_seq ?? 0
    return info !== undefined
  })
  return last
}

t.test('packs restored from an earlier copy: consumers that are ahead continue at their end', async (t) => {
  const { deployment, server } = await openDeploymentOnNats(t)
  const nats = await deployment.weir.nats()
  const restarted = async (meanwhile: () => void): Promise<void> => {
    await server.stop()
    meanwhile()
    await server.start()
  }
  await publish(nats, 'run', 0, 100)
  await untilArrived(deployment, expectedEvents(100))
  let putBack = (): void => {}
  await restarted(() => {
    putBack = server.copy(messagesOf(deliveriesStream))
  })
  await publish(nats, 'run', 100, 1_000, 10)
  await untilArrived(deployment, expectedEvents(1_000))
  const before = await lastSequence(nats, deliveriesStream)
  await restarted(putBack)
  t.ok((await lastSequence(nats, deliveriesStream)) < before, 'sequences begin again at lower ones')
  await publish(nats, 'run', 1_000, 1_100)
  await untilArrived(deployment, expectedEvents(1_100))
  await checkBooks(t, deployment, 1_100)
})

t.test(
  "the whole store put back to yesterday's: nothing crashes, and what is new is delivered",
  async (t) => {
    const { deployment, server } = await openDeploymentOnNats(t)
    const nats = await deployment.weir.nats()
    await publish(nats, 'run', 0, 100)
    await untilArrived(deployment, expectedEvents(100))
    await server.stop()
    const putBack = server.copy()
    await server.start()

    const late = { service: 'kinesis', name: 'late' } as const
    const made = target(await stream(deployment.emulator, late.name), deployment.emulator)
    const { api } = deployment.weir
    // Writes are refused until everything is compared; with a key, the client sends them again.
    const { id } = await api.eventDestination.create(made, { idempotencyKey: 'late-1' })
    const sources = [{ type: 'tcp_connection_closed.v0' }]
    await api.eventSubscription.create({ sources, destination_ids: [id] }, { idempotencyKey: 'late-2' })
    await settle()
    await publish(nats, 'run', 100, 300)
    await untilArrived(deployment, expectedEvents(300))

    const roles = () => processesBelow(deployment.weir.process.pid)
    const before = roles()
    await server.stop()
    putBack()
    await server.start()
    await until('it is ready', () => isReady(deployment.weir.url))
    await publish(nats, 'run', 300, 400)
    await untilArrived(deployment, expectedEvents(400))
    t.strictSame(roles(), before, 'no process was restarted')

    /** Records, each counted once: events under way when a process was killed may arrive twice. */
    const arrivedSince = async (from: number): Promise<number> => {
      const arrived = new Set<number>()
      for await (const { data } of deployment.emulator.client.received(late)) {
        const { bytes_in } = JSON.parse(data).object.conn
        if (bytes_in >= from) arrived.add(bytes_in)
      }
      return arrived.size
    }
    // Running roles keep today's configuration; restarted ones find it in the bucket as soon as the API has repaired it.
    await until(
      'changes are accepted again',
      () => api.ipPolicy.create({}).then(() => true, isRefusal),
      60_000,
    )
    await until('a destination of today was kept', async () => (await arrivedSince(300)) === 100)
    for (const role of ['pipeline', 'deliver']) t.equal(killRole(deployment.weir.process.pid, role), 1)
    await publish(nats, 'run', 400, 500)
    await untilArrived(deployment, expectedEvents(500))
    let arrived = 0
    await until(
      'a destination of today gets all of them, too',
      async () => {
        arrived = await arrivedSince(400)
        return arrived >= 100
      },
      90_000,
    ).catch(async (error: Error) => {
      const status = await api.deliveryStatus(id).catch(String)
      const output = deployment.weir.process.output().slice(-3_000)
      throw new Error(`${error.message} ${arrived} of 100. ${JSON.stringify(status)} ${output}`)
    })
    t.equal(arrived, 100)
    t.equal((await api.eventDestination.get(id)).id, id)
    const { id: another } = await api.ipPolicy.create({})
    t.equal((await api.ipPolicy.get(another)).id, another, 'changes are possible')
  },
)
