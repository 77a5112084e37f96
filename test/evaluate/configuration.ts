/** A configuration in memory, written the way a test thinks of it. */
import type {
  ConfigurationRows,
  ConfigurationSource,
  HttpsRouteRow,
  IpRestrictionRow,
  IpRule,
  TcpEdgeRow,
} from '../../src/evaluate/configuration.js'

type Tables = { [Kind in keyof ConfigurationRows]: Map<string, ConfigurationRows[Kind]> }

/** `10.0.0.0/8` is an allow rule, `!10.0.0.0/8` a deny rule. */
export const rulesOf = (texts: readonly string[]): IpRule[] =>
  texts.map((text, index) =>
    text.startsWith('!')
      ? { id: `ipr_${index}`, cidr: text.slice(1), action: 'deny' }
      : { id: `ipr_${index}`, cidr: text, action: 'allow' },
  )

export class TestConfiguration implements ConfigurationSource {
  revision = 1
  readonly tables: Tables = {
    account: new Map(),
    tcp_edge: new Map(),
    https_edge: new Map(),
    https_edge_route: new Map(),
    ip_policy: new Map(),
    ip_restriction: new Map(),
    event_subscription: new Map(),
    tunnel_credential: new Map(),
  }
  readonly #rules = new Map<string, IpRule[]>()

  constructor(...accountIds: readonly string[]) {
    for (const id of accountIds) this.tables.account.set(id, { id, name: `Account ${id}` })
  }

  rows<Kind extends keyof ConfigurationRows>(kind: Kind): Iterable<ConfigurationRows[Kind]> {
    return this.tables[kind].values()
  }

  rules(ipPolicyId: string) {
    const rules = this.#rules.get(ipPolicyId)
    return rules === undefined ? undefined : { version: this.#ruleVersions.get(ipPolicyId)!, rules }
  }

  readonly #ruleVersions = new Map<string, number>()

  ipPolicy(id: string, ...rules: readonly string[]): this {
    this.revision += 1
    this.tables.ip_policy.set(id, { id, account_id: 'ac_1', version: this.revision })
    this.#rules.set(id, rulesOf(rules))
    this.#ruleVersions.set(id, this.revision)
    return this
  }

  tcpEdge(id: string, edge: Partial<TcpEdgeRow> = {}): this {
    this.revision += 1
    this.tables.tcp_edge.set(id, { id, account_id: 'ac_1', version: this.revision, ...edge })
    return this
  }

  httpsEdge(id: string, hostports: readonly string[] = [], account_id = 'ac_1'): this {
    this.revision += 1
    this.tables.https_edge.set(id, { id, account_id, version: this.revision, hostports })
    return this
  }

  route(
    id: string,
    route: Pick<HttpsRouteRow, 'edge_id' | 'match_type' | 'match'> & Partial<HttpsRouteRow>,
  ): this {
    this.revision += 1
    this.tables.https_edge_route.set(id, { id, account_id: 'ac_1', version: this.revision, ...route })
    return this
  }

  restriction(id: string, row: Partial<IpRestrictionRow>): this {
    this.revision += 1
    const base = { account_id: 'ac_1', enforced: true, type: 'endpoints', ip_policy_ids: [] } as const
    this.tables.ip_restriction.set(id, { ...base, id, version: this.revision, ...row })
    return this
  }

  subscription(
    id: string,
    row: Partial<ConfigurationRows['event_subscription']> &
      Pick<ConfigurationRows['event_subscription'], 'sources'>,
  ): this {
    this.revision += 1
    const base = { account_id: 'ac_1', destination_ids: ['ed_1'] }
    this.tables.event_subscription.set(id, { ...base, id, version: this.revision, ...row })
    return this
  }

  credential(id: string, token_hash: string, acl: readonly string[] | null, account_id = 'ac_1'): this {
    this.revision += 1
    this.tables.tunnel_credential.set(id, { id, account_id, version: this.revision, token_hash, acl })
    return this
  }
}

/** For builds that nobody waits for. */
export const noYield = async (): Promise<void> => undefined
