/** Which resource of the account each entry describes. */
import { getOrMake } from '../../ground/core/maps.js'
import type { Field } from '../../words/resource/kind/define.js'
import type { Live } from './account-state.js'
import { localNames } from './local-names.js'
import type { Body, ManagedKind } from './managed-kinds.js'

type Described = Pick<Live, 'body'>

/** Two that have a text in common that no other resource has. */
interface Pair<L> {
  readonly index: number
  readonly live: L
  /** 1 if they have the same texts. */
  readonly share: number
  readonly hasSameDescription: boolean
}

/** By what identifies them; those that are left by their names, so that a description can change. */
export function matched<L extends Described>(
  kind: Pick<ManagedKind, 'identitiesOf' | 'resource'>,
  live: readonly L[],
  entries: readonly Body[],
  names: readonly string[],
): (L | undefined)[] {
  const free = new Set(live)
  const byIdentity = new Map<string, L[]>()
  for (const one of live)
    for (const identity of kind.identitiesOf(one.body))
      getOrMake(byIdentity, identity, (): L[] => []).push(one)
  const found = new Array<L | undefined>(entries.length)
  const take = (index: number, candidates: readonly L[]): void => {
    if (found[index] !== undefined) return
    found[index] = candidates.find((one) => free.has(one))
    if (found[index] !== undefined) free.delete(found[index])
  }
  const bodies = entries.map((values) => canonical(kind, values))
  for (const { index, live: one } of pairsOf(kind, bodies, byIdentity)) take(index, [one])
  for (const [index, body] of bodies.entries())
    take(
      index,
      kind.identitiesOf(body).flatMap((identity) => byIdentity.get(identity) ?? []),
    )
  const byName = new Map(localNames(kind, live).map((name, index) => [name, live[index]!]))
  for (const [index, name] of names.entries()) take(index, byName.has(name) ? [byName.get(name)!] : [])
  return found
}

/** Best first: hostports can move from an edge to another one, and each edge is still found by those that it keeps. */
function pairsOf<L extends Described>(
  { identitiesOf }: Pick<ManagedKind, 'identitiesOf'>,
  bodies: readonly Body[],
  byIdentity: ReadonlyMap<string, readonly L[]>,
): Pair<L>[] {
  const pairs = bodies.flatMap((body, index): Pair<L>[] => {
    const identities = new Set(identitiesOf(body))
    const shared = new Map<L, number>()
    for (const identity of identities) {
      const [one, ...others] = byIdentity.get(identity) ?? []
      if (one !== undefined && others.length === 0) shared.set(one, (shared.get(one) ?? 0) + 1)
    }
    return [...shared].map(([live, count]) => ({
      index,
      live,
      share: count / (identities.size + identitiesOf(live.body).length - count),
      hasSameDescription: (body['description'] ?? null) === (live.body['description'] ?? null),
    }))
  })
  return pairs.sort(
    (one, other) =>
      other.share - one.share || Number(other.hasSameDescription) - Number(one.hasSameDescription),
  )
}

/** A copy with host names and addresses as the API writes them. Members of wrong types are left out; they are faults. */
function canonical({ resource }: Pick<ManagedKind, 'resource'>, values: Body): Body {
  const { hostports, domain, ...rest } = values
  const complete = (name: string, value: unknown): unknown =>
    (resource.fields[name] as Field | undefined)?.complete?.(value as never) ?? value
  return {
    ...rest,
    ...(isTexts(hostports) && { hostports: complete('hostports', hostports) }),
    ...(typeof domain === 'string' && { domain: complete('domain', domain) }),
  }
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')
