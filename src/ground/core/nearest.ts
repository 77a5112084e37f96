/** "Did you mean …": the known names closest to an unknown one. */

/**
 * Edits (insert, delete, replace, swap neighbours) that turn `a` into `b`. `fastest-levenshtein` counts a swap, the most
 * frequent slip, as two.
 */
function distance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1]
      let edits = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1))
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (row > 1 && column > 1 && swapped) edits = Math.min(edits, beforeLast[column - 2]! + 1)
      current.push(edits)
    }
    beforeLast = last
    last = current
  }
  return last[b.length]!
}

/** Longer names are not typing errors, and comparing them takes quadratic time. */
const nameCharsMax = 100

/** Up to `namesMax` known names, closest first; none if nothing is close. `editsMax`: default: by the length. */
export function nearestNames(
  name: string,
  known: Iterable<string>,
  namesMax = 3,
  editsMax = Number.POSITIVE_INFINITY,
): string[] {
  if (name.length > nameCharsMax) return []
  const lower = name.toLowerCase()
  return [...known]
    .map((candidate) => ({ candidate, edits: distance(lower, candidate.toLowerCase()) }))
    .filter(
      ({ candidate, edits }) => edits <= Math.min(editsMax, Math.max(2, Math.floor(candidate.length / 3))),
    )
    .sort((one, other) => one.edits - other.edits || (one.candidate < other.candidate ? -1 : 1))
    .slice(0, namesMax)
    .map(({ candidate }) => candidate)
}

export const supported = (names: readonly string[]): string =>
  names.length === 0 ? 'none are supported' : `supported are ${names.map((name) => `"${name}"`).join(', ')}`

/** The advice for an unknown name: the closest known one, and all of them. */
export function insteadOf(name: string, known: readonly string[]): string {
  const [nearest] = nearestNames(name, known, 1)
  return `${nearest === undefined ? '' : `did you mean "${nearest}"? `}${supported(known)}`
}
