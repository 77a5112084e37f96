/** Changes under running processes: streams full or recreated, the configuration, the API stopped. */
import t from 'tap'
import { inputConsumer } from '../../src/delivery/wire/names.js'
import { isStorageFull } from '../../src/ground/nats/retry.js'
import { deliveriesStream, deliverySubject, recordsStream } from '../harness/first-partition.js'
import { untilInUse } from '../harness/in-use.js'
import { isReady, readyOf } from '../harness/pages.js'
import { killRole, processesBelow } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import {
  arrivedRecords,
  checkBooks,
  type Deployment,
  expectedEvents,
  openDeployment,
  publish,
  record,
  untilArrived,
} from './deployment.js'

// One deployment for all tests, because starts take longest. Each continues with the next record.
const deployment = await openDeployment(t, { WEIR_STORAGE_MAX: '16MiB' })
let records = 0

/** A pipeline that is stopped, as on an overloaded machine. */
function signalPipelines(deployment: Deployment, signal: 'SIGSTOP' | 'SIGCONT'): void {
  const pipelines = processesBelow(deployment.weir.process.pid).filter(({ role }) => role === 'pipeline')
  for (const { pid } of pipelines) process.kill(pid, signal)
}

/** A record of some 60 KiB, by means of an unknown member, which is ignored. */
const wideRecord = (n: number): string => record('run', n).replace('{', `{"note":"${'x'.repeat(60_000)}",`)

t.test('full: it refuses records, discards none, and accepts them again once there is room', async (t) => {
  const nats = await deployment.weir.nats()
  const state = async () => (await nats.streamInfo(recordsStream))!.state
  signalPipelines(deployment, 'SIGSTOP')
  const publishOnce = (n: number) =>
    nats.publish('weir.records.eu.node-1', wideRecord(n), { msgId: `run.${n}`, triesMax: 1 })
  let stored = 0
  const fill = async (): Promise<void> => {
    for (; ; stored += 1) await publishOnce(stored)
  }
  const refusal = await fill().then(
    () => undefined,
    (error: unknown) => error,
  )
  t.match(refusal, { message: /maximum bytes exceeded/ }, 'the ingress node gets the error')
  t.ok(isStorageFull(refusal), 'and may try again')
  t.match(await state(), { messages: stored, first_seq: 1, last_seq: stored }, 'nothing was discarded')
  await until('readiness says why', async () => {
    const { status, failing } = await readyOf(deployment.weir.url)
    return status === 503 && JSON.stringify(failing).includes(recordsStream)
  })
  t.match(await state(), { messages: stored, first_seq: 1 }, 'nothing is discarded later')

  signalPipelines(deployment, 'SIGCONT')
  const more = stored + 100
  for (let n = stored; n < more; n += 1)
    await until(`record ${n} is taken`, () => publishOnce(n).then(() => true, retryWhereFull))
  await untilArrived(deployment, expectedEvents(more))
  t.equal((await arrivedRecords(deployment)).size, more, 'every accepted record arrived')
  t.ok((await state()).first_seq > 1, 'processed records made room')
  await until('it is ready', () => isReady(deployment.weir.url))
  await checkBooks(t, deployment, more)
  records = more
})

const retryWhereFull = (error: unknown): boolean => {
  if (!isStorageFull(error)) throw error
  return false
}

t.test('no room for packs: nothing is lost, readiness gives the reason, and it recovers', async (t) => {
  const nats = await deployment.weir.nats()
  const blocker = deliverySubject('ed_nobody')
  const filler = Buffer.alloc(700 * 1024, 'x')
  const fill = async (): Promise<void> => {
    for (;;) await nats.publish(blocker, filler, { triesMax: 1 })
  }
  await t.rejects(fill(), 'the stream refuses messages beyond its bound')
  await nats.publish(blocker, Buffer.alloc(100), { triesMax: 1 }).catch(() => {})
  await until('readiness says why', async () => {
    const { status, failing } = await readyOf(deployment.weir.url)
    return status === 503 && JSON.stringify(failing).includes(deliveriesStream)
  })
  const from = records
  records += 1_000
  await publish(nats, 'run', from, records)
  await nats.purgeSubject(deliveriesStream, blocker)
  await untilArrived(deployment, expectedEvents(records))
  await until('it is ready', () => isReady(deployment.weir.url))
  await checkBooks(t, deployment, records)
})

