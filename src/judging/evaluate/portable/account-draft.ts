/** A draft of many resources of an account at once, and the configuration with all of it. */
import { EntryFaults } from '../../../ground/core/entry-faults.js'
import { badRequest, shown } from '../../../ground/core/errors.js'
import { ipListEntriesMax, rulesPerIpPolicyMax } from '../../../ground/core/limits.js'
import { type PolicyKind, placeOfList } from '../../../words/resource/fields/traffic-policy-check.js'
import type { DeclaredRow, KindName } from '../../../words/resource/registry.js'
import { plannedVersion } from '../planned-configuration.js'
import type { ConfigurationSource, PoliciesModule } from '../policy-source.js'
import { type Configuration, configurationMembers, listEntry, resourcesMax, rule } from './configuration.js'
import { GivenConfiguration } from './given-configuration.js'
import { type FileTest, readTests } from './policy-file.js'
import {
  entriesBetweenPauses,
  isMap,
  listOf,
  objectOf,
  optional,
  type Read,
  readLong,
  text,
} from './reading.js'
import { checkRelations, type Surroundings } from './relations.js'

/** A resource that is given stands for all of it, with its rules, routes or entries. Others of the account stay. */
export interface AccountDraft {
  /** A list with a number of entries keeps those that it has. */
  readonly configuration: Configuration
  /** Ids of resources that go. */
  readonly removes: readonly string[]
  /** Policy tests that the draft comes with. */
  readonly tests: readonly FileTest[]
}

const idCharsMax = 100

const draftMembers = objectOf({
  ...configurationMembers,
  removes: optional(listOf(text(idCharsMax), resourcesMax), []),
  policy_tests: readTests,
})

/** Kinds with traffic policies. */
const edgeKinds = ['tcp_edge', 'https_edge', 'https_edge_route'] as const satisfies readonly PolicyKind[]

/** Kinds of resources that decide about records. */
const decidingKinds = ['ip_list', 'ip_policy', ...edgeKinds, 'ip_restriction'] as const

/** Throws an error that names every place that is wrong. `source`: what the account has. May pause at each `yield`. */
export function* readAccountDraft(
  value: unknown,
  source: ConfigurationSource,
): Generator<void, AccountDraft> {
  const faults = new EntryFaults()
  const { short, long } = withoutLong(value)
  const found = draftMembers(short, '', faults)
  faults.throwIfAny()
  const { removes, policy_tests: tests, ...read } = found!
  const configuration = {
    ...read,
    ip_policies: yield* filled(read.ip_policies, 'ip_policies', 'rules', rule, long, faults),
    ip_lists: yield* filled(read.ip_lists, 'ip_lists', 'entries', listEntry, long, faults),
  }
  faults.throwIfAny()
  const draft = { configuration, removes, tests }
  const stays = new Staying(draft, source)
  yield* checkRelations(configuration, stays.surroundings(), faults)
  for (const [index, id] of removes.entries()) {
    const msg = stays.whyNotRemoved(id)
    if (msg !== undefined)
      faults.add(`removes[${index}]`, badRequest(`"removes[${index}]" is ${shown(id)}: ${msg}.`))
  }
  faults.throwIfAny()
  return draft
}

/** Members with as many entries as these are read in slices. One with too many is refused before any is read. */
const longParts = [
  ['ip_policies', 'rules', rulesPerIpPolicyMax],
  ['ip_lists', 'entries', ipListEntriesMax],
] as const

/** Long lists of entries, by their places. */
type LongLists = ReadonlyMap<string, readonly unknown[]>

/** A copy of a draft, as it was sent, with empty lists in place of long ones. */
function withoutLong(value: unknown): { readonly short: unknown; readonly long: LongLists } {
  const long = new Map<string, readonly unknown[]>()
  if (!isMap(value)) return { short: value, long }
  const short: Record<string, unknown> = { ...value }
  for (const [section, name, max] of longParts) {
    const entries = value[section]
    if (!Array.isArray(entries)) continue
    short[section] = entries.map((entry: unknown, index) => {
      const list = isMap(entry) ? entry[name] : undefined
      if (!isMap(entry) || !Array.isArray(list) || list.length <= entriesBetweenPauses || list.length > max)
        return entry
      long.set(`${section}[${index}].${name}`, list)
      return { ...entry, [name]: [] }
    })
  }
  return { short, long }
}

/** With the long lists of a member. */
function* filled<Entry, Part>(
  entries: readonly Entry[],
  section: string,
  name: keyof Entry & string,
  read: Read<Part>,
  long: LongLists,
  faults: EntryFaults,
): Generator<void, Entry[]> {
  const whole: Entry[] = []
  for (const [index, entry] of entries.entries()) {
    const place = `${section}[${index}].${name}`
    const list = long.get(place)
    whole.push(list === undefined ? entry : { ...entry, [name]: yield* readLong(read, list, place, faults) })
  }
  return whole
}

/** The ids that a draft puts something else in the place of. */
class Replaced {
  readonly #ids: ReadonlySet<string>

