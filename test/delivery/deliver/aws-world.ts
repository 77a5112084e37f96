/** An emulator with one resource of each kind, and configurations of destinations for them. */

import type { Test } from 'tap'
import { parseArn } from '../../../src/delivery/deliver/aws/arn.js'
import { AwsClock } from '../../../src/delivery/deliver/aws/aws-clock.js'
import type { AwsDestination, DestinationAuth } from '../../../src/delivery/deliver/aws/aws-kind.js'
import type { Packing } from '../../../src/delivery/deliver/aws/packing.js'
import { type DeliverySettings, destinationKinds, kindNamed } from '../../../src/delivery/deliver/kinds.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import { type Emulator, type EmulatorOptions, openEmulator } from '../../../src/outside/emulator/emulator.js'
import type { Ledger } from '../../../src/outside/emulator/ledger.js'
import type { ResourceName, ResourceSpec, RoleSpec } from '../../../src/outside/emulator/wire.js'

const key = { accessKeyId: 'AKIATEST', secretAccessKey: 'the secret' }
export const roleArn = 'arn:aws:iam::000000000000:role/delivery'
export const accountId = 'ac_test'

export const keyAuth: DestinationAuth = {
  creds: { aws_access_key_id: key.accessKeyId, aws_secret_access_key: key.secretAccessKey },
}
export const roleAuth: DestinationAuth = { role: { role_arn: roleArn } }

/** The kinds whose services the emulator has. */
export const kindNames = ['kinesis', 'firehose', 'cloudwatch_logs', 'sqs', 'eventbridge']

/** Those whose services accept or refuse each record, message or entry of a request. */
export const kindsByRecord = kindNames.filter((kind) => kind !== 'cloudwatch_logs')

/** The code by which each service denies access, and says that the target is missing. */
export const deniedCode = (kind: string) => (kind === 'sqs' ? 'AccessDenied' : 'AccessDeniedException')
export const missingCode = (kind: string) =>
  kind === 'sqs' ? 'QueueDoesNotExist' : 'ResourceNotFoundException'
export const expiredCode = (kind: string) => (kind === 'sqs' ? 'ExpiredToken' : 'ExpiredTokenException')

/** The emulator uses the services' names in ARNs. */
const serviceOf = (kind: string): Service => parseArn(kindNamed(kind).address.example)!.service as Service

export interface AwsWorld {
  readonly emulator: Emulator
  readonly deps: DeliverySettings
  config(kind: string, auth?: DestinationAuth, name?: string, packing?: Packing): AwsDestination
  resource(kind: string, name?: string): ResourceName
  ledger(kind: string, name?: string): Ledger
  /** Number of requests to the operation that accepts events. */
  puts(kind: string): number
  /** The operation that accepts events. */
  putOperation(kind: string): string
}

const putOperations = {
  kinesis: 'PutRecords',
  firehose: 'PutRecordBatch',
  logs: 'PutLogEvents',
  sqs: 'SendMessageBatch',
  events: 'PutEvents',
}

type Service = keyof typeof putOperations

interface AwsWorldOptions {
  readonly role?: Partial<RoleSpec>
  readonly resource?: Partial<ResourceSpec>
  readonly requestTimeoutMs?: number
}

export async function openAwsWorld(
  test: Test,
  {
    role,
    resource: spec,
    // Long, because a timeout on a busy machine would be another kind of fault.
    requestTimeoutMs = 60_000,
    ...options
  }: EmulatorOptions & AwsWorldOptions = {},
): Promise<AwsWorld> {
  const emulator = await openEmulator(options)
  test.teardown(() => emulator.close())
  const { world } = emulator
  world.addKey(key)
  world.addRole({ roleArn, externalId: accountId, ...role })
  const unlimited = { recordsPerSecond: null, bytesPerSecond: null, requestsPerSecond: null }
  const resource = (kind: string, name = 'weir'): ResourceName => ({
    service: serviceOf(kind),
    name,
  })
  for (const kind of kindNames) world.addResource({ ...resource(kind), ...unlimited, ...spec })
  return {
    emulator,
    deps: {
      aws: { endpointUrl: emulator.url, ambientCredentials: key },
      clock: new AwsClock(),
      requestTimeoutMs,
      networks: new ReachableNetworks(),
      kinds: Object.fromEntries(
        destinationKinds.map(({ name, requestBytes }) => [name, { requestBytesMax: requestBytes.max }]),
      ),
    },
    resource,
    config: (kind, auth = keyAuth, name = 'weir', packing = 'none') => ({
      id: `ed_${kind.replaceAll('_', '')}`,
      accountId,
      kind,
      address: world.findResource(resource(kind, name))!.arn,
      auth,
      packing,
      options: {},
    }),
    ledger: (kind, name) => world.findResource(resource(kind, name))!.ledger,
    puts: (kind) => world.stats()[`${serviceOf(kind)}.${putOperations[serviceOf(kind)]}`]?.requests ?? 0,
    putOperation: (kind) => putOperations[serviceOf(kind)],
  }
}
