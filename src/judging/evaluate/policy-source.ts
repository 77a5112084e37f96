/**
 * The configuration that the evaluator reads: rows as `resource` declares them. A row was checked when it was saved;
 * its `version` grows with each change.
 */
import type { DeclaredRow, KindName } from '../../words/resource/registry.js'

export type IpRestrictionModule = NonNullable<DeclaredRow<'tcp_edge' | 'https_edge_route'>['ip_restriction']>
export type PoliciesModule = NonNullable<
  DeclaredRow<'tcp_edge' | 'https_edge' | 'https_edge_route'>['policies']
>
export type PolicyRow = PoliciesModule['inbound' | 'outbound'][number]
export type RestrictionType = DeclaredRow<'ip_restriction'>['type']
export type EventSourceRow = DeclaredRow<'event_subscription'>['sources'][number]
export type IpRule = Pick<DeclaredRow<'ip_policy_rule'>, 'id' | 'cidr' | 'action'> &
  Partial<Pick<DeclaredRow<'ip_policy_rule'>, 'description' | 'expires_at' | 'enforced' | 'list_id'>>

/** A rule about the addresses of a list. */
export type ListRule = IpRule & { readonly list_id: string }

/** A rule or traffic policy that an earlier version stored does not say whether it is enforced; then it is. */
export const isEnforced = ({ enforced }: { readonly enforced?: unknown }): boolean => enforced !== false

interface IpRules {
  /** Grows with each change of any of them. */
  readonly version: number
  readonly rules: Iterable<IpRule>
}

/**
 * The configuration as it is now. A view is built from it in slices: a change that arrives in between is seen by
 * that view in part or not at all, and by the next one as a whole.
 */
export interface ConfigurationSource {
  readonly revision: number
  /**
   * The account of the deployment, if there is no other: records that name no account and that no edge serves are its own.
   */
  soleAccountId?(): string | undefined
  rowsOf<Kind extends KindName>(kind: Kind): Iterable<DeclaredRow<Kind>>
  /** The rules of one policy; undefined if there is no such policy. */
  rules(ipPolicyId: string): IpRules | undefined
  /** How the text of a part of an IP list is read, now or later; undefined if there is no such part. */
  listText?(chunkId: string): (() => string) | undefined
}
