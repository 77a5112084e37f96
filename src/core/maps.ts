/** The value of `key`, created and stored if there is none yet. */
export function getOrMake<K, V>(map: Pick<Map<K, V>, 'get' | 'set'>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/** The same for weakly held keys. */
export function getOrMakeWeak<K extends WeakKey, V>(map: WeakMap<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
