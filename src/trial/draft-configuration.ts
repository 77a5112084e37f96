/** The configuration of a trial: one account's, as it is, and as it would be with the draft. */
import type { ConfigurationSource, IpRule } from '../evaluate/policy-source.js'
import type { Row } from '../resource/define.js'
import type { DeclaredRow, KindName } from '../resource/registry.js'

/** The rows that a write would store, checked like those of the write itself. */
export interface Draft {
  readonly rows: readonly { readonly kind: string; readonly row: Row }[]
  /** All rules of a policy after the write. */
  readonly rules?: { readonly policyId: string; readonly rules: readonly IpRule[] } | undefined
}

/** Edges and reserved addresses of all accounts have a part in finding the edge of a record. */
const sharedKinds: readonly KindName[] = ['tcp_edge', 'https_edge', 'reserved_addr']

/**
 * The configuration that concerns the records of one account. Edges of others have their names alone: they serve their own
 * records, and what applies at them is not compiled.
 */
export class AccountConfiguration implements ConfigurationSource {
  readonly revision: number
  readonly #source: ConfigurationSource
  readonly #accountId: string

  constructor(source: ConfigurationSource, accountId: string) {
    this.revision = source.revision
    this.#source = source
    this.#accountId = accountId
  }

  *rowsOf<Kind extends KindName>(kind: Kind): Iterable<DeclaredRow<Kind>> {
    for (const row of this.#source.rowsOf(kind)) {
      const ownerId = kind === 'account' ? row.id : row.account_id
      if (ownerId === this.#accountId) yield row
      else if (sharedKinds.includes(kind)) yield { ...row, ip_restriction: null, policies: null }
    }
  }

  rules(ipPolicyId: string) {
    return this.#source.rules(ipPolicyId)
  }
}

/** No stored row has this version, so that a drafted part is never taken for a compiled one. */
const draftVersion = -1

/** The configuration with the rows and rules of a draft in place of its own. */
export class DraftedConfiguration implements ConfigurationSource {
  readonly revision: number
  readonly #source: ConfigurationSource
  readonly #draft: Draft

  constructor(source: ConfigurationSource, draft: Draft) {
    this.revision = source.revision
    this.#source = source
    this.#draft = draft
  }

  *rowsOf<Kind extends KindName>(kind: Kind): Iterable<DeclaredRow<Kind>> {
    const drafted = this.#draft.rows.filter((each) => each.kind === kind).map(({ row }) => row)
    for (const row of this.#source.rowsOf(kind)) if (drafted.every(({ id }) => id !== row.id)) yield row
    // The API made these rows from the declarations.
    for (const row of drafted) yield { ...row, version: draftVersion } as unknown as DeclaredRow<Kind>
  }

  rules(ipPolicyId: string) {
    const { rules } = this.#draft
    if (rules?.policyId === ipPolicyId) return { version: draftVersion, rules: rules.rules }
    return this.#source.rules(ipPolicyId)
  }
}
