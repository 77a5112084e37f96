/** The real SDK clients, pointed at an emulator of the test's own. */
import { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs'
import { EventBridgeClient } from '@aws-sdk/client-eventbridge'
import { FirehoseClient } from '@aws-sdk/client-firehose'
import { KinesisClient } from '@aws-sdk/client-kinesis'
import { SQSClient } from '@aws-sdk/client-sqs'
import { STSClient } from '@aws-sdk/client-sts'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import type { Test } from 'tap'
import { type Emulator, type EmulatorOptions, openEmulator } from '../../../src/outside/emulator/emulator.js'

export const key = { accessKeyId: 'AKIATEST', secretAccessKey: 'the secret' }
export const roleArn = 'arn:aws:iam::000000000000:role/delivery'
export const kib = 1024
export const dayMs = 86_400_000

interface Overrides {
  readonly region?: string
  readonly credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string }
  /** Long where no timeout is meant: a busy machine may take its time. */
  readonly requestTimeout?: number
}

/** The real SDK clients, pointed at the emulator. */
export function clients(
  emulator: Emulator,
  { region = 'us-east-1', credentials = key, requestTimeout = 60_000 }: Overrides = {},
) {
  const options = {
    region,
    credentials,
    endpoint: emulator.url,
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler({ requestTimeout, throwOnRequestTimeout: true }),
  }
  return {
    kinesis: new KinesisClient(options),
    firehose: new FirehoseClient(options),
    logs: new CloudWatchLogsClient(options),
    sqs: new SQSClient(options),
    events: new EventBridgeClient(options),
    sts: new STSClient(options),
  }
}

export async function open(test: Test, options: EmulatorOptions = {}): Promise<Emulator> {
  const emulator = await openEmulator(options)
  test.teardown(() => emulator.close())
  emulator.world.addKey(key)
  return emulator
}

export const record = (id: string, partitionKey = id) => ({
  Data: Buffer.from(`{"event_id":"${id}"}\n`),
  PartitionKey: partitionKey,
})
export const records = (count: number) => Array.from({ length: count }, (_, at) => record(`ev_${at}`))
export const bytes = (length: number) => ({ Data: new Uint8Array(length), PartitionKey: 'k' })
