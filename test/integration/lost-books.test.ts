/** The books after their stream or bucket was deleted, or processes were killed. */
import t from 'tap'
import { booksBucket, ledgerStream } from '../../src/delivery/wire/names.js'
import { total } from '../harness/metrics.js'
import { metricsOf } from '../harness/pages.js'
import { killAll, killRole } from '../harness/tree.js'
import { startWeir, until } from '../harness/weir.js'
import { checkBooks, expectedEvents, openDeployment, publish, statusOf, untilArrived } from './deployment.js'

// One deployment for all tests, because starts take longest. The second begins with the records that the first sent.
const deployment = await openDeployment(t)

t.test('the bucket of snapshots is deleted under running processes: nothing is lost', async (t) => {
  await publish(await deployment.weir.nats(), 'run', 0, 100)
  await untilArrived(deployment, expectedEvents(100))
  // A snapshot is saved at a stop, and the entries in it are removed from the ledger.
  await deployment.weir.stop()
  deployment.weir = await startWeir(deployment.dataDir, deployment.env)
  const nats = await deployment.weir.nats()
  t.ok((await nats.streamInfo(ledgerStream))!.state.first_seq > 1, 'the ledger begins later')
  await nats.request(`$JS.API.STREAM.DELETE.KV_${booksBucket}`, '', 30_000)
  await publish(nats, 'run', 100, 200)
  await untilArrived(deployment, expectedEvents(200))
  await checkBooks(t, deployment, 200)
  await deployment.weir.stop()
  deployment.weir = await startWeir(deployment.dataDir, deployment.env)
  await checkBooks(t, deployment, 200)
})

t.test('deleted books start again; saved outcomes survive a process', async (t) => {
  await t.test(
    'the ledger deleted under running processes: it is recreated, and the books begin at zero',
    async (t) => {
      const nats = await deployment.weir.nats()
      await publish(nats, 'run', 200, 300)
      await untilArrived(deployment, expectedEvents(300))
      await nats.request(`$JS.API.STREAM.DELETE.${ledgerStream}`, '', 30_000)
      const isEmpty = async () => total(await metricsOf(deployment.weir.url), 'weir_records_in_total') === 0
      await until('new books begin', isEmpty)
      await publish(nats, 'run', 300, 400)
      await untilArrived(deployment, expectedEvents(400))
      await until('they hold new records', async () => {
        const metrics = await metricsOf(deployment.weir.url)
        const sum = (name: string) => total(metrics, `weir_${name}`)
        return sum('records_in_total') === 100 && sum('events_delivered_total') === 175
      })
      t.equal(total(await metricsOf(deployment.weir.url), 'weir_events_backlog'), 0)
      await nats.close()
    },
  )

  await t.test(
    'the status of a destination outlives its deliverer, and the totals of its kind outlive the destination',
    async (t) => {
      const status = () => statusOf(deployment, 'all')
      await deployment.emulator.client.addFault({
        effect: { type: 'error', code: 'InternalFailure', status: 500 },
        resource: 'all',
      })
      const nats = await deployment.weir.nats()
      await publish(nats, 'run', 400, 500)
      await until('it fails', async () => (await status()).state === 'failing')
      await deployment.emulator.client.clearFaults()
      await untilArrived(deployment, expectedEvents(500))
      const { last_success_at, last_error } = await status()
      t.type(last_success_at, 'string')
      t.match(last_error, { code: 'InternalFailure' })
      t.equal(await killRole(deployment.weir.process.pid, 'deliver'), 1)
      await until('another delivers', async () => (await status()).cause !== 'no deliverer answers')
      t.match(await status(), { state: 'healthy', last_success_at, last_error })

      const before = await metricsOf(deployment.weir.url)
      const { eventSubscription, eventDestination } = deployment.weir.api
      for await (const { id } of eventSubscription.list()) await eventSubscription.delete(id)
      for (const id of Object.values(deployment.destinations)) await eventDestination.delete(id)
      await nats.close()
      await killAll(deployment.weir.process.pid)
      deployment.weir = await startWeir(deployment.dataDir, deployment.env)
      const after = await metricsOf(deployment.weir.url)
      for (const name of ['produced', 'filtered', 'delivered']) {
        const counter = `weir_events_${name}_total`
        t.ok(total(before, counter) > 0)
        t.equal(total(after, counter, 'target="kinesis"'), total(before, counter), counter)
      }
    },
  )
})
