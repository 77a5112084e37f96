/** The contents of a configuration bucket in memory, applied entry by entry. */
import { getOrMake, soleKey } from '../../ground/core/maps.js'
import type { BucketEntry } from '../../ground/nats/bucket.js'
import { apiKey } from '../resource/api-key.js'
import type { Row } from '../resource/kind/define.js'
import type { DeclaredRow, KindName } from '../resource/registry.js'
import { checkedValue, damagedRuleKeys } from './entry-values.js'
import {
  type AccountState,
  generationOf,
  type Meta,
  metaKey,
  policyKind,
  type RulesChunk,
  ruleKind,
  rulesKey,
} from './keys.js'
import { readerOfChunk } from './list-chunks.js'
import { ownersOf } from './owners.js'
import { SortedIds } from './sorted-ids.js'

interface Generation {
  readonly chunks: Map<number, RulesChunk>
  /** The chunk of each rule. */
  readonly chunkOf: Map<string, number>
}

interface PolicyRules {
  /** A generation's rules count once the policy's row names it. */
  readonly generations: Map<string, Generation>
  /** Changes with the rules that count. */
  stamp: number
}

/** Rules in the bucket that do not count. */
export interface IdleGeneration {
  readonly accountId: string
  readonly policyId: string
  readonly generation: string
}

export class ViewState {
  readonly rows = new Map<string, Map<string, Row>>()
  readonly accounts = new Map<string, AccountState>()
  /** Last revision of each key, deletions included, as needed for a compare-and-set. */
  readonly revisions = new Map<string, number>()
  /** Keys whose last entry can't be read: what they had before is known, or nothing. */
  readonly damaged = new Set<string>()
  /** Ids by owner and kind; the owner is an account or a parent resource. */
  readonly #ids = new Map<string, SortedIds>()
  readonly #rules = new Map<string, PolicyRules>()
  readonly #kinds: ReadonlySet<string> | undefined
  #stamp = 0
  readonly soleAccountId = () => soleKey(this.rows.get('account'))
  readonly listText = (chunkId: string) => readerOfChunk(this, chunkId)
  meta: Meta | undefined
  revision = 0

  /** `kinds`: the only ones whose rows it holds; without it, all. */
  constructor(kinds?: ReadonlySet<string>) {
    this.#kinds = kinds
  }

  /** Applies one entry; returns the kind of the rows it changed, if any. A damaged one throws, and changes nothing. */
  apply(entry: BucketEntry): string | undefined {
    this.revision = Math.max(this.revision, entry.revision)
    const [space, first = '', second = '', third = ''] = entry.key.split('.')
    const kind = space === 'rules' ? ruleKind : first
    if ((space === 'rules' || space === 'row') && !this.#holds(kind)) return undefined
    this.revisions.set(entry.key, entry.revision)
    this.damaged.add(entry.key)
    const value = checkedValue(entry)
    this.damaged.delete(entry.key)
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
        return this.#applyChunk(first, second, Number(third), value as RulesChunk | undefined)
          ? ruleKind
          : undefined
      default:
        return undefined
    }
  }

