/**
 * The clock of the machine is ten minutes off, ahead or behind: a running deployment delivers all the same, with keys and
 * with a role, and says what is wrong.
 */
import t from 'tap'
import { untilInUse } from '../harness/in-use.js'
import { metricsOf } from '../harness/pages.js'
import { until } from '../harness/weir.js'
import { publish, statusOf, stream, target } from './deployment.js'
import { openShared, ownKey } from './service.js'

const waitMs = 120_000
const count = 20
const roleArn = 'arn:aws:iam::123456789012:role/delivery'

t.test('ten minutes ahead, then ten minutes behind', async (t) => {
  const deployment = await openShared(t)
  const { weir, emulator, destinations } = deployment
  const { api } = weir
  t.teardown(() => emulator.client.setClock(0))
  await emulator.client.addKey(ownKey)
  await emulator.client.addRole({ roleArn, externalId: weir.accountId })
  const { kinesis } = target(await stream(emulator, 'role'), emulator).target
  const withRole = await api.eventDestination.create({
    target: { kinesis: { ...kinesis, auth: { role: { role_arn: roleArn } } } },
  })
  const source = { type: 'tcp_connection_closed.v0' }
  await api.eventSubscription.create({ sources: [source], destination_ids: [withRole.id] })
  await untilInUse(weir)
  const nats = await weir.nats()
  const arrived = async (name: string) => (await emulator.client.counts({ service: 'kinesis', name })).unique
  const isReported = (seconds: number) =>
    [...weir.process.output().matchAll(/"offset_seconds":(-?\d+)/g)].some(
      ([, offset]) => Math.abs(Number(offset) - seconds) < 60,
    )

  for (const [turn, minutes] of [10, -10].entries()) {
    await t.test(`AWS is ${minutes} minutes ahead`, async (t) => {
      await emulator.client.setClock(minutes * 60_000)
      const before = { all: await arrived('all'), role: await arrived('role') }
      await publish(nats, `turn ${turn}`, 0, count)
      for (const name of ['all', 'role'] as const)
        await until(
          `${name} gets its events`,
          async () => (await arrived(name)) === before[name] + count,
          waitMs,
        )
      t.ok(isReported(minutes * 60), 'a log line names the difference')
      t.match(weir.process.output(), /The clock of this machine differs from that of AWS/)
      for (const id of [destinations.all, withRole.id]) {
        t.match(await api.checkDestination(id), { error: null }, id)
        await api.sendTestEvent(id)
        t.match(await api.deliveryStatus(id), { state: 'healthy', counts: { dead_lettered: 0, dropped: 0 } })
      }
      const offset = /^weir_aws_clock_offset_seconds (-?\d+)$/m.exec(await metricsOf(weir.url))
      t.ok(Math.abs(Number(offset?.[1]) - minutes * 60) < 60, `the metric is ${offset?.[1]}`)
    })
  }

  await t.test('a refusal that stays: the advice names the clock, the error the difference', async (t) => {
    const message =
      'Signature expired: 20261120T100000Z is now earlier than 20261120T100500Z (20261120T101000Z - 5 min.)'
    const effect = { type: 'error', code: 'InvalidSignatureException', message, status: 400 } as const
    await emulator.client.addFault({ effect, resource: 'all' })
    await publish(nats, 'refused', 0, count)
    let status = await statusOf(deployment, 'all')
    await until(
      'the destination is paused',
      async () => {
        status = await statusOf(deployment, 'all')
        return status.state === 'paused'
      },
      waitMs,
    )
    t.match(status, { cause: 'credentials', advice: /the clock of the machine that delivers is wrong/ })
    t.match(
      status.last_error?.msg,
      /The clock of this machine is (5[4-9]\d|6[0-5]\d) s ahead of that of AWS\.$/,
    )
    t.match(await api.checkDestination(destinations.all), {
      advice: /the clock of the machine that delivers is wrong/,
    })
  })
})
