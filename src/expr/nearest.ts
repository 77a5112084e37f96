const suggestionsMax = 3

/** The known words nearest to a mistyped one, nearest first; none where nothing comes near. */
export function nearest(word: string, known: Iterable<string>): string[] {
  const lower = word.toLowerCase()
  // Longer words are no slips of the fingers, and the distance costs the product of both lengths.
  if (lower.length > 64) return []
  const distanceMax = Math.max(2, Math.floor(lower.length / 3))
  return [...known]
    .map((name) => ({ name, distance: editDistance(lower, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= distanceMax)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, suggestionsMax)
    .map(({ name }) => name)
}

/** Levenshtein's distance: how many letters to insert, drop or replace. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