  #holds(kind: string): boolean {
    return this.#kinds === undefined || this.#kinds.has(kind)
  }

  #applyRow(kind: string, id: string, row: Row | undefined): void {
    const previous = this.rows.get(kind)?.get(id)
    if (row === undefined) this.#remove(kind, id)
    else this.#put(kind, row)
    if (kind === policyKind && generationOf(previous) !== generationOf(row)) {
      this.#showGeneration(id, generationOf(previous), generationOf(row))
      // A generation that counted before never counts again, and its keys are deleted without tombstones.
      if (row !== undefined) this.#dropGeneration(id, generationOf(previous))
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

  /** True if this changed the rules that count. */
  #applyChunk(policyId: string, generation: string, chunk: number, value: RulesChunk | undefined): boolean {
    const policy = this.#policyRules(policyId)
    const { chunks, chunkOf } = getOrMake(policy.generations, generation, newGeneration)
    const { rules: previous = [] } = chunks.get(chunk) ?? {}
    const { rules = [] } = value ?? {}
    if (value === undefined) chunks.delete(chunk)
    else chunks.set(chunk, value)
    if (chunks.size === 0) policy.generations.delete(generation)
    const kept = new Set(rules.map(({ id }) => id))
    const gone = previous.filter(({ id }) => !kept.has(id) && chunkOf.get(id) === chunk)
    for (const { id } of gone) chunkOf.delete(id)
    for (const { id } of rules) chunkOf.set(id, chunk)
    if (generation !== this.generationOf(policyId)) return false
    for (const { id } of gone) this.#remove(ruleKind, id)
    for (const rule of rules) this.#put(ruleKind, rule)
    policy.stamp = ++this.#stamp
    return true
  }

  #policyRules(policyId: string): PolicyRules {
    return getOrMake(this.#rules, policyId, () => ({ generations: new Map(), stamp: ++this.#stamp }))
  }

  /** Makes one generation count instead of another, in one pass; many rules may be in both. */
  #showGeneration(policyId: string, from: string, to: string): void {
    const policy = this.#policyRules(policyId)
    const rows = getOrMake(this.rows, ruleKind, () => new Map<string, Row>())
    const { chunks, chunkOf } = policy.generations.get(to) ?? newGeneration()
    const removed: Row[] = []
    for (const rule of rulesOf(this.generation(policyId, from).values())) {
      if (chunkOf.has(rule.id)) continue
      removed.push(rule)
      rows.delete(rule.id)
    }
    const added: Row[] = []
    for (const rule of rulesOf(chunks.values())) {
      const { size } = rows
      rows.set(rule.id, rule)
      if (rows.size > size) added.push(rule)
    }
    this.#reorder(removed, added)
    policy.stamp = ++this.#stamp
  }

  #dropGeneration(policyId: string, generation: string): void {
    for (const chunk of this.generation(policyId, generation).keys()) {
      this.revisions.delete(rulesKey(policyId, generation, chunk))
    }
    this.#rules.get(policyId)?.generations.delete(generation)
  }

  /** Updates the ids of the rules' owners for many rules of one policy. */
  #reorder(removed: readonly Row[], added: readonly Row[]): void {
    const some = added[0] ?? removed[0]
    if (some === undefined) return
    const gone = new Set(removed.map(({ id }) => id))
    // The default order is by code units, like `<`.
    const come = added.map(({ id }) => id).sort()
    for (const owner of ownersOf(ruleKind, some)) {
      const key = `${owner} ${ruleKind}`
      const ids = getOrMake(this.#ids, key, () => new SortedIds())
      ids.replace(gone, come)
      if (ids.size === 0) this.#ids.delete(key)
    }
  }

  /** `ownerId`: an account or a parent resource. */
  ids(ownerId: string, kind: string): SortedIds {
    return this.#ids.get(`${ownerId} ${kind}`) ?? new SortedIds()
  }

  /** All rows of a kind, typed by its declaration: they were checked when they were saved. */
  rowsOf<Kind extends KindName>(kind: Kind): Iterable<DeclaredRow<Kind>> {
    return (this.rows.get(kind)?.values() ?? []) as Iterable<DeclaredRow<Kind>>
  }

  /** The rules of a policy that count, and a version that changes with them. */
  rules(policyId: string): { version: number; rules: Iterable<DeclaredRow<'ip_policy_rule'>> } | undefined {
    const policy = this.#rules.get(policyId)
    if (policy === undefined) return undefined
    const rules = rulesOf(this.chunks(policyId).values()) as Iterable<DeclaredRow<'ip_policy_rule'>>
    return { version: policy.stamp, rules }
  }

  /** The chunks of the generation that counts. */
  chunks(policyId: string): ReadonlyMap<number, RulesChunk> {
    return this.generation(policyId, this.generationOf(policyId))
  }

  /** The chunks of any generation of a policy's rules. */
  generation(policyId: string, generation: string): ReadonlyMap<number, RulesChunk> {
    return this.#rules.get(policyId)?.generations.get(generation)?.chunks ?? new Map()
  }

  /** The keys of a policy's rules, of all generations, with their revisions. */
  ruleKeys(policyId: string): [key: string, revision: number][] {
    const generations = [...(this.#rules.get(policyId)?.generations ?? [])]
    const keys = generations.flatMap(([generation, { chunks }]) =>
      [...chunks.keys()].map((chunk) => rulesKey(policyId, generation, chunk)),
    )
    return [...new Set([...keys, ...damagedRuleKeys(this, policyId)])].map((key) => [
      key,
      this.revisionOf(key),
    ])
  }

  /** The generation of a policy's rules that counts. */
  generationOf(policyId: string): string {
    return generationOf(this.rows.get(policyKind)?.get(policyId))
  }

  /** Generations that do not count: being staged, or abandoned. */
  *idleGenerations(): Generator<IdleGeneration> {
    for (const [policyId, { generations }] of this.#rules) {
      for (const [generation, { chunks }] of generations) {
        if (generation === this.generationOf(policyId)) continue
        const [first] = chunks.values()
        if (first !== undefined) yield { policyId, generation, accountId: first.account_id }
      }
    }
  }

  /** The chunk of a rule. */
  chunkOf(ruleId: string): number | undefined {
    const policyId = String(this.rows.get(ruleKind)?.get(ruleId)?.['ip_policy_id'])
    const { generations } = this.#rules.get(policyId) ?? {}
    return generations?.get(this.generationOf(policyId))?.chunkOf.get(ruleId)
  }

  /** Revision of a key's last entry, deletions included; 0 if it was never written. */
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

  /** Version of the account's last change in this state; 0 if there is none. */
  versionOf(accountId: string): number {
    return this.accounts.get(accountId)?.version ?? 0
  }

  /** Has the account as many rows of each kind held as its state entry says? */
  isWhole(accountId: string): boolean {
    return this.differenceOf(accountId) === undefined
  }

  /** A kind whose rows are not as many as the state entry says; more API keys may be there (`store/known-keys.ts`). */
  differenceOf(accountId: string): { kind: string; size: number; count: number } | undefined {
    const { counts = {} } = this.accounts.get(accountId) ?? {}
    for (const kind of new Set([...this.rows.keys(), ...Object.keys(counts)])) {
      if (!this.#holds(kind)) continue
      const [size, count] = [this.ids(accountId, kind).size, counts[kind] ?? 0]
      if (kind === apiKey.kind ? size < count : size !== count) return { kind, size, count }
    }
    return undefined
  }
}

const newGeneration = (): Generation => ({ chunks: new Map(), chunkOf: new Map() })

function* rulesOf(chunks: Iterable<RulesChunk>): Generator<Row> {
  for (const { rules } of chunks) yield* rules
}
