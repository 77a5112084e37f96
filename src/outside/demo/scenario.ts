/** A run of the demo as data: resources to create, questions, and expected results. The other files carry it out. */
import type { RecordType } from '../../delivery/record/traffic-record.js'
import type { NewRule, NewSource } from '../../words/client/client.js'
import type { NewResource } from '../../words/client/kinds.js'
import type { RecordView } from './records-file.js'

export type TargetKind = 'kinesis' | 'firehose' | 'cloudwatch_logs'

export interface Scenario {
  /** The first comes with the service, `weir account create` makes the others. */
  readonly accounts: readonly AccountPlan[]
  /**
   * Questions that an ingress node asks before it accepts a connection, with their answers. The run begins when Weir
   * gives these answers.
   */
  readonly questions: readonly Question[]
  /** A record as the ingress node publishes it. Default: as in the file. */
  readonly published?: (record: RecordView, made: CreatedIds) => object
  /** Who decided, for the table of decisions. */
  readonly decidedBy: Readonly<Record<'allow' | 'block' | 'deny', string>>
  /** Groups of events that are counted among all that arrived at these targets. */
  readonly situations: { readonly targets: readonly TargetKind[]; readonly each: readonly Situation[] }
  /** How many events go to each target, if it is known. */
  readonly events?: Readonly<Record<TargetKind, number>>
  /** Bad records in the file; undefined if it is not known. */
  readonly malformed?: number
  /** Connections that a restriction would have blocked if it were enforced. */
  readonly warnings?: number
  /** Records that no edge serves; undefined if it is not known. */
  readonly unserved?: number
}

/** Ids of the created resources, by the names of the plan. */
export interface CreatedIds {
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

type RulePlan = Pick<NewRule, 'cidr' | 'action'>

export interface EdgePlan {
  /** Names it in questions and records. */
  readonly key: string
  readonly type: RecordType
  /** `host:port`; none if records name the edge by its id. */
  readonly hostports: readonly string[]
  /** IP policy of its restriction module; of a route that takes every path, for an HTTPS edge. */
  readonly ipPolicy?: string
  readonly inbound?: readonly TrafficPolicyPlan[]
  readonly outbound?: readonly TrafficPolicyPlan[]
}

type TrafficPolicyPlan = NonNullable<NonNullable<NewResource<'tcpEdge'>['policies']>['inbound']>[number]

export interface SubscriptionPlan {
  readonly description: string
  readonly to: TargetKind
  readonly sources: readonly NewSource[]
}

export interface Question {
  /** The policy that decides, in a few words. */
  readonly by: string
  /** An edge without hostports is named by its id. */
  readonly edge: string
  readonly conn: { readonly client_ip: string; readonly server_name: string; readonly server_port?: number }
  readonly decision: 'allow' | 'block' | 'deny'
  /** A restriction that is not enforced must warn. */
  readonly warns?: true
}

export interface Situation {
  readonly says: string
  readonly endpoint: string
  readonly expected: number
  /** Does this event belong to it? */
  readonly matches: (event: EventView) => boolean
}

/** The fields of a received event that the demo reads. */
export interface EventView {
  readonly event_type: string
  readonly object: {
    readonly conn?: { readonly server_name?: string; readonly client_ip?: string }
    readonly ip_policy?: { readonly decision?: string | null }
    readonly decision?: string
    readonly decided_by?: { readonly name?: string | null }
    readonly metadata?: { readonly policy?: string }
  }
}

/** Allows everyone except these. */
export const allBut = (cidrs: readonly string[]): readonly RulePlan[] => [
  { cidr: '0.0.0.0/0', action: 'allow' },
  { cidr: '::/0', action: 'allow' },
  ...cidrs.map((cidr) => ({ cidr, action: 'deny' as const })),
]

/** Emits a log event that names the policy. */
export const logging = (name: string, expression: string): TrafficPolicyPlan => ({
  name,
  expressions: [expression],
  actions: [{ type: 'log', config: { Metadata: { policy: name } } }],
})

/** Emits a log event that names the policy, and denies the connection. */
export function denying(name: string, expression: string): TrafficPolicyPlan {
  const policy = logging(name, expression)
  return { ...policy, actions: [...policy.actions, { type: 'deny' }] }
}

export const everything: SubscriptionPlan = {
  description: 'everything, with the default fields',
  to: 'kinesis',
  sources: [{ type: 'tcp_connection_closed.v0' }, { type: 'http_request_complete.v0' }, { type: 'log.v0' }],
}

/** The selection of fields that the demo shows. */
export const fewFields = [
  'conn.client_ip',
  'conn.server_name',
  'decision',
  'decided_by.type',
  'decided_by.name',
]
