/** A check of a destination: the facts that it proves, and that it writes nothing. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { DestinationConfig } from '../../../src/delivery/deliver/kind/destination.js'
import { type DeliverySettings, openSender } from '../../../src/delivery/deliver/kinds.js'
import { checkDestination } from '../../../src/delivery/deliver/test-event.js'
import type { FaultSpec } from '../../../src/outside/emulator/wire.js'
import {
  type AwsWorld,
  expiredCode,
  kindNames,
  missingCode,
  openAwsWorld,
  roleArn,
  roleAuth,
} from './aws-world.js'
import { someEvents } from './events.js'

const event = { partitionKey: 'ev_test', timestampMs: Date.now(), json: '{"event_id":"ev_test"}' }

const check = (config: DestinationConfig, deps: DeliverySettings, timeoutMs = 10_000) =>
  checkDestination(config, event, timeoutMs, {
    openSender: (each) => openSender(each, deps),
  })

const answers = /^The endpoint answers and accepts the credentials/

interface Case {
  readonly name: string
  readonly fault?: FaultSpec
  /** The difference from a world in which everything works. */
  readonly change?: (world: AwsWorld, kind: string) => void
  /** By kind. */
  readonly want: Readonly<Record<string, object>>
}

const failed = (codeOf: (kind: string) => string) =>
  Object.fromEntries(kindNames.map((kind) => [kind, { ok: false, problem: { code: codeOf(kind) } }]))

const cases: Case[] = [
  {
    name: 'everything works',
    want: {
      kinesis: {
        ok: true,
        value: { mayWrite: true, proved: [answers, /may write to it/], notProved: [/KMS/] },
      },
      firehose: {
        ok: true,
        value: { mayWrite: false, proved: [answers, /active/], notProved: [/PutRecordBatch/] },
      },
      cloudwatch_logs: {
        ok: true,
        value: { mayWrite: false, proved: [answers, /group exists/], notProved: [/PutLogEvents/] },
      },
      sqs: {
        ok: true,
        value: { mayWrite: false, proved: [answers, /exists; .* 1048576 bytes/], notProved: [/SendMessage/] },
      },
      eventbridge: {
        ok: true,
        value: { mayWrite: false, proved: [answers, /bus exists/], notProved: [/PutEvents/, /rule/] },
      },
    },
  },
  {
    name: 'the credentials have no right at all, or none to describe',
    fault: { effect: { type: 'access_denied' } },
    want: {
      kinesis: { ok: false, problem: { class: 'configuration', code: 'AccessDeniedException' } },
      firehose: { ok: true, value: { mayWrite: false, proved: [answers], notProved: [/Describe/, /Put/] } },
      cloudwatch_logs: {
        ok: true,
        value: { mayWrite: false, proved: [answers], notProved: [/Describe/, /Put/] },
      },
      sqs: { ok: true, value: { mayWrite: false, proved: [answers], notProved: [/GetQueue/, /Send/] } },
      eventbridge: {
        ok: true,
        value: { mayWrite: false, proved: [answers], notProved: [/Describe/, /Put/] },
      },
    },
  },
  {
    name: 'the target is missing',
    change: ({ emulator, resource }, kind) => void emulator.world.removeResource(resource(kind)),
    want: failed(missingCode),
  },
  {
    name: 'the session has expired',
    fault: { effect: { type: 'expired_token' } },
    want: failed(expiredCode),
  },
  {
    name: 'AWS is down',
    fault: { effect: { type: 'error', code: 'InternalFailure', status: 500 } },
    want: failed(() => 'InternalFailure'),
  },
]

t.test('what is proved, by kind and situation', async (t) => {
  const world = await openAwsWorld(t)
  for (const { name, fault, change, want } of cases) {
    for (const kind of kindNames) {
      const config = world.config(kind)
      if (fault !== undefined) world.emulator.world.faults.add(fault)
      change?.(world, kind)
      t.match(await check(config, world.deps), want[kind]!, `${kind}: ${name}`)
      world.emulator.world.faults.clear()
      if (change !== undefined) world.emulator.world.addResource(world.resource(kind))
      t.match(world.ledger(kind).counts(), { records: 0 }, 'nothing was written')
    }
  }
  const config = world.config('cloudwatch_logs')
  const sender = openSender(config, world.deps)
  await sender.send(someEvents(1), new AbortController().signal)
  sender.close()
  t.match(await check(config, world.deps), { value: { proved: [answers, /group/, /log stream/] } })
})

t.test('the role is part of it, and so is its external id', async (t) => {
  const world = await openAwsWorld(t)
  for (const kind of kindNames) {
    const config = world.config(kind, roleAuth)
    t.match(await check(config, world.deps), {
      ok: true,
      value: { proved: [/^The role can be assumed/, answers] },
    })
  }
  world.emulator.world.addRole({ roleArn })
  const open = await check(world.config('kinesis', roleAuth), world.deps)
  t.match(open, { ok: false, problem: { code: 'ExternalIdNotRequired' } })
  world.emulator.world.faults.add({ effect: { type: 'hang' } })
  t.match(await check(world.config('firehose'), world.deps, 50), { ok: false, problem: { code: 'Timeout' } })
})

/** A service that gives the same answer to everything. */
async function answering(test: Test, answer: object): Promise<string> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/x-amz-json-1.1')
    response.end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('answers that the emulator does not give', async (t) => {
  const world = await openAwsWorld(t)
  const at = async (answer: object): Promise<DeliverySettings> => {
    const endpointUrl = await answering(t, answer)
    return { ...world.deps, aws: { ...world.deps.aws, endpointUrl } }
  }
  const stored = await at({ FailedRecordCount: 0, Records: [{ SequenceNumber: '1', ShardId: 'shardId-0' }] })
  t.match(
    await check(world.config('kinesis'), stored),
    {
      ok: true,
      value: { mayWrite: true, proved: [answers, /may write/, /stored the test event ev_test\.$/] },
    },
    'an endpoint that ignores DryRun',
  )
  const creating = await at({ DeliveryStreamDescription: { DeliveryStreamStatus: 'CREATING' } })
  t.match(
    await check(world.config('firehose'), creating),
    { ok: false, problem: { code: 'NotActive', msg: 'The delivery stream is CREATING, not ACTIVE.' } },
    'a delivery stream that is not ready',
  )
})
