/** Trees of fields whose names are paths, such as `http.request.method`. */

/** Members by name: a field, or the members below. */
export type DottedTree<T> = Map<string, T | DottedTree<T>>

/** Groups fields by the parts of their dotted names; members keep the order in which they first occur. */
export function treeOfDotted<T>(fields: Iterable<readonly [name: string, field: T]>): DottedTree<T> {
  const root: DottedTree<T> = new Map()
  for (const [name, field] of fields) {
    const path = name.split('.')
    const leaf = path.pop()!
    let tree = root
    for (const group of path) {
      const below = tree.get(group) ?? new Map()
      tree.set(group, below)
      tree = below as DottedTree<T>
    }
    tree.set(leaf, field)
  }
  return root
}
