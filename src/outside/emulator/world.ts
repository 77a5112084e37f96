/** The emulator's state: keys, roles, sessions, resources with what they received, faults and counts. */
import { randomBytes } from 'node:crypto'
import { getOrMake } from '../../ground/core/maps.js'
import type { AwsError } from './aws-error.js'
import { FaultBook } from './fault-book.js'
import { Ledger } from './ledger.js'
import type { Identity } from './sigv4.js'
import type { Keep, KeyPair, OperationStats, ResourceName, ResourceSpec, RoleSpec, Stats } from './wire.js'

/** Every resource belongs to this AWS account. */
export const awsAccountId = '000000000000'
const defaultRegion = 'us-east-1'

const mebibyte = 1024 * 1024

/**
 * Documented quotas, per second: of a Kinesis shard, of a delivery stream, of PutLogEvents and of PutEvents in an account.
 */
const quotas = {
  kinesis: { recordsPerSecond: 1000, bytesPerSecond: mebibyte, requestsPerSecond: null },
  firehose: { recordsPerSecond: 500_000, bytesPerSecond: 5 * mebibyte, requestsPerSecond: 2000 },
  logs: { recordsPerSecond: null, bytesPerSecond: null, requestsPerSecond: 5000 },
  sqs: { recordsPerSecond: null, bytesPerSecond: null, requestsPerSecond: null },
  events: { recordsPerSecond: null, bytesPerSecond: null, requestsPerSecond: 10_000 },
} as const

export interface Resource {
  readonly spec: Required<ResourceSpec>
  readonly arn: string
  readonly createdAtMs: number
  readonly ledger: Ledger
  /** CloudWatch Logs: the log streams of a group, and when they were created. */
  readonly logStreams: Map<string, number>
  /** SQS: the deduplication ids of a FIFO queue, and when they arrived. */
  readonly deduplicationIds: Map<string, number>
  /** One per shard for Kinesis, else one. */
  readonly windows: readonly RateWindow[]
}

interface Session extends Identity {
  readonly sessionToken: string
  readonly expiresAtMs: number
  readonly roleArn: string
  readonly externalId: string | null
  readonly sessionName: string
}

type Load = readonly [requests: number, records: number, bytes: number]

const noLoad: Load = [0, 0, 0]

/** The load of the current second. */
class RateWindow {
  #second = 0
  #taken = noLoad

  /** Accepts all of it, or refuses all of it. */
  take(spec: Required<ResourceSpec>, nowMs: number, ...load: Load): boolean {
    const second = Math.floor(nowMs / 1000)
    const before = second === this.#second ? this.#taken : noLoad
    const [requests, records, bytes] = [before[0] + load[0], before[1] + load[1], before[2] + load[2]]
    const fits =
      requests <= (spec.requestsPerSecond ?? Number.POSITIVE_INFINITY) &&
      records <= (spec.recordsPerSecond ?? Number.POSITIVE_INFINITY) &&
      bytes <= (spec.bytesPerSecond ?? Number.POSITIVE_INFINITY)
    if (!fits) return false
    this.#second = second
    this.#taken = [requests, records, bytes]
    return true
  }
}

export interface WorldOptions {
  readonly seed?: number
  readonly keep?: Keep
  /** The emulator's clock, in ms since the epoch. */
  readonly now?: () => number
}

export class World {
  readonly faults: FaultBook
  readonly sessions = new Map<string, Session>()
  readonly #now: () => number
  /** How far the emulator's clock is ahead. */
  clockOffsetMs = 0
  readonly keys = new Map<string, Identity>()
  readonly roles = new Map<string, RoleSpec>()
  readonly #keep: Keep
  readonly #resources = new Map<string, Resource>()
  readonly #stats = new Map<string, OperationStats>()

  constructor({ seed = 1, keep = 'all', now = Date.now }: WorldOptions = {}) {
    this.faults = new FaultBook(seed)
    this.#keep = keep
    this.#now = now
  }

  now(): number {
    return this.#now() + this.clockOffsetMs
  }

  addKey({ accessKeyId, secretAccessKey }: KeyPair): void {
    this.keys.set(accessKeyId, { secretAccessKey })
  }

