/**
 * The bans of each bouncer, as they are and as they were.
 *
 * Parts are built when they are asked for, and shared until they change. What a bouncer has is known by the version of the
 * account that it got, which is stored in NATS (`http/caller/key-uses.ts`): so any API process can say what was added and
 * deleted since, also after a restart. Parts of that version that are not in memory are read from ClickHouse.
 */
import { conflict, unavailable } from '../../core/errors.js'
import { bansPerBouncerMax } from '../../core/limits.js'
import type { Occurrences } from '../../core/telemetry/occurrences.js'
import type { IpRule, ListRule } from '../../evaluate/policy-source.js'
import type { Pull } from '../../http/caller/key-uses.js'
import type { Row } from '../../resource/define.js'
import type { DeclaredRow } from '../../resource/registry.js'
import type { PastRows } from '../../store/history/past-rows.js'
import { policyKind } from '../../view/keys.js'
import { chunksOfList, type ListChunk, type ListRow, listKind, textOfChunk } from '../../view/list-chunks.js'
import type { ViewState } from '../../view/view-state.js'
import { type BanPart, BanParts, endOf, listPart, policyPart } from './ban-part.js'
import { type BanSource, Bans } from './bans.js'

/** Some 100 bytes each. */
const bansKeptMax = 1_000_000
/** Rules may change while others are read. */
const triesMax = 5

type BouncerRow = Pick<DeclaredRow<'bouncer'>, 'id' | 'account_id' | 'ip_policy_ids' | 'ip_list_ids'>

interface PresentBans {
  readonly bans: Bans
  /** The version of the account that has them. */
  readonly version: number
}

/** A list by which a bouncer bans: its own, or that of a rule. */
interface NamedList {
  readonly list: ListRow
  readonly rule?: ListRule
}

export class AccountBans {
  readonly #pastRows: Pick<PastRows, 'at'>
  readonly #occurrences: Pick<Occurrences, 'bouncerTooLarge'>
  readonly #parts = new BanParts(bansKeptMax)
  /** Numbers of views: the versions of rules are those of their view. */
  readonly #views = new WeakMap<ViewState, number>()
  #viewCount = 0

  constructor(pastRows: Pick<PastRows, 'at'>, occurrences: Pick<Occurrences, 'bouncerTooLarge'>) {
    this.#pastRows = pastRows
    this.#occurrences = occurrences
  }

  /** The bans of a bouncer as they are. Throws a `WeirError` if they are too many. */
  async of(state: ViewState, bouncer: BouncerRow): Promise<PresentBans> {
    const policies = await this.#policies(state, bouncer)
    // From here to the texts of all lists nothing may wait: they are those of one version.
    const version = state.versionOf(bouncer.account_id)
    const lists = listsOf(
      policies,
      bouncer.ip_list_ids ?? [],
      (id) => ownRow(state, listKind, id, bouncer) as ListRow | undefined,
    )
    this.#checkSize(bouncer, policies, lists)
    const chunks = lists.map(({ list }) => chunksOfList(state, list) ?? missing(list))
    const parts: BanPart[] = []
    for (const [place, { list }] of lists.entries())
      parts.push(await this.#listPart(list, async () => chunks[place]!))
    return { bans: bansOf(policies, lists, parts), version }
  }

  /** The bans that a bouncer got by a pull. */
  async at(accountId: string, { version, policyIds, listIds }: Omit<Pull, 'at'>): Promise<Bans> {
    const policies: BanPart[] = []
    for (const id of policyIds) {
      const key = `${id} then ${version}`
      const read = async () => {
        const rules = await this.#pastRows.at(accountId, version, 'ip_policy_rule', 'ip_policy_id', [id])
        return policyPart(key, rules)
      }
      policies.push(await this.#parts.getOrBuild(key, read))
    }
    const ids = [...listIds, ...policies.flatMap(({ listRules }) => listRules.map(({ list_id }) => list_id))]
    const rows = await this.#pastRows.at(accountId, version, listKind, 'id', [...new Set(ids)])
    const lists = listsOf(policies, listIds, (id) => rows.find((row) => row.id === id))
    const parts: BanPart[] = []
    for (const { list } of lists)
      parts.push(await this.#listPart(list, () => this.#pastChunks(accountId, version, list)))
    return bansOf(policies, lists, parts)
  }

  /** Finds the same bans again, as long as their parts are in memory. */
  recaller({ sources }: Bans): () => Bans | undefined {
    const withoutParts = sources.map(({ part, ...source }) => ({ ...source, key: part.key }))
    return () => {
      const found = withoutParts.flatMap(({ key, ...source }) => {
        const part = this.#parts.get(key)
        return part === undefined ? [] : { ...source, part }
      })
      return found.length === withoutParts.length ? new Bans(found) : undefined
    }
  }

  /** Of one version, unless they change all the time. */
  async #policies(state: ViewState, bouncer: BouncerRow): Promise<BanPart[]> {
    const ids = bouncer.ip_policy_ids.filter((id) => ownRow(state, policyKind, id, bouncer) !== undefined)
    for (let tries = 1; ; tries += 1) {
      let isBuilt = false
      const parts: BanPart[] = []
      for (const id of ids) {
        const key = `${id} of ${this.#viewNumber(state)} ${state.rules(id)?.version ?? 0}`
        let part = this.#parts.get(key)
        if (part === undefined) {
          // Chunks never change, but others take their place meanwhile.
          const chunks = [...state.chunks(id).values()]
          part = await this.#parts.getOrBuild(key, () => policyPart(key, rulesIn(chunks)))
          isBuilt = true
        }
        parts.push(part)
        this.#checkSize(bouncer, parts, [])
      }
      if (!isBuilt || tries === triesMax) return parts
    }
  }

  #viewNumber(state: ViewState): number {
    const known = this.#views.get(state)
    if (known !== undefined) return known
    this.#viewCount += 1
    this.#views.set(state, this.#viewCount)
    return this.#viewCount
  }

  #listPart({ id, chunks }: ListRow, read: () => Promise<readonly ListChunk[]>): Promise<BanPart> {
    const key = `${id} ${chunks.join()}`
    return this.#parts.getOrBuild(key, async () => listPart(key, textsIn(await read())))
  }

