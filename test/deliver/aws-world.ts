/** An emulator with one resource of each kind, and the configurations of destinations that lead to them. */
import type { Test } from 'tap'
import type { AwsDeps } from '../../src/deliver/aws.js'
import type {
  DestinationAuth,
  DestinationConfig,
  DestinationKindName,
} from '../../src/deliver/destination.js'
import { type Emulator, type EmulatorOptions, openEmulator } from '../../src/emulator/emulator.js'
import type { Ledger } from '../../src/emulator/ledger.js'
import type { ResourceName, ResourceSpec, RoleSpec } from '../../src/emulator/wire.js'

export const key = { accessKeyId: 'AKIATEST', secretAccessKey: 'the secret' }
export const roleArn = 'arn:aws:iam::000000000000:role/delivery'
export const accountId = 'ac_test'

export const keyAuth: DestinationAuth = {
  creds: { aws_access_key_id: key.accessKeyId, aws_secret_access_key: key.secretAccessKey },
}
export const roleAuth: DestinationAuth = { role: { role_arn: roleArn } }

const services = { kinesis: 'kinesis', firehose: 'firehose', cloudwatch_logs: 'logs' } as const

export const kindNames = Object.keys(services) as DestinationKindName[]

export interface AwsWorld {
  readonly emulator: Emulator
  readonly deps: AwsDeps
  config(kind: DestinationKindName, auth?: DestinationAuth, name?: string): DestinationConfig
  resource(kind: DestinationKindName, name?: string): ResourceName
  ledger(kind: DestinationKindName, name?: string): Ledger
  /** How many requests the operation that takes events has seen. */
  puts(kind: DestinationKindName): number
}

const putOperations = {
  kinesis: 'kinesis.PutRecords',
  firehose: 'firehose.PutRecordBatch',
  cloudwatch_logs: 'logs.PutLogEvents',
} as const

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
    // No answer is given up, however busy the machine: that would be a fault of another kind.
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
  const resource = (kind: DestinationKindName, name = 'weir'): ResourceName => ({
    service: services[kind],
    name,
  })
  for (const kind of kindNames) world.addResource({ ...resource(kind), ...unlimited, ...spec })
  return {
    emulator,
    deps: {
      endpoints: { endpointUrl: emulator.url },
      ambientCredentials: key,
      requestTimeoutMs,
      requestBytesMax: { kinesis: 10_485_760, firehose: 4_194_304, cloudwatch_logs: 1_048_576 },
    },
    resource,
    config: (kind, auth = keyAuth, name = 'weir') => ({
      id: `ed_${kind.replaceAll('_', '')}`,
      accountId,
      kind,
      arn: world.findResource(resource(kind, name))!.arn,
      auth,
    }),
    ledger: (kind, name) => world.findResource(resource(kind, name))!.ledger,
    puts: (kind) => world.stats()[putOperations[kind]]?.requests ?? 0,
  }
}
