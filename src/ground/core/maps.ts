interface Mapping<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): unknown
}

/** The value of `key` in a Map or WeakMap, created and stored if there is none yet. */
export function getOrMake<K, V>(map: Mapping<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/** The key of a map that has no other. */
export function soleKey<K>(map: ReadonlyMap<K, unknown> | undefined): K | undefined {
  const [first, second] = map?.keys() ?? []
  return second === undefined ? first : undefined
}

/** The items by a key, in the order in which the keys come first. */
export function grouped<K, V>(items: Iterable<V>, keyOf: (item: V) => K): Map<K, V[]> {
  const groups = new Map<K, V[]>()
  for (const item of items) getOrMake(groups, keyOf(item), () => []).push(item)
  return groups
}
