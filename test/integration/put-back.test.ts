/** A NATS store, or one of its streams, restored from an earlier copy under running and restarting processes. */
import t from 'tap'
import type { Nats } from '../../src/ground/nats/nats.js'
import { ApiError } from '../../src/words/client/client.js'
import { deliveriesStream, recordsStream } from '../harness/first-partition.js'
import { untilInUse } from '../harness/in-use.js'
import { messagesOf, OwnNats } from '../harness/own-nats.js'
import { isReady } from '../harness/pages.js'
import { tempDir } from '../harness/temp-dir.js'
import { killRole, processesBelow } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import {
  checkBooks,
  expectedEvents,
  openDeployment,
  publish,
  stream,
  target,
  untilArrived,
} from './deployment.js'

// One deployment for all tests, because starts take longest. Each continues with the next record.
const server = new OwnNats(tempDir(t))
await server.start()
t.teardown(() => server.stop())
const deployment = await openDeployment(t, { NATS_URL: server.url })
let records = 0

/** Publishes this many more records, and waits for their events. */
async function publishAndWait(nats: Nats, count: number, perMessage = 50): Promise<void> {
  const from = records
  records += count
  await publish(nats, 'run', from, records, perMessage)
  await untilArrived(deployment, expectedEvents(records))
}

async function restarted(meanwhile: () => void): Promise<void> {
  await server.stop()
  meanwhile()
  await server.start()
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

const restoredStreams = [
  { of: 'records', stream: recordsStream },
  { of: 'packs', stream: deliveriesStream },
]

for (const { of, stream } of restoredStreams) {
  t.test(`${of} restored from an earlier copy: consumers that are ahead continue at their end`, async (t) => {
    const nats = await deployment.weir.nats()
    await publishAndWait(nats, 100)
    let putBack = (): void => {}
    await restarted(() => {
      putBack = server.copy(messagesOf(stream))
    })
    await publishAndWait(nats, 600, 10)
    const before = await lastSequence(nats, stream)
    await restarted(putBack)
    t.ok((await lastSequence(nats, stream)) < before, 'sequences begin again at lower ones')
    await publishAndWait(nats, 100)
    // A process that starts finds a consumer that is ahead of its stream, too.
    for (const role of ['pipeline', 'deliver']) t.equal(await killRole(deployment.weir.process.pid, role), 1)
    await publishAndWait(nats, 50, 10)
    await checkBooks(t, deployment, records)
  })
}

t.test(
  "the whole store put back to yesterday's: nothing crashes, and what is new is delivered",
  async (t) => {
    const nats = await deployment.weir.nats()
    let putBack = (): void => {}
    await restarted(() => {
      putBack = server.copy()
    })

    const late = { service: 'kinesis', name: 'late' } as const
    const made = target(await stream(deployment.emulator, late.name), deployment.emulator)
    const { api } = deployment.weir
    // Writes are refused until everything is compared; with a key, the client sends them again.
    const { id } = await api.eventDestination.create(made, { idempotencyKey: 'late-1' })
    const sources = [{ type: 'tcp_connection_closed.v0' }]
    await api.eventSubscription.create({ sources, destination_ids: [id] }, { idempotencyKey: 'late-2' })
    await untilInUse(deployment.weir)
    await publishAndWait(nats, 200)

    const roles = () => processesBelow(deployment.weir.process.pid)
    const before = roles()
    await restarted(putBack)
    await until('it is ready', () => isReady(deployment.weir.url))
    const today = records
    await publishAndWait(nats, 100)
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
    await until('changes are accepted again', () => api.ipPolicy.create({}).then(() => true, isRefusal))
    await until('a destination of today was kept', async () => (await arrivedSince(today)) === 100)
    for (const role of ['pipeline', 'deliver']) t.equal(await killRole(deployment.weir.process.pid, role), 1)
    const afterwards = records
    await publishAndWait(nats, 100)
    let arrived = 0
    await until('a destination of today gets all of them, too', async () => {
      arrived = await arrivedSince(afterwards)
      return arrived >= 100
    }).catch(async (error: Error) => {
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
