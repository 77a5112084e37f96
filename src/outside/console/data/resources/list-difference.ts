/** How a list of entries differs from another one, in which each entry is found by a key. */

export interface ListDifference<Entry> {
  readonly added: readonly Entry[]
  readonly removed: readonly Entry[]
  readonly changed: readonly { readonly before: Entry; readonly after: Entry }[]
  readonly kept: number
}

export function listDifference<Entry>(
  before: readonly Entry[],
  after: readonly Entry[],
  keyOf: (entry: Entry) => string,
  isSame: (one: Entry, other: Entry) => boolean,
): ListDifference<Entry> {
  const old = new Map(before.map((entry) => [keyOf(entry), entry]))
  const next = new Set(after.map(keyOf))
  const added: Entry[] = []
  const changed: { before: Entry; after: Entry }[] = []
  for (const entry of after) {
    const was = old.get(keyOf(entry))
    if (was === undefined) added.push(entry)
    else if (!isSame(was, entry)) changed.push({ before: was, after: entry })
  }
  const removed = before.filter((entry) => !next.has(keyOf(entry)))
  return { added, removed, changed, kept: after.length - added.length - changed.length }
}
