/** What a run of the demo makes, asks and expects: data, carried out by the files beside this one. */
import type { RecordType, RecordView } from './survey.js'

export type TargetKind = 'kinesis' | 'firehose' | 'cloudwatch_logs'

export interface Scenario {
  /** The first is the one that comes with the service, further ones are made by `weir account create`. */
  readonly accounts: readonly AccountPlan[]
  /** What an ingress node asks before it lets somebody in; the run begins when all is answered like this. */
  readonly questions: readonly Question[]
  /** A record as the ingress node publishes it. Default: as it stands in the file. */
  readonly published?: (record: RecordView, made: Made) => object
  /** Who decided, for the table of decisions. */
  readonly decidedBy: Readonly<Record<'allow' | 'block' | 'deny', string>>
  /** Events that are looked for one by one among all that arrived at these targets. */
  readonly situations: { readonly at: readonly TargetKind[]; readonly each: readonly Situation[] }
  /** How many records of this type the account of this target hears of, given how many were evaluated. */
  readonly heard: (target: TargetKind, type: RecordType, evaluated: number) => number
  /** How many `log.v0` events go to this target; undefined where nobody has counted. */
  readonly logs: (target: TargetKind) => number | undefined
  /** Bad records in the file; undefined where nobody has counted. */
  readonly malformed: number | undefined
  /** Connections that a restriction which is not enforced would have blocked. */
  readonly warnings: number | undefined
  /** Records that no edge serves; undefined where nobody has counted. */
  readonly unserved: number | undefined
}

/** Ids of what was made, by the names of the plan. */
export interface Made {
  readonly accountIds: readonly string[]
  readonly edgeIds: ReadonlyMap<string, string>
}

export interface AccountPlan {
  readonly name: string
  readonly ipPolicies: Readonly<Record<string, readonly RulePlan[]>>
  /** The account's restriction of all its endpoints. */
  readonly restriction: { readonly enforced: boolean; readonly ipPolicy: string }
  readonly edges: readonly EdgePlan[]
  readonly destinations: readonly TargetKind[]
  readonly subscriptions: readonly SubscriptionPlan[]
}

export interface RulePlan {
  readonly cidr: string
  readonly action: 'allow' | 'deny'
}

export interface EdgePlan {
  /** By which questions and records mean it. */
  readonly key: string
  readonly type: RecordType
  /** `host:port`; none where records name the edge by its id. */
  readonly hostports: readonly string[]
  /** IP policy of its restriction module; of a route that takes every path, for an HTTPS edge. */
  readonly ipPolicy?: string
  readonly inbound?: readonly TrafficPolicyPlan[]
  readonly outbound?: readonly TrafficPolicyPlan[]
}

/** As the API takes it. */
export interface TrafficPolicyPlan {
  readonly name: string
  readonly expressions: readonly string[]
  readonly actions: readonly {
    readonly type: 'deny' | 'log'
    readonly config?: Readonly<Record<string, unknown>>
  }[]
}

export interface SubscriptionPlan {
  readonly description: string
  readonly to: TargetKind
  readonly sources: readonly {
    readonly type: string
    readonly fields?: readonly string[]
    readonly filter?: string
  }[]
}

export interface Question {
  readonly says: string
  /** The edge is named by its id where it has no hostports. */
  readonly edge: string
  readonly conn: { readonly client_ip: string; readonly server_name: string; readonly server_port?: number }
  readonly decision: 'allow' | 'block' | 'deny'
}

export interface Situation {
  readonly says: string
  readonly at: string
  readonly outcome: string
  readonly expected: number
  /** Is this event of it? */
  readonly matches: (event: ReceivedEvent) => boolean
}

/** An event as a destination received it, as far as the demo looks into it. */
export interface ReceivedEvent {
  readonly event_type: string
  readonly object: {
    readonly conn?: { readonly server_name?: string; readonly client_ip?: string }
    readonly ip_policy?: { readonly decision?: string | null }
    readonly metadata?: { readonly policy?: string }
  }
}

/** Everybody but these. */
export const allBut = (cidrs: readonly string[]): readonly RulePlan[] => [
  { cidr: '0.0.0.0/0', action: 'allow' },
  { cidr: '::/0', action: 'allow' },
  ...cidrs.map((cidr) => ({ cidr, action: 'deny' as const })),
]

/** Emits a log event that names its policy. */
export const logged = (policy: string) => ({ type: 'log' as const, config: { Metadata: { policy } } })

export const denied = { type: 'deny' as const }