  findIdentity(accessKeyId: string): Identity | undefined {
    return this.keys.get(accessKeyId) ?? this.sessions.get(accessKeyId)
  }

  addRole(role: RoleSpec): void {
    this.roles.set(role.roleArn, role)
  }

  /** Opens a session of a role; returns the id of its temporary key. */
  openSession(
    role: RoleSpec,
    sessionName: string,
    externalId: string | null,
    durationMs: number,
  ): [string, Session] {
    const accessKeyId = `ASIA${randomBytes(8).toString('hex').toUpperCase()}`
    const session = {
      secretAccessKey: randomBytes(30).toString('base64'),
      sessionToken: randomBytes(96).toString('base64'),
      expiresAtMs: this.now() + (role.sessionMs ?? durationMs),
      roleArn: role.roleArn,
      externalId,
      sessionName,
    }
    this.sessions.set(accessKeyId, session)
    return [accessKeyId, session]
  }

  /** Expires all open sessions. */
  expireSessions(): void {
    for (const [id, session] of this.sessions) this.sessions.set(id, { ...session, expiresAtMs: this.now() })
  }

  addResource(given: ResourceSpec): Resource {
    const defaults = { region: defaultRegion, shards: 1, recordBytesMax: mebibyte, keep: this.#keep }
    const spec = { ...defaults, ...quotas[given.service], ...given }
    const resource: Resource = {
      spec,
      arn: arnOf(spec),
      createdAtMs: this.now(),
      ledger: new Ledger(spec.keep),
      logStreams: new Map(),
      deduplicationIds: new Map(),
      windows: Array.from({ length: spec.shards }, () => new RateWindow()),
    }
    this.#resources.set(keyOf(spec), resource)
    return resource
  }

  findResource(name: ResourceName): Resource | undefined {
    return this.#resources.get(keyOf(name))
  }

  removeResource(name: ResourceName): boolean {
    return this.#resources.delete(keyOf(name))
  }

  resources(service: ResourceName['service'], region: string): Resource[] {
    return [...this.#resources.values()].filter(
      ({ spec }) => spec.service === service && spec.region === region,
    )
  }

  countRequest(operation: string, error?: AwsError): void {
    const stats = this.#statsOf(operation)
    stats.requests += 1
    if (error !== undefined) stats.errors[error.code] = (stats.errors[error.code] ?? 0) + 1
  }

  countRecords(operation: string, accepted: number, failed: number): void {
    const stats = this.#statsOf(operation)
    stats.recordsAccepted += accepted
    stats.recordsFailed += failed
  }

  stats(): Stats {
    return structuredClone(Object.fromEntries(this.#stats))
  }

  /** Forgets what was received and counted, and every fault; keys, roles and resources stay. */
  clear(): void {
    for (const { ledger } of this.#resources.values()) ledger.clear()
    this.#stats.clear()
    this.faults.clear()
  }

  /** As if it had just started. */
  reset(): void {
    this.clear()
    this.clockOffsetMs = 0
    this.keys.clear()
    this.roles.clear()
    this.sessions.clear()
    this.#resources.clear()
  }

  #statsOf(operation: string): OperationStats {
    const none = (): OperationStats => ({ requests: 0, errors: {}, recordsFailed: 0, recordsAccepted: 0 })
    return getOrMake(this.#stats, operation, none)
  }
}

const keyOf = ({ service, name, region = defaultRegion }: ResourceName): string =>
  `${service} ${region} ${name}`

/** The partition that a region belongs to: https://docs.aws.amazon.com/general/latest/gr/rande.html */
function partitionOf(region: string): string {
  if (region.startsWith('cn-')) return 'aws-cn'
  return region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws'
}

const resourceTypes = {
  kinesis: 'stream/',
  firehose: 'deliverystream/',
  logs: 'log-group:',
  sqs: '',
  events: 'event-bus/',
} as const

export const arnOf = ({ service, name, region = defaultRegion }: ResourceName): string =>
  `arn:${partitionOf(region)}:${service}:${region}:${awsAccountId}:${resourceTypes[service]}${name}`
