/** What the files want: each entry with the resource of the account that it describes, if there is one. */
import { formatCidr, parseCidr } from '../../ground/core/address/cidr.js'
import { shown } from '../../ground/core/errors.js'
import { isObject, type JsonObject } from '../../ground/core/json-object.js'
import type { Live } from './account-state.js'
import { localNames, ownName } from './local-names.js'
import type { ManagedKind } from './managed-kinds.js'
import type { FileEntry, Place, SourceFiles } from './source-files.js'

export interface Wanted {
  readonly kind: ManagedKind
  /** What the files call it. */
  readonly name: string
  readonly place: Place
  /** The members of its body, as they are written. */
  readonly values: JsonObject
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
  const entries = (files.entries.get(kind.section) ?? []).map((entry) =>
    split(kind, { ...entry, values: read(entry.values) }),
  )
  const names = namesOf(entries, fault)
  const found = matched(kind, live, entries, names)
  const wanted = entries.map(({ place, values, parts }, index) => ({
    kind,
    place,
    values,
    parts,
    name: names[index]!,
    live: found[index],
  }))
  const isFound = new Set(found)
  return { wanted, others: live.filter((one) => !isFound.has(one)) }
}

interface Split extends Pick<Wanted, 'place' | 'values' | 'parts'> {
  readonly id: string | undefined
}

function split({ section }: ManagedKind, { place, values: given }: FileEntry): Split {
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
  return { place, values, parts, id: typeof given['id'] === 'string' ? given['id'] : undefined }
}

function namesOf(entries: readonly Split[], fault: (place: Place, msg: string) => void): string[] {
  const taken = new Map<string, Place>()
  return entries.map(({ id, values, place }) => {
    const name = id ?? (ownName(values) || place.path)
    const before = taken.get(name)
    if (before !== undefined && id !== undefined)
      fault(place, `"${place.path}.id" is ${shown(name)}, as that of "${before.path}": names must differ.`)
    taken.set(name, place)
    return name
  })
}

/** By what identifies them; those that are left by their names, so that a description can change. */
function matched(
  kind: ManagedKind,
  live: readonly Live[],
  entries: readonly Split[],
  names: readonly string[],
): (Live | undefined)[] {
  const free = new Set(live)
  const byIdentity = new Map<string, Live[]>()
  for (const one of live)
    for (const identity of kind.identitiesOf(one.body))
      byIdentity.set(identity, [...(byIdentity.get(identity) ?? []), one])
  const take = (candidates: readonly Live[]): Live | undefined => {
    const found = candidates.find((one) => free.has(one))
    if (found !== undefined) free.delete(found)
    return found
  }
  const found = entries.map(({ values }) =>
    take(kind.identitiesOf(canonicalNames(values)).flatMap((identity) => byIdentity.get(identity) ?? [])),
  )
  const byName = new Map(localNames(kind, live).map((name, index) => [name, live[index]!]))
  return found.map(
    (one, index) => one ?? take([byName.get(names[index]!)].filter((each) => each !== undefined)),
  )
}

/** Host names are lower-case in the API. */
function canonicalNames(values: JsonObject): JsonObject {
  const { hostports, domain } = values
  return {
    ...values,
    ...(Array.isArray(hostports) && { hostports: hostports.map((each) => String(each).toLowerCase()) }),
    ...(typeof domain === 'string' && { domain: domain.toLowerCase() }),
  }
}

/** An entry of an IP list: in files, one without a comment may be its range alone. */
export function listEntryOf(entry: unknown): unknown {
  const { cidr, comment = null, expires_at = null } = isObject(entry) ? entry : { cidr: entry }
  const parsed = typeof cidr === 'string' ? parseCidr(cidr, { hostBits: 'allow' }) : undefined
  return { cidr: parsed?.ok ? formatCidr(parsed.value) : cidr, comment, expires_at }
}
