/** Changes under running processes: the configuration, the API stopped, streams recreated or full. */
import t from 'tap'
import { deliveriesStream, deliverySubject, recordsStream } from '../../src/wire/names.js'
import { isReady, metricsOf, readyOf } from '../harness/pages.js'
import { killRole, processesBelow } from '../harness/tree.js'
import { until } from '../harness/weir.js'
import {
  checkBooks,
  expectedEvents,
  openDeployment,
  publish,
  record,
  settle,
  untilArrived,
} from './deployment.js'

t.setTimeout(300_000)

t.test('changes under running processes', async (t) => {
  const deployment = await openDeployment(t)
  const nats = await deployment.weir.nats()

  await t.test('streams recreated under running processes', async (t) => {
    await publish(nats, 'first', 0, 200)
    await untilArrived(deployment, expectedEvents(200))
    for (const stream of [recordsStream, deliveriesStream])
      await nats.request(`$JS.API.STREAM.DELETE.${stream}`, '', 2_000)
    await until('they are recreated', async () => {
      const infos = await Promise.all([recordsStream, deliveriesStream].map((name) => nats.streamInfo(name)))
      return infos.every((info) => info !== undefined)
    })
    await publish(nats, 'second', 200, 400)
    await untilArrived(deployment, expectedEvents(400))
    await checkBooks(t, deployment, 400)
  })

  await t.test('a change takes effect within two seconds; traffic continues without the API', async (t) => {
    const all = { service: 'kinesis', name: 'all' } as const
    const decide = async (): Promise<string> => {
      const answer = await nats.request('weir.decide', record('asked', 0), 2_000)
      return JSON.parse(Buffer.from(answer).toString()).decision
    }
    t.equal(await decide(), 'allow')
    const { api } = deployment.weir
    const { ip_restriction } = await api.tcpEdge.get(deployment.edgeId)
    const ip_policy_id = ip_restriction?.ip_policies[0]?.id ?? ''
    await api.ipPolicyRule.create({ ip_policy_id, cidr: '10.1.0.0/16', action: 'deny' })
    await settle()
    t.equal(await decide(), 'block')
    await publish(nats, 'before', 400, 500)
    await until(
      'the first are there',
      async () => (await deployment.emulator.client.counts(all)).events === 500,
    )
    for await (const { id, destinations } of api.eventSubscription.list())
      if (destinations[0]?.id === deployment.destinations.all) await api.eventSubscription.delete(id)
    await settle()
    await publish(nats, 'after', 500, 600)
    await until('they are processed', async () => {
      const metrics = await metricsOf(deployment.weir.url)
      return metrics.includes('weir_records_in_total 600')
    })
    t.equal(
      (await deployment.emulator.client.counts(all)).events,
      500,
      'a deleted subscription produces nothing',
    )

    const filtered = { service: 'kinesis', name: 'filtered' } as const
    const there = (await deployment.emulator.client.counts(filtered)).unique
    const pipelines = () =>
      processesBelow(deployment.weir.process.pid).filter(({ role }) => role === 'pipeline')
    const before = pipelines()
    t.equal(killRole(deployment.weir.process.pid, 'api'), 1)
    await publish(nats, 'alone', 600, 700)
    await until(
      'events go on',
      async () => (await deployment.emulator.client.counts(filtered)).unique === there + 25,
    )
    t.strictSame(pipelines(), before, 'the pipeline is the same process')
  })
})

t.test('no room for packs: nothing is lost, readiness gives the reason, and it recovers', async (t) => {
  const deployment = await openDeployment(t, { WEIR_STORAGE_MAX: '16MiB' })
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
  await publish(nats, 'run', 0, 4_000)
  await nats.purgeSubject(deliveriesStream, blocker)
  await untilArrived(deployment, expectedEvents(4_000))
  await until('it is ready', () => isReady(deployment.weir.url))
  await checkBooks(t, deployment, 4_000)
})