t.test('streams recreated under running processes', async (t) => {
  const nats = await deployment.weir.nats()
  const publishAndWait = async (run: string): Promise<void> => {
    const from = records
    records += 200
    await publish(nats, run, from, records)
    await untilArrived(deployment, expectedEvents(records))
  }
  await publishAndWait('first')
  for (const stream of [recordsStream, deliveriesStream])
    await nats.request(`$JS.API.STREAM.DELETE.${stream}`, '', 30_000)
  await until('they are recreated', async () => {
    const infos = await Promise.all([recordsStream, deliveriesStream].map((name) => nats.streamInfo(name)))
    return infos.every((info) => info !== undefined)
  })
  await publishAndWait('second')
  await checkBooks(t, deployment, records)
})

t.test('recreated under a working pipeline: later records are processed', async (t) => {
  const nats = await deployment.weir.nats()
  const before = (await nats.streamInfo(recordsStream))!.config.description
  signalPipelines(deployment, 'SIGSTOP')
  await publish(nats, 'lost', 1_000_000, 1_000_300, 1)
  // By then the server has delivered some of them to the pipeline.
  await until('some are in flight', async () => {
    const position = await nats.consumerInfo(recordsStream, inputConsumer)
    return position!.delivered > position!.ackFloor
  })
  await nats.request(`$JS.API.STREAM.DELETE.${recordsStream}`, '', 30_000)
  await until('it is recreated', async () => {
    const info = await nats.streamInfo(recordsStream)
    return info !== undefined && info.config.description !== before
  })
  await publish(nats, 'run', records, records + 400, 1)
  signalPipelines(deployment, 'SIGCONT')
  await until(
    'later records are acknowledged',
    async () => (await nats.consumerInfo(recordsStream, inputConsumer))?.ackFloor === 400,
  )
  const after = Array.from({ length: 400 }, (_, n) => records + n)
  const arrived = async () => {
    const numbers = await arrivedRecords(deployment)
    return after.filter((n) => numbers.has(n)).length
  }
  await until('it is delivered', async () => (await arrived()) === after.length)
  t.equal(await arrived(), after.length)
})

t.test('a change takes effect within two seconds; traffic continues without the API', async (t) => {
  const nats = await deployment.weir.nats()
  const all = { service: 'kinesis', name: 'all' } as const
  const decide = async (): Promise<string> => {
    const answer = await nats.request('weir.decide', record('asked', 0), 30_000)
    return JSON.parse(Buffer.from(answer).toString()).decision
  }
  t.equal(await decide(), 'allow')
  const { api } = deployment.weir
  const { ip_restriction } = await api.tcpEdge.get(deployment.edgeId)
  const ip_policy_id = ip_restriction?.ip_policies[0]?.id ?? ''
  await api.ipPolicyRule.create({ ip_policy_id, cidr: '10.1.0.0/16', action: 'deny' })
  await untilInUse(deployment.weir)
  t.equal(await decide(), 'block')
  const { client } = deployment.emulator
  const eventsOfAll = async () => (await client.counts(all)).events
  const filtered = { service: 'kinesis', name: 'filtered' } as const
  const filteredEvents = async () => (await client.counts(filtered)).unique
  const [allBefore, filteredBefore] = [await eventsOfAll(), await filteredEvents()]
  await publish(nats, 'before', 0, 100)
  await until('the first are there', async () => (await eventsOfAll()) === allBefore + 100)
  for await (const { id, destinations } of api.eventSubscription.list())
    if (destinations[0]?.id === deployment.destinations.all) await api.eventSubscription.delete(id)
  await untilInUse(deployment.weir)
  await publish(nats, 'after', 100, 200)
  await until('they are processed', async () => (await filteredEvents()) === filteredBefore + 50)
  t.equal(await eventsOfAll(), allBefore + 100, 'a deleted subscription produces nothing')

  const pipelines = () =>
    processesBelow(deployment.weir.process.pid).filter(({ role }) => role === 'pipeline')
  const before = pipelines()
  t.equal(await killRole(deployment.weir.process.pid, 'api'), 1)
  await publish(nats, 'alone', 200, 300)
  await until('events go on', async () => (await filteredEvents()) === filteredBefore + 75)
  t.strictSame(pipelines(), before, 'the pipeline is the same process')
})
