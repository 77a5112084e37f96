import { PutRecordBatchCommand } from '@aws-sdk/client-firehose'
import { PutRecordsCommand } from '@aws-sdk/client-kinesis'
import t from 'tap'
import { emulatorClient } from '../../../src/outside/emulator/client.js'
import type { FaultSpec } from '../../../src/outside/emulator/wire.js'
import { clients, open, records } from './sdk-clients.js'

t.test('faults strike as they were ordered', async (t) => {
  const emulator = await open(t)
  const { world } = emulator
  world.addResource({ service: 'kinesis', name: 's', shards: 2 })
  const { kinesis } = clients(emulator, { requestTimeout: 1_500 })
  const control = emulatorClient(emulator.url)
  const put = (count = 10) =>
    kinesis.send(new PutRecordsCommand({ StreamName: 's', Records: records(count) }))
  const arrived = () => world.findResource({ service: 'kinesis', name: 's' })!.ledger.counts().events
  const cases: { name: string; effect: FaultSpec['effect']; want: object; arrives?: number }[] = [
    {
      name: 'throttle',
      effect: { type: 'throttle' },
      want: { name: 'ProvisionedThroughputExceededException' },
    },
    {
      name: 'error',
      effect: { type: 'error', code: 'InternalFailure', status: 500 },
      want: { name: 'InternalFailure', $metadata: { httpStatusCode: 500 } },
    },
    { name: 'expired token', effect: { type: 'expired_token' }, want: { name: 'ExpiredTokenException' } },
    { name: 'access denied', effect: { type: 'access_denied' }, want: { name: 'AccessDeniedException' } },
    { name: 'hang', effect: { type: 'hang' }, want: { name: 'TimeoutError' } },
    { name: 'drop', effect: { type: 'drop' }, want: { code: 'ECONNRESET' } },
    {
      name: 'commit, then hang',
      effect: { type: 'commit_then_hang' },
      want: { name: 'TimeoutError' },
      arrives: 10,
    },
    {
      name: 'commit, then drop',
      effect: { type: 'commit_then_drop' },
      want: { code: 'ECONNRESET' },
      arrives: 10,
    },
    {
      name: 'latency beyond the timeout',
      effect: { type: 'latency', ms: 3_000 },
      want: { name: 'TimeoutError' },
    },
    {
      name: 'poison',
      effect: { type: 'poison', containing: '"ev_7"' },
      want: { name: 'ValidationException' },
    },
  ]
  for (const { name, effect, want, arrives = 0 } of cases) {
    world.clear()
    await control.addFault({ effect, service: 'kinesis', operation: 'PutRecords', resource: 's', count: 1 })
    await t.rejects(put(), want as Error, name)
    if (effect.type !== 'latency') t.equal(arrived(), arrives, `${name}: what took effect`)
    t.match(await control.faults(), [{ hits: 1 }])
    t.equal((await put()).FailedRecordCount, 0, `${name}: once only`)
  }

  world.clear()
  world.faults.add({ effect: { type: 'fail_records', every: 5 } })
  t.same(
    (await put()).Records!.flatMap(({ ErrorCode }, at) => (ErrorCode ? [at] : [])),
    [4, 9],
  )
  world.clear()
  world.faults.add({ effect: { type: 'fail_records', shard: 1, code: 'InternalFailure' } })
  const shards = (await put()).Records!.map(({ ErrorCode, ShardId }) => ErrorCode ?? ShardId)
  t.same([...new Set(shards)].sort(), ['InternalFailure', 'shardId-000000000000'])
  world.clear()
  world.faults.add({ effect: { type: 'throttle' }, resource: 'another' })
  await t.resolves(put(), 'a fault of another resource')
  t.match((await control.stats())['kinesis.PutRecords'], { requests: 1, recordsAccepted: 10 })
})

t.test('the same seed strikes the same records', async (t) => {
  const failures = async () => {
    const emulator = await open(t, { seed: 42 })
    emulator.world.addResource({ service: 'firehose', name: 'f' })
    emulator.world.faults.add({ effect: { type: 'fail_records' }, probability: 0.3 })
    const Records = records(300).map(({ Data }) => ({ Data }))
    const put = await clients(emulator).firehose.send(
      new PutRecordBatchCommand({ DeliveryStreamName: 'f', Records }),
    )
    return put.RequestResponses!.flatMap(({ ErrorCode }, at) => (ErrorCode ? [at] : []))
  }
  const [first, second] = [await failures(), await failures()]
  t.same(first, second)
  t.ok(first.length > 60 && first.length < 120, 'about three in ten')
})