  async #pastChunks(accountId: string, version: number, { chunks }: ListRow): Promise<ListChunk[]> {
    const rows = await this.#pastRows.at(accountId, version, 'ip_list_chunk', 'id', [...new Set(chunks)])
    const byId = new Map(rows.map((row) => [row.id, row]))
    return chunks.flatMap((id) => byId.get(id) ?? [])
  }

  #checkSize(
    { id, account_id }: BouncerRow,
    policies: readonly BanPart[],
    lists: readonly NamedList[],
  ): void {
    const entries = new Map(lists.map(({ list }) => [list.id, list]))
    let count = 0
    for (const { banned } of policies) count += banned.size
    for (const list of entries.values()) count += list.entries
    if (count <= bansPerBouncerMax) return
    const [largest] = [...entries.values()].toSorted((one, other) => other.entries - one.entries)
    const culprit =
      largest === undefined
        ? ''
        : ` Its largest list is ${largest.id} ("${largest.name}"): ${largest.entries} entries.`
    const message = `The bouncer ${id} would have ${count} bans or more: at most ${bansPerBouncerMax} deny rules and entries of IP lists are allowed.${culprit}`
    this.#occurrences.bouncerTooLarge({ account_id, bouncer_id: id, reason: message })
    throw conflict(message)
  }
}

function missing({ id }: ListRow): never {
  throw unavailable(`The entries of the IP list ${id} are being brought up to date.`)
}

const ownRow = (state: ViewState, kind: string, id: string, { account_id }: BouncerRow): Row | undefined => {
  const row = state.rows.get(kind)?.get(id)
  return row?.account_id === account_id ? row : undefined
}

function* rulesIn(chunks: readonly { readonly rules: readonly Row[] }[]): Generator<IpRule> {
  for (const { rules } of chunks) yield* rules as readonly Row[] as readonly DeclaredRow<'ip_policy_rule'>[]
}

function* textsIn(chunks: readonly ListChunk[]): Generator<string> {
  for (const chunk of chunks) yield textOfChunk(chunk)
}

/** The lists that rules name, then those of the bouncer itself. A missing one counts as one without entries. */
function listsOf(
  policies: readonly BanPart[],
  listIds: readonly string[],
  find: (id: string) => ListRow | undefined,
): NamedList[] {
  const ofRule = (rule: ListRule): NamedList[] => {
    const list = find(rule.list_id)
    return list === undefined ? [] : [{ list, rule }]
  }
  const own = listIds.flatMap((id) => find(id) ?? []).map((list) => ({ list }))
  return [...policies.flatMap(({ listRules }) => listRules.flatMap(ofRule)), ...own]
}

/** `listParts`: by the places of the lists. */
function bansOf(
  policies: readonly BanPart[],
  lists: readonly NamedList[],
  listParts: readonly BanPart[],
): Bans {
  const lasting = { hasOwnReasons: true, endMs: Number.POSITIVE_INFINITY }
  const ofPolicies = policies.map(
    (part): BanSource => ({ id: part.key.split(' ')[0]!, part, origin: 'weir', reason: 'weir', ...lasting }),
  )
  const ofLists = lists.map(({ list, rule }, place): BanSource => {
    const part = listParts[place]!
    // CrowdSec's form: bouncers count, and keep, each list by itself. Comments would make a set of each entry.
    if (rule === undefined)
      return { ...lasting, id: list.id, part, origin: 'lists', reason: list.name, hasOwnReasons: false }
    const reason = rule.description || list.name
    return { ...lasting, id: rule.id, part, origin: 'weir', reason, endMs: endOf(rule) }
  })
  return new Bans([...ofPolicies, ...ofLists])
}
