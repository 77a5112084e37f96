/** Events go to queues, buses and buckets at AWS: nothing is lost while these fail, and objects have each event once. */
import t from 'tap'
import type { DeliveryStatus } from '../../src/words/shape/delivery-status.js'
import { untilInUse } from '../harness/in-use.js'
import { objectsIn, openS3, withoutMoto } from '../harness/moto.js'
import { tempDir } from '../harness/temp-dir.js'
import { startEmulator, startWeir, until } from '../harness/weir.js'

const service = {
  sqs: { service: 'sqs', name: 'events.fifo' },
  eventbridge: { service: 'events', name: 'bus' },
} as const
const count = 300

t.test('queues, buses and buckets', async (t) => {
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  const s3 = withoutMoto === false ? await openS3(t) : undefined
  t.ok(s3, 'a bucket', { skip: withoutMoto })
  const dataDir = tempDir(t)
  const env = { AWS_ENDPOINT_URL: emulator.url, ...(s3 && { AWS_ENDPOINT_URL_S3: s3.url }) }
  const weir = await startWeir(dataDir, { ...env, WEIR_LOG_LEVEL: 'warn' })
  t.teardown(() => weir.stop())
  const { api } = weir
  const { accessKeyId: aws_access_key_id, secretAccessKey: aws_secret_access_key } = emulator.key
  const auth = { creds: { aws_access_key_id, aws_secret_access_key } }
  const queue_arn = await emulator.client.addResource(service.sqs)
  const event_bus_arn = await emulator.client.addResource(service.eventbridge)
  const targets = [{ sqs: { queue_arn, auth } }, { eventbridge: { event_bus_arn, auth } }]
  const bucket = { bucket_arn: 'arn:aws:s3:::events', region: 'us-east-1', auth, age_seconds: 2 }
  if (s3 !== undefined) await fetch(`${s3.url}/events`, { method: 'PUT' })
  const all = [...targets, ...(s3 === undefined ? [] : [{ s3: bucket }])]
  const ids = await Promise.all(
    all.map(async (target) => {
      const { id } = await api.eventDestination.create({ target })
      t.match(await api.checkDestination(id), { result: 'unproved', error: null })
      t.match(await api.sendTestEvent(id), { event_id: /^ev_/ })
      return id
    }),
  )

  const edge = await api.tcpEdge.create({ hostports: ['ssh.example.com:22'] })
  const fields = ['conn.client_ip', 'edge.id']
  const sources = [{ type: 'tcp_connection_closed.v0', fields }]
  await api.eventSubscription.create({ sources, destination_ids: ids })
  await untilInUse(weir)
  for (const each of Object.values(service)) {
    await emulator.client.addFault({
      service: each.service,
      effect: { type: 'fail_records', every: 3 },
      count: 30,
    })
    await emulator.client.addFault({ service: each.service, effect: { type: 'commit_then_drop' }, count: 2 })
  }
  const puts: string[] = []
  if (s3 !== undefined) {
    s3.fail = ({ method, url }) => {
      if (method === 'PUT') puts.push(url)
      return puts.length <= 2 ? 'lost' : undefined
    }
  }
  const record = (n: number) => ({
    record_id: `r${n}`,
    type: 'tcp_connection' as const,
    conn: { client_ip: '192.0.2.1', server_name: 'ssh.example.com', server_port: 22 },
  })
  await api.publishRecords(Array.from({ length: count }, (_, n) => record(n)))
  let statuses: DeliveryStatus[] = []
  await until(
    () => `all events arrived, and nothing waits: ${JSON.stringify(statuses)}`,
    async () => {
      statuses = await Promise.all(ids.map((id) => api.deliveryStatus(id)))
      return statuses.every(({ counts, backlog }) => counts.delivered === count && backlog.events === 0)
    },
  )

  // Each with its test event.
  const queue = await emulator.client.counts(service.sqs)
  t.match(queue, { unique: count + 1, duplicates: 0 }, 'a FIFO queue drops what is sent again')
  t.match(await emulator.client.counts(service.eventbridge), { unique: count + 1 })
  for await (const { groupId, data } of emulator.client.received(service.sqs))
    if (!data.includes('"test.v0"')) t.equal(groupId, edge.id)
  if (s3 !== undefined) {
    const objects = await objectsIn(s3.url, 'events')
    const stored = [...objects].filter(([key]) => key.includes('/tcp_connection_closed.v0/'))
    const events = stored.flatMap(([, lines]) => lines.map((line) => JSON.parse(line).event_id))
    t.same([events.length, new Set(events).size], [count, count], 'each once, though answers were lost')
  }
  for (const id of ids)
    t.match(await api.deliveryStatus(id), { state: 'healthy', counts: { dead_lettered: 0 } })
  t.match(await api.iamPolicy(ids[0]!), { policy: { Statement: [{ Action: ['sqs:SendMessage'] }, {}] } })
})