  constructor({ configuration, removes }: AccountDraft) {
    const { tcp_edges, https_edges, ip_policies, ip_lists, ip_restrictions } = configuration
    const given = [tcp_edges, https_edges, ip_policies, ip_lists, ip_restrictions].flat()
    this.#ids = new Set([...removes, ...given.flatMap(({ id }) => id ?? [])])
  }

  /** Routes go with their edge. */
  has({ id, edge_id }: { readonly id: string; readonly edge_id?: string }): boolean {
    return this.#ids.has(id) || (edge_id !== undefined && this.#ids.has(edge_id))
  }
}

/** What the account has and a draft leaves as it is. */
class Staying {
  readonly #source: ConfigurationSource
  readonly #replaced: Replaced
  #users: ReadonlyMap<string, string | undefined> | undefined

  constructor(draft: AccountDraft, source: ConfigurationSource) {
    this.#source = source
    this.#replaced = new Replaced(draft)
  }

  #of<Kind extends KindName>(kind: Kind): DeclaredRow<Kind>[] {
    return [...this.#source.rowsOf(kind)].filter((row) => !this.#replaced.has(row))
  }

  surroundings(): Surroundings {
    return {
      policyIds: this.#of('ip_policy').map(({ id }) => id),
      lists: this.#of('ip_list'),
      hostports: [...this.#of('tcp_edge'), ...this.#of('https_edge')].flatMap(
        ({ hostports }) => hostports ?? [],
      ),
      restrictionTypes: this.#of('ip_restriction').map(({ type }) => type),
    }
  }

  /** Undefined if the account has it, and nothing that stays refers to it. */
  whyNotRemoved(id: string): string | undefined {
    this.#users ??= this.#usersByPart()
    if (!this.#users.has(id)) return 'the account has no such edge, IP policy, IP list or restriction'
    const user = this.#users.get(id)
    return user === undefined ? undefined : `${user} refers to it, and stays`
  }

  /** Something that stays and refers to it, for each resource that the account has. */
  #usersByPart(): Map<string, string | undefined> {
    const users = new Map<string, string | undefined>()
    for (const kind of decidingKinds) for (const { id } of this.#source.rowsOf(kind)) users.set(id, undefined)
    for (const { id, ip_restriction } of [...this.#of('tcp_edge'), ...this.#of('https_edge_route')])
      for (const policyId of ip_restriction?.ip_policy_ids ?? []) users.set(policyId, id)
    for (const { id, ip_policy_ids } of this.#of('ip_restriction'))
      for (const policyId of ip_policy_ids) users.set(policyId, id)
    for (const { id } of this.#of('ip_policy'))
      for (const { list_id } of this.#source.rules(id)?.rules ?? []) if (list_id) users.set(list_id, id)
    for (const { id, name } of this.#source.rowsOf('ip_list')) {
      const asking = this.#edgeAskingFor(name)
      if (asking !== undefined) users.set(id, asking)
    }
    return users
  }

  #edgeAskingFor(list: string): string | undefined {
    for (const kind of edgeKinds)
      for (const { id, policies } of this.#of(kind))
        if (placeOfList(kind, policies as PoliciesModule | null, list) !== undefined) return id
    return undefined
  }
}

/** The configuration of an account with a draft. */
export class DraftedConfiguration implements ConfigurationSource {
  readonly revision: number
  readonly #source: ConfigurationSource
  readonly #given: GivenConfiguration
  readonly #replaced: Replaced
  readonly #removed: ReadonlySet<string>
  /** Lists that keep the entries they have. */
  readonly #keeping: ReadonlySet<string>

  constructor(source: ConfigurationSource, accountId: string, draft: AccountDraft) {
    const { configuration, removes } = draft
    this.revision = source.revision
    this.#source = source
    this.#given = new GivenConfiguration(configuration, { account_id: accountId, version: plannedVersion })
    this.#replaced = new Replaced(draft)
    this.#removed = new Set(removes)
    const keeping = configuration.ip_lists.filter(({ entries }) => typeof entries === 'number')
    this.#keeping = new Set(keeping.map(({ id, name }) => id ?? name))
  }

  *rowsOf<Kind extends KindName>(kind: Kind): Iterable<DeclaredRow<Kind>> {
    for (const row of this.#source.rowsOf(kind)) if (!this.#replaced.has(row)) yield row
    for (const row of this.#given.rowsOf(kind)) yield this.#keeping.has(row.id) ? this.#withEntries(row) : row
  }

  #withEntries<Kind extends KindName>(row: DeclaredRow<Kind>): DeclaredRow<Kind> {
    const present = [...this.#source.rowsOf('ip_list')].find(({ id }) => id === row.id)
    return { ...row, chunks: present?.chunks ?? [] }
  }

  rules(ipPolicyId: string) {
    return (
      this.#given.rules(ipPolicyId) ??
      (this.#removed.has(ipPolicyId) ? undefined : this.#source.rules(ipPolicyId))
    )
  }

  listText(chunkId: string) {
    return this.#given.listText(chunkId) ?? this.#source.listText?.(chunkId)
  }

  soleAccountId() {
    return this.#source.soleAccountId?.()
  }
}
