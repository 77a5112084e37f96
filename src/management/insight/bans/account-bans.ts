/**
 * The bans of each bouncer, as they are and as they were.
 *
 * Parts are built when they are asked for, and shared until they change. What a bouncer has is known by the version of the
 * account that it got, which is stored in NATS (`access/key-uses.ts`): so any API process can say what was added and
 * deleted since, also after a restart. Parts of that version that are not in memory are read from ClickHouse.
 */
import { conflict, unavailable } from '../../../ground/core/errors.js'
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'
import type { IpRule } from '../../../judging/evaluate/policy-source.js'
import { countBans, excessOf } from '../../../words/resource/bouncers/ban-count.js'
import { bouncer as bouncerKind } from '../../../words/resource/bouncers/bouncer.js'
import type { PolicyBans, Row } from '../../../words/resource/kind/define.js'
import type { DeclaredRow } from '../../../words/resource/registry.js'
import { policyBansOf } from '../../../words/view/deny-rules.js'
import { policyKind, type RulesChunk } from '../../../words/view/keys.js'
import {
  chunksOfList,
  type ListChunk,
  type ListRow,
  listChunkKind,
  listKind,
  textOfChunk,
} from '../../../words/view/list-chunks.js'
import type { View } from '../../../words/view/view.js'
import type { ViewState } from '../../../words/view/view-state.js'
import type { PastRows } from '../../store/history/past-rows.js'
import { addLonger, type Banned, type BanPart, BanParts, listPart, policyPart } from './ban-part.js'
import { type BanSource, Bans } from './bans.js'

/** Some 100 bytes each. */
const bansKeptMax = 1_000_000
/** A version may have begun to arrive whenever the one before it is complete. */
const triesMax = 5

type BouncerRow = Pick<
  DeclaredRow<'bouncer'>,
  'id' | 'account_id' | 'version' | 'ip_policy_ids' | 'ip_list_ids'
>

interface PresentBans {
  readonly bans: Bans
  /** The version of the account that has them. */
  readonly version: number
}

/** A list by which a bouncer bans. */
interface FoundList {
  readonly list: ListRow
  readonly part: () => Promise<BanPart>
}

/** The source of the bans at one time; it does not change. */
interface Ingredients {
  readonly version: number
  /** The version of the latest change in it, which is later than `version` while a change arrives. */
  readonly newest: number
  readonly policies: readonly (() => Promise<BanPart>)[]
  readonly lists: ReadonlyMap<string, FoundList>
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
  async of(view: Pick<View, 'state' | 'reached'>, bouncer: BouncerRow): Promise<PresentBans> {
    for (let tries = 1; tries <= triesMax; tries += 1) {
      const { version, newest, policies, lists } = this.#ingredients(view.state, bouncer)
      if (newest <= version)
        return { bans: await bansOf(policies, bouncer.ip_list_ids ?? [], lists), version }
      await view.reached(bouncer.account_id, newest)
    }
    throw unavailable(`What the bouncer ${bouncer.id} bans changes all the time.`)
  }

