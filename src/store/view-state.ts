/** What a configuration bucket says, taken in entry by entry, and whether that is all of it. */
import { getOrMake } from '../core/maps.js'
import type { BucketEntry } from '../core/nats-bucket.js'
import type { Row } from '../resource/define.js'
import { resources } from '../resource/registry.js'
import {
  type AccountState,
  generationOf,
  type Meta,
  metaKey,
  policyKind,
  type RulesChunk,
  ruleKind,
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
  /** Of each kind that an account has, and of each that lives under one resource. */
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
    getOrMake(this.rows, kind, () => new Map<string, Row>()).set(row.id, row)
    for (const owner of ownersOf(kind, row)) {
      getOrMake(this.#ids, `${owner} ${kind}`, () => new SortedIds()).add(row.id)
    }
  }

  #remove(kind: string, id: string): void {
    const row = this.rows.get(kind)?.get(id)
    if (row === undefined) return
    this.rows.get(kind)!.delete(id)
    for (const owner of ownersOf(kind, row)) {
      const key = `${owner} ${kind}`
      const ids = this.#ids.get(key)
      ids?.delete(id)
      if (ids?.size === 0) this.#ids.delete(key)
    }
  }

  #applyChunk(policyId: string, generation: number, chunk: number, value: RulesChunk | undefined): void {
    const policy = this.#policyRules(policyId)
    const chunks = getOrMake(policy.generations, generation, () => new Map<number, RulesChunk>())
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
    return getOrMake(this.#rules, policyId, () => ({ generations: new Map(), stamp: ++this.#stamp }))
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

  /** `ownerId`: an account, or a resource that the kind lives under. */
  ids(ownerId: string, kind: string): SortedIds {
    return this.#ids.get(`${ownerId} ${kind}`) ?? new SortedIds()
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

  chunk(policyId: string, generation: number, chunk: number): RulesChunk | undefined {
    return this.#rules.get(policyId)?.generations.get(generation)?.get(chunk)
  }

  /** Where a rule is kept. */
  chunkOf(ruleId: string): number | undefined {
    return this.#chunkOfRule.get(ruleId)?.chunk
  }

  /** Of a key's last entry, deletions included; 0 where it was never written. */
  revisionOf(key: string): number {
    return this.revisions.get(key) ?? 0
  }

  countsOf(accountId: string): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const kind of this.rows.keys()) {
      const { size } = this.ids(accountId, kind)
      if (size > 0) counts[kind] = size
    }
    return counts
  }

  /** The last change of the account that is in this state; 0 where there is none. */
  versionOf(accountId: string): number {
    return this.accounts.get(accountId)?.version ?? 0
  }

  /** Are the account's rows as many as its state says? */
  isWhole(accountId: string): boolean {
    const { counts = {} } = this.accounts.get(accountId) ?? {}
    const kinds = new Set([...this.rows.keys(), ...Object.keys(counts)])
    return [...kinds].every((kind) => this.ids(accountId, kind).size === (counts[kind] ?? 0))
  }

  /** Has an account gone back, though nobody filled the bucket anew? Then it was put back to an earlier state. */
  isOlderThan(other: ViewState): boolean {
    const { meta } = this
    if (meta?.deployment_id !== other.meta?.deployment_id) return false
    if ((meta?.epoch ?? 0) > (other.meta?.epoch ?? 0)) return false
    return [...other.accounts].some(([accountId, { version }]) => this.versionOf(accountId) < version)
  }
}

const parentFields = new Map(resources.map(({ kind, parent }) => [kind, parent?.field]))

function ownersOf(kind: string, row: Row): readonly string[] {
  const field = parentFields.get(kind)
  return field === undefined ? [row.account_id] : [row.account_id, String(row[field])]
}

function* rulesOf(chunks: Iterable<RulesChunk>): Generator<Row> {
  for (const { rules } of chunks) yield* rules
}
