/** Hostports that move from one edge to another one. */
import type { Difference } from './difference.js'

interface GivenUp {
  /** Of the edge. */
  readonly difference: Difference
  /** Those that it keeps. */
  readonly hostports: readonly string[]
}

/** The edges that lose a hostport which another one gets. */
export function hostportsGivenUp(differences: readonly Difference[]): GivenUp[] {
  const written = differences.filter(({ action }) => action !== 'delete')
  const edges = written.map((difference) => {
    const { action, live, body } = difference
    const before = action === 'update' ? hostportsOf(live?.body) : []
    const after = hostportsOf(body)
    return { difference, before, after }
  })
  const gained = new Set(edges.flatMap(({ before, after }) => after.filter((each) => !before.includes(each))))
  return edges.flatMap(({ difference, before, after }) => {
    const isLost = (each: string): boolean => gained.has(each) && !after.includes(each)
    return before.some(isLost)
      ? [{ difference, hostports: before.filter((each) => after.includes(each)) }]
      : []
  })
}

const hostportsOf = (body: Difference['body'] | undefined): readonly string[] =>
  (body?.['hostports'] ?? []) as readonly string[]
