/**
 * What a kind of destination is. A kind is one file (kinesis, firehose, cloudwatch-logs) and one line in
 * `kinds.ts`; a file of a kind is always in the same order: schema, limits, client interface, sender.
 *
 * A sender says what to send again, and decides nothing else: when, how often, what is parked in the dead
 * letters and when a destination pauses is the lane's business.
 */
import type { Problem } from '../core/errors.js'
import type { PackedEvent } from '../wire/pack.js'

export type DestinationKindName = 'kinesis' | 'firehose' | 'cloudwatch_logs'

/** How the deliverer proves itself to AWS: a role it assumes, or a pair of keys. */
export type DestinationAuth =
  | { readonly role: { readonly role_arn: string } }
  | { readonly creds: { readonly aws_access_key_id: string; readonly aws_secret_access_key: string } }

/** Where events of one destination go: all that delivery knows of an event destination. */
export interface DestinationConfig {
  /** `ed_…`: names the role session and the log streams. */
  readonly id: string
  /** `ac_…`: the external id of the role session. */
  readonly accountId: string
  readonly kind: DestinationKindName
  /** The ARN of the stream, delivery stream or log group. */
  readonly arn: string
  readonly auth: DestinationAuth
}

/** What one request may hold. */
export interface BatchLimits {
  readonly eventsMax: number
  /** All events of a request together, each as `sizeOf` counts it. */
  readonly requestBytesMax: number
  readonly eventBytesMax: number
  /** What the service counts for an event, overhead included. */
  readonly sizeOf: (event: PackedEvent) => number
  /** Between the oldest and the newest event of a request, where the service bounds it. */
  readonly spanMaxMs?: number
}

/**
 * - `throttle`: the service asks for less: send what failed again, later and less of it at once.
 * - `transient`: try again; a timeout may have been delivered.
 * - `credentials`: who we are is refused: fetch credentials anew once, then wait.
 * - `configuration`: what we ask for is refused or missing: wait until a person has changed it.
 * - `poison`: the events themselves are refused: sending them again can't help.
 */
export type FaultClass = 'throttle' | 'transient' | 'credentials' | 'configuration' | 'poison'

export interface Fault {
  readonly class: FaultClass
  /** AWS's name of the error, or the name of ours: `Timeout`, `ConnectionLost`. */
  readonly code: string
  /** One sentence without secrets. */
  readonly msg: string
  readonly requestId?: string
}

/** An event the service refused for itself while it took others. */
export interface Rejection {
  readonly index: number
  readonly fault: Fault
}

/** What became of a request; indices are those of the events that were given. */
export type SendOutcome =
  | { readonly outcome: 'accepted'; readonly requestId?: string }
  | {
      readonly outcome: 'partial'
      /** What is to be sent again, ascending. */
      readonly retry: readonly number[]
      /** Why, where `retry` is not empty. */
      readonly reason?: Fault
      readonly rejected: readonly Rejection[]
      readonly requestId?: string
    }
  /** Nothing was accepted, as far as one can know. */
  | { readonly outcome: 'failed'; readonly fault: Fault }

/** The request was answered; some of its events may have failed all the same. */
export type Answer = Exclude<SendOutcome, { outcome: 'failed' }>

export interface Sender {
  /** What a request may hold, as far as known now: a Kinesis stream has a record limit of its own. */
  limits(): BatchLimits
  /**
   * Sends one request with all of these events, which are within the limits. Never rejects: a fault is an
   * outcome. An abort is a `transient` fault.
   */
  send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome>
  /** Forgets credentials that were fetched, so that the next request fetches them anew. */
  dropCredentials(): void
  close(): void
}

export interface DestinationKind<Deps> {
  readonly name: DestinationKindName
  checkArn(arn: string): Problem | undefined
  open(config: DestinationConfig, deps: Deps): Sender
}