  /** The bans that a bouncer had at a version of its account. */
  async at({ id: bouncerId, account_id }: BouncerRow, version: number): Promise<Bans> {
    const rowsAt = <Kind extends 'bouncer' | 'ip_policy_rule' | 'ip_list'>(
      kind: Kind,
      field: string,
      ids: readonly string[],
    ) => this.#pastRows.at(account_id, version, kind, field, ids)
    const [bouncer] = await rowsAt('bouncer', 'id', [bouncerId])
    if (bouncer === undefined)
      throw unavailable(`ClickHouse has not the bouncer ${bouncerId} of version ${version}.`)
    const policies: BanPart[] = []
    for (const id of bouncer.ip_policy_ids) {
      const key = `${id} then ${version}`
      const read = async () => policyPart(id, key, await rowsAt('ip_policy_rule', 'ip_policy_id', [id]))
      policies.push(await this.#parts.getOrBuild(key, read))
    }
    const ownIds = bouncer.ip_list_ids ?? []
    const ids = new Set([...ownIds, ...policies.flatMap(({ lists }) => [...lists.keys()])])
    const lists = new Map<string, FoundList>()
    for (const list of await rowsAt(listKind, 'id', [...ids]))
      lists.set(list.id, { list, part: this.#listPart(list, () => this.#pastChunks(version, list)) })
    return bansOf(
      policies.map((part) => async () => part),
      ownIds,
      lists,
    )
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

  /** Never waits: a view changes while others have their turn. */
  #ingredients(state: ViewState, bouncer: BouncerRow): Ingredients {
    const version = state.versionOf(bouncer.account_id)
    const own = (kind: string, id: string): Row[] => {
      const row = state.rows.get(kind)?.get(id)
      return row?.account_id === bouncer.account_id ? [row] : []
    }
    const [present] = own(bouncerKind.kind, bouncer.id)
    if (present?.version !== bouncer.version)
      throw unavailable(`The bouncer ${bouncer.id} has been changed. Try again.`)
    const policyRows = bouncer.ip_policy_ids.flatMap((id) => own(policyKind, id))
    const policies = policyRows.map(({ id }) => this.#policy(state, id))
    const listIds = new Set(policies.flatMap(({ bans }) => [...bans.listIds]))
    for (const id of bouncer.ip_list_ids ?? []) listIds.add(id)
    const lists = [...listIds].flatMap((id) => own(listKind, id) as Row[] as ListRow[])
    this.#checkSize(
      bouncer,
      policies.map(({ bans }) => bans),
      lists,
    )
    const found = lists.map((list): [string, FoundList] => [list.id, this.#list(state, list)])
    const versions = [present, ...policyRows, ...lists, ...policies].map((each) => each.version)
    return {
      version,
      newest: Math.max(...versions),
      policies: policies.map(({ part }) => part),
      lists: new Map(found),
    }
  }

  #policy(state: ViewState, id: string) {
    const key = `${id} of ${this.#viewNumber(state)} ${state.rules(id)?.version ?? 0}`
    const known = this.#parts.get(key)
    if (known !== undefined) {
      const bans: PolicyBans = { ranges: known.ranges, listIds: known.lists.keys() }
      // It was built when the account had all of the version.
      return { bans, version: 0, part: async () => known }
    }
    // Chunks never change, but others take their place meanwhile.
    const chunks = [...state.chunks(id).values()]
    const part = () => this.#parts.getOrBuild(key, () => policyPart(id, key, rulesIn(chunks)))
    const { version, ...bans } = policyBansOf(state, id)
    return { bans, version, part }
  }

  #viewNumber(state: ViewState): number {
    const known = this.#views.get(state)
    if (known !== undefined) return known
    this.#viewCount += 1
    this.#views.set(state, this.#viewCount)
    return this.#viewCount
  }

  #list(state: ViewState, list: ListRow): FoundList {
    const known = this.#parts.get(keyOf(list))
    if (known !== undefined) return { list, part: async () => known }
    const chunks = chunksOfList(state, list) ?? missing(list)
    return { list, part: this.#listPart(list, async () => chunks) }
  }

  #listPart(list: ListRow, read: () => Promise<readonly ListChunk[]>): () => Promise<BanPart> {
    const key = keyOf(list)
    return () => this.#parts.getOrBuild(key, async () => listPart(list.id, key, textsIn(await read())))
  }

  async #pastChunks(version: number, list: ListRow): Promise<ListChunk[]> {
    const ids = [...new Set(list.chunks)]
    const rows = await this.#pastRows.at(list.account_id, version, listChunkKind, 'id', ids)
    const byId = new Map(rows.map((row) => [row.id, row]))
    return list.chunks.map((id) => byId.get(id) ?? missing(list))
  }

  #checkSize(
    { id, account_id }: BouncerRow,
    policies: readonly PolicyBans[],
    lists: readonly ListRow[],
  ): void {
    const byId = new Map(lists.map((list) => [list.id, list]))
    const reason = excessOf(
      id,
      countBans(policies, byId.keys(), (listId) => byId.get(listId)),
    )
    if (reason === undefined) return
    this.#occurrences.bouncerTooLarge({ account_id, bouncer_id: id, reason })
    throw conflict(reason)
  }
}

const keyOf = ({ id, chunks }: ListRow): string => `${id} ${chunks.join()}`

function missing({ id }: ListRow): never {
  throw unavailable(`The entries of the IP list ${id} are being brought up to date.`)
}

function* rulesIn(chunks: readonly RulesChunk[]): Generator<IpRule> {
  for (const { rules } of chunks) yield* rules as readonly Row[] as readonly DeclaredRow<'ip_policy_rule'>[]
}

function* textsIn(chunks: readonly ListChunk[]): Generator<string> {
  for (const chunk of chunks) yield textOfChunk(chunk)
}

/** `listIds`: of the bouncer itself. A list that is not in `lists` has no entries. */
async function bansOf(
  policies: readonly (() => Promise<BanPart>)[],
  listIds: readonly string[],
  lists: ReadonlyMap<string, FoundList>,
): Promise<Bans> {
  const lasting = { hasOwnReasons: true, endMs: Number.POSITIVE_INFINITY }
  const sources: BanSource[] = []
  /** By list: of several rules, the one that lasts longest. */
  const named = new Map<string, Banned>()
  for (const build of policies) {
    const part = await build()
    sources.push({ part, origin: 'weir', reason: 'weir', ...lasting })
    for (const [id, rule] of part.lists) addLonger(named, id, rule)
  }
  for (const [id, { reason, endMs }] of named) {
    const { list, part } = lists.get(id) ?? {}
    if (list === undefined || part === undefined) continue
    sources.push({
      part: await part(),
      origin: 'weir',
      reason: reason ?? list.name,
      hasOwnReasons: true,
      endMs,
    })
  }
  // CrowdSec's form: bouncers count, and keep, each list by itself. Comments would make a set of each entry.
  for (const { list, part } of listIds.flatMap((id) => lists.get(id) ?? []))
    sources.push({ ...lasting, part: await part(), origin: 'lists', reason: list.name, hasOwnReasons: false })
  return new Bans(sources)
}
