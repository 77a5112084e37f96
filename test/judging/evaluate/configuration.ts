/** A configuration in memory, written the way a test thinks of it. */

import type { GeoLookup } from '../../../src/delivery/record/geo.js'
import { getOrMake } from '../../../src/ground/core/maps.js'
import type { ConfigurationSource, IpRule, PolicyRow } from '../../../src/judging/evaluate/policy-source.js'
import { completed } from '../../../src/words/resource/fields/fields.js'
import { type DeclaredRow, type KindName, resourceOf } from '../../../src/words/resource/registry.js'

/** Fields of a row that a test gives; the others are as a write leaves them. */
type Given<Kind extends KindName> = Partial<DeclaredRow<Kind>>

/**
 * `10.0.0.0/8` is an allow rule, `!10.0.0.0/8` a deny rule; `~` before it: the rule is not enforced. `ipl_1` in place of a
 * range is a list.
 */
export const rulesOf = (texts: readonly string[]): IpRule[] =>
  texts.map((text, index) => {
    const matched = text.replace(/^~?!?/, '')
    const of = matched.startsWith('ipl_') ? { cidr: null, list_id: matched } : { cidr: matched }
    const rule = { id: `ipr_${index}`, ...of, action: /^~?!/.test(text) ? 'deny' : 'allow' } as const
    return text.startsWith('~') ? { ...rule, enforced: false } : rule
  })

/** Actions of traffic policies. */
export const deny: PolicyRow['actions'][number] = { type: 'deny', config: null }
export const log = (Metadata: object): PolicyRow['actions'][number] => ({ type: 'log', config: { Metadata } })

export class TestConfiguration implements ConfigurationSource {
  revision = 1
  readonly #rows = new Map<KindName, Map<string, unknown>>()
  readonly #chunks = new Map<string, string>()
  readonly #rules = new Map<string, { readonly version: number; readonly rules: IpRule[] }>()

  constructor(...accountIds: readonly string[]) {
    for (const id of accountIds) this.account(id)
  }

  account(id: string, rights: string[] = []): this {
    return this.#put('account', id, { account_id: id, name: `Account ${id}`, rights })
  }

  table<Kind extends KindName>(kind: Kind): Map<string, DeclaredRow<Kind>> {
    const table = getOrMake(this.#rows, kind, () => new Map<string, unknown>())
    return table as Map<string, DeclaredRow<Kind>>
  }

  rowsOf<Kind extends KindName>(kind: Kind): Iterable<DeclaredRow<Kind>> {
    return this.table(kind).values()
  }

  rules(ipPolicyId: string) {
    return this.#rules.get(ipPolicyId)
  }

  #put<Kind extends KindName>(kind: Kind, id: string, given: Given<Kind>): this {
    this.revision += 1
    const head = { id, account_id: 'ac_1', version: this.revision, created_at: 0 }
    const row = { ...head, ...given, ...completed(resourceOf(kind).fields, { ...given }) }
    this.table(kind).set(id, row as DeclaredRow<Kind>)
    return this
  }

  /** An IP list of these stored lines, in one part. */
  ipList(id: string, list: Given<'ip_list'>, ...lines: readonly string[]): this {
    const chunk = `${id} ${this.revision}`
    this.#chunks.set(chunk, lines.join('\n'))
    return this.#put('ip_list', id, { ...list, chunks: [chunk] })
  }

  listText(chunkId: string) {
    const text = this.#chunks.get(chunkId)
    return text === undefined ? undefined : () => text
  }

  ipPolicy(id: string, ...rules: readonly string[]): this {
    this.#put('ip_policy', id, {})
    this.#rules.set(id, { version: this.revision, rules: rulesOf(rules) })
    return this
  }

  tcpEdge(id: string, edge: Given<'tcp_edge'> = {}): this {
    return this.#put('tcp_edge', id, edge)
  }

  httpsEdge(
    id: string,
    hostports: string[] = [],
    account_id = 'ac_1',
    policies: DeclaredRow<'https_edge'>['policies'] = null,
    ambiguous_targets: DeclaredRow<'https_edge'>['ambiguous_targets'] = null,
  ): this {
    return this.#put('https_edge', id, { account_id, hostports, policies, ambiguous_targets })
  }

  route(id: string, route: Given<'https_edge_route'>): this {
    return this.#put('https_edge_route', id, route)
  }

  reserved(id: string, addr: string, account_id: string): this {
    return this.#put('reserved_addr', id, { account_id, addr })
  }

  restriction(id: string, row: Given<'ip_restriction'>): this {
    return this.#put('ip_restriction', id, { enforced: true, type: 'endpoints', ip_policy_ids: [], ...row })
  }

  challenger(id: string, row: object): this {
    return this.#put('challenger', id, row)
  }

  subscription(id: string, row: Given<'event_subscription'>): this {
    return this.#put('event_subscription', id, { destination_ids: ['ed_1'], ...row })
  }

  credential(id: string, token_hash: string, acl: string[], account_id = 'ac_1'): this {
    return this.#put('tunnel_credential', id, { account_id, token_hash, acl })
  }
}

/** For builds that nobody waits for. */
export const noYield = async (): Promise<void> => undefined

/** Finds nothing. */
export const noGeo: GeoLookup = { lookup: () => ({}) }
