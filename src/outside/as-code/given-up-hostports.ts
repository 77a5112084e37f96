/** Hostports that move from one edge to another one. */
import type { Difference } from './difference.js'
import type { ManagedKind } from './managed-kinds.js'

interface GivenUp {
  readonly kind: ManagedKind
  /** Of the edge. */
  readonly id: string
  /** Those that it keeps. */
  readonly hostports: readonly string[]
}

/** The edges that lose a hostport which another one gets. */
export function hostportsGivenUp(
  differences: readonly Pick<Difference, 'action' | 'kind' | 'id' | 'live' | 'body'>[],
): GivenUp[] {
  const written = differences.filter(({ action }) => action !== 'delete')
  const edges = written.map(({ action, kind, id, live, body }) => {
    const before = action === 'update' ? hostportsOf(live?.body) : []
    const after = hostportsOf(body)
    return { kind, id, before, after }
  })
  const gained = new Set(edges.flatMap(({ before, after }) => after.filter((each) => !before.includes(each))))
  return edges.flatMap(({ kind, id, before, after }) => {
    const isLost = (each: string): boolean => gained.has(each) && !after.includes(each)
    return before.some(isLost) ? [{ kind, id, hostports: before.filter((each) => after.includes(each)) }] : []
  })
}

const hostportsOf = (body: Difference['body'] | undefined): readonly string[] =>
  (body?.['hostports'] ?? []) as readonly string[]
