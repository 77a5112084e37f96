/** A configuration as it would be after a write: its rows and rules in place of those that it changes. */
import type { Row } from '../../words/resource/kind/define.js'
import type { DeclaredRow, KindName } from '../../words/resource/registry.js'
import { policyKind, ruleKind } from '../../words/view/keys.js'
import { listChunkKind, textOfChunk } from '../../words/view/list-chunks.js'
import type { ConfigurationSource, IpRule } from './policy-source.js'

interface PlannedRow {
  readonly kind: string
  readonly row: Row
}

/** The rows that a write would store and remove. */
export interface PlannedWrite {
  readonly puts: readonly PlannedRow[]
  readonly removals: readonly PlannedRow[]
  /** All rules of a policy after the write, if it replaces them. */
  readonly rules?: { readonly policyId: string; readonly rules: Iterable<Pick<Row, 'id'>> } | undefined
}

/** No stored part has this version, so that a planned part is never taken for a compiled one. */
export const plannedVersion = -1

export class PlannedConfiguration implements ConfigurationSource {
  readonly revision: number
  readonly #source: ConfigurationSource
  readonly #write: PlannedWrite
  readonly #changed: ReadonlySet<string>

  constructor(source: ConfigurationSource, write: PlannedWrite) {
    this.revision = source.revision
    this.#source = source
    this.#write = write
    this.#changed = new Set([...write.puts, ...write.removals].map(({ row }) => row.id))
  }

  *rowsOf<Kind extends KindName>(kind: Kind): Iterable<DeclaredRow<Kind>> {
    for (const row of this.#source.rowsOf(kind)) if (!this.#changed.has(row.id)) yield row
    // These rows were made from the declarations.
    for (const put of this.#write.puts)
      if (put.kind === kind) yield { ...put.row, version: plannedVersion } as unknown as DeclaredRow<Kind>
  }

  soleAccountId() {
    return this.#source.soleAccountId?.()
  }

  listText(chunkId: string) {
    const put = this.#write.puts.find(({ kind, row }) => kind === listChunkKind && row.id === chunkId)
    return put === undefined
      ? this.#source.listText?.(chunkId)
      : () => textOfChunk(put.row as unknown as DeclaredRow<'ip_list_chunk'>)
  }

  rules(ipPolicyId: string) {
    const { rules: replaced, puts, removals } = this.#write
    if (replaced?.policyId === ipPolicyId)
      return { version: plannedVersion, rules: replaced.rules as Iterable<IpRule> }
    if (removals.some(({ kind, row }) => kind === policyKind && row.id === ipPolicyId)) return undefined
    const present = this.#source.rules(ipPolicyId)
    const isOf = ({ kind, row }: PlannedRow): boolean =>
      kind === ruleKind && row['ip_policy_id'] === ipPolicyId
    if (!puts.some(isOf) && !removals.some(isOf)) return present
    const kept = [...(present?.rules ?? [])].filter(({ id }) => !this.#changed.has(id))
    const put = puts.filter(isOf).map(({ row }) => row as unknown as IpRule)
    return { version: plannedVersion, rules: [...kept, ...put] }
  }
}
