/** What the files want: each entry with the resource of the account that it describes, if there is one. */
import { shown } from '../../ground/core/errors.js'
import type { JsonObject } from '../../ground/core/json-object.js'
import type { Live } from './account-state.js'
import { ownName } from './local-names.js'
import type { ManagedKind } from './managed-kinds.js'
import { matched } from './matched.js'
import type { Place, SourceFiles } from './source-files.js'

export interface Wanted {
  readonly kind: ManagedKind
  /** What the files call it: others refer to it by this. */
  readonly name: string
  /** The same as it is written. */
  readonly shownName: string
  readonly place: Place
  /** The members of its body, with what placeholders stand for. */
  readonly values: JsonObject
  /** The same as they are written. */
  readonly written: JsonObject
  /** The members that are no part of its body: its rules, routes or entries. */
  readonly parts: JsonObject
  readonly live: Live | undefined
}

/** Members of an entry besides its body, by the kind. */
const partNames: Readonly<Record<string, readonly string[]>> = {
  ip_policies: ['rules'],
  https_edges: ['routes'],
  ip_lists: ['entries'],
}
/** As the API shows a resource: they say nothing in a file. */
const ignored = ['uri', 'created_at']

/** The entries of a kind, and the resources that no entry describes. */
export function wantedOf(
  kind: ManagedKind,
  files: SourceFiles,
  live: readonly Live[],
  read: (values: JsonObject) => JsonObject,
  fault: (place: Place, msg: string) => void,
): { readonly wanted: readonly Wanted[]; readonly others: readonly Live[] } {
  const given = files.entries.get(kind.section) ?? []
  const entries = given.map(({ place, values }) => split(kind, place, read(values)))
  const names = namesOf(entries, fault)
  const written = given.map((entry) => split(kind, entry.place, entry.written))
  const shownNames = namesOf(written, () => {})
  const found = matched(
    kind,
    live,
    entries.map(({ values }) => values),
    names,
  )
  const wanted = entries.map(({ place, values, parts }, index) => ({
    kind,
    place,
    values,
    parts,
    name: names[index]!,
    shownName: shownNames[index]!,
    written: written[index]!.values,
    live: found[index],
  }))
  const isFound = new Set(found)
  return { wanted, others: live.filter((one) => !isFound.has(one)) }
}

interface Split extends Pick<Wanted, 'place' | 'values' | 'parts'> {
  readonly id: string | undefined
}

function split({ section }: ManagedKind, place: Place, given: JsonObject): Split {
  const own = partNames[section] ?? []
  const values: Record<string, unknown> = {}
  const parts: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    if (name === 'id' || ignored.includes(name)) continue
    // Policy tests have names in files.
    if (section === 'policy_tests' && name === 'name') values['description'] = value
    else if (own.includes(name)) parts[name] = value
    else values[name] = value
  }
  const { id } = given
  return {
    place,
    values,
    parts,
    id: typeof id === 'string' || typeof id === 'number' ? String(id) : undefined,
  }
}

/** Names that are given come first. Names differ, since references and requests go by them. */
export function namesOf(
  entries: readonly Pick<Split, 'id' | 'values' | 'place'>[],
  fault: (place: Place, msg: string) => void,
): string[] {
  const taken = new Map<string, Place>()
  for (const { id, place } of entries) {
    if (id === undefined) continue
    const before = taken.get(id)
    if (before !== undefined)
      fault(place, `"${place.path}.id" is ${shown(id)}, as that of "${before.path}": names must differ.`)
    taken.set(id, place)
  }
  return entries.map(({ id, values, place }) => {
    if (id !== undefined) return id
    const own = ownName(values) || place.path
    let name = own
    for (let n = 2; taken.has(name); n += 1) name = `${own}-${n}`
    taken.set(name, place)
    return name
  })
}
