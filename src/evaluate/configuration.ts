/**
 * What the evaluator reads of the configuration: rows as they are stored, declared here by their consumer. A row was
 * checked when it was saved; `version` grows with each change of it.
 */

interface Versioned {
  readonly id: string
  readonly account_id: string
  readonly version: number | string
}

export interface AccountRow {
  readonly id: string
  readonly name: string
}

export interface IpRestrictionModule {
  readonly enabled: boolean
  readonly ip_policy_ids: readonly string[]
}

export interface PolicyRow {
  readonly name?: string | null | undefined
  readonly expressions: readonly string[]
  readonly actions: readonly ActionRow[]
}

export interface ActionRow {
  readonly type: string
  /** Of a log action: its metadata under the key `Metadata`, in any letter case. */
  readonly config?: Readonly<Record<string, unknown>> | null | undefined
}

export interface PoliciesModule {
  readonly enabled: boolean
  readonly inbound: readonly PolicyRow[]
  readonly outbound: readonly PolicyRow[]
}

export interface TcpEdgeRow extends Versioned {
  readonly hostports?: readonly string[] | null | undefined
  readonly ip_restriction?: IpRestrictionModule | null | undefined
  readonly policies?: PoliciesModule | null | undefined
}

export interface HttpsEdgeRow extends Versioned {
  readonly hostports?: readonly string[] | null | undefined
}

export interface HttpsRouteRow extends Versioned {
  readonly edge_id: string
  readonly match_type: 'exact_path' | 'path_prefix'
  readonly match: string
  readonly ip_restriction?: IpRestrictionModule | null | undefined
}

export type RestrictionType = 'dashboard' | 'api' | 'agent' | 'endpoints'

export interface IpRestrictionRow extends Versioned {
  readonly enforced: boolean
  readonly type: RestrictionType
  readonly ip_policy_ids: readonly string[]
}

export interface EventSourceRow {
  readonly type: string
  readonly fields?: readonly string[] | null | undefined
  readonly filter?: string | null | undefined
}

export interface EventSubscriptionRow extends Versioned {
  readonly sources: readonly EventSourceRow[]
  readonly destination_ids: readonly string[]
}

export interface TunnelCredentialRow extends Versioned {
  readonly token_hash: string
  readonly acl?: readonly string[] | null | undefined
}

/** The kinds of rows that are read, each with the members that are read. */
export interface ConfigurationRows {
  readonly account: AccountRow
  readonly tcp_edge: TcpEdgeRow
  readonly https_edge: HttpsEdgeRow
  readonly https_edge_route: HttpsRouteRow
  readonly ip_policy: Versioned
  readonly ip_restriction: IpRestrictionRow
  readonly event_subscription: EventSubscriptionRow
  readonly tunnel_credential: TunnelCredentialRow
}

export interface IpRule {
  readonly id: string
  readonly cidr: string
  readonly action: 'allow' | 'deny'
}

export interface IpRules {
  /** Grows with each change of any of them. */
  readonly version: number | string
  readonly rules: Iterable<IpRule>
}

/**
 * The configuration as it is now. A view is built from it in slices: a change that arrives in between is seen by
 * that view in part or not at all, and by the next one as a whole.
 */
export interface ConfigurationSource {
  readonly revision: number
  rows<Kind extends keyof ConfigurationRows>(kind: Kind): Iterable<ConfigurationRows[Kind]>
  /** The rules of one policy; undefined if there is no such policy. */
  rules(ipPolicyId: string): IpRules | undefined
}
