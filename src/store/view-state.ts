/** What a configuration bucket says, taken in entry by entry, and whether that is all of it. */
import type { BucketEntry } from '../core/nats.js'
import type { Row } from '../resource/define.js'
import {
  type AccountState,
  generationOf,
  type Meta,
  metaKey,
  policyKind,
  type RulesChunk,
  rowKey,
  ruleKind,
  rulesKey,
} from './keys.js'
import { SortedIds } from './sorted-ids.js'

interface PolicyRules {
  /** Chunks per generation: those of a coming one wait until the policy's row names it. */
  readonly generations: Map<number, Map<number, RulesChunk>>
  /** Changes whenever the rules that count do. */
  stamp: number
}

const decode = (value: Uint8Array): unknown =>
  JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString())

export class ViewState {
  readonly rows = new Map<string, Map<string, Row>>()
  readonly accounts = new Map<string, AccountState>()
  /** Last revision of each key, deletions included: what a compare-and-set has to name. */
  readonly revisions = new Map<string, number>()
  readonly #ids = new Map<string, SortedIds>()
  readonly #rules = new Map<string, PolicyRules>()
  readonly #chunkOfRule = new Map<string, { policyId: string; chunk: number }>()
  #stamp = 0
  meta: Meta | undefined
  revision = 0

  /** Takes one entry in; returns the kind of rows it changed, where it did. */
  apply(entry: BucketEntry): string | undefined {
    this.revision = Math.max(this.revision, entry.revision)
    this.revisions.set(entry.key, entry.revision)
    const [space, first = '', second = '', third = ''] = entry.key.split('.')
    const value = entry.value === undefined ? undefined : decode(entry.value)
    switch (space) {
      case metaKey:
        this.meta = value as Meta | undefined
        return undefined
      case 'state':
        if (value === undefined) this.accounts.delete(first)
        else this.accounts.set(first, value as AccountState)
        return undefined
      case 'row':
        this.#applyRow(first, second, value as Row | undefined)
        return first
      case 'rules':
        this.#applyChunk(first, Number(second), Number(third), value as RulesChunk | undefined)
        return ruleKind
      default:
        return undefined
    }
  }

  #applyRow(kind: string, id: string, row: Row | undefined): void {
    const previous = this.rows.get(kind)?.get(id)
    if (row === undefined) this.#remove(kind, id)
    else this.#put(kind, row)
    if (kind === policyKind && generationOf(previous) !== generationOf(row)) {
      this.#showGeneration(id, generationOf(previous), generationOf(row))
    }
  }

  #put(kind: string, row: Row): void {
    let ofKind = this.rows.get(kind)
    if (ofKind === undefined) this.rows.set(kind, (ofKind = new Map()))
    ofKind.set(row.id, row)
    const key = `${row.account_id} ${kind}`
    let ids = this.#ids.get(key)
    if (ids === undefined) this.#ids.set(key, (ids = new SortedIds()))
    ids.add(row.id)
  }

  #remove(kind: string, id: string): void {
    const row = this.rows.get(kind)?.get(id)
    if (row === undefined) return
    this.rows.get(kind)!.delete(id)
    this.#ids.get(`${row.account_id} ${kind}`)?.delete(id)
  }

  #applyChunk(policyId: string, generation: number, chunk: number, value: RulesChunk | undefined): void {
    const policy = this.#policyRules(policyId)
    let chunks = policy.generations.get(generation)
    if (chunks === undefined) policy.generations.set(generation, (chunks = new Map()))
    const previous = chunks.get(chunk)
    if (value === undefined) chunks.delete(chunk)
    else chunks.set(chunk, value)
    if (chunks.size === 0) policy.generations.delete(generation)
    if (generation !== generationOf(this.rows.get(policyKind)?.get(policyId))) return
    const kept = new Set(value?.rules.map(({ id }) => id))
    this.#hideRules(
      (previous?.rules ?? []).filter(({ id }) => !kept.has(id) && this.#chunkOfRule.get(id)?.chunk === chunk),
    )
    this.#showRules(policyId, chunk, value?.rules ?? [])
    policy.stamp = ++this.#stamp
  }

  #policyRules(policyId: string): PolicyRules {
    let policy = this.#rules.get(policyId)
    if (policy === undefined)
      this.#rules.set(policyId, (policy = { generations: new Map(), stamp: ++this.#stamp }))
    return policy
  }

  #showGeneration(policyId: string, from: number, to: number): void {
    const policy = this.#policyRules(policyId)
    for (const chunk of policy.generations.get(from)?.values() ?? []) this.#hideRules(chunk.rules)
    for (const [chunk, { rules }] of policy.generations.get(to) ?? []) this.#showRules(policyId, chunk, rules)
    policy.stamp = ++this.#stamp
  }

  #showRules(policyId: string, chunk: number, rules: readonly Row[]): void {
    for (const rule of rules) {
      this.#put(ruleKind, rule)
      this.#chunkOfRule.set(rule.id, { policyId, chunk })
    }
  }

  #hideRules(rules: readonly Row[]): void {
    for (const { id } of rules) {
      this.#remove(ruleKind, id)
      this.#chunkOfRule.delete(id)
    }
  }

  ids(accountId: string, kind: string): SortedIds {
    return this.#ids.get(`${accountId} ${kind}`) ?? new SortedIds()
  }

  /** The rules of a policy that count, and a stamp that changes with them. */
  rules(policyId: string): { version: number; rules: Iterable<Row> } | undefined {
    const policy = this.#rules.get(policyId)
    if (policy === undefined) return undefined
    return { version: policy.stamp, rules: rulesOf(this.chunks(policyId).values()) }
  }

  /** The chunks of a policy's present generation. */
  chunks(policyId: string): ReadonlyMap<number, RulesChunk> {
    const generation = generationOf(this.rows.get(policyKind)?.get(policyId))
    return this.#rules.get(policyId)?.generations.get(generation) ?? new Map()
  }

  /** Where a rule is kept. */
  chunkOf(ruleId: string): number | undefined {
    return this.#chunkOfRule.get(ruleId)?.chunk
  }

  revisionOfRow(kind: string, id: string): number {
    return this.revisions.get(rowKey(kind, id)) ?? 0
  }

  revisionOfChunk(policyId: string, generation: number, chunk: number): number {
    return this.revisions.get(rulesKey(policyId, generation, chunk)) ?? 0
  }

  countsOf(accountId: string): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const kind of this.rows.keys()) {
      const { size } = this.ids(accountId, kind)
      if (size > 0) counts[kind] = size
    }
    return counts
  }

  /** Does the bucket hold everything it says it holds? */
  isComplete(): boolean {
    if (this.meta === undefined || this.accounts.size < this.meta.accounts) return false
    for (const [accountId, { counts }] of this.accounts) {
      for (const [kind, count] of Object.entries(counts))
        if (this.ids(accountId, kind).size !== count) return false
    }
    return true
  }
}

function* rulesOf(chunks: Iterable<RulesChunk>): Generator<Row> {
  for (const { rules } of chunks) yield* rules
}
