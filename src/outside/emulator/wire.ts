/** The JSON of the control interface. */

/** The services that events go to, by their names in ARNs. */
export const eventServices = ['kinesis', 'firehose', 'logs', 'sqs', 'events'] as const

export type ServiceName = (typeof eventServices)[number] | 'sts'

export interface KeyPair {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export interface RoleSpec {
  readonly roleArn: string
  /** AssumeRole with another external id, or none, is denied. Unset: the trust policy has no such condition. */
  readonly externalId?: string
  /** Sessions end after this time, whatever duration was requested: AWS's own minimum is 15 minutes. */
  readonly sessionMs?: number
}

/** The part of arriving events that is kept: everything, ids and counts, or only counts. */
export type Keep = 'all' | 'ids' | 'counts'

export interface ResourceName {
  readonly service: (typeof eventServices)[number]
  /** Stream, delivery stream, log group, queue or event bus. */
  readonly name: string
  /** Default `us-east-1`. */
  readonly region?: string
}

export interface ResourceSpec extends ResourceName {
  /** Kinesis: default 1. */
  readonly shards?: number
  /** Kinesis and SQS: largest record or message, default 1 MiB as for a new stream or queue. */
  readonly recordBytesMax?: number
  /** Per shard, or for the whole resource; null: no limit. Default: the documented quota. */
  readonly recordsPerSecond?: number | null
  readonly bytesPerSecond?: number | null
  readonly requestsPerSecond?: number | null
  /** Default: the emulator's. */
  readonly keep?: Keep
}

/** The effect of a fault on requests or records. */
export type FaultEffect =
  /** The service's own throttling error. */
  | { readonly type: 'throttle' }
  | { readonly type: 'error'; readonly code: string; readonly message?: string; readonly status?: number }
  | { readonly type: 'expired_token' }
  | { readonly type: 'access_denied' }
  /** It is never answered. */
  | { readonly type: 'hang' }
  /** The connection is cut, and the request takes no effect. */
  | { readonly type: 'drop' }
  /** The request takes effect, but is never answered. */
  | { readonly type: 'commit_then_hang' }
  /** The request takes effect, and then the connection is cut. */
  | { readonly type: 'commit_then_drop' }
  | { readonly type: 'latency'; readonly ms: number }
  /** Single records fail within an HTTP 200, throttled unless a code is given. Not CloudWatch Logs. */
  | {
      readonly type: 'fail_records'
      readonly code?: string
      /** Each n-th record. */
      readonly every?: number
      readonly shard?: number
      readonly containing?: string
    }
  /** A request with a record that contains this text is refused as invalid. */
  | { readonly type: 'poison'; readonly containing: string }

export interface FaultSpec {
  readonly effect: FaultEffect
  /** Default: all services. */
  readonly service?: ServiceName
  readonly operation?: string
  /** Name of the resource, or the ARN of the role. */
  readonly resource?: string
  /** Probability for each request, or for each record with `fail_records`. Default 1. */
  readonly probability?: number
  /** Ends after this many hits. Default: when cleared. */
  readonly count?: number
}

export interface ActiveFault extends FaultSpec {
  readonly id: number
  readonly hits: number
}

export interface ReceivedEvent {
  /** Position in the order of arrival, from 1. */
  readonly sequence: number
  /** The `event_id` the data begins with, else null; the first one of a packed record. */
  readonly eventId: string | null
  readonly data: string
  readonly requestId: string
  readonly atMs: number
  readonly partitionKey?: string
  readonly shard?: number
  readonly logStream?: string
  /** SQS: of a FIFO queue. */
  readonly groupId?: string
  /** EventBridge. */
  readonly source?: string
  readonly detailType?: string
  readonly timestampMs?: number
}

export interface ReceivedPage {
  readonly events: readonly ReceivedEvent[]
  /** The `after` of the next page; null at the end. */
  readonly next: number | null
}

export interface ReceivedCounts {
  /** Records, log events, messages or entries, as the service calls them. */
  readonly records: number
  /** The lines of the records: several if they are packed. */
  readonly events: number
  readonly bytes: number
  /** Different event ids; 0 if only counts are kept. */
  readonly unique: number
  /** Arrivals of an event id beyond its first. */
  readonly duplicates: number
}

export interface OperationStats {
  requests: number
  readonly errors: Record<string, number>
  /** Records that failed within an HTTP 200. */
  recordsFailed: number
  recordsAccepted: number
}

/** By `service.Operation`. */
export type Stats = Record<string, OperationStats>
